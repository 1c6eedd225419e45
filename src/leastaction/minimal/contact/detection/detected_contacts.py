"""Detected contacts: of any shapes, between two bodies or a body and the world, found anew in each step.

They are detected at the start of the step, within the reach of the first guess; their features are fixed to the bodies
(see `contact.detect`). Boxes that rotate and slide may touch with other corners and edges at the end, and an impact may
accelerate a limb from rest: after the step is solved, penetrating shapes at its end are detected, their contacts added,
and the solution continues. The laws are those of contacts with planes: impulses at the start of the step, along the
normal at the contact point there, the gap at its end.
"""

import math

import numpy as np

from leastaction._jit import routine
from leastaction.contact.clearance import approach_of, measure, stay_apart, still_touch
from leastaction.contact.laws.sticking import is_sticking
from leastaction.contact.narrow_phase.closest_points import tangents
from leastaction.contact.narrow_phase.detect import detect
from leastaction.contact.narrow_phase.gap import gap, material_points
from leastaction.contact.records import BOX, CAPSULE, FIELD
from leastaction.contact.solver.cone_kinds import CONTACT, PLAIN, TURNING
from leastaction.minimal.contact.detection.pair_list import end_bodies, is_listed, list_pairs, margin_of, pose
from leastaction.minimal.contact.paths import rate_along
from leastaction.minimal.contact.row_vec6 import wrench
from leastaction.minimal.contact.solver.contact_response import compliance_of, remaining_overlap, soften_contact
from leastaction.minimal.contact.solver.waiting_contacts import has_to_wait, is_waiting
from leastaction.spatial import add3, axpy3, dot3, load3, matvec, scale3, store3, sub3

DEEP = 1e-6
"""Penetration at the end of a step from which contacts are added, relative to the size of the shapes."""


@routine
def detect_pair(shapes, data, found, k, end, count, margin, convex):
    """Append the contacts of pair k at the start (0) or the end (1) of the step; see `contact.detect`."""
    a, b = shapes.shapes[shapes.pairs[k].a], shapes.shapes[shapes.pairs[k].b]
    Xa, Xb = pose(data, end, a.body), pose(data, end, b.body)
    return detect(shapes.shapes, shapes.pairs, k, (Xa, Xb), shapes.table, found.contacts, count, margin, convex)


@routine
def gap_at(data, contact, end):
    """Gap, normal and point of a contact at the start (0) or the end (1) of the step."""
    return gap(contact, pose(data, end, contact.a), pose(data, end, contact.b))


@routine
def find(model, data, shapes, found, lengths, falls):
    """Detect the contacts at the start of a step; the first guess q1 gives the end poses.

    Args:
        lengths: of this substep and of the whole step [s]; falls: displacement by gravity in the substep, and
            overlap that is slight [m].
    """
    if found is None:
        return
    fall = falls[0]
    now, contacts, active = found.now[0], found.contacts, data.touch.active
    for c in range(model.cones.shape[0], model.cones.shape[0] + now.count):
        active[c] = 0
    list_pairs(shapes, data, found, fall)
    count = np.int64(0)
    now.count = now.full = now.rounds = 0
    for m in range(now.listed):
        k = found.listed[m]
        begin, start = count, count * 0
        a, b = shapes.shapes[shapes.pairs[k].a].body, shapes.shapes[shapes.pairs[k].b].body
        margin = margin_of(shapes, found, k, fall)
        X = pose(data, start, a), pose(data, start, b)
        if stay_apart(found.clearance, shapes.shapes, shapes.pairs, k, X, shapes.table, margin, shapes.convex):
            continue
        count = detect_pair(shapes, data, found, k, start, begin, margin, shapes.convex)
        found.clearance.least[k] = -math.inf
        if count == begin:
            measure(found.clearance, shapes.shapes, shapes.pairs, k, X, shapes.table, margin, shapes.convex)
        if count > contacts.shape[0]:
            now.full = 1
            return
        for j in range(begin, count):
            contacts[j].late = 0
            take(model, data, found, j, lengths, falls)
    now.count = count


@routine
def take(model, data, found, j, lengths, falls):
    """Make contact j a constraint; it is active if it was before, or if the first guess closes its gap."""
    touch, contact, c = data.touch, found.contacts[j], model.cones.shape[0] + j
    cone, start, (dt, whole), fall = found.cones[c], j * 0, lengths, falls[0]
    width = found.impulses.shape[1]
    at = touch.lam.shape[0] - width * (found.contacts.shape[0] - j)
    phi, n, x = gap_at(data, contact, start)
    t, s = tangents(n)
    cone.kind, cone.row, cone.found, cone.node, cone.other = CONTACT, at, j, contact.b, contact.a
    cone.restitution = contact.restitution
    cone.mass = model.shapes.masses[contact.pair]
    cone.compliance = model.shapes.softness[contact.pair, 0]
    cone.relaxation = model.shapes.softness[contact.pair, 1]
    take_turn(model.shapes.pairs[contact.pair], cone, touch.rolls)
    other, own = material_points(contact, pose(data, start, contact.a), pose(data, start, contact.b), n, x)
    store3(cone.arm, x)
    store3(cone.fixed, own)
    store3(cone.fixed_other, other)
    store3(cone.normal, n)
    store3(cone.first, t)
    store3(cone.second, s)
    move_surfaces(model.shapes, data, contact, cone, dt)
    touch.start_gap[c] = phi
    choose_friction(model, data, contact, cone, dt, whole)
    touch.least[c] = remaining_overlap(phi, fall, falls[1])
    touch.compliance[c] = compliance_of(cone.mass, whole, dt)
    soften_contact(touch, cone, c, dt)
    touch.active[c] = gap_at(data, contact, start + 1)[0] - touch.least[c] <= fall
    waits = has_to_wait(model, touch.impacts, cone, c, phi, whole)
    if waits:
        touch.active[c] = 0
    for i in range(width):
        touch.lam[at + i] = 0.0
        for k in range(touch.columns.shape[1]):
            touch.columns[at + i, k] = touch.rows[at + i, k] = 0.0
    for k in range(found.now[0].kept):
        if found.keys[k] == contact.key:
            if found.impulses[k, 0] > 0.0 and not waits:
                touch.active[c] = 1
            for i in range(width):
                touch.lam[at + i] = found.impulses[k, i] if touch.active[c] else 0.0
            break


@routine
def choose_friction(model, data, contact, cone, dt, whole):
    """Set the kinetic friction of a contact, or its static one where it sticks at the start: see `laws.sticking`."""
    pair = model.shapes.pairs[contact.pair]
    cone.friction, contact.sticks = contact.friction, 0
    if pair.static > pair.friction:
        rates, x, other = data.touch.v, load3(cone.arm), cone.other
        slip = rate_along(model, data, rates, cone.node, wrench(load3(cone.first), x), other) + cone.drift[0] / dt
        along = rate_along(model, data, rates, cone.node, wrench(load3(cone.second), x), other) + cone.drift[1] / dt
        if is_sticking(slip, along, whole):
            cone.friction, contact.sticks = pair.static, 1


@routine
def take_turn(pair, cone, rolls):
    """Set the coefficients of torsional and rolling friction of a contact."""
    cone.width = PLAIN
    if rolls is None or not rolls:
        return
    cone.spin, cone.roll = pair.spin, pair.roll
    if pair.spin > 0.0 or pair.roll > 0.0:
        cone.width = TURNING


@routine
def move_surfaces(shapes, data, contact, cone, dt):
    """Set the relative displacement of moving surfaces (belts) at a contact in the step."""
    pair, start = shapes.pairs[contact.pair], contact.pair * 0
    a, b = shapes.shapes[pair.a].belt, shapes.shapes[pair.b].belt
    contact.belt = 0
    cone.drift[0] = cone.drift[1] = 0.0
    for i in range(3):
        contact.belt_a[i], contact.belt_b[i] = a[i], b[i]
        if a[i] != 0.0 or b[i] != 0.0:
            contact.belt = 1
    if contact.belt != 0:
        Ra, Rb = pose(data, start, contact.a)[0], pose(data, start, contact.b)[0]
        way = scale3(dt, sub3(matvec(Rb, load3(b)), matvec(Ra, load3(a))))
        cone.drift[0], cone.drift[1] = dot3(load3(cone.first), way), dot3(load3(cone.second), way)


@routine
def has_features(one, two):
    """Whether contacts of two shapes are between corners, edges and faces, which may change; false for round shapes."""
    first, second = min(one.kind, two.kind), max(one.kind, two.kind)
    if first == BOX and second <= CAPSULE:
        return second in (BOX, CAPSULE)
    return first == FIELD or second > CAPSULE


@routine
def is_known(found, count, key):
    """Whether one of the first `count` contacts has a key."""
    known = count < 0
    for j in range(count):
        known = known or found.contacts[j].key == key
    return known


@routine
def left_of(data, found, first, k):
    """Penetration [m] that pair k may have at the end of the step: the rest of an initial overlap."""
    deepest = 0.0
    for j in range(found.now[0].count):
        if found.contacts[j].pair == k:
            deepest = max(deepest, -data.touch.least[first + j])
    return deepest


@routine
def add_violated_contacts(model, data, shapes, found, lengths, falls):
    """Add contacts of shapes that penetrate at the end of the step without an active contact; returns how many."""
    if found is None:
        return 0
    now, contacts, first, nothing, fall = found.now[0], found.contacts, model.cones.shape[0], 0.0, falls[0]
    if now.until == now.rounds + 1:
        return 0
    before, start, waiting, known = now.count, now.count * 0, now.count * 0, np.int64(0)
    listed = is_listed(shapes, data, found, nothing, start + 1)
    end_bodies(shapes, data, found.clearance, start + 1)
    for m in range(now.listed if listed else shapes.pairs.shape[0]):
        k = found.listed[m] if listed else m
        a, b = shapes.shapes[shapes.pairs[k].a], shapes.shapes[shapes.pairs[k].b]
        if found.clearance.least[k] > approach_of(found.clearance.ends, a.body, b.body):
            continue
        deep, left = DEEP * min(a.bound, b.bound), left_of(data, found, first, k)
        deep, sharp = max(deep, data.touch.deepest[0]), has_features(a, b)
        while known < before and contacts[known].pair < k:
            known += 1
        if known < before and contacts[known].pair == k:
            if shapes.softness[k, 0] > 0.0:
                continue  # soft shapes may penetrate; new features follow in the next step
            X = pose(data, start + 1, a.body), pose(data, start + 1, b.body)
            own = contacts[known]
            if still_touch(own, shapes.shapes, shapes.pairs, X, shapes.table, deep + left, shapes.convex):
                continue
        last = detect_pair(shapes, data, found, k, start + 1, now.count, nothing, shapes.convex)
        if last > contacts.shape[0]:
            now.full = 1
            return 0
        if last == now.count:
            continue
        for j in range(now.count, last):
            phi, _, _ = gap_at(data, contacts[j], start + 1)
            if phi < -deep - left and (sharp or not is_known(found, now.count, contacts[j].key)):
                contacts[now.count] = contacts[j]
                contacts[now.count].late = now.rounds + 1
                take(model, data, found, now.count, lengths, falls)
                c = first + now.count
                now.count += 1
                if is_waiting(data.touch.impacts, c):
                    waiting += 1
                    continue
                data.touch.active[c] = 1
                # At the start the features may lie beyond each other's ends, with a meaningless negative gap. A deep
                # penetration is then resolved gradually as in `overlap_left`, not with high velocity.
                rest = min(phi + math.sqrt(-fall * phi), 0.0)
                if left == 0.0 and a.kind != FIELD and b.kind != FIELD:
                    rest = 0.0
                data.touch.start_gap[c], data.touch.least[c] = 0.0, max(data.touch.least[c], rest)
                if data.touch.impulse_compliance[c] > 0.0:
                    data.touch.least[c] = 0.0
    now.rounds += 1 if now.count > before else 0
    return now.count - before - waiting


@routine
def is_partial(found):
    """Whether solutions are accepted in spite of penetrating bodies, see `FOUND`."""
    if found is None:
        return False
    return found.now[0].until > 0


@routine
def store_detected(model, data, found):
    """Store the impulses of a step that has just ended for the warm start of the next, and append forces to the log.

    A log without rows records nothing.
    """
    if found is None:
        return
    now, touch, log, total = found.now[0], data.touch, found.log, data.touch.phase.total
    now.kept = now.count
    for j in range(now.count):
        cone = found.cones[model.cones.shape[0] + j]
        at = cone.row
        found.keys[j] = found.contacts[j].key
        for i in range(found.impulses.shape[1]):
            found.impulses[j, i] = touch.lam[at + i]
        if total[at] <= 0.0 or log.shape[0] == 0:
            continue
        if now.written >= log.shape[0]:
            now.full = 1
            return
        row = log[now.written]
        along = axpy3(total[at + 1], load3(cone.first), scale3(total[at], load3(cone.normal)))
        f = add3(along, scale3(total[at + 2], load3(cone.second)))
        row[0], row[1], row[2] = now.step, cone.other, cone.node
        for i in range(3):
            row[3 + i], row[6 + i] = cone.arm[i], f[i] / now.dt
        row[9] = gap_at(data, found.contacts[j], now.count * 0)[0]
        now.written += 1
