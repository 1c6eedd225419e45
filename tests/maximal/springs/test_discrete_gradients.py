"""Springs pull by discrete gradients: work over a step is the difference of energies, however stiff they are for it."""

import numpy as np
import pytest

import leastaction as la
from leastaction.forces.joint_springs import ball_torque
from leastaction.forces.tendons.cable_paths import PATH
from leastaction.maximal.step.forces import ball_springs, path_springs
from leastaction.mechanism import MechanismBuilder
from leastaction.spatial import quat_exp, quat_log, quat_mul
from tests.maximal.springs.test_stiff_springs import gain, hung, reach, slider

DT = 0.01


def plain(function):
    """A kernel as a Python function."""
    return getattr(function, "py_func", function)


def pair(rng, swing, arm):
    """Two bodies in flight on a spring with a frequency times step of `swing`, up to `arm` [m] off their centres."""
    b, mass = MechanismBuilder("pair", gravity=(0, 0, 0)), 10.0 ** rng.uniform(-0.5, 0.5, 2)
    for k in range(2):
        b.body(f"b{k}", mass=mass[k], inertia=tuple(mass[k] * np.array([2.7e-3, 4.2e-3, 5.2e-3])))
        b.free(f"b{k}")
    arms = rng.uniform(-arm, arm, (2, 3))
    stiffness = (swing / DT) ** 2 / (1.0 / mass).sum()
    b.spring("s", ("b0", tuple(arms[0])), ("b1", tuple(arms[1])), stiffness=stiffness, rest_length=0.4)
    robot, along = b.build(), rng.normal(size=3)
    q, v = robot.neutral(), rng.normal(size=robot.nv)
    q[7:10] = (0.4 + min(DT / swing, 0.1)) * along / np.linalg.norm(along) + arms[0] - arms[1]
    return robot, q, v


def run_of(robot, q, v, steps=150):
    return la.simulate(robot, q, v, dt=DT, steps=steps, integrator=la.Maximal())


@pytest.mark.parametrize("cable", [False, True])
def test_tensions_do_the_work_of_energies(cable):
    """Also of cables that become slack or taut within a step; slopes by both lengths are those of differences."""
    path = np.zeros(1, PATH).view(np.recarray)[0]
    path.stiffness, path.rest_length, path.pulls_only = 7.0, 0.5, int(cable)
    tension = plain(path_springs.mean_tension)

    def energy(length):
        d = max(length - 0.5, 0.0) if cable else length - 0.5
        return 3.5 * d * d

    for first, last in ((0.6, 0.9), (0.3, 0.8), (0.8, 0.3), (0.1, 0.2), (0.7, 0.7 + 1e-9)):
        pull, by_first, by_last = tension(path, first, last, DT)
        assert pull * (last - first) == pytest.approx(energy(last) - energy(first), abs=1e-15)
        h = 1e-6
        slope = (tension(path, first, last + h, DT)[0] - tension(path, first, last - h, DT)[0]) / (2 * h)
        assert by_last == pytest.approx(slope, abs=1e-6)
        slope = (tension(path, first + h, last, DT)[0] - tension(path, first - h, last, DT)[0]) / (2 * h)
        assert by_first == pytest.approx(slope, abs=1e-6)


def test_torques_of_balls_do_the_work_of_energies():
    """Of springs that differ about the three axes; where a step hardly turns, they are those at its ends."""
    dofs = np.zeros(3, [("stiffness", "f8")]).view(np.recarray)
    dofs.stiffness[:] = 3.0, 5.0, 11.0
    rng, torque, slope = (
        np.random.default_rng(0),
        plain(ball_springs.mean_torque),
        plain(ball_springs.mean_torque_slope),
    )
    for size in (1.0, 0.1, 1e-9):
        first, turn = tuple(rng.normal(size=3)), tuple(size * rng.normal(size=3))

        def at(d, first=first, turn=turn):
            r = tuple(np.add(turn, d))
            last = quat_log(quat_mul(quat_exp(first), quat_exp(r)))
            return np.array(torque(dofs, 0, first, last, r)[0]), np.array(last)

        t, last = at(np.zeros(3))
        change = 0.5 * np.asarray(dofs.stiffness) @ (np.square(first) - np.square(last))
        assert t @ turn == pytest.approx(change, abs=1e-6 * size**2 + 1e-14)
        if size > 0.01:
            for d in np.eye(3):
                difference = (at(1e-5 * d)[0] - at(-1e-5 * d)[0]) / 2e-5
                np.testing.assert_allclose(slope(dofs, 0, first, tuple(last), turn, tuple(d)), difference, atol=1e-6)
        else:
            np.testing.assert_allclose(t, plain(ball_torque)(dofs, 0, first), rtol=1e-6)


@pytest.mark.parametrize("swing", [0.1, 1.0, 10.0, 100.0])
def test_bodies_on_a_spring_at_their_centres_conserve_everything(swing):
    for seed in range(3):
        robot, q, v = pair(np.random.default_rng(seed), swing, 0.0)
        run = run_of(robot, q, v)
        np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-7)
        np.testing.assert_allclose(run.momentum, np.tile(run.momentum[0], (151, 1)), atol=1e-10)
        assert run.iterations[1:].mean() <= 10


@pytest.mark.parametrize("swing", [0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0])
def test_bodies_on_a_spring_off_their_centres(swing):
    """Momenta to round-off; energies up to the square of the angles that they turn by in half a step."""
    found = []
    for seed in range(8):
        robot, q, v = pair(np.random.default_rng(seed), swing, 0.08)
        run = run_of(robot, q, v)
        scale = np.abs(run.momentum).max()
        np.testing.assert_allclose(run.momentum, np.tile(run.momentum[0], (151, 1)), atol=1e-9 * scale)
        turn = 0.5 * DT * np.abs(run.v.reshape(-1, 2, 6)[..., :3]).max()
        found.append((gain(run), turn**2, run.iterations[1:].mean()))
    gains, turns, iterations = np.array(found).T
    assert (gains <= np.maximum(2e-3, turns)).all()
    assert np.median(gains) < 2e-3
    assert iterations.mean() <= 15


def chain(stiffness):
    b = MechanismBuilder("chain")
    for k in range(6):
        b.body(f"l{k}", mass=0.5, com=(0.1, 0, 0), inertia=(1e-3, 4e-3, 4e-3))
        b.revolute(f"j{k}", f"l{k - 1}" if k else "world", f"l{k}", axis="yzx"[k % 3], position=(0.2, 0, 0),
                   stiffness=stiffness)  # fmt: skip
    return b.build()


@pytest.mark.parametrize("swing", [0.1, 1.0, 10.0, 100.0])
def test_chains_with_stiff_joints(swing):
    """Struck at rest, as robots on stiff joints are."""
    mobility = np.linalg.inv(la.dynamics.mass_matrix(chain(1.0), np.zeros(6))).diagonal().max()
    robot = chain((swing / DT) ** 2 / mobility)
    for seed in range(3):
        run = run_of(robot, np.zeros(6), np.random.default_rng(seed).normal(size=6))
        assert gain(run) < 2e-3
        assert run.iterations[1:].mean() <= 10


@pytest.mark.parametrize("kind", ["joints", "points", "around", "ends", "limits"])
@pytest.mark.parametrize("stiffness", [20.0, 2e3])
def test_tendons_from_rest(kind, stiffness):
    """Arms that fall into their tendons and limits."""
    run = run_of(reach(kind, stiffness), [0.05, 0.05, 0.02], [0.3, -0.2, 0.1])
    assert gain(run) < 2e-2


def form(A):
    """How far a step by (q, p) is from conserving the symplectic form."""
    n = len(A) // 2
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    return np.abs(A.T @ J @ A - J).max()


def test_what_is_symplectic():
    """Springs that are quadratic in the coordinates, of bodies that do not turn; others conserve energy instead."""
    robot, (q, p), u = hung(False), np.array([[0.1, 0.02, 0.03], [1.0, 20.0, 3.0]]), np.zeros(3)
    A, _ = la.linearize(robot, la.Maximal(), q, p, u, DT)
    assert form(A) < 1e-6
    b = MechanismBuilder.from_mechanism(robot)
    b.spring("other", ("world", (0.2, 0, 0)), "a", stiffness=5e4, rest_length=0.3)
    A, _ = la.linearize(b.build(), la.Maximal(), q, p, u, DT)
    assert form(A) > 1e-3
    run = la.simulate(slider(1e6), [0.1], [0.3], dt=DT, steps=500, integrator=la.Maximal())
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-9)
