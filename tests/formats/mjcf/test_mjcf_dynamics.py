"""The mechanism that is read from MJCF moves as MuJoCo's own model does."""

import numpy as np
import pytest

import leastaction as la
from leastaction.formats import load_mjcf
from tests.formats.models import mjcf, write

mujoco = pytest.importorskip("mujoco")
from tests.formats.mujoco_states import MujocoState  # noqa: E402

pytestmark = pytest.mark.oracle

GEOM = '<geom type="box" size="0.1 0.2 0.3" pos="0.1 0.2 0.3" euler="10 20 30"/>'
HINGE = '<joint name="{0}" axis="1 2 3" pos="0.1 -0.2 0.3" {1}/>'
SLIDE = '<joint name="{0}" type="slide" axis="1 -2 1" pos="0.4 0.5 0.6" {1}/>'
BALL = '<joint name="{0}" type="ball" pos="0.1 0.1 0.2" {1}/>'
POSE = 'pos="0.3 0.1 -0.2" euler="30 -40 50"'


def chain(*contents):
    """Bodies a, b, c ... each in the one before it."""
    names = "abcdefgh"[: len(contents)]
    opened = [f'<body name="{name}" {POSE}>{inside}{GEOM}' for name, inside in zip(names, contents, strict=True)]
    return mjcf("\n".join(opened) + "</body>" * len(contents))


MODELS = {
    "hinges": chain(HINGE.format("j", ""), HINGE.format("k", "")),
    "slide and hinge": chain(SLIDE.format("j", ""), HINGE.format("k", "")),
    "balls": chain(BALL.format("j", ""), BALL.format("k", "")),
    "free body with an arm": chain('<freejoint name="f"/>', HINGE.format("j", ""), BALL.format("k", "")),
    "static and welded bodies": chain("", HINGE.format("j", ""), "", SLIDE.format("k", "")),
    "several joints on a body": chain(
        SLIDE.format("x", "") + HINGE.format("j", "") + '<joint name="k" axis="0 1 0" pos="0.5 0 0"/>',
        HINGE.format("l", "") + BALL.format("m", ""),
    ),
    "refs": chain(HINGE.format("j", 'ref="40"') + SLIDE.format("k", 'ref="0.3"'), HINGE.format("l", 'ref="-20"')),
    "springs, dampers, armature": chain(
        HINGE.format("j", 'stiffness="3" springref="25" ref="10" damping="0.7" armature="0.2"'),
        SLIDE.format("k", 'stiffness="5" springref="0.2" damping="0.3" armature="0.1"'),
        BALL.format("l", 'stiffness="2" damping="0.4" armature="0.3"'),
    ),
    "free joint with damping": chain('<joint type="free" name="f" damping="0.5"/>'),
    "explicit inertials, defaults, degrees": mjcf(
        '<body name="a" childclass="big"><joint name="j" axis="0 1 0"/>'
        '<inertial pos="0.1 0.2 0.3" mass="2" fullinertia="1 1.1 1.2 0.1 0.2 0.3"/>'
        '<frame euler="0 0 45" pos="1 0 0"><body name="b" pos="1 0 0"><joint name="k"/><geom/></body></frame>'
        "</body>",
        before='<default><geom type="capsule" size="0.1 0.4"/><default class="big"><joint damping="3"/>'
        '<geom density="3000"/></default></default><option gravity="1 2 -3"/>',
    ),
    "spring through sites": mjcf(
        '<site name="s" pos="1 0 1"/>'
        f'<body name="a" {POSE}>{HINGE.format("j", "")}{GEOM}<site name="t" pos="0 1 0"/>'
        f'<body name="b" {POSE}>{HINGE.format("k", "")}{GEOM}<site name="u" pos="0.5 0 0"/></body></body>',
        '<tendon><spatial stiffness="30" damping="2" springlength="0.3"><site site="s"/><site site="t"/>'
        '<site site="u"/></spatial></tendon>',
    ),
    "gravity compensation": chain(HINGE.format("j", ""), BALL.format("k", "")).replace(
        '<body name="b"', '<body gravcomp="0.7" name="b"'
    ),
    "no gravity": mjcf(
        f'<body name="a">{HINGE.format("j", "")}{GEOM}</body>',
        before='<option><flag gravity="disable"/></option>',
    ),
}


@pytest.mark.parametrize("name", MODELS)
def test_dynamics(tmp_path, name):
    """At random states: mass matrix, bias forces, and the forces of springs and dampers."""
    path = write(tmp_path, MODELS[name], "model.xml")
    robot = load_mjcf(path)
    for seed in range(3):
        state = MujocoState(path, robot, seed)
        args = robot, state.q, state.v
        M = la.dynamics.mass_matrix(*args[:2])
        scale = np.abs(M).max()
        np.testing.assert_allclose(M, state.mass_matrix(), atol=1e-12 * scale)
        np.testing.assert_allclose(la.dynamics.bias_forces(*args), state.bias_forces(), atol=1e-11 * scale)
        np.testing.assert_allclose(la.dynamics.passive_forces(*args), state.passive_forces(), atol=1e-11 * scale)
        for body, pose in zip(robot.body_names, la.dynamics.body_poses(*args[:2]), strict=True):
            if body in "abc":
                np.testing.assert_allclose(pose[:3, 3], state.data.body(body).xpos, atol=1e-13)
                np.testing.assert_allclose(pose[:3, :3].ravel(), state.data.body(body).xmat, atol=1e-13)


def test_composite_joints_move_as_chains_of_massless_bodies_do(tmp_path):
    text = chain(
        '<joint name="x" type="slide" axis="1 0 0" damping="1"/><joint name="z" type="slide" axis="0 0 1"/>'
        '<joint name="y" axis="0 1 0" pos="0.1 0 0" armature="0.3" stiffness="2" springref="10"/>'
    )
    path = write(tmp_path, text, "model.xml")
    split, joined = load_mjcf(path, composite=False), load_mjcf(path)
    assert split.body_names == ("a_x", "a_z", "a")
    assert split.coordinate_names == ("x", "z", "y")
    assert joined.body_names == ("a",)
    assert joined.coordinate_names == joined.velocity_names == ("x", "z", "y")
    q, v = np.array([0.1, 0.2, 0.3]), np.array([1.0, 2.0, 3.0])
    for law in (la.dynamics.bias_forces, la.dynamics.passive_forces):
        np.testing.assert_allclose(law(joined, q, v), law(split, q, v), atol=1e-14)
    np.testing.assert_allclose(la.dynamics.mass_matrix(joined, q), la.dynamics.mass_matrix(split, q), atol=1e-14)


@pytest.mark.parametrize(
    ("axis", "anchor", "ref", "bodies"),
    [
        ("0 0 1", "0 0 0", "0", ("a",)),  # the anchors differ, the axes meet
        ("0 0 1", "0 1 0", "0", ("a_x", "a")),
        ("1 0 0", "3 0 0", "30", ("a",)),  # one axis twice
        ("0 0 1", "2 0 5", "-50", ("a",)),
    ],
)
def test_joints_whose_axes_meet_become_one(tmp_path, axis, anchor, ref, bodies):
    joints = (
        f'<joint name="x" axis="1 0 0" pos="1 0 0" ref="20"/><joint name="z" axis="{axis}" pos="{anchor}" ref="{ref}"/>'
    )
    path = write(tmp_path, chain(joints + '<joint name="s" type="slide" axis="0 1 1" ref="0.3"/>'), "model.xml")
    robot, split = load_mjcf(path), load_mjcf(path, composite=False)
    assert len(robot.bodies) == (1 if bodies == ("a",) else 3)
    rng = np.random.default_rng(0)
    for q in (robot.home(), robot.random_configuration(rng)):
        np.testing.assert_allclose(
            la.dynamics.body_poses(robot, q)[-1], la.dynamics.body_poses(split, q)[-1], atol=1e-13
        )


# ---------------------------------------------------------------------- equalities

PAIR = mjcf(
    f'<body name="a" {POSE}><freejoint/>{GEOM}<site name="s" {POSE}/></body>'
    f'<body name="b" pos="0 0 1"><freejoint/>{GEOM}<site name="t" {POSE}/></body>',
    "<equality>{}</equality>",
)


@pytest.mark.parametrize(
    ("equality", "kind", "ends"),
    [
        ('<connect name="e" body1="a" body2="b" anchor="0.1 0.2 0.3"/>', "spherical", ("a", "b")),
        ('<connect name="e" body1="a" anchor="0.1 0.2 0.3"/>', "spherical", ("world", "a")),
        ('<connect name="e" site1="s" site2="t"/>', "spherical", ("a", "b")),
        ('<weld name="e" body1="a" body2="b"/>', "fixed", ("a", "b")),
        (
            '<weld name="e" body1="a" body2="b" relpose="1 2 3 1 2 3 4" anchor="0.1 0.2 0.3"/>',
            "fixed",
            ("a", "b"),
        ),
        ('<weld name="e" body1="b"/>', "fixed", ("world", "b")),
        ('<weld name="e" site1="s" site2="t"/>', "fixed", ("a", "b")),
    ],
)
def test_connect_and_weld_hold_the_same_frames_together(tmp_path, equality, kind, ends):
    """At random states the gap and the turn between the frames of the loop are MuJoCo's residuals."""
    path = write(tmp_path, PAIR.format(equality), "model.xml")
    robot = load_mjcf(path)
    (loop,) = robot.loops
    assert (loop.name, loop.kind, loop.parent, loop.child) == ("e", kind, *ends)
    for seed in range(3):
        state = MujocoState(path, robot, seed)
        poses = dict(zip(robot.body_names, la.dynamics.body_poses(robot, state.q), strict=True))
        first = poses.get(loop.parent, np.eye(4)) @ loop.pose.matrix
        second = poses[loop.child] @ loop.child_pose.inverse().matrix
        residual = state.equality_residuals()
        gap = np.linalg.norm(first[:3, 3] - second[:3, 3])
        assert gap == pytest.approx(np.linalg.norm(residual[:3]), abs=1e-12)
        if kind == "fixed":
            # MuJoCo's residual of a rotation by angle t is sin(t/2) about its axis.
            turn = first[:3, :3].T @ second[:3, :3]
            half_sine = np.sqrt(max(0.0, (3.0 - np.trace(turn)) / 4.0))
            assert half_sine == pytest.approx(np.linalg.norm(residual[3:]), abs=1e-7)


TURN, PUSH = HINGE.format("j", 'ref="30"'), SLIDE.format("k", 'ref="0.2"')
JOINTS = (
    f'<body name="a">{TURN}{GEOM}<body name="b">{PUSH}{GEOM}'
    f'<body name="c">{HINGE.format("l", "")}{GEOM}</body></body></body>'
)
TENDONS = (
    '<tendon><fixed name="s"><joint joint="j" coef="2"/></fixed>'
    '<fixed name="t"><joint joint="k" coef="3"/></fixed>'
    '<fixed name="u"><joint joint="k" coef="3"/><joint joint="l" coef="-4"/></fixed></tendon>'
)


@pytest.mark.parametrize(
    ("equality", "scale"),
    [
        ('<joint name="e" joint1="j" joint2="k" polycoef="0.1 0.2 0.3 0.4 0.5"/>', 1),
        ('<joint name="e" joint1="k" joint2="l"/>', 1),
        ('<tendon name="e" tendon1="s" tendon2="t" polycoef="0.1 0.2 0 0 0"/>', 2),
        ('<tendon name="e" tendon1="u" polycoef="0.1 0 0 0 0"/>', 3),
    ],
)
def test_joint_and_tendon_equalities_become_couplings(tmp_path, equality, scale):
    """At random states follower - polynomial(leader) is MuJoCo's residual over the follower's coefficient."""
    path = write(tmp_path, mjcf(JOINTS, f"{TENDONS}<equality>{equality}</equality>"), "model.xml")
    robot = load_mjcf(path)
    (coupling,) = robot.couplings
    assert coupling.name == "e"
    for seed in range(3):
        state = MujocoState(path, robot, seed)
        leader, follower = (state.q[robot.coordinate_index(n)] for n in (coupling.leader, coupling.follower))
        ours = follower - np.polynomial.polynomial.polyval(leader, coupling.coefficients)
        assert scale * ours == pytest.approx(state.equality_residuals()[0], abs=1e-12)


# ---------------------------------------------------------------------- actuators


def test_motors_push_as_in_mujoco(tmp_path):
    """Generalised forces of random controls: motors on hinge, slide, ball and site, with gears and gains."""
    bodies = (
        f'<body name="a">{HINGE.format("j", "")}{GEOM}<body name="b">{SLIDE.format("k", "")}{GEOM}'
        f'<body name="c">{BALL.format("l", "")}{GEOM}<site name="s" {POSE}/></body></body></body>'
    )
    motors = (
        '<motor name="m" joint="j" gear="3"/><motor name="n" joint="k" gear="-2"/>'
        '<motor name="o" joint="l" gear="0 1.5 0"/><motor name="p" site="s" gear="1 2 3 4 5 6"/>'
        '<general name="q" joint="j" gear="2" gainprm="5"/>'
    )
    path = write(tmp_path, mjcf(bodies, f"<actuator>{motors}</actuator>"), "model.xml")
    robot = load_mjcf(path)
    assert [a.name for a in robot.actuators] == list("mnopq")
    for seed in range(3):
        state = MujocoState(path, robot, seed)
        u = np.random.default_rng(seed).normal(size=5)
        ours = robot.generalized_forces(u, state.q)
        np.testing.assert_allclose(ours, state.control_forces(u), atol=1e-12)
