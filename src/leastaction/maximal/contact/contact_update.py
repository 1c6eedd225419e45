"""Contacts and limits that a step has missed: they took no part in it and are violated at its end.

What touches what is decided at the start of a step. Two boxes that turn and slide may meet with other corners and edges
at its end, and an impact may throw a limb far that was at rest; those are looked for after the step is solved, and it
is solved again with them.
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
"""Most times that a step is solved again; one that still misses something is divided."""

LAST_ROUND = ROUNDS + 1
"""See `MaximalSettings.rounds`."""

DEEP = 1e-6
"""Overlap that counts, relative to the size of the shapes."""


@routine(allocates=False)
def has_features(one, two):
    """Whether contacts of two shapes are of corners, edges and faces, which may change; round ones know no such."""
    first, second = min(one.kind, two.kind), max(one.kind, two.kind)
    if first == BOX and second <= CAPSULE:
        return second in (BOX, CAPSULE)
    return first == FIELD or second > CAPSULE


@routine(allocates=False)
def allowed_penetration(contact, k):
    """How deep shapes of pair k may overlap at the end of the step [m]: what may be left of an overlap at its start."""
    deepest = 0.0
    for j in range(contact.now[0].count):
        c = contact.cones[j]
        if c.source >= 0 and contact.contacts[c.source].pair == k:
            deepest = max(deepest, -c.rest)
    return deepest


@routine(allocates=False)
def add_violated_contacts(model, settings, data, near, contact, dt):
    """Append cones for what overlaps at the end of a solved step; how many, or NO_ROOM or UNTIED (see `find_cones`).

    With them the cones are back on the central path, for the step to be solved again from its present velocities.
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
    """Append limits that are exceeded at the end of the step and took no part in it; the number of cones."""
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
    """Whether a cone of the step has a key."""
    found = False
    for k in range(contact.now[0].count + contact.now[0].waiting):
        found = found or cone_of(contact, k).key == key
    return found


@routine(allocates=False)
def end_rate(model, data, contact, cone, touching, source):
    """Rate of the gap of a contact at the end of a solved step [m/s], for the time when it has closed.

    Where its features are not those of the start, its gap there says nothing.
    """
    cone.source, cone.a, cone.b, cone.kind = source, touching.a, touching.b, ip.LIMIT
    _, ea, eb = measure(model.coordinates, data.bodies, data.coordinates, contact.contacts, cone)
    return work(data.bodies, ea, cone.a) + work(data.bodies, eb, cone.b)


@routine(allocates=False)
def append_contacts(model, settings, data, near, contact, count, dt, features, convex):
    """Append contacts of shapes that overlap at the end of the step; the number of cones, or NO_ROOM or UNTIED.

    Args:
        count: of cones, with limits that were missed.
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
        # Two bodies that a plane kept apart at the start overlap by what they have moved within the step alone.
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
                # At the start the features may lie beyond each other's ends, with a gap below zero that says nothing.
                # Then what is deep is left as in `overlap_left`: nothing is shot away.
                rest = 0.0 if undo else min(phi + math.sqrt(-cone.gravity_drop * phi), 0.0)
                if rest > cone.rest:
                    cone.rest, cone.side = rest, APART
                count = append_turning(data.bodies, pairs[k], contact, count, near.turning)
                found += 1
    return UNTIED if loose else count
