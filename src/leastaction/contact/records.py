"""NumPy record types of contact kernels, and the codes in their fields."""

import numpy as np

PLANE, FIELD, BOX, SPHERE, CAPSULE, CYLINDER, MESH, ELLIPSOID = range(8)
"""Kinds of shapes. In a pair, the shape whose kind comes first holds the reference feature."""

GIVEN, LOCKED = 1, 2
"""Why forces cannot move a body: its motion is prescribed, or equations leave it no freedom."""

SHAPE = np.dtype(
    [
        ("kind", "i8"),
        ("body", "i8"),  # index that the shape is fixed to, -1 for the world
        ("R", "f8", 9),  # pose of the shape in the index's frame: rotation, row major
        ("p", "f8", 3),  # ... and origin [m]
        ("half", "f8", 3),  # half edges of a box; (0, 0, half length) of capsule, cylinder; radii of an ellipsoid [m]
        ("radius", "f8"),  # of sphere, capsule, cylinder [m]; 0 is a point
        ("centre", "f8", 3),  # of the bounding sphere, in the index's frame [m]
        ("bound", "f8"),  # radius of the bounding sphere [m], infinite for grounds
        ("thickness", "f8"),  # radius of an inscribed ball [m], infinite for planes and height fields
        ("first", "i8"),  # index of its first number in the flat array of heights and vertices
        ("rows", "i8"),  # grid points along x, or number of vertices
        ("columns", "i8"),  # grid points along y
        ("spacing", "f8"),  # of the grid [m]
        ("faces", "i8"),  # of a polytope: index of its first face number in that array, see `convex_hulls`
        ("face_count", "i8"),
        ("edges", "i8"),  # ... and of its edges
        ("edge_count", "i8"),
        ("belt", "f8", 3),  # surface velocity, in the index's frame [m/s]
        ("given", "i8"),  # GIVEN if all motion of its body is prescribed, LOCKED if equations leave it no freedom
    ],
    align=True,
)
"""A collision shape. Vertices and faces of polytopes are in the frame of their index."""

PAIR = np.dtype(
    [
        ("a", "i8"),  # shape; one of the world always comes first
        ("b", "i8"),
        ("key", "i8"),  # base of the contacts' keys, to which the number of the feature is added
        ("friction", "f8"),
        ("restitution", "f8"),
        ("spin", "f8"),  # torsional and rolling friction: torque per normal force [m]
        ("roll", "f8"),
        ("static", "f8"),  # static friction coefficient, at least `friction`
    ],
    align=True,
)
"""Two shapes that may touch."""

POINT_ON_PLANE, RIM_ON_PLANE, SEGMENTS, EDGES, POINT_ON_BOX, POINT_ON_TRIANGLE = np.arange(6)
ROUND_ON_PLANE, ROUNDS, ROUND_AND_LINE, ROUND_ON_TRIANGLE = np.arange(6, 10)
"""Kinds of contacts; see `gap`. NumPy's integers, since kernels are compiled anew for each literal."""

CONTACT = np.dtype(
    [
        ("kind", "i8"),
        ("a", "i8"),  # index of the body that the normal points away from, -1 for the world
        ("b", "i8"),  # index of the body that the normal points to
        ("flip", "i8"),  # 0: the first feature is fixed to a and the second to b; 1: the other way round
        ("pair", "i8"),  # index of the pair
        ("key", "i8"),  # identifies the contact from step to step
        ("friction", "f8"),  # coefficient in effect: the static one of its pair while it sticks
        ("sticks", "i8"),  # whether that is the static one
        ("restitution", "f8"),
        ("spin", "f8"),  # as in its pair; set only where such friction acts
        ("roll", "f8"),
        ("r1", "f8"),  # radius about the first feature [m]
        ("r2", "f8"),  # radius about the second feature, or of the rim [m]
        ("u", "f8", 3),  # first feature, in its body's frame
        ("v", "f8", 3),
        ("n", "f8", 3),  # normal at detection, in the first body's frame; for points see `emit`
        ("w", "f8", 3),  # second feature, in its body's frame
        ("z", "f8", 3),
        ("belt", "i8"),  # 1 if one of the surfaces moves along its shape
        ("belt_a", "f8", 3),  # surface velocities, in the frames of a and b [m/s]; set only where belt = 1
        ("belt_b", "f8", 3),
        ("late", "i8"),  # 0, or the number of the iteration of the step that detected it, see `maximal.contact`
        ("R", "f8", 9),  # rotation of a box, corners of a triangle, remaining entries of Q, see `gap`, or how a
        # point moves over its body, see `feature_motion`
    ],
    align=True,
)
"""A pair of features that may touch, each treated as fixed to its body during one step."""


def records(count: int, dtype: np.dtype) -> np.recarray:
    """Allocate `count` records of zeros."""
    return np.zeros(count, dtype).view(np.recarray)
