"""Every public function, class and method with a valid call, and what is wrong for each of its arguments.

`CALLS` has one valid call each. The kind of an argument (by its name, `KINDS`, or as the call says) tells which values
are wrong for it: other types, shapes, NaN and infinity, negative and zero sizes, names that there are not.
"""

import importlib.util
import inspect
import tempfile
from dataclasses import dataclass, field, fields
from pathlib import Path

import numpy as np

import leastaction as la
from leastaction.mechanism import (
    Attachment,
    Body,
    BodyActuator,
    Box,
    Cable,
    Capsule,
    ContactPoint,
    Coupling,
    Cylinder,
    Drag,
    ExternalWrench,
    HeightField,
    Inertia,
    Joint,
    JointActuator,
    Mesh,
    Motion,
    PenaltyContact,
    Plane,
    Pose,
    Primitive,
    Rolling,
    Sphere,
    Spring,
    joints,
)

NAN, INF, HUGE = float("nan"), float("inf"), 10**400


class Odd:
    """Something that is nothing the package knows."""

    def __repr__(self):
        return "an odd thing"


ODD = Odd()
EMPTY = {}
NO_NUMBER = ["a", "1", b"1", [], {}, [1.0, 2.0], ODD, 1j, NAN, True, np.zeros((2, 2)), HUGE]
NO_NAME = ["", " ", 3, 1.5, [], {}, ODD, b"x", NAN, True, ["link1"]]
NO_OBJECT = ["a", 3, [], {}, ODD, NAN, b"x"]


def no_vector(n, batches=False):
    """What is no vector of n finite numbers; nor several of them, in case of batches."""
    spoiled = [
        np.full(n, NAN),
        np.full(n, INF),
        np.full(n, -INF),
        [1.0] * n + [2.0],
        [1.0] * (n - 1),
        [],
        "a",
        b"a",
        ODD,
    ]
    spoiled += [["a"] * n, [ODD] * n, np.ones(n, complex), np.ones((n, n + 1)), EMPTY, [[1.0, 2.0], [3.0]], [HUGE] * n]
    spoiled += [np.array([None] * n, object), *([] if batches else [np.ones((2, n))])]
    return [*spoiled, 1.0] if n != 1 else spoiled


WRONG = {
    "number": [*NO_NUMBER, INF, -INF],
    "limit": NO_NUMBER,
    "positive": [*NO_NUMBER, INF, -INF, 0.0, -1.0],
    "nonnegative": [*NO_NUMBER, INF, -INF, -1.0],
    "count": [*NO_NUMBER, INF, -INF, 0, -1, 1.5, 2.0],
    "steps": [*NO_NUMBER, INF, -INF, -1, 1.5],
    "name": NO_NAME,
    "known": [*NO_NAME, "there is none of this name"],
    "text": [3, 1.5, [], {}, ODD, b"x", NAN],
    "choice": [*NO_NAME, "there is no such choice"],
    "flag": ["a", "False", 3, 0.5, [], {}, ODD, NAN, np.ones(3, bool)],
    "object": NO_OBJECT,
    "class": [*NO_OBJECT, None, la.Galerkin],
    "function": [*NO_OBJECT, lambda: 0.0],
    "path": [3, 1.5, [], {}, ODD, NAN, b"x", "", "no/such/folder/file", "nul\0"],
    "pose": ["a", 3.0, [], [1.0, 2.0], np.full(3, NAN), np.full((4, 4), NAN), np.zeros((4, 4)), np.zeros(7), ODD, {}],
    "axis": [*no_vector(3), "w", (0, 0, 0), (1, 1, 0), (0, 0, 2)],
    "vector2": no_vector(2),
    "vector3": no_vector(3),
    "vector4": no_vector(4),
    "vector6": no_vector(6),
    "per_dof": [*no_vector(1), "1", NAN, INF, -1.0, [-1.0], True],
    "position_per_dof": [*no_vector(1), "1", NAN, INF],
    "limit_per_dof": ["a", [1.0, 2.0], NAN, [NAN], ODD, {}, 1j, [HUGE]],
    "attachment": [
        3,
        1.5,
        [],
        {},
        ODD,
        NAN,
        ("link1",),
        ("link1", "a"),
        ("link1", (1, 2)),
        ("link1", (NAN, 0, 0)),
        (3, (0, 0, 0)),
    ],
    "points": ["a", 3.0, [], ODD, np.zeros((2, 2)), np.full((2, 3), NAN), [["a", "b", "c"]], {}, np.zeros((0, 3))],
    "matrix": ["a", ODD, {}, np.full((2, 2), NAN), [[1.0, 2.0], [3.0]], np.zeros((2, 2), complex)],
    "names": [3, ODD, NAN, [3], [ODD], ["there is none of this name"], {"a": 1}],
    "values": [3, "a", ODD, NAN, [1], {"there is none of this name": 1.0}, {3: 1.0}],
    "settings": [3, "a", ODD, NAN, [1]],
}
WRONG["state"] = WRONG["vector2"]

KINDS = {
    "mechanism": "object",
    "robot": "object",
    "integrator": "object",
    "q": "state",
    "v": "state",
    "p": "state",
    "u": "state",
    "a": "state",
    "x": "state",
    "q0": "state",
    "q1": "state",
    "dv": "state",
    "dt": "positive",
    "name": "name",
    "body": "known",
    "parent": "name",
    "child": "name",
    "point": "vector3",
    "center": "vector3",
    "com": "vector3",
    "origin": "vector3",
    "target": "vector3",
    "gravity": "vector3",
    "size": "vector3",
    "axis": "axis",
    "normal": "axis",
    "wrench": "vector6",
    "pose": "pose",
    "child_pose": "pose",
    "color": "vector4",
    "path": "path",
    "mass": "positive",
    "radius": "positive",
    "length": "positive",
    "spacing": "positive",
    "density": "positive",
    "stiffness": "nonnegative",
    "damping": "nonnegative",
    "rest_length": "nonnegative",
    "friction": "nonnegative",
    "stiction": "nonnegative",
    "restitution": "nonnegative",
    "linear": "nonnegative",
    "quadratic": "nonnegative",
    "tolerance": "positive",
    "max_iterations": "count",
    "order": "count",
    "weight": "number",
    "pitch": "number",
    "angle": "number",
    "gear": "number",
    "ratio": "number",
    "offset": "number",
    "lower": "limit",
    "upper": "limit",
    "start": "attachment",
    "end": "attachment",
    "frame": "choice",
    "kind": "choice",
    "chart": "choice",
    "solver": "choice",
    "collision": "flag",
    "visual": "flag",
    "isotropic": "flag",
    "pulls_only": "flag",
    "clip": "flag",
    "strict": "flag",
    "loop": "flag",
    "floating": "flag",
    "ground": "flag",
    "points": "points",
    "clearance": "number",
    "project": "flag",
    "parameters": "names",
}


@dataclass
class Call:
    """A valid call of a public function.

    Attributes:
        what: its name, for messages.
        function: what is called.
        valid: arguments that it takes.
        kinds: of arguments for which their names do not tell; None: any value is as good as another.
        works: whether the valid call is made as well; not where it writes files, or needs one.
    """

    what: str
    function: object
    valid: dict
    kinds: dict = field(default_factory=dict)
    works: bool = True

    def spoiled(self):
        """(argument, wrong value, arguments) for every wrong call."""
        for name in self.valid:
            kind = self.kinds[name] if name in self.kinds else KINDS.get(name)
            if isinstance(self.valid[name], type):
                continue  # a class that is no argument of the user's
            for value in WRONG[kind] if isinstance(kind, str) else (kind or ()):
                yield name, value, self.valid | {name: value}


ROBOT = la.robots.pendulum(2)
FREE = la.robots.free_body()
LOOP = la.robots.four_bar()
Q, V = np.array([0.4, 0.1]), np.array([0.2, -0.3])
TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
SHAPE = {
    "pose": (0, 0, 1),
    "name": "s",
    "color": (1, 0, 0, 1),
    "collision": True,
    "visual": True,
    "friction": 0.5,
    "restitution": 0.5,
}
SHAPE_KINDS = {"name": "text"}


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
    ):
        kinds = {
            "size": [*no_vector(3), (-1, 1, 1)],
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


def elements():
    """Constructors of what acts on mechanisms."""
    a, b = Attachment("world"), Attachment("link1")
    ends = {"start": "object", "end": "object"}
    yield Call(
        "Spring",
        Spring,
        {"name": "s", "start": a, "end": b, "stiffness": 1.0, "rest_length": 0.0, "damping": 1.0, "isotropic": True},
        ends,
    )
    via = ["a", 3, ODD, (), (a,), (a, 3), ("a", "b"), {}]
    yield Call(
        "Cable",
        Cable,
        {
            "name": "c",
            "via": (a, b),
            "stiffness": 1.0,
            "rest_length": 1.0,
            "damping": 1.0,
            "pulls_only": True,
            "clip": True,
        },
        {"via": via},
    )
    coefficients = ["a", 3.0, ODD, [NAN], ["a"], [INF], [1j], {}, []]
    yield Call(
        "Coupling",
        Coupling,
        {"name": "c", "follower": "a", "leader": "b", "coefficients": (0.0, 1.0)},
        {"coefficients": coefficients, "follower": "name", "leader": "name"},
    )
    yield Call(
        "JointActuator",
        JointActuator,
        {"name": "m", "coordinate": "j", "gear": 1.0, "lower": -1.0, "upper": 1.0},
        {"coordinate": "name"},
    )
    yield Call(
        "BodyActuator",
        BodyActuator,
        {"name": "m", "body": "b", "wrench": np.ones(6), "lower": -1.0, "upper": 1.0},
        {"body": "name"},
    )
    yield Call(
        "ExternalWrench",
        ExternalWrench,
        {"name": "w", "body": "b", "wrench": np.ones(6), "point": (0, 0, 0), "frame": "world"},
        {"body": "name"},
    )
    point = {"name": "c", "body": "b", "point": (0, 0, 0), "radius": 0.1, "friction": 0.5, "restitution": 0.5}
    yield Call(
        "ContactPoint",
        ContactPoint,
        point,
        {"body": "name", "radius": "nonnegative", "restitution": [*WRONG["nonnegative"], 2.0]},
    )
    penalty = {
        "name": "p",
        "body": "b",
        "points": [(0, 0, 0)],
        "stiffness": 1.0,
        "damping": 1.0,
        "friction": 0.5,
        "stiction": 1.0,
        "origin": (0, 0, 0),
        "normal": "z",
    }
    yield Call("PenaltyContact", PenaltyContact, penalty, {"body": "name"})
    yield Call(
        "Drag", Drag, {"name": "d", "body": "b", "point": (0, 0, 0), "linear": 1.0, "quadratic": 1.0}, {"body": "name"}
    )
    yield Call(
        "Rolling",
        Rolling,
        {"name": "r", "body": "b", "radius": 1.0, "axis": "y", "center": (0, 0, 0)},
        {"body": "name"},
    )


def built(method, **arguments):
    """Call a method of a builder of the pendulum, and build: references are checked there."""
    b = ROBOT.edit()
    getattr(b, method)(**arguments)
    return b.build()


def builders():
    """Methods of the builder."""

    def call(method, kinds=None, **valid):
        return Call(f"MechanismBuilder.{method}", lambda **given: built(method, **given), valid, kinds or {})

    yield Call("MechanismBuilder", lambda **given: la.MechanismBuilder(**given).from_mechanism(ROBOT).build(), {})
    yield Call(
        "MechanismBuilder.gravity", _small, {"name": "r", "gravity": (0, 0, -9.81), "strict": True}, {"name": "text"}
    )
    moments = ["a", ODD, [1, 2], np.full(3, NAN), {}, NAN, [[1, 2, 3], [0, 1, 2], [0, 0, 1]], -1.0]
    shapes = [3, "a", [3], ODD]
    yield Call(
        "MechanismBuilder.body",
        _with_body,
        {"name": "b", "mass": 1.0, "com": (0, 0, 0), "inertia": 1.0, "shapes": ()},
        {"inertia": moments, "shapes": shapes, "name": [*NO_NAME, "world", "link1"], "mass": "nonnegative"},
    )
    yield Call(
        "MechanismBuilder.body by density",
        _with_body,
        {"name": "b", "density": 1.0, "shapes": [Sphere(1.0)]},
        {"shapes": shapes},
    )
    yield Call(
        "MechanismBuilder.body by mass",
        _with_body,
        {"name": "b", "mass": 1.0, "shapes": [Sphere(1.0)]},
        {"shapes": shapes},
    )
    yield call("add_shape", body="link1", shape=Sphere(1.0), kinds={"shape": "object"})
    base = {"name": "extra", "parent": "world", "child": "link2"}
    kinds = {"name": [*NO_NAME, "joint1"], "parent": "known", "child": [*WRONG["known"], "world"], "kind": "choice"}
    options = {
        "position": (0, 0, 0),
        "rotation": (1, 0, 0, 0),
        "limits": (-1.0, 1.0),
        "stiffness": 1.0,
        "rest": 0.0,
        "damping": 1.0,
        "friction": 0.1,
        "armature": 0.1,
        "velocity_limit": 1.0,
        "effort_limit": 1.0,
        "loop": True,
    }
    limits = ["a", 3.0, ODD, (1.0,), (1.0, -1.0), (NAN, 1.0), ("a", "b"), [1, 2, 3], {}]
    per = dict.fromkeys(("stiffness", "damping", "friction", "armature"), "per_dof") | {
        "rest": "position_per_dof",
        "velocity_limit": "limit_per_dof",
        "effort_limit": "limit_per_dof",
    }
    kinds |= per | {"position": "vector3", "rotation": [*no_vector(4), (0, 0, 0, 0)], "limits": limits}
    yield call("joint", kind="revolute", axis="y", **base, **options, kinds=kinds)
    yield call("joint", kind="screw", axis="y", pitch=0.1, **base, loop=True, kinds={**kinds, "kind": None})
    parts = ["a", 3, ODD, [3], [], {}]
    yield call(
        "joint",
        kind="composite",
        parts=[joints.revolute(), joints.prismatic()],
        **base,
        loop=True,
        kinds={**kinds, "kind": None, "parts": parts},
    )
    yield call(
        "joint",
        kind="universal",
        axis=("x", "y"),
        **base,
        loop=True,
        kinds={**kinds, "kind": None, "axis": ["a", 3.0, ODD, ("x",), ("x", "x"), ("x", (0, 0, 0)), {}, [NAN, NAN]]},
    )
    yield call("revolute", axis="y", pose=Pose(), child_pose=Pose(), loop=True, **base, kinds=kinds)
    yield call("prismatic", axis="y", loop=True, **base, kinds=kinds)
    yield call("spherical", loop=True, **base, kinds=kinds)
    yield call("fixed", loop=True, **base, kinds=kinds)
    yield call("free", child="link2", name="extra", parent="world", loop=True, kinds=kinds | {"name": [3, [], ODD, {}]})
    ends = {"start": "world", "end": ("link1", (0, 0, 0))}
    yield call("spring", name="s", **ends, stiffness=1.0, rest_length=0.0, damping=1.0, isotropic=True)
    yield call("damper", name="s", **ends, damping=1.0)
    via = ["a", 3, ODD, [], ["world"], [3, 4], ["world", ("link1", "a")], ["world", "nobody"]]
    yield call(
        "cable",
        name="c",
        via=["world", "link1"],
        stiffness=1.0,
        rest_length=1.0,
        damping=1.0,
        pulls_only=True,
        clip=True,
        kinds={"via": via},
    )
    yield call(
        "coupling",
        name="c",
        follower="joint2",
        leader="joint1",
        ratio=1.0,
        offset=0.0,
        kinds={"follower": "known", "leader": "known"},
    )
    yield call(
        "actuator",
        name="m",
        coordinate="joint1",
        gear=1.0,
        limits=(-1, 1),
        kinds={"coordinate": "known", "limits": limits},
    )
    yield call(
        "thruster",
        name="m",
        body="link1",
        wrench=np.ones(6),
        limits=(-1, 1),
        kinds={"limits": limits, "body": [*WRONG["known"], "world"]},
    )
    yield call("wrench", name="w", body="link1", wrench=np.ones(6), point=(0, 0, 0), frame="body")
    yield call(
        "contact",
        name="c",
        body="link1",
        point=(0, 0, 0),
        radius=0.1,
        friction=0.5,
        restitution=0.5,
        kinds={"radius": "nonnegative", "restitution": [*WRONG["nonnegative"], 2.0]},
    )
    yield call(
        "penalty_contact",
        name="p",
        body="link1",
        points=[(0, 0, 0)],
        stiffness=1.0,
        damping=1.0,
        friction=0.5,
        stiction=1.0,
        origin=(0, 0, 0),
        normal="z",
    )
    yield call("drag", name="d", body="link1", linear=1.0, quadratic=1.0, point=(0, 0, 0))
    yield call("rolling", name="r", body="link1", radius=1.0, axis="y", center=(0, 0, 0))
    yield call(
        "home",
        q={"joint1": 0.1},
        kinds={"q": [3, "a", ODD, [1.0], {"none": 1.0}, {3: 1.0}, {"joint1": "a"}, {"joint1": NAN}]},
    )

    def exclude(first, others):
        b = ROBOT.edit()
        b.exclude_contact(first, *others)
        return b.build()

    yield Call(
        "MechanismBuilder.exclude_contact",
        exclude,
        {"first": "link1", "others": ["link2"]},
        {"first": "known", "others": [[], ["nobody"], [3], [ODD]]},
    )

    def add(element):
        ROBOT.edit().add(element)

    yield Call("MechanismBuilder.add", add, {"element": Body("b")}, {"element": [*NO_OBJECT, None, Body]})

    def remove(name):
        ROBOT.edit().remove(name)

    yield Call("MechanismBuilder.remove", remove, {"name": "link1"}, {"name": "known"})
    yield Call("MechanismBuilder.from_mechanism", la.MechanismBuilder.from_mechanism, {"mechanism": ROBOT})


def _small(**given):
    b = la.MechanismBuilder(**given)
    b.body("b", mass=1.0, inertia=1.0)
    b.revolute("j", "world", "b")
    return b.build()


def _with_body(**given):
    b = ROBOT.edit()
    b.body(**given)
    b.revolute("extra", "link2", given["name"])
    return b.build()


def mechanisms():
    """`Mechanism` and its methods."""
    whole = {f.name: getattr(ROBOT, f.name) for f in fields(ROBOT)}
    several = ["a", 3, ODD, [3], ["a"], {}]
    kinds = {name: several for name, value in whole.items() if isinstance(value, tuple) and name != "gravity"}
    kinds["name"] = "text"
    yield Call("Mechanism", la.Mechanism, whole, kinds)
    yield Call("Mechanism.replace", ROBOT.replace, {"gravity": (0, 0, 0), "name": "r", "springs": ()}, kinds)
    for name in ("body_index", "joint", "coordinate_index", "velocity_index", "subtree"):
        known = "link1" if name in ("body_index", "subtree") else "joint1"
        yield Call(f"Mechanism.{name}", getattr(ROBOT, name), {"name": known}, {"name": "known"})
    for robot, words in ((ROBOT, ""), (FREE, " with quaternions")):
        nq, nv = no_vector(robot.nq, batches=True), no_vector(robot.nv, batches=True)
        if robot is FREE:
            nq += [np.zeros(7), np.ones(7)]
        q, v = robot.neutral(), np.zeros(robot.nv)
        yield Call(f"Mechanism.integrate{words}", robot.integrate, {"q": q, "dv": v}, {"q": nq, "dv": nv})
        yield Call(f"Mechanism.difference{words}", robot.difference, {"q0": q, "q1": q}, {"q0": nq, "q1": nq})
        yield Call(f"Mechanism.normalize{words}", robot.normalize, {"q": q}, {"q": nq[:-1] if robot is FREE else nq})
    yield Call("Mechanism.generalized_forces", ROBOT.generalized_forces, {"u": V, "q": Q}, {"q": None})
    b = ROBOT.edit()
    b.thruster("t", "link2", np.ones(6))
    yield Call(
        "Mechanism.generalized_forces of thrusters",
        b.build().generalized_forces,
        {"u": [1.0], "q": Q},
        {"u": "vector1"},
    )
    yield Call(
        "Mechanism.random_configuration",
        ROBOT.random_configuration,
        {"rng": 1, "scale": 1.0},
        {"rng": ["a", ODD, -1, 1.5, NAN, 1j], "scale": "positive"},
    )


WRONG["vector1"] = no_vector(1)


def dynamics():
    """`leastaction.dynamics`, by introspection: all its arguments are known by name."""
    for name in la.dynamics.__all__:
        function = getattr(la.dynamics, name)
        known = {
            "mechanism": ROBOT,
            "q": Q,
            "v": V,
            "a": V,
            "u": V,
            "body": "link2",
            "point": (0, 0, 1),
            "frame": "body",
            "tolerance": 1e-10,
            "max_iterations": 50,
        }
        valid = {n: known[n] for n in inspect.signature(function).parameters}
        yield Call(f"dynamics.{name}", function, valid)
    yield Call(
        "dynamics.close_loops of a loop",
        la.dynamics.close_loops,
        {"mechanism": LOOP, "q": LOOP.neutral()},
        {"q": "vector3"},
    )
    yield Call(
        "dynamics.loop_jacobian of a loop",
        la.dynamics.loop_jacobian,
        {"mechanism": LOOP, "q": LOOP.neutral()},
        {"q": "vector3"},
    )
    for name in ("mass_matrix", "body_poses", "potential_energy"):
        q = FREE.neutral()
        yield Call(
            f"dynamics.{name} with quaternions",
            getattr(la.dynamics, name),
            {"mechanism": FREE, "q": q},
            {"q": [*no_vector(7), np.zeros(7), np.ones(7)]},
        )


def integrators():
    """Settings of all integrators, by introspection: the default of a field tells its kind."""
    from leastaction import registry

    kinds = {bool: "flag", int: "count", float: "positive", str: "choice", tuple: ["a", 3, ODD, [3], [ODD], NAN]}
    for name in registry.names():
        cls = registry.find(name)
        valid = {f.name: f.default for f in fields(cls) if f.init}
        said = {
            n: "nonnegative"
            if n in ("smoothing", "baumgarte", "stabilization") and isinstance(x, float)
            else kinds.get(type(x), ["a", 1.5, -1, 0, ODD, NAN, [], {}])
            for n, x in valid.items()
        }
        yield Call(cls.__name__, lambda cls=cls, **given: cls(**given).prepare(ROBOT, 0.01), valid, said)
    yield Call("Integrator.prepare", la.RungeKutta().prepare, {"mechanism": ROBOT, "dt": 0.01})
    yield Call("registry.find", registry.find, {"name": "galerkin"}, {"name": "known"})
    yield Call(
        "registry.make",
        registry.make,
        {"name": "galerkin", "settings": {"order": 4}},
        {"name": "known", "settings": ["a", 3, ODD, {"none": 3}, {"order": "x"}, {3: 4}]},
    )
    yield Call(
        "registry.parse",
        registry.parse,
        {"text": "galerkin:4"},
        {"text": ["", 3, ODD, "none", "galerkin:x", "galerkin:order=", ":", b"galerkin"]},
    )
    yield Call("registry.label", registry.label, {"integrator": la.Galerkin()})
    yield Call("registry.options", registry.options, {"integrator": la.Galerkin}, {"integrator": [*NO_OBJECT, None]})
    yield Call("default_integrator", la.default_integrator, {"mechanism": ROBOT})


def runs():
    """`simulate`, `Trajectory` and what takes runs."""
    rk = la.RungeKutta()
    u = np.zeros((2, 2))
    controls = [
        "a",
        ODD,
        np.zeros(3),
        np.zeros((3, 2)),
        np.full(2, NAN),
        {},
        lambda: 0,
        lambda t: "a",
        lambda t: [1.0],
        lambda t: [NAN, NAN],
        np.zeros(2, complex),
    ]
    q = [x for x in WRONG["state"] if x is not EMPTY]
    q += [{"none": 1.0}, {"joint1": "a"}, {"joint1": NAN}, {3: 1.0}, {"joint1": [1.0, 2.0]}]
    valid = {
        "mechanism": ROBOT,
        "q": Q,
        "v": V,
        "dt": 0.01,
        "steps": 2,
        "integrator": rk,
        "controls": u,
        "start": 0.0,
        "project": False,
        "progress": False,
    }
    kinds = {"q": q, "v": q, "steps": "steps", "controls": controls, "start": "number", "progress": "flag"}
    yield Call("simulate", la.simulate, valid, kinds)
    yield Call("simulate from p", la.simulate, {"mechanism": ROBOT, "p": V, "dt": 0.01, "steps": 1, "integrator": rk})
    yield Call(
        "simulate for a time",
        la.simulate,
        {"mechanism": ROBOT, "duration": 0.02, "integrator": rk},
        {"duration": "nonnegative"},
    )
    controller = ["a", 3, ODD, lambda t: [0, 0], lambda t, q, v: "a", lambda t, q, v: [NAN, NAN], lambda t, q, v: [1.0]]
    yield Call(
        "simulate with a controller",
        la.simulate,
        {"mechanism": ROBOT, "steps": 1, "integrator": rk, "controller": lambda t, q, v: [0, 0]},
        {"controller": controller, "steps": "steps"},
    )
    run = la.simulate(ROBOT, Q, dt=0.01, steps=2, integrator=rk)
    arrays = {"t": run.t, "q": run.q, "stored": run.stored, "dt": 0.01, "mechanism": ROBOT, "integrator": rk}
    wrong = ["a", ODD, np.zeros(7), np.zeros((9, 9)), np.zeros((3, 2), complex), [], {}]
    yield Call(
        "Trajectory",
        lambda **given: la.Trajectory(**given).energy,
        arrays,
        {
            "t": wrong,
            "q": wrong,
            "stored": [3, ODD, {"v": np.zeros((9, 9))}, {"v": "a"}, {}, {"p": np.zeros((1, 2))}],
            "integrator": None,
        },
    )
    yield Call(
        "Trajectory.contact_force", _touching().contact_force, {"body": "cube", "other": "world"}, {"other": "known"}
    )
    yield Call("Trajectory.load", la.Trajectory.load, {"path": "none"}, {"path": "path"}, works=False)
    yield Call(
        "Trajectory.save",
        run.save,
        {"path": "none"},
        {"path": [x for x in WRONG["path"] if x != "no/such/folder/file"] + ["no/such/folder/file"]},
        works=False,
    )
    yield Call("Trajectory.to_csv", run.to_csv, {"path": "none.csv"}, works=False)


def _touching():
    robot = la.robots.cube()
    log = np.array([[0, -1, 0, *np.zeros(7)]], float)
    return la.Trajectory(
        robot,
        None,
        0.01,
        np.arange(2) * 0.01,
        np.tile(robot.neutral(), (2, 1)),
        {"v": np.zeros((2, 6)), "contacts": log},
    )


def derivatives():
    """`leastaction.derivatives`."""
    d, rk = la.derivatives, la.BDF(order=1)
    galerkin = la.Galerkin(order=2)
    step = {"mechanism": ROBOT, "integrator": galerkin, "q": Q, "p": V, "u": V, "dt": 0.01}
    yield Call("linearize", la.linearize, step)
    yield Call("derivatives.action_blocks", d.action_blocks, step)
    yield Call(
        "derivatives.parameter_jacobian",
        d.parameter_jacobian,
        step | {"parameters": ["gravity"]},
        {"parameters": ["gravity", *WRONG["names"]]},
    )
    parameter = [
        "",
        "none",
        "mass:none",
        "mass:world",
        3,
        ODD,
        [],
        {},
        "damping:none",
        "friction:none",
        "radius:link1/9",
    ]
    yield Call("derivatives.parameter", d.parameter, {"mechanism": ROBOT, "name": "mass:link1"}, {"name": parameter})
    values = [
        3,
        "a",
        ODD,
        [1],
        {"none": 1.0},
        {3: 1.0},
        {"mass:link1": "a"},
        {"mass:link1": NAN},
        {"mass:link1": [1.0, 2.0]},
        {"mass:link1": -1.0},
    ]
    values += [
        {"com:link1": [1.0]},
        {"gravity": [1.0]},
        {"damping:joint1": [1.0, 2.0]},
        {"position:joint1": [1.0]},
        {"rotation:joint1": [NAN] * 3},
    ]
    yield Call(
        "derivatives.with_parameters",
        d.with_parameters,
        {"mechanism": ROBOT, "values": {"mass:link1": 2.0}},
        {"values": values},
    )
    run = la.simulate(ROBOT, Q, dt=0.01, steps=2, integrator=rk)
    bars = ["a", ODD, np.zeros((2, 2)), np.full((3, 2), NAN), np.zeros((3, 2), complex), {}, [[1.0], [1.0, 2.0]]]
    names = ["none", ["none"], [3], 3, ODD, ["mass:none"], NAN]
    yield Call(
        "derivatives.gradient",
        d.gradient,
        {"run": run, "dq": None, "dv": None, "parameters": ["v"]},
        {"run": "object", "dq": bars, "dv": bars, "parameters": names},
    )
    long = la.simulate(ROBOT, Q, dt=0.01, steps=2, integrator=galerkin)
    yield Call(
        "derivatives.backpropagate",
        d.backpropagate,
        {"run": long, "dq": np.zeros((3, 2)), "dp": np.zeros((3, 2)), "integrator": galerkin},
        {"run": "object", "dq": bars, "dp": bars},
    )
    objective = d.reach("link2", (0, 0, 0), (0, 0, 1))
    wrong = [
        "a",
        3,
        ODD,
        lambda run: 3,
        lambda run: "a",
        lambda run: (1.0, "a", None),
        lambda run: (NAN, None, None),
        lambda run: (1.0, np.zeros(3), None),
        lambda: 0,
    ]
    valid = {
        "mechanism": ROBOT,
        "integrator": rk,
        "objective": objective,
        "parameters": ["v"],
        "q": Q,
        "dt": 0.01,
        "steps": 2,
    }
    state = {"q": [x for x in WRONG["state"] if x is not EMPTY]}
    yield Call("adjoint", la.adjoint, valid, state | {"objective": wrong, "parameters": names, "steps": "steps"})
    points = [0, -1, 1.5, "a", ODD, [], NAN]
    yield Call(
        "adjoint with checkpoints",
        la.adjoint,
        valid | {"checkpoints": 1},
        {"objective": wrong, "parameters": names, "steps": "steps", "checkpoints": points, "q": None},
    )

    def simulation_objective(x=None, **given):
        f = d.SimulationObjective(**given)
        return f(f.start if x is None else x)

    more = {"scale": {"v": 2.0}, "x": V}
    kinds = {
        "objective": wrong,
        "parameters": names,
        "steps": "steps",
        "scale": ["a", 3, ODD, {"v": "a"}, {"v": 0.0}, {"v": NAN}, {"none": 1.0}],
        "x": no_vector(2),
        **state,
    }
    yield Call("SimulationObjective", simulation_objective, valid | more, kinds)
    f = d.SimulationObjective(**valid)
    yield Call("SimulationObjective.unpack", f.unpack, {"x": V})
    yield Call("SimulationObjective.run", f.run, {"x": V})
    yield Call(
        "SimulationObjective.pack",
        f.pack,
        {"values": {"v": V}},
        {"values": [3, "a", ODD, {}, {"v": "a"}, {"v": [1.0]}, {"v": [NAN, NAN]}]},
    )
    yield Call(
        "derivatives.reach",
        lambda **given: d.reach(**given)(run),
        {"body": "link2", "point": (0, 0, 0), "target": (0, 0, 1), "step": -1, "weight": 1.0},
        {"step": [1.5, "a", ODD, NAN, None, 99, -99]},
    )
    yield Call(
        "derivatives.piecewise",
        lambda function: d.piecewise(function)(run),
        {"function": lambda run, first, steps: (1.0, None, None)},
        {"function": ["a", 3, ODD, None]},
    )
    yield Call(
        "ObjectiveValue",
        d.ObjectiveValue,
        {"value": 1.0, "dq": None, "dv": None, "direct": None},
        {"value": [x for x in WRONG["number"] if x is not True], "dv": None, "dq": ["a", ODD], "direct": ["a", 3, ODD]},
    )


def robots():
    """The zoo, by introspection: the default of a parameter tells its kind."""
    r = la.robots
    kinds = {bool: "flag", float: "number", str: "choice"}
    for name in r.__all__:
        function = getattr(r, name)
        if name in ("get", "home", "on_ground", "catalogue") or not inspect.isfunction(function):
            continue
        valid = {n: p.default for n, p in inspect.signature(function).parameters.items()}
        said = {}
        for n, x in valid.items():
            size = len(x) if isinstance(x, tuple) else 0
            said[n] = (
                [0, -1, 1.5, "a", ODD, NAN, None, [], True, HUGE]
                if isinstance(x, int) and not isinstance(x, bool)
                else no_vector(size)
                if size
                else kinds.get(type(x))
            )
        said |= {"name": "text", "masses": said.get("masses")}
        yield Call(f"robots.{name}", function, valid, said)
    yield Call(
        "robots.get", r.get, {"name": "pendulum", "links": 1}, {"name": "known", "links": ["a", ODD, 0, -1, NAN]}
    )
    yield Call("robots.home", r.home, {"robot": ROBOT})
    yield Call(
        "robots.on_ground",
        r.on_ground,
        {"robot": la.robots.cube(), "q": la.robots.cube().neutral(), "clearance": 0.0},
        {"q": no_vector(7)},
    )


def redmax():
    """`leastaction.redmax`."""
    from leastaction import redmax as m

    columns = [x for x in no_vector(2, batches=True) if getattr(x, "shape", ()) != (2, 3)]
    known = {"mechanism": ROBOT, "q": Q, "v": V, "x": V, "r": Q, "rd": V, "y": np.zeros(12), "chart": "euler"}
    for name in m.__all__:
        function = getattr(m, name)
        if inspect.isfunction(function) and set(inspect.signature(function).parameters) <= set(known):
            valid = {n: known[n] for n in inspect.signature(function).parameters}
            yield Call(
                f"redmax.{name}",
                function,
                valid,
                {
                    "y": no_vector(12),
                    **({"x": columns} if name == "inverse_inertia_product" else {}),
                },
            )
    prescribed = [3, "a", ODD, [1], {"none": 1.0}, {3: 1.0}, {"joint1": "a"}, {"joint1": NAN}]
    yield Call(
        "redmax.hybrid_dynamics",
        m.hybrid_dynamics,
        {"mechanism": ROBOT, "q": Q, "v": V, "u": V, "prescribed": {"joint1": 1.0}, "close_loops": True},
        {"prescribed": prescribed, "close_loops": "flag"},
    )

    def inverse(x, **given):
        return m.InverseInertia(**given) @ x

    blocks = [
        "a",
        3.0,
        ODD,
        {"none": np.eye(6)},
        {"link1": np.eye(3)},
        {"link1": np.full((6, 6), NAN)},
        np.zeros((1, 6, 6)),
        [1],
    ]
    yield Call(
        "redmax.InverseInertia",
        inverse,
        {"mechanism": ROBOT, "q": Q, "diagonal": np.ones(2), "x": V},
        {"diagonal": no_vector(2), "x": columns},
    )
    yield Call(
        "redmax.InverseInertia with blocks",
        inverse,
        {"mechanism": ROBOT, "q": Q, "blocks": np.zeros((2, 6, 6)), "x": V},
        {"blocks": blocks, "x": None},
    )
    yield Call(
        "redmax.Bearing",
        m.Bearing,
        {"joint": "joint1", "friction": 0.1, "radius": 0.1, "length": 0.1},
        {"joint": "name"},
    )

    def constrained(kind, **given):
        return la.simulate(ROBOT, Q, dt=0.01, steps=1, integrator=la.ConstrainedEuler(constraints=(kind(**given),)))

    motion = {"kind": m.PrescribedMotion, "name": "joint1", "velocity": lambda t: 0.0, "position": lambda t: 0.4}
    function = ["a", 3, ODD, lambda: 0.0, lambda t: "a", lambda t: NAN, lambda t: [1.0, 2.0]]
    yield Call(
        "redmax.PrescribedMotion", constrained, motion, {"name": "known", "velocity": function, "position": function}
    )
    twist = {
        "kind": m.PrescribedTwist,
        "body": "link1",
        "twist": lambda t: np.zeros(6),
        "components": (1,),
        "point": (0, 0, 0),
        "frame": "body",
    }
    yield Call(
        "redmax.PrescribedTwist",
        constrained,
        twist,
        {"twist": [*function, lambda t: np.zeros(3)], "components": ["a", 3, ODD, (9,), (-1,), ("a",), (0.5,)]},
    )
    g = lambda t, q: ([0.0], [[1.0, 0.0]])  # noqa: E731
    wrong = [
        "a",
        3,
        ODD,
        lambda t: 0,
        lambda t, q: 3,
        lambda t, q: ([0.0], [[1.0]]),
        lambda t, q: ([NAN], [[1.0, 0.0]]),
        lambda t, q: (["a"], [["b", "c"]]),
    ]
    yield Call(
        "redmax.ReducedConstraint",
        constrained,
        {"kind": m.ReducedConstraint, "function": g, "inequality": False},
        {"function": wrong, "inequality": "flag"},
    )
    g = lambda t, X: ([0.0], [[1.0] + [0.0] * 5])  # noqa: E731
    yield Call(
        "redmax.MaximalConstraint",
        constrained,
        {"kind": m.MaximalConstraint, "bodies": ["link1"], "function": g, "inequality": False},
        {"bodies": ["a", 3, ODD, [3], ["none"], [ODD]], "function": wrong, "inequality": "flag"},
    )
    yield Call("redmax.taken_apart", m.taken_apart, {"mechanism": ROBOT})
    yield Call("redmax.HyperReduction", m.HyperReduction, {"mechanism": ROBOT})
    hyper = m.HyperReduction(ROBOT)
    yield Call("redmax.HyperReduction.complete", hyper.complete, {"q": Q})
    yield Call("redmax.HyperReduction.jacobian", hyper.jacobian, {"q": Q, "v": V})
    yield Call(
        "redmax.MaximalMap", m.MaximalMap, {"mechanism": ROBOT, "apart": m.taken_apart(ROBOT)}, {"apart": "object"}
    )
    between = m.MaximalMap(ROBOT, m.taken_apart(ROBOT))
    yield Call("redmax.MaximalMap.poses", between.poses, {"q": Q})
    yield Call("redmax.MaximalMap.twists", between.twists, {"q": Q, "v": V})
    yield Call("redmax.MaximalMap.wrenches", between.wrenches, {"q": Q, "tau": V}, {"tau": "state"})
    yield Call(
        "redmax.MaximalMap.reduced",
        between.reduced,
        {"poses": between.poses(Q), "twists": between.twists(Q, V), "guess": Q},
        {"poses": [*no_vector(14), np.zeros(14)], "twists": no_vector(12), "guess": "state"},
    )
    points = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])

    def built_by(function, **given):
        b = ROBOT.edit()
        function(b, **given)
        return b.build()

    def call(which, kinds=None, **valid):
        function = getattr(m, which)
        return Call(f"redmax.{which}", lambda **given: built_by(function, **given), valid, kinds or {})

    mass = ["a", ODD, NAN, -1.0, 0.0, [1.0, 2.0], np.full(4, NAN), 1j, {}]
    stiffness = ["a", ODD, NAN, -1.0, INF, 1j, {}, [1.0, 2.0, 3.0, 4.0, 5.0]]
    attached = ["a", 3, ODD, {9: "link1"}, {0: "none"}, {0: 3}, {"a": "link1"}]
    edges = ["a", ODD, [[0, 9]], [[0, -1]], [[0.5, 1]], [[0, 1, 2]], 3.0, [["a", "b"]], [[0, 0]], {}]
    wrong = {
        "mass": mass,
        "stiffness": stiffness,
        "damping": stiffness,
        "attached": attached,
        "edges": edges,
        "name": [3, ODD, [], {}],
    }
    yield call(
        "add_network",
        name="n",
        points=points,
        edges=[[0, 1]],
        mass=1.0,
        stiffness=1.0,
        damping=0.1,
        attached={0: "link1"},
        rest_lengths=[1.0],
        kinds=wrong | {"rest_lengths": ["a", ODD, [NAN], [1.0, 2.0], [-1.0], {}]},
    )
    yield call(
        "add_chain",
        name="n",
        points=points,
        mass=1.0,
        stiffness=1.0,
        damping=0.1,
        start="link1",
        end=("link2", (0, 0, 0)),
        kinds=wrong,
    )
    yield call(
        "add_cloth",
        name="n",
        points=np.array([[[0, 0, 0], [1, 0, 0]], [[0, 1, 0], [1, 1, 0.0]]]),
        mass=1.0,
        stiffness=1.0,
        shear=1.0,
        bending=0.0,
        damping=0.1,
        attached={(0, 0): "link1"},
        kinds=wrong
        | {
            "shear": [*stiffness[:-1]],
            "bending": stiffness[:-1],
            "stiffness": stiffness[:-1],
            "attached": ["a", 3, ODD, {9: "link1"}, {(0, 9): "link1"}, {(0, 0): 3}],
        },
    )
    yield call(
        "add_tetrahedra",
        name="n",
        points=points,
        tetrahedra=[[0, 1, 2, 3]],
        density=1.0,
        stiffness=1.0,
        damping=0.1,
        attached={0: "link1"},
        kinds=wrong
        | {
            "tetrahedra": [
                "a",
                ODD,
                [[0, 1, 2]],
                [[0, 1, 2, 9]],
                [[0, 1, 2, 2]],
                [[0, 1, 2, -1]],
                [[0.5, 1, 2, 3]],
                3.0,
            ],
            "points": [*WRONG["points"]],
        },
    )
    for name in ("add_network", "add_chain"):
        function = getattr(m, name)
        more = {"edges": [[0, 1]]} if name == "add_network" else {}
        yield Call(
            f"redmax.{name} of no builder",
            lambda builder, function=function, more=more: function(
                builder, "n", points, mass=1.0, stiffness=1.0, **more
            ),
            {"builder": ROBOT.edit()},
            {"builder": "object"},
        )


def linear_algebra():
    """`leastaction.maximal.GraphLDU`."""
    from leastaction.maximal import GraphLDU

    kinds = {
        "sizes": ["a", ODD, [-1, 2], [1.5, 2.0], [NAN, 1.0], 3.0, [[1, 2], [3]], {}, [HUGE, 1]],
        "edges": ["a", ODD, [(0, 9)], [(0, -1)], [(0.5, 1)], [(0, 1, 2)], 3, [(0, 0)], [("a", "b")]],
        "constraint": ["a", ODD, [True], 3, [True] * 5],
        "order": ["a", ODD, [0], [0, 0], [0, 9], 3, [0.5, 1], [NAN, 1]],
        "roots": ["a", ODD, [9], [-1], 3, [0.5], [NAN]],
        "tolerance": [x for x in WRONG["positive"] if x is not HUGE],
    }
    yield Call(
        "GraphLDU",
        GraphLDU,
        {
            "sizes": [2, 1],
            "edges": [(0, 1)],
            "constraint": [False, True],
            "order": [0, 1],
            "roots": [1],
            "tolerance": 1e-11,
        },
        kinds,
    )
    ldu = GraphLDU([2, 1], [(0, 1)])
    A = np.eye(3) + 0.1
    matrix = [
        "a",
        ODD,
        np.eye(2),
        np.full((3, 3), NAN),
        np.zeros(3),
        3.0,
        {(0, 9): np.eye(2)},
        {(0, 0): np.eye(9)},
        {3: np.eye(2)},
        {(0, 0): "a"},
        np.eye(3) * 1j,
        [[1.0], [2.0, 3.0]],
    ]
    yield Call("GraphLDU.factor", ldu.factor, {"blocks": A}, {"blocks": matrix})
    yield Call("GraphLDU.assemble", ldu.assemble, {"blocks": A}, {"blocks": matrix})
    rhs = ["a", ODD, np.zeros(2), np.full(3, NAN), np.zeros((2, 2)), 3.0, np.zeros(3, complex), {}, [[1.0], [2.0, 3.0]]]

    def solve(b, steps, transposed=False):
        other = GraphLDU([2, 1], [(0, 1)])
        other.factor(A)
        return (other.solve_transposed if transposed else other.solve)(b, **steps)

    yield Call("GraphLDU.solve", solve, {"b": np.ones(3), "steps": {}}, {"b": rhs, "steps": None})
    yield Call(
        "GraphLDU.solve_transposed",
        solve,
        {"b": np.ones(3), "steps": {}, "transposed": True},
        {"b": rhs, "steps": None, "transposed": None},
    )


def pictures():
    """`leastaction.plot` and `leastaction.view`."""
    import matplotlib

    matplotlib.use("Agg")
    run = la.Trajectory(ROBOT, la.RungeKutta(), 0.01, np.arange(3) * 0.01, np.tile(Q, (3, 1)), {"v": np.zeros((3, 2))})
    runs = ["a", 3, ODD, [], [3], [run, 3], {}, NAN]
    labels = [3, ODD, [], ["a", "b"], [3], [ODD]]
    known = {"runs": run, "labels": ["a"], "path": None, "names": ["joint1"], "error": True, "worst": False}
    kinds = {
        "runs": runs,
        "labels": labels,
        "names": ["a", 3, ODD, [], ["none"], [3]],
        "error": "flag",
        "worst": "flag",
        "path": [x for x in WRONG["path"] if x is not None] + ["a.unknown"],
    }
    for name in ("energy", "momentum", "coordinates", "phase"):
        function = getattr(la.plot, name)
        yield Call(
            f"plot.{name}", closing(function), {n: known[n] for n in inspect.signature(function).parameters}, kinds
        )
    touching = _touching()
    points = len(touching.mechanism.contacts)
    forces = [
        np.full((2, points), NAN),
        "a",
        3,
        ODD,
        np.zeros(3),
        {"a": "b"},
        {"a": np.zeros(9)},
        {"a": [NAN]},
        {3: [1.0]},
    ]
    yield Call(
        "plot.contacts",
        closing(la.plot.contacts),
        {"run": touching, "path": None, "tolerance": 1e-3, "forces": np.ones((2, points))},
        {"run": runs, "tolerance": "positive", "forces": forces, "path": kinds["path"]},
    )
    yield Call(
        "plot.contacts by gaps",
        closing(la.plot.contacts),
        {"run": touching, "gaps": np.ones((2, points))},
        {"run": None, "gaps": forces},
    )
    yield Call(
        "plot.sparsity",
        closing(la.plot.sparsity),
        {"what": ROBOT, "title": "a"},
        {"what": ["a", 3.0, ODD, [], np.zeros(3), [[1.0], [2.0, 3.0]]], "title": "text"},
    )
    dt, errors = [0.1, 0.05, 0.02], [1e-2, 1e-3, 1e-4]
    steps = ["a", 3.0, ODD, [], [0.1], [NAN] * 3, [-1.0] * 3, [[1.0], [2.0, 3.0]], {}, [0.0, 0.1, 0.2]]
    many = ["a", 3, ODD, {}, {"a": [1.0]}, {"a": "b"}, {"a": ODD}, {"a": ["x"] * 3}]
    yield Call(
        "plot.slope",
        la.plot.slope,
        {"dt": dt, "errors": errors},
        {"dt": steps, "errors": ["a", 3.0, ODD, [], [0.1], ["x"] * 3]},
    )
    yield Call(
        "plot.convergence",
        closing(la.plot.convergence),
        {"dt": dt, "errors": {"a": errors}, "ylabel": "y"},
        {"dt": steps, "errors": many, "ylabel": "text"},
    )
    results = [
        "a",
        3,
        ODD,
        {},
        {"a": [1.0]},
        {"a": "b"},
        {"a": ODD},
        {"a": ([1.0], [1.0, 2.0])},
        {"a": (["x"], ["y"])},
        {"a": ([NAN], [NAN])},
    ]
    yield Call(
        "plot.work_precision",
        closing(la.plot.work_precision),
        {"results": {"a": (errors, dt)}, "xlabel": "x", "ylabel": "y"},
        {"results": results, "xlabel": "text", "ylabel": "text"},
    )
    view = la.view
    scene = {
        "what": run,
        "labels": ["a"],
        "layout": "ghost",
        "traces": ["link1"],
        "plots": ["energy"],
        "follow": True,
        "camera": (0.1, 0.2),
        "fps": 60.0,
        "max_frames": 100,
    }
    camera = ["a", 3.0, ODD, (1.0,), (NAN, 1.0), ("a", "b"), {}]
    traces = ["a", 3, ODD, ["none"], [3], [("link1", "a")], [("link1", (NAN, 0, 0))], [("link1",)]]
    kinds = {
        "what": runs,
        "labels": labels,
        "layout": "choice",
        "traces": traces,
        "plots": [3, ODD, ["none"], [3]],
        "follow": "flag",
        "camera": camera,
        "fps": "positive",
        "max_frames": "count",
    }
    yield Call("view.build_scene", view.build_scene, scene, kinds)
    yield Call("view.build_scene of a robot", view.build_scene, {"what": ROBOT, "q": Q}, {"what": None})
    size = [*WRONG["positive"], 1, 10**6, 100.5]
    shot = {"what": run, "path": None, "time": 0.01, "width": 64, "height": 48, "show": ("traces",)}
    show = ["a", 3, ODD, ["none"], [3]]
    yield Call(
        "view.screenshot",
        view.screenshot,
        shot,
        {
            "what": runs,
            "path": [*WRONG["path"], "a.jpg"],
            "time": "number",
            "width": size,
            "height": size,
            "show": show,
        },
    )
    yield Call(
        "view.export_html",
        view.export_html,
        {"what": run, "path": "no.html", "title": "a"},
        {"what": runs, "path": "path", "title": "text"},
        works=False,
    )
    film = {
        "what": run,
        "path": "no.gif",
        "width": 64,
        "height": 48,
        "fps": 30,
        "speed": 1.0,
        "show": ("traces",),
        "progress": lambda done, count: None,
    }
    yield Call(
        "view.export_mp4",
        view.export_mp4,
        film,
        {
            "what": runs,
            "path": [*WRONG["path"], "a.jpg"],
            "width": size,
            "height": size,
            "fps": "positive",
            "speed": "positive",
            "show": show,
            "progress": ["a", 3, ODD],
        },
        works=False,
    )
    yield Call(
        "view.Camera",
        view.Camera,
        {"target": (0, 0, 0), "azimuth": 0.1, "elevation": 0.1, "distance": 1.0, "field_of_view": 0.6},
        {
            "azimuth": "number",
            "elevation": "number",
            "distance": "positive",
            "field_of_view": [*WRONG["positive"], 4.0],
        },
    )
    yield Call("view.Camera.moved", view.Camera().moved, {"shift": (0, 0, 0)}, {"shift": "vector3"})


def closing(function):
    """The function, with its figure closed after the call."""

    def call(**given):
        from matplotlib import pyplot

        try:
            return function(**given)
        finally:
            pyplot.close("all")

    return call


def formats():
    """`leastaction.formats`, with files of its own."""
    f = la.formats
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "robot.urdf"
        f.save_urdf(ROBOT, path)
        names = ("floating_base", "merge_fixed", "strict", "meshes", "allow_outside", "composite", "contacts", "lossy")
        kinds = dict.fromkeys(names, "flag") | {"max_bytes": "count", "package_dirs": [3, ODD, [3], [ODD]]}
        plain = {"merge_fixed": False, "meshes": True, "allow_outside": False, "max_bytes": 10**6}
        urdf = {"path": path, "floating_base": False, "strict": False, "package_dirs": (), **plain}
        yield Call("load", la.load, urdf, kinds)
        yield Call("formats.load_urdf", f.load_urdf, urdf, kinds)
        yield Call("formats.save_urdf", f.save_urdf, {"robot": ROBOT, "path": path, "lossy": False}, kinds)
        if importlib.util.find_spec("mujoco") is None:
            return
        path = Path(folder) / "robot.xml"
        body = '<body name="b"><joint name="j" axis="0 1 0"/><geom size="0.1"/></body>'
        path.write_text(f'<mujoco><worldbody>{body}</worldbody><keyframe><key name="k" qpos="1"/></keyframe></mujoco>')
        mjcf = {"path": path, "composite": True, "keyframe": "k", "contacts": True, **plain}
        yield Call("formats.load_mjcf", f.load_mjcf, mjcf, kinds | {"keyframe": "known"})
        yield Call(
            "formats.load_keyframes",
            f.load_keyframes,
            {"path": path, "allow_outside": False, "max_bytes": 10**6},
            kinds,
        )


GROUPS = (
    parts,
    elements,
    builders,
    mechanisms,
    dynamics,
    integrators,
    runs,
    derivatives,
    robots,
    redmax,
    linear_algebra,
    pictures,
    formats,
)
