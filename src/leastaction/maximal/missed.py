"""Contacts that a step has missed: features that did not face each other at its start and overlap at its end.

What touches what is decided at the start of a step. Two boxes that turn and slide may meet with other corners and edges
at its end; those are looked for after the step is solved, and it is solved again with them.
"""

import numpy as np

from leastaction._jit import routine
from leastaction.contact import cones as ip
from leastaction.contact.detect import detect
from leastaction.contact.gap import gap
from leastaction.contact.records import BOX, CAPSULE, FIELD
from leastaction.maximal.bodies import end_pose
from leastaction.maximal.detection import contact_cone

ROUNDS = 4
"""Most times that a step is solved again."""

DEEP = 1e-6
"""Overlap that counts, relative to the size of the shapes."""


@routine
def has_features(one, two):
    """Whether contacts of two shapes are of corners, edges and faces, which may change; round ones know no such."""
    first, second = min(one.kind, two.kind), max(one.kind, two.kind)
    if first == BOX:
        return second == BOX or second == CAPSULE
    return first == FIELD


@routine
def overlapped(cones, count, contacts, k, deep):
    """Whether shapes of pair k overlapped at the start of the step: then some of it may be left."""
    for j in range(count):
        c = cones[j]
        if c.source >= 0 and contacts[c.source].pair == k and c.rest < -deep:
            return True
    return False


@routine
def add_missed(contact, count, bodies, states, dt):
    """Append cones for what overlaps at the end of a solved step; how many, or -1 where there is no room.

    With them the cones are back on the central path, for the step to be solved again from its present velocities.
    """
    cones, contacts, shapes, pairs, edges, data, numbers = contact[:6] + (contact[7],)
    found = np.int64(0)
    for j in range(count):
        found = max(found, cones[j].source + 1)
    before, nothing = count, 0.0
    for k in range(pairs.shape[0]):
        a, b = shapes[pairs[k].a], shapes[pairs[k].b]
        deep = DEEP * min(a.bound, b.bound)
        if not has_features(a, b) or overlapped(cones, before, contacts, k, deep):
            continue
        Xa, Xb = end_pose(states, a.body), end_pose(states, b.body)
        last = detect(shapes, pairs, k, Xa, Xb, data, contacts, found, nothing)
        if last > contacts.shape[0] or count + last - found > cones.shape[0]:
            return np.int64(-1)
        for j in range(found, last):
            phi, _, _ = gap(contacts[j], Xa, Xb)
            if phi < -deep:
                contacts[found] = contacts[j]
                cone = cones[count]
                energy = contact_cone(
                    cone, contacts[found], found, edges[k], bodies, states, int(numbers[0]), dt, numbers[1]
                )
                numbers[3] = max(numbers[3], energy)
                cone.rest = 0.0  # the features may lie beyond each other's ends at the start
                found += 1
                count += 1
    if count > before:
        for k in range(count):
            c = cones[k]
            ip.begin(c, max(c.s, numbers[1] * dt), c.y[0], c.y[1], numbers[3])
        numbers[8], numbers[10] = count, 0.0
    return count - before
