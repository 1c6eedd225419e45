"""Contacts that a step has missed: features that did not face each other at its start and overlap at its end.

What touches what is decided at the start of a step. Two boxes that turn and slide may meet with other corners and edges
at its end; those are looked for after the step is solved, and it is solved again with them.
"""

import math

import numpy as np

from leastaction._jit import routine
from leastaction.contact import cones as ip
from leastaction.contact.detect import detect
from leastaction.contact.gap import gap
from leastaction.contact.records import BOX, CAPSULE, CYLINDER, FIELD, MESH
from leastaction.maximal.contact.detection import APART, LIGHT, NO_ROOM, contact_cone
from leastaction.maximal.step.bodies import end_pose

ROUNDS = 4
"""Most times that a step is solved again."""

DEEP = 1e-6
"""Overlap that counts, relative to the size of the shapes."""


@routine(allocates=False)
def has_features(one, two):
    """Whether contacts of two shapes are of corners, edges and faces, which may change; round ones know no such."""
    first, second = min(one.kind, two.kind), max(one.kind, two.kind)
    if first == BOX:
        return second in (BOX, CAPSULE)
    return first == FIELD or second in (CYLINDER, MESH)


@routine(allocates=False)
def allowed(contact, k):
    """How deep shapes of pair k may overlap at the end of the step [m]: what may be left of an overlap at its start."""
    deepest = 0.0
    for j in range(contact.now[0].count):
        c = contact.cones[j]
        if c.source >= 0 and contact.contacts[c.source].pair == k:
            deepest = max(deepest, -c.rest)
    return deepest


@routine(allocates=False)
def add_missed(model, settings, data, near, contact, dt, features):
    """Append cones for what overlaps at the end of a solved step; how many, or NO_ROOM.

    With them the cones are back on the central path, for the step to be solved again from its present velocities.

    Args:
        features: see `ContactModel`; None where nothing can be missed.
    """
    if features is None:
        return np.int64(0)
    cones, contacts, shapes, pairs, now = contact.cones, contact.contacts, near.shapes, near.pairs, contact.now[0]
    found = np.int64(0)
    for j in range(now.count):
        found = max(found, cones[j].source + 1)
    count, nothing = now.count, 0.0
    for k in range(pairs.shape[0]):
        a, b = shapes[pairs[k].a], shapes[pairs[k].b]
        if not has_features(a, b):
            continue
        Xa, Xb = end_pose(data.bodies, a.body), end_pose(data.bodies, b.body)
        last = detect(shapes, pairs, k, Xa, Xb, near.table, contacts, found, nothing)
        if last > contacts.shape[0] or count + last - found > cones.shape[0]:
            return NO_ROOM
        deep = DEEP * min(a.bound, b.bound)
        left = allowed(contact, k) if last > found else 0.0
        # Two bodies that a plane kept apart at the start overlap by what they have moved within the step alone.
        undo = left == 0.0 and a.kind != FIELD and b.kind != FIELD
        for j in range(found, last):
            phi, _, _ = gap(contacts[j], Xa, Xb)
            if phi < -deep - left:
                contacts[found] = contacts[j]
                cone = cones[count]
                energy = contact_cone(
                    model.bodies, data.bodies, settings, cone, contacts[found], found, near.edges[k], dt
                )
                now.energy = max(now.energy, energy)
                cone.own = min(max(cone.own / now.energy, LIGHT), 1.0)
                # At the start the features may lie beyond each other's ends, with a gap below zero that says nothing.
                # Then what is deep is left as in `overlap_left`: nothing is shot away.
                rest = 0.0 if undo else min(phi + math.sqrt(-cone.leave * phi), 0.0)
                if rest > cone.rest:
                    cone.rest, cone.side = rest, APART
                found += 1
                count += 1
    missed = count - now.count
    if missed > 0:
        now.count, now.known, now.warm = count, count, 0
        for k in range(count):
            c = cones[k]
            c.share = c.own
            ip.begin(c, max(c.s, settings.gravity * dt), c.y[0], c.y[1], now.energy)
    return missed
