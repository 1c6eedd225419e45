"""Files of runs: their version, files of earlier releases, arrays of another width, and one robot in many threads."""

import json
import shutil
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import leastaction as la
from leastaction._files._archive import FORMAT

FILES = Path(__file__).parents[1] / "data" / "files"
"""A run and a solution as each format had them; `v0` is that of 0.1.0.dev0."""


def about(path):
    with np.load(path) as data:
        return json.loads(str(data["about"])), dict(data)


def test_files_say_their_format(tmp_path):
    robot = la.robots.double_pendulum()
    path = la.Trajectory.from_states(robot, [[0.1, 0.2]] * 2, [[0.0, 0.0]] * 2, dt=0.1).save(tmp_path / "run.npz")
    says, data = about(path)
    assert says["format"] == FORMAT
    for version, words in (
        (FORMAT + 1, "install a newer one"),
        (-1, "number of a version"),
        ("1", "number of a version"),
    ):
        np.savez(path, **data | {"about": np.array(json.dumps(says | {"format": version}))})
        with pytest.raises(la.FormatError, match=words):
            la.Trajectory.load(path)


@pytest.mark.parametrize("version", range(FORMAT + 1))
def test_files_of_every_format_are_read(version, tmp_path):
    """The double pendulum from rest at 0.5 and -0.3 rad, ten steps of 10 ms, and a swing of it, optimised."""
    shutil.copy(FILES / f"run_v{version}.npz", tmp_path / "run.npz")
    run = la.Trajectory.load(tmp_path / "run.npz")
    assert isinstance(run.integrator, la.Galerkin)
    assert run.mechanism == la.robots.double_pendulum()
    np.testing.assert_array_equal(run.q[0], [0.5, -0.3])
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-4)
    assert about(tmp_path / "run.npz")[0].get("format", 0) == version
    solution = la.optimize.load(FILES / f"solution_v{version}.npz")
    assert solution.success
    assert solution.trajectory.steps == la.Trajectory.load(FILES / f"solution_v{version}.npz").steps


@pytest.mark.parametrize("integrator", ["Galerkin", "BDF", "SDIRK2", "ConstrainedEuler", "Maximal", "Minimal"])
def test_arrays_of_twice_the_width_are_refused(integrator, tmp_path):
    """Whatever an integrator records; the records are empty ones, so nothing has to be simulated."""
    robot = la.robots.cube() if integrator in ("Maximal", "Minimal") else la.robots.four_bar()
    chosen = getattr(la, integrator)()
    record = chosen.prepare(robot, 0.01).record(2)
    arrays = record.states()
    arrays["q"] = np.tile(la.robots.home(robot), (3, 1))
    if "poses" in arrays:
        arrays["poses"][..., 3] = 1.0
    path = tmp_path / "run.npz"
    q = arrays.pop("q")
    la.Trajectory(robot, chosen, 0.01, 0.01 * np.arange(3), q, arrays).save(path)
    la.Trajectory.load(path)
    says, data = about(path)
    wide = [name for name, a in data.items() if name.startswith("stored_") and a.ndim > 1 and a.size]
    assert wide
    says["same"] = {}
    for name in wide:
        twice = np.concatenate([data[name]] * 2, axis=1)
        np.savez(path, **data | {name: twice, "about": np.array(json.dumps(says))})
        with pytest.raises(la.FormatError, match=f"{name.removeprefix('stored_')}: expected shape"):
            la.Trajectory.load(path)


def test_threads_share_robots_and_integrators():
    """Eight runs at once in four threads, of one robot with one integrator, are those of one thread, bit for bit."""
    robot, integrator = la.robots.double_pendulum(), la.Galerkin(order=4)

    def run(k):
        return la.simulate(robot, q=[0.1 * k, -0.2], dt=0.01, duration=0.5, integrator=integrator).q

    alone = [run(k) for k in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(run, range(8)))
    np.testing.assert_array_equal(together, alone)


def test_threads_share_the_dynamics_of_a_robot():
    """Calls at once, thousands of them, with arguments of their own: each gets its own result."""
    robot = la.robots.double_pendulum()
    rng = np.random.default_rng(0)
    states = rng.normal(size=(8, 3, 2))

    def calls(k):
        q, v, a = states[k]
        rows = [
            (la.dynamics.inverse_dynamics(robot, q, v, a), la.dynamics.mass_matrix(robot, q)[0].copy())
            for _ in range(300)
        ]
        return np.array(rows)

    alone, interval = [calls(k) for k in range(8)], sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(8) as pool:
            together = list(pool.map(calls, range(8)))
    finally:
        sys.setswitchinterval(interval)
    np.testing.assert_array_equal(together, alone)


def test_threads_share_gradients_of_a_robot():
    """Derivatives of steps, four at once."""
    robot, integrator = la.robots.double_pendulum(), la.Galerkin(order=2)
    p = [0.1, 0.2]

    def blocks(k):
        return [np.asarray(x) for x in la.linearize(robot, integrator, [0.1 * k, 0.3], p)[:2]]

    alone = [blocks(k) for k in range(4)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(blocks, range(4)))
    for one, two in zip(alone, together, strict=True):
        for x, y in zip(one, two, strict=True):
            np.testing.assert_array_equal(x, y)
