"""The records that contact kernels read and write, and the codes in them."""

import numpy as np

PLANE, FIELD, BOX, SPHERE, CAPSULE, CYLINDER, MESH, ELLIPSOID = range(8)
"""Kinds of shapes, in the order in which a pair is looked at: the first of two kinds holds the reference."""

GIVEN, LOCKED = 1, 2
"""Why nothing can push a body: its motion is prescribed, or equations leave it none of its own."""

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
        ("thickness", "f8"),  # radius of a ball that fits into it [m], infinite for grounds
        ("first", "i8"),  # of its numbers in the flat array of heights and vertices
        ("rows", "i8"),  # grid points along x, or number of vertices
        ("columns", "i8"),  # grid points along y
        ("spacing", "f8"),  # of the grid [m]
        ("faces", "i8"),  # of a polytope: first of the numbers of its faces in that array, see `hulls`
        ("face_count", "i8"),
        ("edges", "i8"),  # ... and of its edges
        ("edge_count", "i8"),
        ("belt", "f8", 3),  # velocity of its surface, in the index's frame [m/s]
        ("given", "i8"),  # GIVEN if all motion of its body is prescribed, LOCKED if equations leave it none of its own
    ],
    align=True,
)
"""A shape that may touch others. Vertices and faces of polytopes are in the frame of their index."""

PAIR = np.dtype(
    [
        ("a", "i8"),  # shape; one of the world comes first
        ("b", "i8"),
        ("key", "i8"),  # of the pair's contacts: this plus the number of the feature
        ("friction", "f8"),
        ("restitution", "f8"),
        ("spin", "f8"),  # friction against spinning and rolling: torque per normal force [m]
        ("roll", "f8"),
        ("static", "f8"),  # friction of contacts that stick, at least `friction`
    ],
    align=True,
)
"""Two shapes that may touch."""

POINT_ON_PLANE, RIM_ON_PLANE, SEGMENTS, EDGES, POINT_ON_BOX, POINT_ON_TRIANGLE = np.arange(6)
ROUND_ON_PLANE, ROUNDS, ROUND_AND_LINE, ROUND_ON_TRIANGLE = np.arange(6, 10)
"""Kinds of contacts; see `gap`. NumPy's integers, since kernels compile anew for each literal."""

CONTACT = np.dtype(
    [
        ("kind", "i8"),
        ("a", "i8"),  # index of the body that the normal points away from, -1 for the world
        ("b", "i8"),  # index of the body that the normal points to
        ("flip", "i8"),  # 0: the first feature is fixed to a and the second to b; 1: the other way round
        ("pair", "i8"),  # index of the pair
        ("key", "i8"),  # the same contact has the same key at the next step
        ("friction", "f8"),  # that acts: the static one of its pair where it sticks
        ("sticks", "i8"),  # whether that is the static one
        ("restitution", "f8"),
        ("spin", "f8"),  # as of its pair; set where such friction acts
        ("roll", "f8"),
        ("r1", "f8"),  # radius about the first feature [m]
        ("r2", "f8"),  # radius about the second feature, or of the rim [m]
        ("u", "f8", 3),  # first feature, in its body's frame
        ("v", "f8", 3),
        ("n", "f8", 3),  # normal when it was found, in the first body's frame; of points see `emit`
        ("w", "f8", 3),  # second feature, in its body's frame
        ("z", "f8", 3),
        ("belt", "i8"),  # 1 if a surface moves along its shape
        ("belt_a", "f8", 3),  # how fast, in the frames of a and b [m/s]; set where one does
        ("belt_b", "f8", 3),
        ("late", "i8"),  # 0, or the number of the solution of a step that has found it, see `maximal.contact`
        ("R", "f8", 9),  # rotation of a box, corners of a triangle, what is left of matrices Q, see `gap`, or how a
        # point moves over its body, see `feature_motion`
    ],
    align=True,
)
"""Two features that may touch, each taken as fixed to its body for one step."""


def records(count: int, dtype: np.dtype) -> np.recarray:
    """`count` records, all zero."""
    return np.zeros(count, dtype).view(np.recarray)
