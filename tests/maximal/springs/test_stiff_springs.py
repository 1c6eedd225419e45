"""Springs that are stiff for the step: of hinges, of ball and free joints, of tendons and between points, at rest,
swinging and thrown.

They pull from the middle of the step, which conserves the energy of a linear one however long the step is (the midpoint
rule). Where they swing, steps follow them in equal parts: others would pump energy into them.
"""

import numpy as np
import pytest

import leastaction as la
from leastaction.maximal.compilation.compiler import compile_model
from leastaction.mechanism import MechanismBuilder
from leastaction.mechanism.drives.tendons import Wrap
from tests.derivatives.checks import DT, assert_gradient, assert_linearized, assert_parameters, assert_relative
from tests.derivatives.test_backward_pass import assert_slopes


def slider(stiffness):
    """A mass of 1 kg on a rail, and a spring between two points along it."""
    b = MechanismBuilder("slider", gravity=(0, 0, 0))
    b.body("a", mass=1.0, inertia=0.01)
    b.prismatic("rail", "world", "a", axis="x")
    b.spring("spring", ("world", (-2.0, 0, 0)), "a", stiffness=stiffness, rest_length=1.5)
    return b.build()


def ball(stiffness):
    """A body in a ball joint with a spring."""
    b = MechanismBuilder("ball")
    b.body("a", mass=1.0, com=(0.1, 0.02, -0.05), inertia=(0.004, 0.01, 0.012))
    b.spherical("joint", "world", "a", stiffness=stiffness)
    return b.build()


def pair(kind, stiffness):
    """Two bodies in flight with a joint that has a spring, off their centres of mass."""
    b = MechanismBuilder("pair", gravity=(0, 0, 0))
    b.body("a", mass=1.0, com=(0.05, 0, 0.1), inertia=(0.01, 0.008, 0.006))
    b.free("a")
    b.body("b", mass=0.3, com=(0, 0.1, 0.02), inertia=(0.002, 0.001, 0.0025))
    b.joint("joint", kind, "a", "b", position=(0.1, 0.2, 0), stiffness=stiffness)
    return b.build()


def tied(stiffness, rest_length=0.5, isotropic=False):
    """Two bodies in flight with a spring between points of them, that also turns them."""
    b = MechanismBuilder("tied", gravity=(0, 0, 0))
    for name, mass in (("a", 1.0), ("b", 0.2)):
        b.body(name, mass=mass, inertia=tuple(mass * np.array([0.01, 0.012, 0.008])))
        b.free(name)
    b.spring("spring", ("a", (0.1, 0.05, 0)), ("b", (0, -0.1, 0.05)), stiffness=stiffness, rest_length=rest_length,
             isotropic=isotropic)  # fmt: skip
    return b.build()


def hung(isotropic):
    """A point mass on a spring without rest length: it holds across its line as well as along it."""
    b = MechanismBuilder("hung", gravity=(0, 0, 0))
    b.body("a", mass=1.0, inertia=0.01)
    b.joint("slides", "translational", "world", "a")
    b.spring("spring", "world", "a", stiffness=(8.0 / 0.01) ** 2, isotropic=isotropic)
    return b.build()


def floating(turning, along):
    """A body with springs that hold it where it is, off its centre of mass."""
    b = MechanismBuilder("floating", gravity=(0, 0, 0))
    b.body("a", mass=1.0, com=(0.1, 0.02, -0.05), inertia=(0.004, 0.01, 0.012))
    b.free("a", stiffness=(*(turning * np.array([1.0, 0.7, 0.4])), *(along * np.array([1.0, 0.6, 0.8]))))
    return b.build()


def reach(kind, stiffness):
    """An arm of two hinges and a slide with a tendon: along joints, through points, around a thing, or with limits."""
    b = MechanismBuilder(kind)
    b.body("a", mass=0.5, com=(0.1, 0, 0), inertia=(0.001, 0.004, 0.004))
    b.body("b", mass=0.3, com=(0.1, 0.02, 0), inertia=(0.001, 0.003, 0.003))
    b.body("c", mass=0.2, com=(0.05, 0, 0), inertia=(0.0005, 0.001, 0.001))
    soft = {"limits": (-0.1, 0.12), "limit_stiffness": stiffness} if kind == "limits" else {}
    b.revolute("ja", "world", "a", axis="y", **soft)
    b.revolute("jb", "a", "b", axis=(0, 0.6, 0.8), position=(0.2, 0, 0))
    b.prismatic("jc", "b", "c", axis="x", position=(0.2, 0, 0), **soft)
    points = [("world", (0, 0.05, 0.3)), ("a", (0.1, 0.03, 0)), ("c", (0.05, 0, 0.1))]
    if kind == "joints":
        b.tendon("t", joints={"ja": 0.7, "jb": -0.4, "jc": 2.0}, stiffness=stiffness)
    elif kind == "points":
        b.tendon("t", via=points, stiffness=10.0 * stiffness, rest=(0.2, 0.35))
    elif kind == "around":
        b.tendon("t", via=[points[0], Wrap("a", radius=0.05), points[2]], stiffness=10.0 * stiffness, rest=(0.3, 0.3))
    elif kind == "ends":
        b.tendon("t", via=points, limits=(0.1, 0.4), limit_stiffness=10.0 * stiffness)
    return b.build()


REACHES = ["joints", "points", "around", "ends", "limits"]


@pytest.mark.parametrize("kind", REACHES)
def test_tendons_and_soft_limits_gain_no_energy(kind):
    """Thrown, with a frequency times step of up to 20: beyond 2 their forces at the ends of steps explode."""
    for seed in range(4):
        rng, robot = np.random.default_rng(seed), reach(kind, 2e3)
        q, v = 0.3 * rng.normal(size=3), 3.0 * rng.normal(size=3)
        run = la.simulate(robot, q, v, dt=0.02, steps=100, integrator=la.Maximal())
        assert gain(run) < 0.1


@pytest.mark.parametrize("kind", REACHES)
def test_runs_with_stiff_lengths_go_on_as_they_were(kind):
    robot = reach(kind, 2e3)
    run = la.simulate(robot, [0.2, -0.1, 0.15], [1.0, -2.0, 0.5], dt=0.01, steps=12, integrator=la.Maximal())
    sim = la.Simulator(robot, la.Maximal(), dt=0.01)
    sim.reset(run.q[0], p=run.p[0])
    for k in range(12):
        if k == 5:
            kept = sim.state()
        sim.step()
    np.testing.assert_allclose(sim.q, run.q[-1], atol=1e-12)
    last = sim.q
    sim.set_state(kept)
    for _ in range(7):
        sim.step()
    assert np.array_equal(sim.q, last)


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("kind", REACHES)
def test_derivatives_of_stiff_lengths(kind, order):
    """Of a step in which the tendon acts or the limit is met, against differences of the step itself."""
    robot, integrator, u = reach(kind, 2e3), la.Maximal(order=order, tolerance=1e-12), np.array([0.1, 0.2, -0.3])
    assert compile_model(robot).sprung is not None
    # At order 1 bodies turn by about a quarter: larger differences would divide the step otherwise.
    small = 1e-7 if (kind, order) == ("ends", 1) else 1e-5
    for v in (0.5, 8.0):  # deep within the spring or limit, and so that it is met halfway
        q = np.array([0.115 if v > 1.0 else 0.2, 0.3, 0.1])
        p = la.dynamics.mass_matrix(robot, q) @ [v, 0.4, -0.3]
        assert_linearized(robot, integrator, q, p, u, small, 1e-5, assert_relative)
        names = {"limits": ["limit_stiffness:ja", "upper:ja"], "ends": []}.get(kind, ["stiffness:t"])
        assert_parameters(robot, integrator, q, p, u, ["mass:c", "com:b", *names], 1e-5, 10.0 * small)


@pytest.mark.parametrize("kind", REACHES)
def test_runs_over_stiff_lengths(kind):
    """Over steps in which tendons go slack, limits are met, and which swings divide."""
    case = (reach(kind, 2e3), np.array([0.2, -0.1, 0.15]), np.array([1.0, -2.0, 0.5])), la.Maximal(tolerance=1e-12)
    names = ["q", "v", "controls", "mass:c", "com:a" if kind == "limits" else "com:b"]
    names += ["upper:ja"] if kind == "limits" else []
    assert_slopes(case, names, 1e-4, 1e-7, steps=3)
    stiff = {"limits": ["limit_stiffness:ja"], "ends": []}.get(kind, ["stiffness:t"])
    assert_slopes(case, stiff, 1e-4, 1e-4, steps=3)  # of 2e3 N/m


def gain(run):
    """Largest energy above that of the start, relative to the largest kinetic energy."""
    return (run.energy - run.energy[0]).max() / run.kinetic_energy.max()


@pytest.mark.parametrize("swing", [0.5, 3.0, 30.0])
def test_linear_spring_conserves_energy(swing):
    """Frequency times step from 0.5 to 30: beyond 2 a spring that pulls at the ends of steps would explode."""
    dt = 0.01
    run = la.simulate(slider((swing / dt) ** 2), q=[0.1], v=[0.0], dt=dt, steps=200, integrator=la.Maximal())
    energy = run.energy / run.energy[0]
    if swing > 1.0:
        np.testing.assert_allclose(energy, 1.0, atol=1e-9)
    else:  # pulls at the ends: bounded by (frequency x step)^2 / 4
        assert np.abs(energy - 1.0).max() < 0.25 * swing**2 * 1.01


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("swing", [2.2, 8.0])
@pytest.mark.parametrize("robot", ["ball", "revolute", "spherical", "tied", "floating"])
def test_swinging_springs_gain_no_energy(robot, swing, seed):
    """Thrown with springs drawn back, so far that bodies turn by tenths of a radian in a step."""
    rng, dt = np.random.default_rng([seed, len(robot)]), 0.01
    stiffness = 0.003 * (swing / dt) ** 2
    make = {"ball": ball, "tied": lambda k: tied(k / 0.02), "floating": lambda k: floating(k, 10.0 * k)}.get(
        robot, lambda k: pair(robot, k)
    )
    mechanism = make(stiffness)
    q = mechanism.integrate(mechanism.neutral(), 0.4 * rng.normal(size=mechanism.nv))
    if robot == "tied":
        q[7:10] = q[:3] + np.array([0.6, 0.1, 0.2])
    run = la.simulate(mechanism, q, rng.normal(size=mechanism.nv), dt=dt, steps=150, integrator=la.Maximal())
    assert gain(run) < 0.15


@pytest.mark.parametrize("isotropic", [False, True])
def test_springs_without_rest_length_conserve_energy(isotropic):
    """On an ellipse around its own point, with a frequency times step of 8: the midpoint rule in all directions."""
    run = la.simulate(hung(isotropic), q=[0.1, 0, 0], v=[0, 30.0, 0], dt=0.01, steps=200, integrator=la.Maximal())
    np.testing.assert_allclose(run.energy, run.energy[0], rtol=1e-9)
    assert np.ptp(run.q[:, 1]) > 0.05


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("isotropic", [False, True])
def test_springs_that_pass_their_own_point_gain_no_energy(isotropic, seed):
    """A spring without rest length between bodies in flight, drawn back by half a metre and let go."""
    rng, robot = np.random.default_rng(seed), tied(0.15 * (8.0 / 0.01) ** 2, 0.0, isotropic)
    q = robot.integrate(robot.neutral(), 0.4 * rng.normal(size=robot.nv))
    q[7:10] = q[:3] + np.array([0.5, 0.1, 0.2])
    run = la.simulate(robot, q, rng.normal(size=robot.nv), dt=0.01, steps=150, integrator=la.Maximal())
    assert gain(run) < 0.1


def falling():
    """Two bodies in flight with a joint that turns and slides, and a soft spring."""
    b = MechanismBuilder("falling")
    b.body("a", mass=1.0, com=(0.05, 0, 0.02), inertia=(0.004, 0.003, 0.002))
    b.free("a")
    b.body("b", mass=0.3, com=(0, 0.05, 0), inertia=(4e-4, 3e-4, 2e-4))
    b.joint("joint", "cylindrical", "a", "b", axis=(0.6, 0, 0.8), position=(0.1, 0, 0))
    b.spring("spring", "a", "b", stiffness=20.0, rest_length=0.1)
    return b.build()


@pytest.mark.parametrize("seed", [2, 7, 41])
def test_a_falling_pair_does_not_flip(seed):
    """Near half a turn in a step Newton finds other solutions; beside the energy of a long fall theirs looks small."""
    robot, w = falling(), np.random.default_rng(seed).normal(size=8) * [12, 12, 12, 0, 0, 0, 30, 0]
    turning = la.dynamics.kinetic_energy(robot, robot.neutral(), w)
    run = la.simulate(robot, robot.neutral(), w - [0, 0, 0, 0, 0, 60, 0, 0], dt=0.04, steps=60, integrator=la.Maximal())
    assert (run.energy - run.energy[0]).max() < 2.0 * turning  # 700 to 14 000 times that without the check


@pytest.mark.parametrize("stiffness", [2e3, 6e3])
def test_derivatives_of_steps_of_stiff_joint_springs(stiffness):
    """Steps in substeps of several lengths: those of the chain of these."""
    robot, integrator, q = reach("joints", stiffness), la.Maximal(tolerance=1e-12), np.array([0.2, 0.3, 0.1])
    p, u = la.dynamics.mass_matrix(robot, q) @ [15.0, 0.4, -0.3], np.array([0.1, 0.2, -0.3])
    run = la.simulate(robot, q, p=p, controls=u, dt=DT, steps=2, integrator=integrator)
    assert (np.count_nonzero(run.stored["substeps"][1:, 0], axis=-1) > 3).all()
    assert_linearized(robot, integrator, q, p, u, 1e-5, 1e-6, assert_relative)
    assert_parameters(robot, integrator, q, p, u, ["stiffness:t"], 1e-5)
    assert_gradient(robot, integrator, q, p, np.outer([1.0, -0.5], u), 1e-5, 1e-6)


@pytest.mark.parametrize(
    "robot",
    [ball(300.0), tied(2e4), pair("spherical", 300.0), tied(2e4, 0.0), tied(2e4, 0.0, True), floating(300.0, 2e4)],
    ids=["ball", "tied", "pair", "no rest length", "isotropic", "floating"],
)
def test_linearization_of_stiff_springs(robot):
    """A and B of a step are those of differences of the step itself."""
    rng, dt, integrator = np.random.default_rng(1), 0.01, la.Maximal()
    q = robot.integrate(robot.neutral(), 0.05 * rng.normal(size=robot.nv))
    if robot.name == "tied":
        q[7:10] = q[:3] + np.array([0.5, 0.05, 0.02]) * (1.0 if robot.springs[0].rest_length > 0.0 else 0.02)
    p = la.dynamics.mass_matrix(robot, q) @ (0.1 * rng.normal(size=robot.nv))
    A, _ = la.linearize(robot, integrator, q, p, np.zeros(robot.nu), dt)
    n, differences, h = robot.nv, [], 1e-5

    def step(q, p):
        v = np.linalg.solve(la.dynamics.mass_matrix(robot, q), p)
        run = la.simulate(robot, q, v, dt=dt, steps=1, integrator=la.Maximal(tolerance=1e-13))
        return run.q[1], run.p[1]

    middle, _ = step(q, p)
    for k in range(2 * n):
        ends = []
        for sign in (1.0, -1.0):
            d = np.zeros(2 * n)
            d[k] = sign * h
            q1, p1 = step(robot.integrate(q, d[:n]), p + d[n:])
            ends.append(np.concatenate([robot.difference(middle, q1), p1]))
        differences.append((ends[0] - ends[1]) / (2.0 * h))
    D = np.array(differences).T
    assert np.abs(A - D).max() < 2e-5 * np.abs(D).max()
