"""The problems that come with the package."""

import json
import runpy
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import leastaction as la
from leastaction.cli import app
from leastaction.optimize import examples
from leastaction.optimize.hessians.exact_hessian import ByDifferences, Exact

pytest.importorskip("casadi")

SCRIPTS = Path(__file__).parents[2] / "examples"


def script(name, monkeypatch):
    """What a script of the examples defines."""
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(SCRIPTS))
    return runpy.run_path(str(SCRIPTS / f"{name}.py"))


@pytest.mark.parametrize("name", ["cart_pole", "double_pendulum", "arm", "satellite"])
def test_examples_are_solved(name):
    solution = examples.get(name).solve()
    assert solution.success, str(solution)
    assert examples.get(name, steps=20).solve().converged


def test_nao_on_one_foot():
    """Villanueva 2025, Section 5.3, at a reduced size: momentum and differences, the centre of mass over the foot."""
    problem = examples.nao(steps=6)
    solution = problem.solve(hessian="gauss-newton", tolerance=1e-6)
    assert solution.converged, str(solution)
    limits = problem.constraints[0].limits
    for q in solution.q:
        com = la.dynamics.center_of_mass(problem.mechanism, q)
        assert (limits[0] - 1e-6 <= com).all()
        assert (com <= limits[1] + 1e-6).all()


def test_atlas_on_its_right_foot():
    """Fan 2018, Section 6.3, at a reduced size: the wrench is that of a flat foot."""
    solution = examples.atlas(steps=8).solve(hessian="gauss-newton", tolerance=1e-6)
    assert solution.converged, str(solution)
    assert solution.violation < 1e-6
    robot = solution.mechanism
    x, y, z, pitch, roll, _ = solution.forces["foot r_foot"].T
    assert (z > 0).all()
    assert (np.hypot(x, y) <= 0.6 * z + 1e-3).all()
    assert (np.abs(pitch) <= 0.12 * z + 1e-3).all()
    assert (np.abs(roll) <= 0.055 * z + 1e-3).all()
    poses = np.array([la.dynamics.body_poses(robot, q) for q in solution.q])
    foot = poses[:, robot.body_index("r_foot")]
    np.testing.assert_allclose(foot, np.broadcast_to(foot[0], foot.shape), atol=1e-6)
    np.testing.assert_allclose(poses[-1, robot.body_index("l_hand"), :3, 3], [0.5, 0.3, 0.75], atol=1e-6)


def test_spring_flamingo_gets_over_the_obstacle(tmp_path, monkeypatch):
    """Fan 2018, Section 6.1, at a reduced size: a coarse plan with contacts that are still soft, and its picture."""
    problem = examples.spring_flamingo(steps=16)
    solution = problem.solve(relaxations=[10.0], tolerance=1e-2)
    assert solution.violation < 1e-2, str(solution)
    jump = script("spring_flamingo", monkeypatch)
    soles = jump["paths"](solution.mechanism, solution.q, jump["SOLES"])[:, :, [0, 2]]
    away = soles - [jump["OBSTACLE"], 0.0]
    assert (np.hypot(away[..., 0], away[..., 1]) > jump["RADIUS"]).all()
    assert (away[..., 1] > -1e-2).all()
    assert (soles[:, 8, 1] > 0.15).all()
    np.testing.assert_allclose(solution.q[-1, 0], -1.44)
    jump["draw"](solution, solution.trajectory, tmp_path / "jump.png")
    assert (tmp_path / "jump.png").stat().st_size > 5000


def test_spring_flamingo_walks(tmp_path, monkeypatch):
    """A coarse stride with contacts that are still a little soft: one foot after the other, with both down between."""
    solution = examples.spring_flamingo_walk(steps=16).solve(relaxations=[10.0, 0.1], tolerance=1e-3)
    assert solution.success, str(solution)
    walking = script("flamingo_walk", monkeypatch)
    right, left = walking["standing"](solution)
    assert (right | left).all()
    assert (right & left).mean() > 0.3
    # Neither foot stands all the time, and they swing in turn: from one that is alone on the ground to the other.
    alone = [k for k, (r, l) in enumerate(zip(right, left, strict=True)) if r != l]
    assert {bool(right[k]) for k in alone} == {True, False}
    walk = solution.repeat(3)
    walking["draw"](solution, walk.trajectory, tmp_path / "walk.png")
    assert (tmp_path / "walk.png").stat().st_size > 5000
    np.testing.assert_allclose(walk.q[::16, 0], [0.0, -0.9, -1.8, -2.7], atol=1e-9)
    np.testing.assert_allclose(walk.q[16:33, 1:], solution.q[:, 1:], atol=1e-6)
    np.testing.assert_array_equal(walk.control(1.5 + 1e-9), solution.control(0.5 + 1e-9))
    seam = walk.forces["contact l_toe"][16]
    np.testing.assert_allclose(seam, solution.forces["contact l_toe"][[0, -1]].mean(axis=0))
    with pytest.raises(la.ProblemError, match="does not repeat"):
        examples.cart_pole(steps=8).solve(max_iterations=1).repeat(2)


def test_littledog_is_differentiated_exactly():
    """Feet, gaps, friction and dynamics of a free base: none of its second derivatives is a difference of gradients."""
    problem = examples.littledog(steps=2)
    hessian = Exact(problem.transcribe())
    assert not any(isinstance(part, ByDifferences) for part in hessian.parts)


def test_walking_starts_with_feet_that_stand():
    problem = examples.spring_flamingo(steps=4)
    q, v = problem.start_position, problem.start_velocity
    robot = problem.mechanism
    ahead = robot.integrate(q, 1e-6 * v)
    for side in "rl":
        foot = robot.body_index(f"{side}_foot")
        now, after = (la.dynamics.body_poses(robot, x)[foot] for x in (q, ahead))
        np.testing.assert_allclose(now[2, 3], 0.04, atol=1e-12)
        np.testing.assert_allclose(after, now, atol=1e-11)
    assert v[0] == pytest.approx(-0.26)


def test_a_robot_that_stands_on_another_body_moves_alike():
    """Relative poses of all bodies at any joint angles, and the energy of a motion."""
    flying, standing = la.robots.nao(), examples.standing_on(la.robots.nao(), "l_ankle")
    rng = np.random.default_rng(0)
    angles = dict(zip(standing.coordinate_names, rng.uniform(-0.5, 0.5, standing.nq), strict=True))
    poses = []
    for robot in (flying, standing):
        q = robot.neutral()
        for name, value in angles.items():
            q[robot.coordinate_index(name)] = value
        X = la.dynamics.body_poses(robot, q)
        X = np.linalg.inv(X[robot.body_index("l_ankle")]) @ X
        poses.append({name: X[robot.body_index(name)] for name in robot.body_names})
    for name, X in poses[0].items():
        np.testing.assert_allclose(X, poses[1][name], atol=1e-12)


def test_command_line(tmp_path):
    run = CliRunner().invoke
    assert "cart_pole" in run(app, ["optimize"]).output
    file = tmp_path / "swing.npz"
    out = run(app, ["optimize", "cart_pole", "--steps", "20", "--save", str(file), "--json"])
    assert out.exit_code == 0, out.output
    figures = json.loads(out.output)
    assert figures["success"] is True
    assert figures["steps"] == 20
    assert la.optimize.load(file, la.robots.cart_pole()).success
    out = run(app, ["optimize", "cart_pole", "--steps", "20", "--max-iterations", "1"])
    assert out.exit_code == 1
    assert "too many iterations" in out.output
    assert run(app, ["optimize", "cart_ploe"]).exit_code == 1
