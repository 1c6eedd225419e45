"""The records of bodies, joint equations and coordinates that the kernels read."""

from typing import Any

import numpy as np

from leastaction.contact.records import records

__all__ = ["BALL", "BODY", "COORDINATE", "FREE", "HINGE", "ROW", "SLIDE", "filled", "records"]

SLIDE, HINGE, BALL, FREE = range(4)

BODY = np.dtype(
    [
        ("parent", "i8"),  # body that carries it in the spanning tree, -1 for the world
        ("mass", "f8"),
        ("J", "f8", 9),  # rotational inertia about the COM, in the body's directions, row major
        ("radius", "f8"),  # of gyration [m]: what angular velocities are scaled with
    ],
    align=True,
)
"""One rigid body; its frame sits in its COM."""

ROW = np.dtype(
    [
        ("kind", "i8"),
        ("a", "i8"),  # bodies, -1 for the world
        ("b", "i8"),
        ("node", "i8"),  # which group of rows it belongs to
        ("local", "i8"),  # its place in there
        ("ea", "i8"),  # edges of the graph to the bodies, -1 where there is none
        ("eb", "i8"),
        ("ea2", "i8"),  # of the leader's bodies
        ("eb2", "i8"),
        ("eab", "i8"),  # edge between the bodies of a row that is lent to a massless child
        ("coordinate", "i8"),  # angle of a screw, follower of a coupling
        ("leader", "i8"),  # of a coupling
        ("first", "i8"),  # its polynomial
        ("count", "i8"),
        ("n", "f8", 3),  # in the frame of a
        ("w", "f8", 3),  # in the frame of b
        ("pa", "f8", 3),
        ("pb", "f8", 3),
        ("value", "f8"),
        ("pitch", "f8"),
    ],
    align=True,
)
"""One scalar equation of a joint or coupling; kinds as in `mechanism.closure`."""

COORDINATE = np.dtype(
    [
        ("kind", "i8"),  # SLIDE, HINGE, BALL or FREE
        ("a", "i8"),  # bodies; of the second hinge of a universal joint the child comes first
        ("b", "i8"),
        ("iq", "i8"),  # first entry in q and v, -1 for a joint that closes a loop
        ("iv", "i8"),
        ("edge", "i8"),  # edge of the graph between a and b, -1 where there is none
        ("pitch", "f8"),  # advance of a screw per angle [m/rad]
        ("sign", "f8"),  # -1 for that second hinge
        ("n", "f8", 3),  # axis in the frame of a
        ("n2", "f8", 3),  # zero mark in a
        ("w2", "f8", 3),  # zero mark in b
        ("pa", "f8", 3),  # joint's origin in a and, moved, in b
        ("pb", "f8", 3),
        ("Ra", "f8", 9),  # joint's frame in a and, moved, in b (BALL and FREE)
        ("Rb", "f8", 9),
        ("rest", "f8"),
        ("stiffness", "f8"),  # of joints that close loops; tree joints have theirs in the tree's arrays
        ("damping", "f8", 6),
        ("armature", "f8"),  # of SLIDE and HINGE
        ("friction", "f8"),
        ("lower", "f8"),
        ("upper", "f8"),
    ],
    align=True,
)
"""A coordinate of a joint: one number (SLIDE, HINGE) or an orientation (BALL), or both (FREE)."""


def filled(items: list[dict[str, Any]], dtype: np.dtype) -> Any:
    """A record array from one dict per record."""
    out = records(len(items), dtype)
    for record, values in zip(out, items, strict=True):
        for name, value in values.items():
            record[name] = value
    return out
