"""Derivatives of prediction errors by parameters and starts, against central differences."""

import numpy as np
import pytest

import leastaction as la
from leastaction.identification.identification_logs import checked_logs, segments_of
from leastaction.identification.parameter_charts import Chart
from leastaction.identification.prediction_errors import Noise, PredictionErrors
from tests.identification.arms import SECOND, arm, logged
from tests.oracles.differences import assert_close, by_vector


def check(robot, log, names, integrator, *, substeps=1, free=True, x=None, tolerance=1e-6, step=1e-5):
    """All derivatives of two segments."""
    checked = checked_logs(robot, log)
    chart = Chart(robot, names, longest_delay=0.05)
    noise = Noise(np.full(robot.nv, 0.1), np.full(robot.nv, 0.3))
    errors = PredictionErrors(chart, integrator, segments_of(checked, 4, [0]), noise, substeps, free)
    z = errors.first(chart.start if x is None else x(chart))
    z[chart.size :] = 0.05 * np.random.default_rng(1).normal(size=len(z) - chart.size)
    expected = by_vector(errors.residuals, z, step)
    blocks, row, column = errors.jacobians(z), 0, chart.size
    for by_x, by_start in blocks:
        rows = slice(row, row + len(by_x))
        assert_close(by_x, expected[rows, : chart.size], tolerance)
        assert_close(by_start, expected[rows, column : column + by_start.shape[1]], tolerance)
        row, column = row + len(by_x), column + by_start.shape[1]
    # Each measured state counts once, also that at which two segments meet; measured starts are no errors.
    assert row == errors.rows == 2 * robot.nv * (len(log) if free else len(log) - 1)


@pytest.mark.parametrize("integrator", [SECOND, la.Galerkin(order=4), la.Minimal()])
def test_of_an_arm(integrator):
    names = ["body:fore", "damping:elbow", "armature:shoulder", "position:elbow", "gear:m2"]
    check(la.derivatives.with_parameters(arm(), {"armature:shoulder": 0.02}), logged(steps=8), names, integrator)


def test_of_strong_dampers():
    """Momenta of `Minimal` hold what dampers that are strong for the step act late; velocities follow from that."""
    robot = la.derivatives.with_parameters(arm(), {"damping:elbow": 60.0})
    check(robot, logged(steps=8), ["damping:elbow", "mass:fore"], la.Minimal(), tolerance=1e-5)


def test_of_delays():
    """The mean of a held control over a step is piecewise linear in the delay."""

    def between(chart):
        x = chart.start.copy()
        x[-1] = 0.0137
        return x

    check(arm(), logged(steps=8), ["mass:fore", "delay:m2"], SECOND, x=between)


def test_of_substeps_from_measured_starts():
    check(arm(), logged(steps=8), ["body:upper"], SECOND, substeps=2, free=False)


def test_of_a_body_that_tumbles():
    """Positions on a manifold: errors are along the tangent."""
    b = la.MechanismBuilder("brick")
    b.body("brick", mass=2.0, com=(0.02, 0.01, 0.0), inertia=(0.02, 0.03, 0.04))
    b.free("brick")
    robot = b.build()
    run = la.simulate(robot, v=[3.0, 1.0, -2.0, 0.5, 0.2, 1.0], dt=0.02, steps=8, integrator=SECOND, progress=False)
    rng = np.random.default_rng(0)
    q = robot.integrate(run.q, 0.05 * rng.normal(size=(9, 6)))
    log = la.Trajectory.from_states(robot, q, run.v, dt=0.02, u=np.zeros((8, 6)))
    check(robot, log, ["com:brick", "inertia:brick", "gravity"], SECOND, tolerance=1e-5)
