"""Tunnelling of bodies of `Maximal` within a step, see `contact.laws.tunnelling`."""

import math

import numpy as np

from leastaction._jit import inline, routine
from leastaction.contact.laws.tunnelling import strides_of, too_deep
from leastaction.contact.narrow_phase.gap import gap
from leastaction.maximal.contact.contact_margins import reach_of
from leastaction.maximal.contact.contact_setup import cone_of, detect_pair
from leastaction.maximal.contact.mid_phase import is_listed
from leastaction.maximal.step.bodies import END, start_pose
from leastaction.spatial import (
    act,
    axpy3,
    dot3,
    load3,
    load4,
    norm3,
    quat_mul,
    quat_normalize,
    quat_to_rotation,
    scale3,
    sub3,
)


@inline
def pose_within(states, body, time):
    """Pose of a body `time` [s] after the start of a step."""
    if body < 0:
        return start_pose(states, body)
    s = states[body]
    u = scale3(0.5 * time, load3(s.w))
    c = math.sqrt(max(1.0 - dot3(u, u), 0.0))
    quat = quat_normalize(quat_mul(load4(s.quat), (c, u[0], u[1], u[2])))
    return quat_to_rotation(quat), axpy3(time, load3(s.vc), load3(s.p))


@inline
def velocity_of(states, body):
    """Velocity (3) of a body's COM in a step [m/s], and its angular speed [rad/s]."""
    if body < 0:
        return (0.0, 0.0, 0.0), 0.0
    return load3(states[body].vc), norm3(load3(states[body].w))


@routine(allocates=False)
def passes_through(data, near, contact, dt, features, convex):
    """Whether two shapes penetrate each other deeply within a solved step, but not at its start.

    Args:
        features, convex: see `ContactModel`.
    """
    contacts, shapes, pairs, states = contact.contacts, near.shapes, near.pairs, data.bodies
    found, nothing = np.int64(0), 0.0
    for j in range(contact.now[0].count + contact.now[0].waiting):
        found = max(found, cone_of(contact, j).source + 1)
    listed = is_listed(states, near, contact, nothing, END)
    for m in range(contact.now[0].listed if listed else pairs.shape[0]):
        k = contact.listed[m] if listed else m
        a, b = shapes[pairs[k].a], shapes[pairs[k].b]
        va, wa = velocity_of(states, a.body)
        vb, wb = velocity_of(states, b.body)
        path = abs(dt) * (norm3(sub3(vb, va)) + wa * reach_of(a) + wb * reach_of(b))
        d = sub3(act(start_pose(states, b.body), load3(b.centre)), act(start_pose(states, a.body), load3(a.centre)))
        strides = strides_of(a, b, d, path)
        for j in range(strides):
            time = dt * j / strides
            Xa, Xb = pose_within(states, a.body, time), pose_within(states, b.body, time)
            last = min(detect_pair(near, contact, k, (Xa, Xb), found, nothing, features, convex), contacts.shape[0])
            deep = False
            for i in range(found, last):
                deep = deep or gap(contacts[i], Xa, Xb)[0] < -too_deep(a, b)
            if deep and j == 0:
                break  # they separate from an initial overlap
            if deep:
                return True
    return False
