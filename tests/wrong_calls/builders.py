"""Methods of the builder, called wrongly."""

import numpy as np

import leastaction as la
from leastaction.mechanism import Body, Pose, Sphere, joints
from tests.wrong_calls.kinds import NAN, NO_NAME, NO_OBJECT, ODD, ROBOT, WRONG, Call, no_vector


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
        "armature": 0.0,
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

    def remove(name, kind):
        ROBOT.edit().remove(name, kind)

    wrong = {"name": "known", "kind": ["nothing", "", "joints", "actuator", 3, ODD]}
    yield Call("MechanismBuilder.remove", remove, {"name": "link1", "kind": "body"}, wrong)
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
