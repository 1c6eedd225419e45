"""Spline joints in mechanisms with loops: a slider-crank whose slider runs along a curve."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import gradient
from leastaction.mechanism import Pose, joints

LINE = tuple(Pose((float(k), 0.0, 0.0)) for k in range(8))
WIRE = tuple(Pose.from_axis_angle("z", 0.3 * k, (k, 0.2 * np.sin(k), 0.1 * np.cos(2 * k))) for k in range(8))


def slider_crank(kind, planar=True, **rail):
    """Slider, rod and crank; the knee closes the loop."""
    b = la.MechanismBuilder("slider-crank")
    b.body("slider", mass=1.0, com=(0, 0, 0.05), inertia=0.02)
    b.body("rod", mass=0.5, com=(0.3, 0, 0), inertia=(0.001, 0.02, 0.02))
    b.body("crank", mass=0.7, com=(0.1, 0, 0), inertia=(0.001, 0.01, 0.01))
    b.joint("rail", kind, "world", "slider", **rail)
    b.joint("pin", *(("revolute",) if planar else ("spherical",)), "slider", "rod", axis="y" if planar else None)
    b.revolute("axle", "world", "crank", axis="y", position=(3.0, 0, 0))
    parts = (joints.prismatic("y"), joints.spherical()) if planar else (joints.spherical(),)
    knee = {"position": (0.3, 0, 0), "child_pose": Pose((-0.8, 0, 0)), "loop": True}
    b.joint("knee", "composite", "crank", "rod", parts=parts, **knee)
    return b.build()


def moving(robot, q, v):
    """The nearest state with a closed loop that stays closed."""
    q = la.dynamics.close_loops(robot, q)
    A = la.dynamics.loop_jacobian(robot, q)[1]
    return q, v - np.linalg.pinv(A) @ (A @ v)


def bent():
    robot = slider_crank("spline_curve", planar=False, frames=WIRE)
    q = robot.neutral()
    q[0] = 0.9
    q = robot.integrate(q, np.array([0.0, 0.1, 0.1, 0.1, 2.5]))
    return robot, *moving(robot, q, np.random.default_rng(0).normal(size=robot.nv))


@pytest.mark.parametrize("method", [la.BDF(order=1), la.BDF(order=2), la.SDIRK2(), la.LinearlyImplicitEuler()])
def test_a_straight_spline_is_a_slider(method):
    """A B-spline of equidistant points on a line moves evenly along it, so both mechanisms are the same."""
    slider = slider_crank("prismatic", axis="x", position=(1.0, 0, 0))
    spline = slider_crank("spline_curve", frames=LINE)
    state = moving(slider, np.array([0.9, 0.1, 2.5]), np.array([0.5, 1.0, -2.0]))
    assert np.abs(la.dynamics.loop_jacobian(spline, state[0])[0]).max() < 1e-12
    runs = [la.simulate(robot, *state, dt=5e-3, steps=60, integrator=method) for robot in (slider, spline)]
    assert np.ptp(runs[0].q, axis=0).min() > 0.05
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-10
    assert np.abs(runs[0].energy - runs[1].energy).max() < 1e-10


def test_jacobian_of_the_loop():
    robot, q, _ = bent()
    _, A = la.dynamics.loop_jacobian(robot, q)
    h = 1e-6
    for k, e in enumerate(h * np.eye(robot.nv)):
        ends = [la.dynamics.loop_jacobian(robot, robot.integrate(q, s * e))[0] for s in (1, -1)]
        assert np.abs((ends[0] - ends[1]) / (2 * h) - A[:, k]).max() < 1e-8


@pytest.mark.parametrize("chart", ["euler", "exponential"])
def test_energy_on_a_bent_wire(chart):
    """The loop stays closed, and the energy error falls with the order."""
    robot, q, v = bent()
    method = la.BDF(order=2, chart=chart)
    runs = [la.simulate(robot, q, v, dt=0.2 / n, steps=n, integrator=method) for n in (50, 100)]
    errors = [np.abs(run.energy - run.energy[0]).max() for run in runs]
    assert np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)
    assert runs[1].constraint_violation.max() < 1e-12


def test_gradient_by_the_controls():
    robot, q, v = bent()
    rng = np.random.default_rng(1)
    U, D = rng.normal(size=(2, 6, robot.nu))
    cq, cv = rng.normal(size=(2, 7, robot.nv))
    method = la.BDF(order=2)
    run = la.simulate(robot, q, v, dt=0.01, steps=6, controls=U, integrator=method)

    def value(e):
        other = la.simulate(robot, q, v, dt=0.01, steps=6, controls=U + e * D, integrator=method)
        return float((cq * robot.difference(run.q, other.q)).sum() + (cv * other.v).sum())

    slope = (8 * (value(1e-3) - value(-1e-3)) - (value(2e-3) - value(-2e-3))) / 12e-3
    assert (gradient(run, cq, cv, ["controls"])["controls"] * D).sum() == pytest.approx(slope, rel=1e-6)


def test_springs_of_loops_have_energy():
    """A damped motion apart, T + V stays: the spring of the joint that closes the loop counts."""
    b = slider_crank("prismatic", axis="x", position=(1.0, 0, 0)).edit()
    b.joint("buffer", "prismatic", "world", "slider", axis="x", position=(1.5, 0, 0), loop=True, stiffness=50.0)
    robot = b.build()
    state = moving(robot, np.array([0.9, 0.1, 2.5]), np.array([0.5, 1.0, -2.0]))
    run = la.simulate(robot, *state, dt=5e-3, steps=100, integrator=la.Galerkin(order=4))
    assert np.ptp(run.kinetic_energy) > 0.5
    assert np.ptp(run.energy) < 1e-5 * np.ptp(run.kinetic_energy)


def test_refusals_name_the_joint():
    robot, q, v = bent()
    for method in (la.Galerkin(), la.Maximal(), la.ConstrainedEuler()):
        with pytest.raises(la.IntegratorError, match=r"cannot run the spline joint 'rail'; use leastaction\.BDF"):
            la.simulate(robot, q, v, steps=1, integrator=method)
    with pytest.raises(la.MechanismError, match="the loop 'knee' is open"):
        la.simulate(robot, robot.neutral(), steps=1, integrator=la.BDF())
    b = robot.edit()
    b.joint("knee2", "spline_curve", "crank", "rod", frames=LINE, loop=True)
    with pytest.raises(la.MechanismError, match="'knee2': a spline cannot close a loop"):
        la.simulate(b.build(), q, v, steps=1, integrator=la.BDF())
