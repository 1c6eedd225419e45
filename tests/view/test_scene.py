"""Scenes: bodies stand where the dynamics say, frames are states of the run, every robot can be seen."""

import math
from types import SimpleNamespace

import numpy as np
import pytest

import leastaction as la
from leastaction.errors import LeastActionError, MechanismError
from leastaction.mechanism import HeightField, Plane, Pose, Wrap
from leastaction.mechanism.body import Body
from leastaction.mechanism.pose import rotation_matrix
from leastaction.view import Camera, build_scene
from leastaction.view.figure import coil, figure, inertia_box, reach
from leastaction.view.poses import body_frames, frames_of_run, rotate, transform

ROBOTS = [entry.name for entry in la.robots.catalogue()]


def matrices(poses):
    out = np.tile(np.eye(4), (*poses.shape[:-1], 1, 1))
    out[..., :3, 3] = poses[..., :3]
    for k in np.ndindex(poses.shape[:-1]):
        out[(*k, slice(0, 3), slice(0, 3))] = rotation_matrix(poses[(*k, slice(3, 7))])
    return out


def still(robot, q, **more):
    """What a run looks like to a scene, without simulating one."""
    q = np.asarray(q, float)
    return SimpleNamespace(mechanism=robot, t=0.1 * np.arange(len(q)), q=q, stored={}, **more)


@pytest.mark.parametrize("name", ROBOTS)
def test_frames_are_those_of_the_dynamics(name):
    robot = la.robots.get(name)
    q = np.stack([robot.random_configuration(seed) for seed in (1, 2)])
    expected = np.stack([la.dynamics.body_poses(robot, row) for row in q])
    assert matrices(body_frames(robot, q)) == pytest.approx(expected, abs=1e-12)


def test_poses_of_maximal_runs_are_those_of_centres_of_mass():
    robot = la.robots.unitree_a1()
    q = np.stack([robot.random_configuration(seed) for seed in range(3)])
    frames = body_frames(robot, q)
    poses = frames.copy()
    poses[..., :3] = transform(frames, np.array([body.inertia.com for body in robot.bodies]))
    run = still(robot, q, com_poses=poses)
    assert frames_of_run(run, [0, 2]) == pytest.approx(frames[[0, 2]], abs=1e-12)
    with pytest.raises(LeastActionError, match="poses of 'unitree_a1'"):
        frames_of_run(still(robot, q, com_poses=poses[:, 1:]), [0])


@pytest.mark.parametrize("bare", [False, True], ids=["own shapes", "no shapes"])
@pytest.mark.parametrize("name", ROBOTS)
def test_every_body_of_every_robot_can_be_seen(name, bare):
    """Of a size that fits the robot: neither invisible nor larger than the whole."""
    robot = la.robots.get(name)
    if bare:
        robot = robot.replace(bodies=tuple(Body(body.name, body.inertia) for body in robot.bodies))
    scene = build_scene(robot)
    parts = [part for part in scene.actors[0].parts if part.role == "body"]
    assert {part.body for part in parts} == set(range(len(robot.bodies)))
    for part in parts:
        extent = np.ptp(part.mesh.vertices, axis=0).max()
        assert 1e-3 * scene.size < extent < 1.5 * scene.size
    assert all(np.isfinite(part.mesh.vertices).all() for part in parts)


@pytest.mark.parametrize("name", ROBOTS)
def test_the_camera_sees_all_of_the_robot(name):
    scene = build_scene(la.robots.get(name))
    camera = scene.camera
    seen = (scene.actors[0].corners(0) - camera.eye) @ camera.axes().T
    tangent = math.tan(0.5 * camera.field_of_view)
    assert (seen[:, 2] < 0.0).all()
    assert (np.abs(seen[:, 1]) < -seen[:, 2] * tangent).all()
    assert (np.abs(seen[:, 0]) < -seen[:, 2] * tangent * 1.4).all()


def test_frames_are_states_of_the_run():
    robot = la.robots.pendulum()
    run = la.simulate(robot, q=[1.0], dt=1e-3, duration=1.0, integrator=la.SemiImplicitEuler())
    scene = build_scene(run, fps=30.0, plots=("energy", "error", "momentum", "violation"))
    assert scene.frames == 31
    rows = [int(np.argmin(np.abs(run.t - t))) for t in scene.t]
    expected = body_frames(robot, run.q[rows])
    assert scene.actors[0].poses[:, :-1] == pytest.approx(expected)
    assert scene.panels[0].values[:, 2] == pytest.approx(run.energy[rows])
    assert [panel.values.shape for panel in scene.panels] == [(31, 3), (31, 1), (31, 3), (31, 3)]  # a tree cannot open
    slow = la.simulate(robot, q=[1.0], dt=0.1, duration=1.0, integrator=la.SemiImplicitEuler())
    assert build_scene(slow).t == pytest.approx(slow.t)
    assert build_scene(run, max_frames=7).frames == 7


def test_runs_of_different_steps_share_a_clock():
    robot = la.robots.pendulum()
    runs = [
        la.simulate(robot, q=[1.0], dt=dt, duration=T, integrator=la.Heun()) for dt, T in ((0.01, 1.0), (0.02, 0.5))
    ]
    scene = build_scene(runs, layout="side", traces=["link1"], labels=["fine", "coarse"])
    fine, coarse = scene.actors
    assert fine.poses.shape == coarse.poses.shape
    k = int(np.argmin(np.abs(scene.t - 0.4)))
    assert coarse.poses[k, 0] == pytest.approx(fine.poses[k, 0], abs=0.02)
    assert coarse.poses[-1] == pytest.approx(coarse.poses[k + int(0.1 * 60) + 1])  # holds its last state
    assert np.linalg.norm(fine.offset - coarse.offset) > 0.3 * scene.size
    assert fine.color != coarse.color
    assert scene.side
    assert not build_scene(runs).side
    assert build_scene(runs).actors[1].opacity < 1.0  # a ghost
    com = robot.bodies[0].inertia.com
    assert fine.traces[0][k] == pytest.approx(transform(fine.poses[k, 0], np.array(com)))


def test_gravity_points_down_in_the_picture():
    robot = la.robots.bricard()  # its gravity is along -y
    turn = build_scene(robot).actors[0].poses[0, -1, 3:]
    assert rotate(turn, np.array(robot.gravity)) == pytest.approx([0.0, 0.0, -9.81])
    upside = la.robots.pendulum().replace(gravity=(0.0, 0.0, 9.81))
    turn = build_scene(upside).actors[0].poses[0, -1, 3:]
    assert rotate(turn, np.array([0.0, 0.0, 9.81])) == pytest.approx([0.0, 0.0, -9.81])


def test_floors_slopes_and_terrain():
    ground = (
        Plane(pose=Pose((0, 0, 0.25))),
        Plane(pose=Pose.from_rpy((0, 0, 0), (0.3, 0, 0))),
        HeightField(np.ones((3, 4)), 1.0),
    )
    scene = build_scene(la.robots.cube().replace(ground=ground))
    assert scene.floor == 0.25
    assert len([part for part in scene.actors[0].parts if part.role == "ground"]) == 2
    hills = build_scene(la.robots.unitree_a1().replace(ground=(HeightField(-np.ones((3, 4)), 1.0),)))
    assert hills.floor < -1.0  # it hides no hill
    standing = build_scene(la.robots.unitree_a1())
    assert standing.floor == 0.0
    hanging = build_scene(la.robots.pendulum())
    assert hanging.floor < hanging.actors[0].lowest(0)


def test_springs_cables_and_loops_are_lines_between_their_points():
    b = la.MechanismBuilder("tied")
    for k in (0, 1):
        b.body(f"body{k}", mass=1.0, inertia=0.1)
        b.free(f"body{k}", name=f"base{k}")
    b.spring("spring", ("body0", (0.1, 0, 0)), ("body1", (-0.1, 0, 0)), stiffness=1.0, rest_length=0.1)
    b.cable(
        "cable", (("world", (0, 0, 1)), ("body0", (0, 0, 0.1)), ("body1", (0, 0, 0.1))), stiffness=1.0, rest_length=0.5
    )
    robot = b.build()
    q = robot.random_configuration(3)
    actor = build_scene(robot, q=q).actors[0]
    X = la.dynamics.body_poses(robot, q)
    spring, cable = actor.paths
    assert [path.kind for path in actor.paths] == ["spring", "cable"]
    expected = [X[0] @ [0.1, 0, 0, 1], X[1] @ [-0.1, 0, 0, 1]]
    assert actor.path_points(spring, 0) == pytest.approx(np.array(expected)[:, :3])
    assert actor.path_points(cable, 0)[0] == pytest.approx([0, 0, 1])
    helix = coil(*actor.path_points(spring, 0), 0.02)
    assert helix[[0, -1]] == pytest.approx(actor.path_points(spring, 0))
    _, paths = figure(la.robots.four_bar(), 1.0)
    assert [path.kind for path in paths] == ["loop"]


def test_tendons_are_drawn_around_things():
    b = la.robots.pendulum(links=2).edit()
    ends = ("link1", (0.1, 0, -0.4)), ("link2", (0.1, 0.2, -0.4))
    things = [Wrap("link2", 0.15), Wrap("link2", 0.15, Pose((0, 0, 0), (0.8, 0.6, 0, 0)), "cylinder")]
    for k, thing in enumerate(things):
        b.tendon(f"tendon{k}", via=[ends[0], thing, ends[1]])
    robot, q = b.build(), np.array([0.3, 0.4])
    actor = build_scene(robot, q=q).actors[0]
    for path, length in zip(actor.paths, la.kinematics.tendon_lengths(robot, q), strict=True):
        points = actor.path_points(path, 0)
        drawn = np.linalg.norm(np.diff(points, axis=0), axis=1).sum()
        assert len(points) > 2
        assert drawn == pytest.approx(length, rel=2e-3)


def test_contact_forces_stand_on_their_points_and_fit_the_picture():
    robot = la.robots.unitree_a1()
    q = np.stack([la.robots.home(robot)] * 2)
    forces = np.zeros((2, 4, 3))
    forces[1, 2] = (0.0, 3.0, 40.0)
    scene = build_scene(still(robot, q, contact_forces=forces), plots=())
    actor = scene.actors[0]
    X = la.dynamics.body_poses(robot, q[1])[robot.body_index("RR_calf")]
    assert actor.force_points[1, 2] == pytest.approx((X @ [0, 0, -0.2, 1])[:3])
    assert 0.1 < scene.force_scale * np.linalg.norm(actor.forces[1, 2]) / scene.size < 0.5
    with pytest.raises(LeastActionError, match="contact forces of 'unitree_a1'"):
        build_scene(still(robot, q, contact_forces=forces[:, :3]), plots=())


def test_logged_contact_forces_carry_the_weight():
    """At rest the forces of a state add up to the weight, and each stands at a corner of the cube."""
    log = [(k, -1, 0, x, y, 0.0, 0.0, 0.0, 9.81 / 4, 0.0) for k in (1, 2) for x in (-1, 1) for y in (-1, 1)]
    log = [(0, -1, 0, 0.5, 0.5, 0.0, 0.0, 0.0, 500.0, 0.0), *log]  # the impact, at one point
    robot = la.robots.cube()
    run = still(robot, np.stack([robot.neutral()] * 4))
    run.stored["contacts"] = np.array(log)
    scene = build_scene(run, plots=())
    actor = scene.actors[0]
    assert actor.forces.shape == (4, 4, 3)
    assert actor.forces.sum(axis=1)[[0, 2, 3]] == pytest.approx(np.array([[0, 0, 0], [0, 0, 9.81], [0, 0, 9.81]]))
    assert sorted(map(tuple, actor.force_points[3, :, :2])) == [(-1, -1), (-1, 1), (1, -1), (1, 1)]
    assert scene.force_scale * np.linalg.norm(actor.forces, axis=-1).max() <= 0.6 * scene.size * (1 + 1e-9)


def test_a_robot_that_travels_is_followed():
    robot = la.robots.cube()
    q = np.stack([robot.neutral()] * 3)
    q[:, 0] = (0.0, 5.0, 10.0)
    scene = build_scene(still(robot, q), plots=())
    assert scene.follow
    assert scene.camera_at(2).eye - scene.camera.eye == pytest.approx([10.0, 0.0, 0.0])
    assert not build_scene(still(robot, q), plots=(), follow=False).follow


def test_the_box_of_an_inertia_has_its_moments():
    inertia = la.mechanism.solid_box(3.0, (0.2, 0.5, 0.9), com=(1, 2, 3))
    box = inertia_box(Body("b", inertia))
    assert sorted(box.size) == pytest.approx([0.2, 0.5, 0.9])
    again = box.inertia(mass=3.0)
    assert again.moments == pytest.approx(inertia.moments, abs=1e-12)
    assert inertia_box(Body("point", la.mechanism.Inertia(1.0))) is None


def test_wrong_input_is_refused_by_name():
    run = la.simulate(la.robots.pendulum(), q=[1.0], steps=2, integrator=la.Heun())
    with pytest.raises(LeastActionError, match="layout must be one of 'ghost'"):
        build_scene(run, layout="heap")
    with pytest.raises(LeastActionError, match="unknown plot 'speed'"):
        build_scene(run, plots=["speed"])
    with pytest.raises(LeastActionError, match="expected 1 labels"):
        build_scene(run, labels=["a", "b"])
    with pytest.raises(LeastActionError, match="expected a Trajectory, several, or a Mechanism; got 3"):
        build_scene(3)
    with pytest.raises(MechanismError, match="did you mean 'link1'"):
        build_scene(run, traces=["link2"])
    with pytest.raises(MechanismError, match="expected shape"):
        build_scene(la.robots.pendulum(), q=[1.0, 2.0])
    assert reach(la.robots.pendulum()) > 0.5
    assert build_scene(run, camera=Camera(distance=9.0)).camera.distance == 9.0


def test_a_flat_disc_is_as_thick_as_it_is_flat():
    """Hubs of joints follow the thickness of the disc, not its radius."""
    from leastaction.mechanism import Cylinder
    from leastaction.view.figure import _thickness

    assert _thickness([Cylinder(0.8, 0.05)]) == 0.025
    assert _thickness([Cylinder(0.02, 1.0)]) == 0.02


def test_contact_points_at_the_ends_of_a_capsule_are_drawn_by_it():
    from leastaction.mechanism import Capsule, ContactPoint
    from leastaction.view.figure import _is_drawn

    b = la.MechanismBuilder("rod")
    b.body("rod", mass=1.0, inertia=0.1, shapes=Capsule(0.1, 1.0, pose=(0, 0, 1)))
    b.free("rod")
    robot = b.build()
    for z, drawn in ((0.5, True), (1.5, True), (1.0, False)):
        assert _is_drawn(robot, ContactPoint("end", "rod", (0, 0, z), radius=0.1)) is drawn
    assert not _is_drawn(robot, ContactPoint("end", "rod", (0, 0, 0.5), radius=0.2))


@pytest.mark.parametrize(
    ("address", "says"),
    [
        ({"port": 99999}, "port must be a whole number from 1 to 65535, got 99999"),
        ({"port": "a"}, "port must be a whole number"),
        ({"host": 1.0}, "host must be an address"),
        ({"host": "203.0.113.7"}, "cannot listen on host '203.0.113.7'"),
    ],
)
def test_a_viewer_refuses_addresses_that_nobody_can_listen_on(address, says):
    """It would wait for a server that never starts."""
    pytest.importorskip("viser")
    with pytest.raises(la.LeastActionError, match=says):
        la.view(la.robots.pendulum(), block=False, open_browser=False, **address)
