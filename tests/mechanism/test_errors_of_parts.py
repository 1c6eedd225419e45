"""Wrong parts are refused at the door, by a typed error that names the culprit."""

import numpy as np
import pytest

from leastaction import MechanismError
from leastaction.mechanism import (
    Box,
    Cable,
    Capsule,
    ContactPoint,
    Coupling,
    Cylinder,
    ExternalWrench,
    HeightField,
    Inertia,
    Joint,
    JointActuator,
    MechanismBuilder,
    Mesh,
    Plane,
    Pose,
    Sphere,
    joints,
)

nan, inf = float("nan"), float("inf")
TETRAHEDRON = [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]
LEAF = [[0.1, 0.3, 0.2], [1.3, 0.4, 0.7], [0.2, 1.7, 0.5]]  # a triangle, away from the origin


def builder():
    b = MechanismBuilder()
    b.body("a", mass=1.0, inertia=1.0)
    return b


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"mass": nan}, "body 'c': mass: expected a finite number"),
        ({"mass": inf}, "body 'c': mass: expected a finite number"),
        ({"mass": "heavy"}, "body 'c': mass: expected a number, got 'heavy'"),
        ({"mass": 1, "com": (0, 0)}, "body 'c': centre of mass: expected 3 numbers, got 2"),
        ({"mass": 1, "com": (0, 0, nan)}, "body 'c': centre of mass: expected a finite number"),
        ({"mass": 1, "inertia": (1, 2)}, "body 'c': inertia: expected 6 numbers, got 2"),
        ({"mass": 1, "inertia": "round"}, "body 'c': inertia: expected a number, 3, 6 or 3 x 3 numbers"),
        ({"mass": 1, "inertia": [[1, 1, 0], [0, 1, 0], [0, 0, 1]]}, "body 'c': inertia: .* not symmetric"),
        ({"mass": 1, "inertia": nan}, "body 'c': inertia: expected a finite number"),
        ({"mass": 1, "inertia": Inertia(1.0)}, "body 'c': an Inertia already says mass"),
        ({"density": 1000.0}, "body 'c': a density needs shapes"),
        (
            {"density": 1000.0, "mass": 1.0, "shapes": Sphere(1.0)},
            "body 'c': a density needs shapes, and no mass",
        ),
        ({"density": nan, "shapes": Sphere(1.0)}, "body 'c': density: expected a finite number"),
        ({"density": -1.0, "shapes": Sphere(1.0)}, "body 'c': density: must be positive"),
        ({"mass": 1.0, "shapes": Plane()}, "body 'c': a plane has no volume"),
        ({"mass": 1.0, "shapes": Mesh(LEAF, [[0, 1, 2]])}, "body 'c': mesh '': encloses no volume"),
        ({"density": 1.0, "shapes": Mesh(LEAF, [[0, 1, 2]])}, "body 'c': mesh '': encloses no volume"),
        (
            {"mass": 1.0, "shapes": Mesh(TETRAHEDRON, [[0, 1, 2], [0, 3, 1], [0, 2, 3], [1, 3, 2]])},
            "body 'c': mesh '': encloses no volume, or its faces point inwards",
        ),
        ({"mass": -1.0, "shapes": Sphere(1.0)}, "body 'c'"),
        ({"mass": 1.0, "shapes": 3}, "body 'c': shapes must be one Shape or several"),
        ({"mass": 1.0, "shapes": [Sphere(1.0), "ball"]}, "body 'c': shapes must be one Shape or several"),
    ],
)
def test_bodies(options, message):
    with pytest.raises(MechanismError, match=message):
        builder().body("c", **options)


@pytest.mark.parametrize("name", ["", "  ", 3, None])
def test_names_must_be_words(name):
    with pytest.raises(MechanismError, match="expected a non-empty name"):
        builder().body(name, mass=1.0)
    with pytest.raises(MechanismError, match="expected a non-empty name"):
        builder().revolute(name, "world", "a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"axis": (1, 1, 0)}, "joint 'j': revolute axis: must have unit norm, got norm 1.414"),
        ({"axis": (0, 0, 0)}, "joint 'j': revolute axis: must have unit norm"),
        ({"axis": (1, 0)}, "joint 'j': revolute axis: expected 3 numbers, got 2"),
        ({"axis": (nan, 0, 0)}, "joint 'j': revolute axis: expected a finite number"),
        ({"axis": "w"}, "joint 'j': revolute axis: expected one of x, y, z, -x, -y, -z or a unit vector"),
        ({"rotation": (1, 1, 0, 0)}, "joint 'j': pose quaternion: must have unit norm"),
        ({"rotation": (1, 0, 0)}, "joint 'j': pose quaternion: expected 4 numbers"),
        ({"position": (nan, 0, 0)}, "joint 'j': pose position: expected a finite number"),
        ({"position": (0, 0, 0), "pose": Pose()}, "joint 'j': give either a pose or position"),
        ({"pose": (0, 0)}, "joint 'j': pose must be a Pose"),
        ({"child_pose": "x"}, "joint 'j': child_pose must be a Pose"),
        ({"limits": (1, -1)}, "joint 'j': limits are reversed: lower 1.0 > upper -1.0"),
        ({"limits": (nan, 1)}, "joint 'j': lower: expected a finite number"),
        ({"limits": 3}, "joint 'j': limits: expected a pair, got 3"),
        ({"limits": (1,)}, "joint 'j': limits: expected a pair"),
        ({"damping": -0.1}, "joint 'j': damping must not be negative, got -0.1"),
        ({"stiffness": -1}, "joint 'j': stiffness must not be negative"),
        ({"friction": -1}, "joint 'j': friction must not be negative"),
        ({"armature": -1}, "joint 'j': armature must not be negative"),
        ({"effort_limit": -1}, "joint 'j': effort_limit must not be negative"),
        ({"damping": (1, 2)}, "joint 'j': damping: expected 1 numbers, got 2"),
        ({"damping": inf}, "joint 'j': damping: expected a finite number"),
        ({"rest": nan}, "joint 'j': rest: expected a finite number"),
        ({"colour": "red"}, "joint 'j': a joint has no property 'colour'"),
    ],
)
def test_joints(options, message):
    with pytest.raises(MechanismError, match=message):
        builder().revolute("j", "world", "a", **options)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("weld", {}, "joint 'j': unknown kind of joint 'weld'; known kinds: fixed, revolute"),
        ("composite", {}, "joint 'j': a composite joint needs parts"),
        ("composite", {"parts": ("x",)}, "joint 'j': a composite joint needs parts"),
        ("composite", {"parts": 3}, "joint 'j': a composite joint needs parts"),
        ("universal", {"axis": "x"}, "joint 'j': universal axes: expected a pair"),
        ("universal", {"axis": ("x", "-x")}, "joint 'j': universal axes: the two must not be parallel"),
        ("screw", {"pitch": nan}, "joint 'j': screw pitch: expected a finite number"),
        ("spherical", {"rest": (2, 0, 0, 0)}, "joint 'j': rest quaternion: must have unit norm"),
        ("free", {"rest": (0, 0, 0, 0, 0, 0, 0)}, "joint 'j': rest quaternion: must have unit norm"),
        (
            "free",
            {"damping": (1, 1, 1, 1, 2, 1)},
            "joint 'j': damping of a free joint must be equal in x, y and z",
        ),
    ],
)
def test_kinds_of_joints(kind, options, message):
    with pytest.raises(MechanismError, match=message):
        builder().joint("j", kind, "world", "a", **options)


def test_the_ends_of_a_joint():
    with pytest.raises(MechanismError, match="joint 'j': parent and child are both 'a'"):
        builder().revolute("j", "a", "a")
    with pytest.raises(MechanismError, match="joint 'j': the world cannot be a child; swap"):
        builder().revolute("j", "a", "world")


def test_a_joint_cannot_claim_another_kind():
    with pytest.raises(MechanismError, match="joint 'j': a revolute joint cannot have 0 primitive motions"):
        Joint("j", "revolute", "world", "a")
    with pytest.raises(MechanismError, match="joint 'j': a fixed joint cannot have 1 primitive motions"):
        Joint("j", "fixed", "world", "a", (joints.revolute("x"),))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Sphere(nan), "sphere '': radius: expected a finite number"),
        (lambda: Sphere(0.0, name="ball"), "sphere 'ball': radius: must be positive"),
        (lambda: Capsule(1.0, -1.0), "capsule '': length: must be positive"),
        (lambda: Cylinder(-1.0, 1.0), "cylinder '': radius: must be positive"),
        (lambda: Box((1, 0, 1)), "box '': size: must be positive"),
        (lambda: Box((1, 1)), "box '': size: expected 3 numbers"),
        (lambda: Sphere(1.0, color=(1, 0, 0)), "color of sphere '': expected 4 numbers"),
        (lambda: Mesh(TETRAHEDRON, [[0, 1, 9]]), "mesh '': a face names a vertex that does not exist"),
        (lambda: Mesh(TETRAHEDRON[:3]), "mesh '': its points have no convex hull"),
        (lambda: Mesh([[0, 0], [1, 0]]), r"mesh '': vertices: expected an array of shape \(n, 3\)"),
        (lambda: Mesh("abc"), "mesh '': vertices: expected an array of numbers"),
        (lambda: Mesh([[0, 0, 0], [1, 0]]), "mesh '': vertices: expected an array of numbers"),
        (lambda: Mesh([*TETRAHEDRON, [nan, 0, 0]]), "mesh '': vertices: expected finite numbers"),
        (
            lambda: HeightField([[1.0]], 1.0),
            "height field '': heights must be a finite array of at least 2 x 2",
        ),
        (lambda: HeightField([[1.0, nan], [0, 0]], 1.0), "height field '': heights must be a finite array"),
        (lambda: HeightField(np.zeros((2, 2)), 0.0), "height field '': spacing: must be positive"),
        (lambda: Box((1, 1, 1)).inertia(), "box '': give either density or mass"),
        (lambda: Box((1, 1, 1)).inertia(mass=1.0, density=1.0), "box '': give either density or mass"),
        (lambda: Plane().volume(), "a plane has no volume"),
    ],
)
def test_shapes(make, message):
    with pytest.raises(MechanismError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pose((0, 0)), "pose position: expected 3 numbers"),
        (lambda: Pose((0, 0, 0), (2, 0, 0, 0)), "pose quaternion: must have unit norm, got norm 2"),
        (lambda: Pose.from_rpy("here"), "pose position: expected 3 numbers"),
        (lambda: Pose.from_rpy((0, 0, 0), (0, nan, 0)), "roll, pitch, yaw: expected a finite number"),
        (lambda: Pose.from_axis_angle("x", nan), "angle: expected a finite number"),
        (lambda: Pose.from_axis_angle((1, 1, 1), 0.1), "pose axis: must have unit norm"),
        (lambda: Pose.from_matrix(np.ones((4, 4))), "rotation is orthonormal"),
        (lambda: Pose.from_matrix(np.eye(3)), r"homogeneous matrix \(4, 4\)"),
    ],
)
def test_poses(make, message):
    with pytest.raises(MechanismError, match=message):
        make()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda b: b.spring("s", 3, "a"), r"spring 's': start: expected a body's name or \(body, point\)"),
        (lambda b: b.spring("s", ("a", (0, 0)), "world"), "attachment on 'a': point: expected 3 numbers"),
        (lambda b: b.spring("s", "a", "world", stiffness=-1), "spring 's': stiffness: must not be negative"),
        (lambda b: b.damper("s", "a", "world", damping=nan), "spring 's': damping: expected a finite number"),
        (
            lambda b: b.cable("c", ["a"], stiffness=1, rest_length=1),
            "cable 'c': needs at least two points, got 1",
        ),
        (lambda b: Cable("c", (), 1.0), "cable 'c': needs at least two points"),
        (lambda b: b.coupling("g", "j", "j"), "coupling 'g': 'j' cannot follow itself"),
        (lambda b: Coupling("g", "j", "k", (nan,)), "coupling 'g': coefficients: expected a finite number"),
        (lambda b: b.actuator("m", "j", limits=(1, 0)), "actuator 'm': limits are reversed"),
        (lambda b: b.actuator("m", "j", limits=1), "actuator 'm': limits: expected a pair"),
        (lambda b: b.actuator("m", "j", gear=nan), "actuator 'm': gear: expected a finite number"),
        (lambda b: JointActuator("m", "j", lower=nan), "actuator 'm': lower: expected a finite number"),
        (lambda b: b.thruster("t", "a", (1, 2, 3)), "actuator 't': wrench: expected 6 numbers"),
        (lambda b: b.wrench("w", "a", (0,) * 5), "external wrench 'w': wrench: expected 6 numbers"),
        (
            lambda b: ExternalWrench("w", "a", (0,) * 6, frame="moon"),
            "frame must be 'world' or 'body', got 'moon'",
        ),
        (lambda b: b.contact("p", "a", friction=-1), "contact point 'p': friction: must not be negative"),
        (
            lambda b: ContactPoint("p", "a", restitution=1.5),
            "contact point 'p': restitution must not exceed 1",
        ),
        (lambda b: Sphere(1.0, name="s", friction=-1), "sphere 's': friction: must not be negative"),
        (lambda b: Sphere(1.0, name="s", restitution=1.5), "sphere 's': restitution must not exceed 1"),
        (lambda b: b.add_shape("a", "box"), "body 'a': shape: expected Shape, got 'box'"),
        (lambda b: b.add_shape("aa", Sphere(1.0)), "unknown body 'aa'; did you mean 'a'"),
        (lambda b: b.add(3), "cannot add a int to a mechanism"),
        (lambda b: b.remove("zz"), "nothing is called 'zz'"),
        (lambda b: b.body("a"), "body 'a': this name is used twice"),
    ],
)
def test_elements(make, message):
    with pytest.raises(MechanismError, match=message):
        make(builder())
