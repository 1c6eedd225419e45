"""What is written reads back as the same robot; what URDF cannot say is refused by name."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import leastaction as la
from leastaction.formats import load_mjcf, load_urdf, save_urdf
from leastaction.formats.urdf.urdf_writer import rpy
from leastaction.mechanism import (
    Box,
    Capsule,
    Cylinder,
    Inertia,
    MechanismBuilder,
    Mesh,
    Plane,
    Pose,
    Sphere,
    joints,
    solid_box,
)
from tests.formats.models import assert_same, mjcf, write

ROUNDING = 2e-15  # of a pose that goes through roll, pitch and yaw, and is inverted twice in loops


def round_trip(robot, tmp_path, **options):
    save_urdf(robot, tmp_path / "robot.urdf", **options)
    return load_urdf(tmp_path / "robot.urdf")


# ---------------------------------------------------------------------- any robot that URDF can say

finite = st.floats(-10, 10, allow_subnormal=False)
positive = st.floats(1e-3, 10)
unit3 = st.tuples(finite, finite, finite).filter(lambda v: np.linalg.norm(v) > 1e-3)
axes = unit3.map(lambda v: tuple((np.array(v) / np.linalg.norm(v)).tolist())) | st.sampled_from(["x", "-y", "z"])
# Right angles are what robots are full of, and where roll, pitch and yaw are degenerate.
angles = st.floats(-math.pi, math.pi) | st.sampled_from([0.0, math.pi / 2, -math.pi / 2, math.pi])
poses = st.builds(Pose.from_rpy, st.tuples(finite, finite, finite), st.tuples(angles, angles, angles)) | st.just(Pose())
colors = st.tuples(*[st.floats(0, 1)] * 4)
common = {"pose": poses, "color": colors, "name": st.sampled_from(["", "skin", 'a "quoted" <name> & more'])}
surfaces = [{}, {"friction": 0.3}, {"friction": 0.7, "restitution": 0.1, "visual": False}, {"restitution": 0.5}]
flags = st.sampled_from([*surfaces, {"visual": False}, {"collision": False}])
solids = st.one_of(
    st.builds(lambda f, **k: Box(**f, **k), flags, size=st.tuples(positive, positive, positive), **common),
    st.builds(lambda f, **k: Sphere(**f, **k), flags, radius=positive, **common),
    st.builds(lambda f, **k: Cylinder(**f, **k), flags, radius=positive, length=positive, **common),
    st.builds(lambda f, **k: Capsule(**f, **k), flags, radius=positive, length=positive, **common),
)
KINDS = ("fixed", "revolute", "prismatic", "planar", "spherical", "free")


@st.composite
def options_of_joint(draw, kind, loop=False):
    """Axis and properties of a joint of that kind; one that closes a loop has no armature."""
    axis = draw(axes) if kind in ("revolute", "prismatic", "planar") else None
    primitives = joints.primitives_of(kind, axis)
    nv = sum(p.nv for p in primitives)
    options = {"axis": axis}
    names = (
        ["effort_limit", "velocity_limit", "damping", "friction", "stiffness", "armature"][: 5 if loop else 6]
        if nv
        else []
    )
    for name in names:
        if draw(st.booleans()):
            # Free joints ask for the same damping and armature in all directions.
            options[name] = draw(positive) if kind == "free" else draw(st.tuples(*[positive] * nv))
    if nv and draw(st.booleans()):
        options["lower"] = draw(st.tuples(*[st.floats(-3, 0)] * nv))
        options["upper"] = draw(st.tuples(*[st.floats(0.5, 3)] * nv))
    if nv == 1 and draw(st.booleans()):
        options["rest"] = (draw(finite),)
    return options


@st.composite
def robots(draw):
    b = MechanismBuilder(draw(st.sampled_from(["robot", "Robo & Söhne"])))
    count = draw(st.integers(1, 5))
    simple = []
    for k in range(count):
        inertia = solid_box(draw(positive), draw(st.tuples(positive, positive, positive)))
        inertia = inertia.moved(draw(poses))
        b.body(f"body{k}", inertia=inertia, shapes=draw(st.lists(solids, max_size=2, unique_by=lambda s: s.pose)))
        parent = "world" if k == 0 else f"body{draw(st.integers(-1, k - 1))}".replace("body-1", "world")
        kind = draw(st.sampled_from(KINDS))
        options = draw(options_of_joint(kind))
        b.joint(f"joint{k}", kind, parent, f"body{k}", pose=draw(poses), **options)
        if kind in ("revolute", "prismatic"):
            simple.append(f"joint{k}")
    if len(simple) > 1 and draw(st.booleans()):
        name = draw(st.sampled_from([f"{simple[1]}_mimic", "gear"]))
        b.coupling(name, simple[1], simple[0], ratio=draw(finite), offset=draw(finite))
    if count > 1 and draw(st.booleans()):
        kind = draw(st.sampled_from(KINDS[:-1]))
        ends = draw(st.sampled_from(["world", "body0"])), f"body{count - 1}"
        options = draw(options_of_joint(kind, loop=True))
        b.joint("loop", kind, *ends, pose=draw(poses), child_pose=draw(poses), loop=True, **options)
    return b.build()


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(robot=robots())
def test_any_robot_reads_back_the_same(tmp_path, robot):
    assert_same(without_home(round_trip(robot, tmp_path)), robot, ROUNDING)


def without_home(robot):
    """Files do not tell where a robot starts: joints at zero, or within their limits."""
    return robot.replace(joints=tuple(replace(joint, home=None) for joint in robot.joints))


@settings(max_examples=300, deadline=None)
@given(st.tuples(angles, angles, angles), st.floats(-1e-7, 1e-7))
def test_roll_pitch_yaw_give_the_rotation_back_to_rounding(start, nudge):
    """Also within 1e-7 of pitch = +-pi/2, where arcsin would lose half of the digits."""
    pose = Pose.from_rpy((0, 0, 0), (start[0], start[1] + nudge, start[2]))
    back = Pose.from_rpy((0, 0, 0), rpy(pose))
    np.testing.assert_allclose(back.rotation, pose.rotation, rtol=0, atol=2e-15)


# ---------------------------------------------------------------------- particular robots


def pendulum():
    b = MechanismBuilder("pendulum")
    b.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-4))
    b.revolute("pivot", "world", "rod", axis="y")
    return b


def test_a_welded_root_needs_no_joint_in_the_file(tmp_path):
    b = MechanismBuilder("arm")
    b.body("base", mass=1.0, inertia=0.1)
    b.fixed("base_fixed", "world", "base")
    save_urdf(b.build(), tmp_path / "arm.urdf")
    text = (tmp_path / "arm.urdf").read_text()
    assert "joint" not in text
    assert 'name="world"' not in text
    assert_same(load_urdf(tmp_path / "arm.urdf"), b.build())


def test_meshes_go_into_a_folder_beside_the_file(tmp_path):
    pytest.importorskip("trimesh")
    b = pendulum()
    corners = np.random.default_rng(1).normal(size=(12, 3))
    corners /= np.linalg.norm(corners, axis=1)[:, None]  # on a sphere, so that each is a corner of the hull
    b.add_shape("rod", Mesh(corners, pose=Pose.from_rpy((0, 0, 1), (1, 2, 3)), name="rock", file="somewhere.stl"))
    back = round_trip(b.build(), tmp_path)
    assert_same(back, b.build(), ROUNDING)
    assert back.bodies[0].shapes[0].file == "robot_meshes/mesh0.obj"


def test_a_child_placement_moves_the_frame_of_the_link_and_nothing_else(tmp_path):
    """q, the mass matrix and the potential stay; the link's frame sits at the joint."""
    b = MechanismBuilder()
    X = Pose.from_rpy((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
    for name in ("upper", "lower"):
        b.body(name, inertia=Inertia(1.0, (0.1, 0, 0), 0.1))
    b.revolute("shoulder", "world", "upper", axis="y", pose=X, child_pose=X)
    b.revolute("elbow", "upper", "lower", axis="x", pose=X, child_pose=X)
    b.joint("loop", "spherical", "world", "lower", pose=X, child_pose=X, loop=True)
    robot, q = b.build(), np.array([0.3, 0.4])
    back = round_trip(robot, tmp_path)
    for law in (la.dynamics.mass_matrix, la.dynamics.potential_energy):
        np.testing.assert_allclose(law(back, q), law(robot, q), rtol=1e-14)
    ends = []
    for r in (robot, back):
        pose = la.dynamics.body_poses(r, q)[r.body_index("lower")]
        ends.append(pose @ r.loops[0].child_pose.inverse().matrix)
    np.testing.assert_allclose(*ends, atol=1e-14)


def test_a_robot_from_mjcf_can_be_written(tmp_path):
    world = '<body name="a"><joint name="j" type="ball" damping="0.1"/><geom name="g" size="0.1"/></body>'
    robot = load_mjcf(write(tmp_path, mjcf(world), "model.xml"), contacts=False)
    assert_same(round_trip(robot, tmp_path), robot, ROUNDING)


# ---------------------------------------------------------------------- what URDF cannot say


def refusal(add):
    b = pendulum()
    b.body("bob", mass=1.0, inertia=0.1)
    b.revolute("second", "rod", "bob")
    add(b)
    return b


REFUSED = {
    'spring "s"': lambda b: b.spring("s", "world", "rod", stiffness=1.0),
    'cable "c"': lambda b: b.cable("c", ["world", "rod"], stiffness=1.0, rest_length=0.1),
    'actuator "m"': lambda b: b.actuator("m", "pivot"),
    'external wrench "w"': lambda b: b.wrench("w", "rod", (0, 0, 0, 1, 0, 0)),
    'contact point "p"': lambda b: b.contact("p", "rod"),
    'shape "floor"': lambda b: b.add_shape("world", Plane(name="floor")),
    'shape "sphere"': lambda b: b.add_shape("rod", Sphere(0.1, visual=False, collision=False)),
    'surface velocity "belt"': lambda b: b.add_shape("rod", Box((1, 1, 1), name="belt", surface_velocity=(1, 0, 0))),
    'contact group "box"': lambda b: b.add_shape("rod", Box((1, 1, 1), groups=2)),
    'contact rule "box"': lambda b: b.add_shape("rod", Box((1, 1, 1), priority=1)),
    'mechanism "pendulum"': lambda b: setattr(b, "gravity", (0, 0, -1.62)),
    'home "pivot"': lambda b: b.home({"pivot": 0.3}),
    'coupling "k"': lambda b: b.add(la.mechanism.Coupling("k", "second", "pivot", (0.0, 1.0, 1.0))),
    'coupling "l"': lambda b: (
        b.coupling("k", "second", "pivot"),
        b.coupling("l", "second", "pivot", ratio=2),
    ),
}


@pytest.mark.parametrize("element", REFUSED)
def test_refusal_by_name_or_left_out_with_one_warning(tmp_path, element):
    robot = refusal(REFUSED[element]).build()
    path = tmp_path / "robot.urdf"
    with pytest.raises(la.FormatError, match="URDF cannot say") as error:
        save_urdf(robot, path)
    assert (error.value.element, error.value.file) == (element, str(path))
    assert not path.exists()
    with pytest.warns(UserWarning, match="omitted") as record:
        save_urdf(robot, path, lossy=True)
    assert len(record) == 1
    assert load_urdf(path).nv == 2


@pytest.mark.parametrize("kind", ["universal", "cylindrical", "translational", "screw"])
def test_joints_that_urdf_does_not_know_are_refused_even_if_lossy(tmp_path, kind):
    b = pendulum()
    b.body("bob", mass=1.0, inertia=0.1)
    b.joint("odd", kind, "rod", "bob")
    with pytest.raises(la.FormatError, match=kind) as error:
        save_urdf(b.build(), tmp_path / "robot.urdf", lossy=True)
    assert error.value.element == 'joint "odd"'
    assert list(tmp_path.iterdir()) == []


def test_characters_that_xml_cannot_write_are_refused(tmp_path):
    b = MechanismBuilder("a\x00b")
    b.body("rod", mass=1.0, inertia=0.1)
    b.free("rod")
    with pytest.raises(la.FormatError, match="XML cannot write"):
        save_urdf(b.build(), tmp_path / "robot.urdf")


def test_a_folder_that_cannot_be_written_is_a_format_error(tmp_path):
    write(tmp_path, "", "file")
    with pytest.raises(la.FormatError, match="does not exist"):
        save_urdf(pendulum().build(), tmp_path / "file" / "robot.urdf")
