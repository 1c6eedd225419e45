"""What is written as MJCF reads back as the same robot and moves in MuJoCo as it does; the rest is refused by name."""

from contextlib import nullcontext
from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import with_parameters
from leastaction.errors import FormatError
from leastaction.formats import load_mjcf, save_mjcf
from leastaction.mechanism import (
    Activation,
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Frame,
    HeightField,
    Inertia,
    MechanismBuilder,
    Mesh,
    Plane,
    Pose,
    Sensor,
    Servo,
    Sphere,
    joints,
    solid_box,
)
from tests.formats.models import assert_same, mjcf, write

mujoco = pytest.importorskip("mujoco")

TURNED = Pose.from_rpy((0.1, -0.2, 0.3), (0.4, -0.5, 0.6))
ROUNDING = 4e-15
REFUSED = {"andrews_squeezer": "external wrench", "arm_exoskeleton": "planar"}


def round_trip(robot, tmp_path, **options):
    save_mjcf(robot, tmp_path / "robot.xml", **options)
    return load_mjcf(tmp_path / "robot.xml")


def assert_moves_alike(robot, other, tolerance=1e-13):
    """Same coordinates, poses, inertia and forces in a random state."""
    assert other.coordinate_names == robot.coordinate_names
    assert other.velocity_names == robot.velocity_names
    np.testing.assert_allclose(other.home(), robot.home(), atol=1e-15)
    rng = np.random.default_rng(3)
    q, v = robot.random_configuration(rng), rng.normal(size=robot.nv)
    for function in (la.dynamics.mass_matrix, lambda r, q: la.dynamics.bias_forces(r, q, v), passive(v)):
        expected = function(robot, q)
        np.testing.assert_allclose(function(other, q), expected, atol=tolerance * max(1.0, np.abs(expected).max()))


def passive(v):
    return lambda robot, q: la.dynamics.passive_forces(robot, q, v)


def in_mujoco(path):
    model = mujoco.MjModel.from_xml_path(str(path))
    return model, mujoco.MjData(model)


def mass_matrix(path, q):
    model, data = in_mujoco(path)
    data.qpos[:] = q
    mujoco.mj_forward(model, data)
    # Columns of the mass matrix, whatever the version calls the whole.
    columns = []
    for k in range(model.nv):
        out = np.zeros(model.nv)
        mujoco.mj_mulM(model, data, out, np.eye(model.nv)[k])
        columns.append(out)
    return np.array(columns)


# ---------------------------------------------------------------------- robots


@pytest.mark.parametrize("name", sorted({entry.name for entry in la.robots.catalogue()} - set(REFUSED)))
def test_robots_of_the_zoo_read_back(name, tmp_path):
    robot = la.robots.get(name)
    other = round_trip(robot, tmp_path)
    assert_moves_alike(robot, other)
    for part in ("loops", "couplings", "springs", "cables", "actuators", "contacts", "frames", "sensors", "ground"):
        if part in ("loops", "springs", "cables"):
            assert len(getattr(other, part)) == len(getattr(robot, part)), part
        elif part != "ground":
            assert_same(getattr(robot, part), getattr(other, part), ROUNDING, part)
    for a, b in zip(robot.loops, other.loops, strict=True):
        assert_same(replace(b, loop=True), replace(a, loop=True), ROUNDING)


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_robots_that_mjcf_cannot_say(name, tmp_path):
    with pytest.raises(FormatError, match=REFUSED[name]):
        save_mjcf(la.robots.get(name), tmp_path / "robot.xml")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["unitree_a1", "atlas", "serial_arm"])
def test_mujoco_has_the_same_mass_matrix(name, tmp_path):
    robot = la.robots.get(name)
    save_mjcf(robot, tmp_path / "robot.xml")
    q = robot.random_configuration(1)
    ours = la.dynamics.mass_matrix(robot, q)
    theirs = mass_matrix(tmp_path / "robot.xml", q)
    if robot.joints[0].kind == "free":
        # qvel is (linear in the world, angular in the body), v the twist in the body.
        change = np.eye(robot.nv)
        R = Pose((0, 0, 0), tuple(q[3:7])).rotation
        change[:6, :6] = 0.0
        change[:3, 3:6], change[3:6, :3] = R, np.eye(3)
        theirs = change.T @ theirs @ change
    np.testing.assert_allclose(theirs, ours, atol=1e-12 * np.abs(ours).max())


def test_a_run_of_what_was_read_back_is_the_same(tmp_path):
    robot = la.robots.double_pendulum()
    other = round_trip(robot, tmp_path)
    runs = [la.simulate(r, [0.3, -0.4], duration=0.2, dt=0.01) for r in (robot, other)]
    np.testing.assert_allclose(runs[1].q, runs[0].q, atol=1e-12)


# ---------------------------------------------------------------------- files of others

FOREIGN = mjcf(
    """
    <geom name="floor" type="plane" size="5 5 1" friction="0.8 0.01 0.001" condim="6"/>
    <body name="torso" pos="0 0 1.2" quat="0.9 0.1 0.2 0.3">
      <freejoint name="root"/>
      <geom type="capsule" size="0.07 0.2" euler="0 80 10"/>
      <site name="imu" pos="0 0 0.1" euler="10 20 30"/>
      <body name="hip" pos="0.1 0.1 -0.2" euler="0 0 30">
        <joint name="a" axis="1 0 0" range="-30 60" damping="1" armature="0.02" pos="0 0 0.05" ref="20"/>
        <joint name="b" axis="0 1 0" stiffness="5" springref="15" pos="0 0 0.05" frictionloss="0.2"/>
        <joint name="c" axis="0 0 1" pos="0.02 0 0.05"/>
        <geom type="box" size="0.05 0.06 0.2" contype="2" conaffinity="4" pos="0 0 -0.2"/>
        <body name="foot" pos="0 0 -0.5">
          <joint name="ball" type="ball" pos="0 0.01 0" damping="0.3"/>
          <geom name="sole" size="0.06" pos="0.02 0 0" condim="1"/>
          <site name="touched" type="box" size="0.1 0.1 0.1"/>
        </body>
      </body>
      <body name="arm" pos="0 -0.2 0.1" euler="20 0 0">
        <joint name="d" type="slide" axis="1 1 0" ref="0.1" range="-0.2 0.3" pos="0.1 0 0"/>
        <joint name="e" axis="0 0 1" ref="-25" pos="0 0.1 0"/>
        <geom type="ellipsoid" size="0.1 0.05 0.06"/>
        <body name="rod" pos="0.2 0 0"><geom type="cylinder" size="0.03 0.1" mass="0.2"/></body>
      </body>
    </body>""",
    """
    <contact><exclude body1="torso" body2="foot"/></contact>
    <equality><joint joint1="c" joint2="e" polycoef="0.1 0.5 0.2 0 0"/></equality>
    <tendon><spatial name="wire" stiffness="30" damping="0.4" springlength="0.1">
      <site site="imu"/><site site="touched"/></spatial></tendon>
    <actuator>
      <motor name="m" joint="a" gear="20" ctrlrange="-1 1"/>
      <position name="p" joint="e" kp="40" kv="3"/>
      <velocity name="v" joint="b" kv="5" gear="2"/>
      <general name="g" joint="d" gainprm="7" biastype="affine" biasprm="1 -9 -2" dyntype="filter" dynprm="0.05"/>
      <motor name="w" joint="ball" gear="0 3 0"/>
      <motor name="thrust" site="imu" gear="0 0 2 0.1 0 0"/>
    </actuator>
    <sensor>
      <gyro name="gyro" site="imu"/><accelerometer name="acc" site="imu" cutoff="50"/>
      <touch name="touch" site="touched"/><jointpos name="pos" joint="d"/>
      <framepos name="where" objtype="xbody" objname="foot" reftype="site" refname="imu"/>
      <framequat name="how" objtype="body" objname="arm"/><subtreecom name="com" body="torso"/>
    </sensor>""",
    '<option gravity="0.1 0 -9.7"/>',
)


@pytest.fixture
def foreign(tmp_path):
    path = write(tmp_path, FOREIGN, "foreign.xml")
    return path, load_mjcf(path)


def test_files_of_others_read_back(foreign, tmp_path):
    _, robot = foreign
    other = round_trip(robot, tmp_path)
    assert_moves_alike(robot, other)
    parts = (
        "bodies",
        "ground",
        "couplings",
        "cables",
        "actuators",
        "contacts",
        "excluded_contacts",
        "frames",
        "sensors",
    )
    for part in parts:
        assert_same(getattr(robot, part), getattr(other, part), ROUNDING, part)
    for a, b in zip(robot.joints, other.joints, strict=True):
        bare = {"pose": Pose(), "child_pose": Pose(), "primitives": a.primitives}
        assert_same(replace(a, **bare), replace(b, **bare), ROUNDING)


def test_mujoco_moves_what_was_written_as_the_original(foreign, tmp_path):
    path, robot = foreign
    save_mjcf(robot, tmp_path / "robot.xml")
    rng = np.random.default_rng(2)
    q, v, states = robot.random_configuration(rng), rng.normal(size=robot.nv), []
    for file in (path, tmp_path / "robot.xml"):
        model, data = in_mujoco(file)
        model.opt.disableflags |= int(mujoco.mjtDisableBit.mjDSBL_CONTACT)
        data.qpos[:], data.qvel[:], data.ctrl[:] = q, v, 0.3
        mujoco.mj_forward(model, data)
        states.append([model.qpos0, data.xpos, data.geom_xpos, data.qfrc_bias, data.qfrc_passive, data.qfrc_actuator])
        states[-1] += [data.site("imu").xpos, data.sensordata, data.efc_pos]
        states[-1] += [model.geom_friction[:3, 0], model.geom_contype, model.geom_conaffinity]
    for expected, found in zip(*states, strict=True):
        np.testing.assert_allclose(found, expected, atol=1e-11 * max(1.0, np.abs(expected).max()))


# ---------------------------------------------------------------------- parts


def arm(kind="revolute", **options):
    b = MechanismBuilder("arm")
    b.body("one", inertia=Inertia(2.0, (0.1, 0.2, -0.1), solid_box(2.0, (0.1, 0.2, 0.3)).moved(TURNED).moments))
    b.body("two", inertia=solid_box(1.0, (0.1, 0.2, 0.4), com=(0.05, 0, 0.1)))
    b.joint("first", "revolute", "world", "one", axis="y", pose=TURNED)
    b.joint("second", kind, "one", "two", pose=TURNED, **options)
    return b


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("revolute", {"axis": (0.6, 0, 0.8), "child_pose": TURNED, "home": 0.7, "lower": -1.0}),
        ("prismatic", {"axis": (0.8, -0.6, 0), "child_pose": TURNED, "home": -0.3, "effort_limit": 5.0}),
        ("spherical", {"child_pose": TURNED, "home": (0.8, 0.6, 0, 0), "velocity_limit": 3.0}),
        ("universal", {"child_pose": TURNED, "home": (0.4, -0.2), "stiffness": (1.0, 0.0), "rest": (0.1, 0.2)}),
        ("planar", {"axis": (0, 0.6, 0.8), "child_pose": TURNED, "home": (0.1, 0.2, 0.3), "damping": (1.0, 2.0, 3.0)}),
        ("cylindrical_free_orientation", {"axis": "x", "child_pose": TURNED}),
        ("fixed", {"child_pose": TURNED}),
        ("composite", {"parts": [joints.spherical(), joints.prismatic("x")], "child_pose": TURNED}),
    ],
)
def test_joints_anywhere_on_their_bodies(kind, options, tmp_path):
    robot = arm(kind, **options).build()
    other = round_trip(robot, tmp_path)
    assert_moves_alike(robot, other)
    for name in ("lower", "upper", "velocity_limit", "effort_limit", "damping", "stiffness"):
        assert getattr(other.joints[1], name) == getattr(robot.joints[1], name)
    q = robot.random_configuration(4)
    np.testing.assert_allclose(mass_matrix(tmp_path / "robot.xml", q), la.dynamics.mass_matrix(robot, q), atol=1e-13)


def test_shapes(tmp_path):
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    shapes = (
        Box((0.1, 0.2, 0.3), name="box", pose=TURNED, friction=0.7, groups=2**31, touches=6),
        Capsule(0.1, 0.3, friction=0.9, spinning=0.01),
        Cylinder(0.1, 0.3, friction=0.0, rolling=0.02, spinning=0.0, visual=False),
        Ellipsoid((0.1, 0.2, 0.3), collision=False),
        Sphere(0.2, friction=0.0, name="box"),
    )
    b = arm()
    # MuJoCo keeps colours in single precision.
    shapes = tuple(replace(shape, color=(0.25, 0.5, 0.75, 0.5)) for shape in shapes)
    for shape in shapes:
        b.add_shape("two", shape)
    b.add_shape("one", Mesh(corners, pose=TURNED, friction=0.5))
    heights = np.arange(12.0).reshape(3, 4) ** 2 / 40.0 - 1.0
    b.add_shape("world", HeightField(heights, 0.5, friction=0.5))
    b.add_shape("world", Plane(pose=TURNED, friction=0.5))
    other = round_trip(b.build(), tmp_path)
    renamed = (*shapes[:-1], replace(shapes[-1], name="box_2"))
    assert_same(renamed, other.bodies[1].shapes, ROUNDING)
    mesh = other.bodies[0].shapes[0]
    points = np.array([mesh.pose.apply(x) for x in mesh.vertices])
    expected = np.array([TURNED.apply(x) for x in corners])
    for point in expected:
        assert np.linalg.norm(points - point, axis=1).min() < 1e-6
    field = other.ground[0]
    np.testing.assert_allclose(field.heights + field.pose.position[2], heights, atol=1e-6)
    assert field.spacing == pytest.approx(0.5)
    assert_same(Plane(pose=TURNED, friction=0.5, color=other.ground[1].color), other.ground[1], ROUNDING)


def test_shapes_that_leave_friction_to_what_they_touch(tmp_path):
    b = arm()
    b.add_shape("one", Sphere(0.1))
    b.add_shape("world", Plane(friction=0.2))
    other = round_trip(b.build(), tmp_path)
    assert other.bodies[0].shapes[0].friction == other.ground[0].friction == 0.2
    b.add_shape("two", Sphere(0.1))
    with pytest.raises(FormatError, match="friction"):
        save_mjcf(b.build(), tmp_path / "robot.xml")


def test_elements(tmp_path):
    b = arm(limit_stiffness=3.0, lower=-1.0, upper=1.0, velocity_limit=4.0)
    b.body("three", inertia=solid_box(1.0, (0.1, 0.2, 0.4)))
    b.joint("third", "spherical", "two", "three", pose=TURNED)
    b.spring("spring", ("one", (0.1, 0, 0)), ("three", (0, 0.2, 0)), stiffness=5.0, rest_length=0.3, damping=0.1)
    b.joint("loop", "revolute", "world", "three", axis=(0, 0.6, 0.8), pose=TURNED, loop=True)
    b.coupling("gear", "second", "first", ratio=2.0, offset=0.1)
    b.contact("tip", "three", (0, 0, 0.1), friction=0.4, restitution=0.2)
    b.add(Servo("servo", "first", 2.0, -1.0, np.inf, Activation("integrator", 0.0, -2, 2), kp=3.0, kv=0.1, rest=0.5))
    b.add(Frame("eye", "world", TURNED))
    b.add(Sensor("turn", "gyro", "two"))
    b.add(Sensor("seen", "position", "three", "eye"))
    b.home({"first": 0.3})
    robot = b.build()
    other = round_trip(robot, tmp_path)
    assert_moves_alike(robot, other)
    for part in ("springs", "cables", "loops", "couplings", "contacts", "actuators", "frames", "sensors"):
        assert_same(getattr(robot, part), getattr(other, part), ROUNDING, part)
    assert other.joint("second").limit_stiffness == (3.0,)
    assert other.joint("second").velocity_limit == (4.0,)


@pytest.mark.filterwarnings("ignore:body 'one'")
@pytest.mark.filterwarnings("ignore:.*triangle inequality")
@pytest.mark.parametrize(
    ("inertia", "matters"),
    [
        (Inertia(1.0, (0, 0, -1), 0.0), False),
        (Inertia(1.0, (0.1, 0, 0), (0.1, 0.2, 0.5)), True),
        (Inertia(1.0, (0.1, 0, 0), (0.1, 0.0, 0.0)), True),
        (Inertia(2.0, (0, 0, 1), (0.1, 0.1, 0.0)), False),
    ],
)
def test_inertias_that_mujoco_refuses(inertia, matters, tmp_path):
    b = MechanismBuilder("odd", strict=False)
    b.body("one", inertia=inertia)
    b.body("part", inertia=Inertia(1.0, (0, 0, 0), (0.0, 0.3, 0.3)))
    b.fixed("weld", "world", "part")
    b.joint("hinge", "revolute", "world", "one", axis="y", lower=0.1, upper=0.1, effort_limit=0.0)
    robot = b.build()
    with pytest.warns(UserWarning, match="inertias that it refuses.*: one") if matters else nullcontext():
        save_mjcf(robot, tmp_path / "robot.xml")
    other = load_mjcf(tmp_path / "robot.xml")
    assert other.bodies == robot.bodies
    for name in ("lower", "upper", "effort_limit"):
        assert getattr(other.joint("hinge"), name) == getattr(robot.joint("hinge"), name)


# ---------------------------------------------------------------------- refusals


def test_what_mjcf_cannot_say_is_refused_or_left_out(tmp_path):
    b = arm()
    b.wrench("wind", "one", (0, 0, 0, 1, 0, 0))
    b.add_shape("two", Sphere(0.1, restitution=0.5, name="ball"))
    robot, path = b.build(), tmp_path / "robot.xml"
    with pytest.raises(FormatError, match=r'external wrench "wind".*lossy=True'):
        save_mjcf(robot, path)
    assert not path.exists()
    with pytest.warns(UserWarning, match="omitted: external wrenches: wind; restitutions: ball"):
        save_mjcf(robot, path, lossy=True)
    assert load_mjcf(path).wrenches == ()


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        ("screw", {"pitch": 0.1}, 'joint "second": MJCF cannot say that a joint is screw'),
        ("free", {}, "free joint"),
        ("composite", {"parts": [joints.spherical(), joints.revolute("x")]}, "ball is followed"),
        ("spherical", {"damping": (1.0, 2.0, 3.0)}, 'damping "second"'),
        ("spherical", {"lower": -1.0}, 'limit "second"'),
    ],
)
def test_joints_that_mjcf_does_not_know(kind, options, message, tmp_path):
    with pytest.raises(FormatError, match=message):
        save_mjcf(arm(kind, **options).build(), tmp_path / "robot.xml")


def test_a_text_that_is_damaged_is_refused(tmp_path):
    save_mjcf(arm().build(), tmp_path / "robot.xml")
    text = (tmp_path / "robot.xml").read_text()
    for broken in ("{", "[1]", '{"contacts": [{"nme": 1}]}', '{"contacts": [], "loops": 3, "home": [1]}'):
        (tmp_path / "robot.xml").write_text(text.replace('{"contacts": []}', broken))
        with pytest.raises(FormatError, match="leastaction cannot be understood"):
            load_mjcf(tmp_path / "robot.xml")


def test_needs_a_mechanism_and_a_flag(tmp_path):
    with pytest.raises(FormatError, match="save_mjcf needs a Mechanism"):
        save_mjcf(3, tmp_path / "robot.xml")
    with pytest.raises(FormatError, match="lossy must be"):
        save_mjcf(arm().build(), tmp_path / "robot.xml", lossy=1)


def test_gravity_compensation_is_written_and_other_wrenches_are_refused(tmp_path):
    body = '<body name="a" gravcomp="0.5"><joint/><geom size="0.1" pos="0.1 0.2 0.3"/></body>'
    robot = load_mjcf(write(tmp_path, mjcf(body), "given.xml"))
    other = round_trip(robot, tmp_path)
    assert other.wrenches[0].name == "gravcomp of a"
    np.testing.assert_allclose(other.wrenches[0].wrench, robot.wrenches[0].wrench, rtol=1e-14)
    np.testing.assert_allclose(in_mujoco(tmp_path / "robot.xml")[0].body_gravcomp, [0.0, 0.5], rtol=1e-14)
    assert robot.replace(gravity=(0, 0, 0)).wrenches[0].wrench == (0.0,) * 6
    lighter = with_parameters(robot, {"mass:a": 2.0, "gravity": (1.0, 2.0, 3.0), "com:a": (0.1, 0.0, 0.0)}).wrenches[0]
    np.testing.assert_allclose(lighter.wrench, [0, 0, 0, -1, -2, -3], rtol=1e-14)
    assert lighter.point == (0.1, 0.0, 0.0)
    moved = robot.replace(wrenches=(replace(robot.wrenches[0], point=(0.0, 0.0, 0.0)),))
    with pytest.raises(FormatError, match="has an external wrench"):
        save_mjcf(moved, tmp_path / "moved.xml")


def test_contact_points_hold_the_robot_in_mujoco(tmp_path):
    robot = la.robots.unitree_a1(ground=True)
    again = round_trip(robot, tmp_path)
    assert again.contacts == robot.contacts
    assert [len(body.shapes) for body in again.bodies] == [len(body.shapes) for body in robot.bodies]
    model = mujoco.MjModel.from_xml_path(str(tmp_path / "robot.xml"))
    data = mujoco.MjData(model)
    data.qpos[:], model.dof_damping[6:] = robot.home(), 50.0
    mujoco.mj_step(model, data, 500)
    gaps = [float(data.geom(point.name).xpos[2]) - point.radius for point in robot.contacts]
    assert max(map(abs, gaps)) < 0.005
    touching = {int(g) for c in data.contact[: data.ncon] for g in c.geom}
    assert touching >= {data.geom(point.name).id for point in robot.contacts}
