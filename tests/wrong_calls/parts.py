"""Constructors of the parts of mechanisms, called wrongly."""

import numpy as np

import leastaction as la
from leastaction.mechanism import (
    Attachment,
    Body,
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    HeightField,
    Inertia,
    Joint,
    Mesh,
    Motion,
    Plane,
    Pose,
    Primitive,
    Sphere,
    joints,
)
from tests.wrong_calls.kinds import HUGE, INF, NAN, NO_NAME, ODD, SHAPE, SHAPE_KINDS, TETRAHEDRON, Call, no_vector


def parts():
    """Constructors of the parts of mechanisms."""
    yield Call("Attachment", Attachment, {"body": "link1", "point": (0, 0, 0)}, {"body": "name"})
    yield Call(
        "Body",
        Body,
        {"name": "b", "inertia": Inertia(1.0), "shapes": ()},
        {"inertia": "object", "shapes": [3, "a", [3], ODD, {"a": 1}]},
    )
    yield Call("Box", Box, {"size": (1, 1, 1), **SHAPE}, SHAPE_KINDS | {"size": [*no_vector(3), (0, 1, 1), (-1, 1, 1)]})
    yield Call("Sphere", Sphere, {"radius": 1.0, **SHAPE}, SHAPE_KINDS)
    yield Call("Capsule", Capsule, {"radius": 1.0, "length": 1.0, **SHAPE}, SHAPE_KINDS)
    yield Call("Cylinder", Cylinder, {"radius": 1.0, "length": 1.0, **SHAPE}, SHAPE_KINDS)
    yield Call(
        "Ellipsoid",
        Ellipsoid,
        {"radii": (1, 1, 1), **SHAPE},
        SHAPE_KINDS | {"radii": [*no_vector(3), (0, 1, 1), (-1, 1, 1)]},
    )
    yield Call("Plane", Plane, SHAPE, SHAPE_KINDS)
    faces = ["a", 3, ODD, [[0, 1]], [[0, 1, 9]], [[0, 1, -1]], [[0.5, 1, 2]], [[NAN, 1, 2]], {}, [["a", "b", "c"]]]
    mesh = {"vertices": TETRAHEDRON, "faces": [[0, 1, 2]], "file": "a.stl", **SHAPE}
    yield Call("Mesh", Mesh, mesh, SHAPE_KINDS | {"vertices": "points", "faces": faces, "file": "text"})
    heights = ["a", 3.0, ODD, [], np.zeros((1, 5)), np.full((2, 2), NAN), np.zeros((2, 2), complex), {}]
    yield Call(
        "HeightField",
        HeightField,
        {"heights": np.zeros((2, 2)), "spacing": 1.0, **SHAPE},
        SHAPE_KINDS | {"heights": heights},
    )
    moments = [
        "a",
        ODD,
        [1, 2],
        np.full(3, NAN),
        np.full((3, 3), INF),
        [[1, 2, 3], [0, 1, 2], [0, 0, 1]],
        {},
        NAN,
        HUGE,
        np.ones(3, complex),
    ]
    yield Call(
        "Inertia", Inertia, {"mass": 1.0, "com": (0, 0, 0), "moments": 1.0}, {"mass": "nonnegative", "moments": moments}
    )
    solid = {"mass": 1.0, "com": (0, 0, 0)}
    for make, more in (
        ("rod", {"length": 1.0, "axis": "z"}),
        ("solid_box", {"size": (1, 1, 1)}),
        ("solid_sphere", {"radius": 1.0}),
        ("solid_ellipsoid", {"radii": (1, 1, 1)}),
    ):
        kinds = {
            "size": [*no_vector(3), (-1, 1, 1)],
            "radii": [*no_vector(3), (-1, 1, 1)],
            "mass": "nonnegative",
            "length": "nonnegative",
            "radius": "nonnegative",
        }
        yield Call(make, getattr(la.mechanism, make), solid | more, kinds)
    for make in ("solid_cylinder", "solid_capsule"):
        kinds = {"mass": "nonnegative", "length": "nonnegative", "radius": "nonnegative"}
        yield Call(make, getattr(la.mechanism, make), solid | {"radius": 1.0, "length": 1.0}, kinds)
    yield Call(
        "Pose",
        Pose,
        {"position": (0, 0, 0), "quaternion": (1, 0, 0, 0)},
        {"position": "vector3", "quaternion": [*no_vector(4), (0, 0, 0, 0)]},
    )
    yield Call("Pose.of", Pose.of, {"value": (0, 0, 0)}, {"value": "pose"})
    yield Call(
        "Pose.from_matrix",
        Pose.from_matrix,
        {"X": np.eye(4)},
        {
            "X": [
                "a",
                ODD,
                np.zeros((4, 4)),
                np.full((4, 4), NAN),
                np.eye(3),
                [],
                {},
                np.diag([1, 1, -1, 1]),
                np.eye(4) * 1j,
            ]
        },
    )
    yield Call(
        "Pose.from_rpy",
        Pose.from_rpy,
        {"position": (0, 0, 0), "rpy": (0, 0, 0)},
        {"position": "vector3", "rpy": "vector3"},
    )
    yield Call(
        "Pose.from_axis_angle",
        Pose.from_axis_angle,
        {"axis": "x", "angle": 1.0, "position": (0, 0, 0)},
        {"position": "vector3"},
    )
    yield Call("Pose.apply", Pose().apply, {"point": (1, 2, 3)})
    yield Call("Pose.__mul__", lambda other: Pose((1, 0, 0)) * other, {"other": Pose((0, 1, 0))}, {"other": None})
    inertia = Inertia(1.0, (0, 0, 1), 1.0)
    yield Call("Inertia.moved", inertia.moved, {"X": Pose((1, 0, 0))}, {"X": "object"})
    yield Call("Inertia.matrix_in", inertia.matrix_in, {"X": Pose((1, 0, 0))}, {"X": "object"})
    yield Call(
        "Inertia.from_parts",
        Inertia.from_parts,
        {"parts": [(inertia, Pose())]},
        {"parts": ["a", 3, ODD, [3], [(inertia,)], [(3, Pose())], [(inertia, 3)]]},
    )
    yield Call("Inertia.complaint", inertia.complaint, {"largest": 1.0}, {"largest": "nonnegative"})
    yield Call("Inertia.check", inertia.check, {"owner": "me", "strict": True}, {"owner": "text"})
    yield Call("Shape.inertia by density", Sphere(1.0).inertia, {"density": 1.0})
    yield Call("Shape.inertia by mass", Sphere(1.0).inertia, {"mass": 1.0}, {"mass": "nonnegative"})
    primitive = {"motion": Motion.REVOLUTE, "axis": (0, 0, 1), "pitch": 0.0, "frames": (), "controls": ()}
    frames = ["a", 3, ODD, [3], ["a"], [np.full((4, 4), NAN)] * 4]
    kinds = {
        "motion": ["a", ODD, 99, None, 1.5, NAN, []],
        "frames": frames,
        "controls": ["a", 3.0, ODD, [1.0], ["a"] * 96, [NAN] * 96],
    }
    yield Call("Primitive", Primitive, primitive, kinds)
    for make in ("revolute", "prismatic"):
        yield Call(f"joints.{make}", getattr(joints, make), {"axis": "z"})
    yield Call("joints.screw", joints.screw, {"axis": "z", "pitch": 0.1})
    yield Call(
        "joints.spline_curve", joints.spline_curve, {"frames": [Pose()] * 4}, {"frames": [*frames, [], [Pose()] * 3]}
    )
    yield Call(
        "joints.spline_surface",
        joints.spline_surface,
        {"controls": np.zeros((6, 4, 4))},
        {"controls": kinds["controls"]},
    )
    yield Call("joints.perpendicular", joints.perpendicular, {"axis": (0, 0, 1)})
    joint = {
        "name": "j",
        "kind": "revolute",
        "parent": "world",
        "child": "b",
        "primitives": (joints.revolute(),),
        "pose": Pose(),
        "child_pose": Pose(),
        "lower": -1.0,
        "upper": 1.0,
        "velocity_limit": 1.0,
        "effort_limit": 1.0,
        "stiffness": 1.0,
        "rest": 0.0,
        "damping": 1.0,
        "friction": 1.0,
        "armature": 1.0,
        "loop": False,
        "limit_stiffness": 1.0,
        "limit_damping": 1.0,
        "home": 0.0,
    }
    of_dofs = ("stiffness", "damping", "friction", "armature", "limit_stiffness", "limit_damping")
    kinds = dict.fromkeys(of_dofs, "per_dof") | dict.fromkeys(
        ("lower", "upper", "velocity_limit", "effort_limit"), "limit_per_dof"
    )
    kinds |= {
        "rest": "position_per_dof",
        "home": "position_per_dof",
        "kind": NO_NAME,
        "primitives": ["a", 3, ODD, [3], (), ["a"]],
    }
    yield Call("Joint", Joint, joint, kinds)
    yield Call(
        "Joint.by_primitive", Joint(**joint).by_primitive, {"values": (1.0,)}, {"values": [3, ODD, (1.0, 2.0), ()]}
    )
