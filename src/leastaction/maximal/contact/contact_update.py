"""Contacts and limits that a step has missed: not among its cones, but violated at its end.

Contact detection is done at the start of a step. Two boxes that rotate and slide may touch at other corners and edges
at its end, and an impact may accelerate a limb that was at rest; such contacts are detected after the step is solved,
and it is solved again with them.
"""

import math

import numpy as np

from leastaction._jit import routine
from leastaction.contact.clearance import approach_of, still_touch
from leastaction.contact.laws import cones as ip
from leastaction.contact.narrow_phase.gap import gap
from leastaction.contact.records import BOX, CAPSULE, FIELD
from leastaction.maximal.contact.contact_setup import (
    APART,
    CLOSE,
    HAIR,
    LIGHT,
    LOOSE,
    NO_ROOM,
    UNTIED,
    append_turning,
    bounces,
    choose_friction,
    cone_of,
    cones_of,
    contact_cone,
    detect_pair,
    move_surfaces,
)
from leastaction.maximal.contact.limit_setup import limit_cone, limit_key
from leastaction.maximal.contact.mid_phase import end_bodies, is_listed
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.maximal.step.block_parts import work
from leastaction.maximal.step.bodies import END, end_pose
from leastaction.maximal.step.joint_rows import coordinate
from leastaction.maximal.step.solver.predictor_corrector import measure

ROUNDS = 6
"""Most times that a step is solved again for missed contacts; if it still misses some, it is bisected."""

LAST_ROUND = ROUNDS + 1
"""See `MaximalSettings.rounds`."""

DEEP = 1e-6
"""Overlap above which a contact counts as missed, relative to the size of the shapes."""


@routine(allocates=False)
def has_features(one, two):
    """Whether two shapes touch at corners, edges and faces, which may change; round shapes have none."""
    first, second = min(one.kind, two.kind), max(one.kind, two.kind)
    if first == BOX and second <= CAPSULE:
        return second in (BOX, CAPSULE)
    return first == FIELD or second > CAPSULE


@routine(allocates=False)
def allowed_penetration(contact, k):
    """Allowed penetration of the shapes of pair k at the end of the step [m]: what remains of one at its start."""
    deepest = 0.0
    for j in range(contact.now[0].count):
        c = contact.cones[j]
        if c.source >= 0 and contact.contacts[c.source].pair == k:
            deepest = max(deepest, -c.rest)
    return deepest


@routine(allocates=False)
def add_violated_contacts(model, settings, data, near, contact, dt):
    """Append cones for overlaps at the end of a solved step; their number, or NO_ROOM or UNTIED (see `find_cones`).

    Puts all cones back on the central path, to solve the step again from its present velocities.
    """
    now = contact.now[0]
    count = append_limits(model, settings, data, contact, now.count, dt)
    count = append_contacts(model, settings, data, near, contact, count, dt, near.features, near.convex)
    missed = count - now.count
    if count > 0 and missed > 0:
        for k in range(count):
            c = contact.cones[k]
            c.previous = k if k < now.count else -1
            contact.impulses[k, 0], contact.impulses[k, 1], contact.impulses[k, 2] = c.gam, c.beta[0], c.beta[1]
        now.sure = 1 if settings.warm_start and settings.directions == 0 else 0
        now.count, now.known, now.saved, now.matched = count, count, 0, 0
        for k in range(count):
            c = contact.cones[k]
            c.share = c.target_share
            ip.begin(c, max(c.s, settings.gravity * dt), c.y[0], c.y[1], now.energy)
    return missed if count >= 0 else count


@routine(allocates=False)
def append_limits(model, settings, data, contact, count, dt):
    """Append limits violated at the end of the step that were not among its cones; returns the number of cones."""
    states, cones, now = data.bodies, contact.cones, contact.now[0]
    for k in range(model.coordinates.shape[0]):
        c, s = model.coordinates[k], data.coordinates[k]
        if c.kind == BALL or c.kind == FREE or (c.lower < -1e30 and c.upper > 1e30):
            continue
        Ra, xa = end_pose(states, c.a)
        Rb, xb = end_pose(states, c.b)
        value, _, _, _ = coordinate(c, s.value, Ra, xa, Rb, xb)
        side = 1.0 if value < c.lower else (-1.0 if value > c.upper else 0.0)
        if side == 0.0 or takes_part(contact, limit_key(k, side)):
            continue
        limit_cone(model, settings, data, cones[count], k, side, (value - s.value) / dt, now.push, dt)
        now.energy = max(now.energy, cones[count].gam)
        cones[count].target_share = min(max(cones[count].gam / now.energy, LIGHT), 1.0)
        count += 1
    return count


@routine(allocates=False)
def takes_part(contact, key):
    """Whether the step has a cone with this key."""
    found = False
    for k in range(contact.now[0].count + contact.now[0].waiting):
        found = found or cone_of(contact, k).key == key
    return found


@routine(allocates=False)
def end_rate(model, data, contact, cone, touching, source):
    """Rate of the gap of a contact at the end of a solved step [m/s], to estimate when it closed.

    Where its features differ from those at the start, the gap there is of no use.
    """
    cone.source, cone.a, cone.b, cone.kind = source, touching.a, touching.b, ip.LIMIT
    _, ea, eb = measure(model.coordinates, data.bodies, data.coordinates, contact.contacts, cone)
    return work(data.bodies, ea, cone.a) + work(data.bodies, eb, cone.b)


@routine(allocates=False)
def append_contacts(model, settings, data, near, contact, count, dt, features, convex):
    """Append contacts of shapes that overlap at the end of the step; the number of cones, or NO_ROOM or UNTIED.

    Args:
        count: number of cones, including missed limits.
        features, convex: see `ContactModel`.
    """
    cones, contacts, shapes, pairs, now = contact.cones, contact.contacts, near.shapes, near.pairs, contact.now[0]
    found = np.int64(0)
    for j in range(now.count + now.waiting):
        found = max(found, cone_of(contact, j).source + 1)
    nothing, loose, known = 0.0, False, np.int64(0)
    listed = is_listed(data.bodies, near, contact, nothing, END)
    end_bodies(data.bodies, near, contact)
    for m in range(now.listed if listed else pairs.shape[0]):
        k = contact.listed[m] if listed else m
        a, b = shapes[pairs[k].a], shapes[pairs[k].b]
        if contact.least[k] > approach_of(contact.ends, a.body, b.body):
            continue
        Xa, Xb = end_pose(data.bodies, a.body), end_pose(data.bodies, b.body)
        deep = DEEP * min(a.bound, b.bound)
        while known < found and contacts[known].pair < k:
            known += 1
        most = deep + allowed_penetration(contact, k)
        same = known < found and contacts[known].pair == k
        if same and still_touch(contacts[known], shapes, pairs, (Xa, Xb), near.table, most, convex):
            continue
        last = detect_pair(near, contact, k, (Xa, Xb), found, nothing, features, convex)
        if last > contacts.shape[0] or count + cones_of(near) * (last - found) + now.waiting > cones.shape[0]:
            return NO_ROOM
        left = allowed_penetration(contact, k) if last > found else 0.0
        # Bodies without overlap at the start, separated by a plane, overlap only by their motion within the step.
        undo = left <= HAIR and a.kind != FIELD and b.kind != FIELD
        for j in range(found, last):
            phi, _, _ = gap(contacts[j], Xa, Xb)
            if phi < -deep - left and (has_features(a, b) or not takes_part(contact, contacts[j].key)):
                contact.touched[k] = max(contact.touched[k], CLOSE)
                loose = loose or near.edges[k] == LOOSE
                if loose:
                    break
                contacts[found] = contacts[j]
                move_surfaces(near, k, contacts[found])
                contacts[found].late = now.rounds + 1
                cone = cones[count]
                if bounces(settings, now, contacts[found]):
                    rate = end_rate(model, data, contact, cone, contacts[found], found)
                    if rate < 0.0:
                        now.impact, now.nearest = min(now.impact, dt - phi / rate), min(now.nearest, phi)
                        continue
                energy = contact_cone(
                    model.bodies, data.bodies, settings, cone, contacts[found], found, near.edges[k], now.push, dt
                )
                choose_friction(model.bodies, data.bodies, settings, pairs[k], cone, contacts[found])
                now.energy = max(now.energy, energy)
                cone.target_share = min(max(cone.target_share / now.energy, LIGHT), 1.0)
                # At the start features may lie beyond each other's ends, with a meaningless negative gap. A deep
                # overlap is then resolved gradually as in `overlap_left`, without ejecting a body.
                rest = 0.0 if undo else min(phi + math.sqrt(-cone.gravity_drop * phi), 0.0)
                if rest > cone.rest:
                    cone.rest, cone.side = rest, APART
                count = append_turning(data.bodies, pairs[k], contact, count, near.turning)
                found += 1
    return UNTIED if loose else count
