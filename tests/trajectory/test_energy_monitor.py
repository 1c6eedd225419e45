"""Energy from nowhere is said in a warning, whatever the integrator."""

import warnings

import numpy as np
import pytest

import leastaction as la

START = np.array([1.0, -0.5])
INTEGRATORS = [
    la.Galerkin(order=2),
    la.Midpoint(),
    la.Maximal(),
    la.Grounded(),
    la.BDF(),
    la.LinearlyImplicitEuler(),
    la.RungeKutta(),
]


def pendulum():
    return la.robots.pendulum(2)


def run(integrator, robot=None, **options):
    options = {"dt": 0.01, "steps": 20, "integrator": integrator} | options
    return la.simulate(robot or pendulum(), START, **options)


def quiet(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("error", la.EnergyWarning)
        return run(*arguments, **options)


@pytest.mark.parametrize("integrator", INTEGRATORS, ids=lambda x: type(x).__name__)
def test_every_integrator_is_looked_at(integrator, monkeypatch):
    """The second half of a run is made hundred times as fast."""
    quiet(integrator)
    stepper = type(integrator.prepare(pendulum(), 0.01))
    finish = stepper.finish

    def spoiled(self, record):
        finish(self, record)
        half = np.arange(len(record.q)) >= 10
        record.q[half] += np.arange(len(record.q))[half, None]
        record.second[half] *= 100.0

    monkeypatch.setattr(stepper, "finish", spoiled)
    with pytest.warns(la.EnergyWarning, match=r"'.*' gains energy spuriously by t = 0\.1 s, from .* J with") as found:
        run(integrator)
    assert sum(issubclass(w.category, la.EnergyWarning) for w in found) == 1
    assert issubclass(la.EnergyWarning, la.LeastActionWarning)


def test_explicit_steps_that_are_too_long():
    with pytest.warns(la.EnergyWarning, match="ExplicitEuler"):
        run(la.ExplicitEuler(), dt=0.05, steps=200)


def test_controls_may_bring_energy_in():
    """A motor that turns a link faster and faster does work; the same motion without it would be said."""
    found = quiet(la.RungeKutta(), controls=np.array([30.0, 0.0]), steps=200)
    assert found.energy[-1] - found.energy[0] > 0.5 * found.kinetic_energy.max()


def test_what_has_forces_from_outside_is_left_alone():
    b = la.MechanismBuilder.from_mechanism(pendulum())
    b.wrench("push", pendulum().body_names[-1], (0, 30.0, 0, 0, 0, 0), frame="world")
    found = quiet(la.RungeKutta(), robot=b.build(), steps=200)
    assert found.energy[-1] - found.energy[0] > 10.0


def test_a_simulator_says_it_too():
    """After as many steps as it keeps, and before a reset; once for each start."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", la.EnergyWarning)
        sim = la.Simulator(pendulum(), la.ExplicitEuler(), dt=0.05)
        sim.reset(START)
        for _ in range(200):
            sim.step()
    with pytest.warns(la.EnergyWarning, match="gains energy spuriously by t = .* with ExplicitEuler"):
        sim.reset(START)
    motor = np.array([30.0, 0.0])
    with warnings.catch_warnings():
        warnings.simplefilter("error", la.EnergyWarning)
        other = la.Simulator(pendulum(), la.RungeKutta(), dt=0.01)
        other.reset(START)
        for _ in range(300):  # more than are kept
            other.step(motor)
        other.reset()
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        for _ in range(600):
            sim.step()
    assert [w.category for w in found] == [la.EnergyWarning]


def test_batches_say_it_of_one_robot():
    q = np.stack([START, [0.0, 0.0], 1.1 * START])
    options = {"dt": 0.05, "steps": 200, "integrator": la.ExplicitEuler()}
    with pytest.warns(la.EnergyWarning, match="robot [02] of 'pendulum'") as found:
        la.batch.simulate(pendulum(), q, **options)
    assert len(found) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error", la.EnergyWarning)
        la.batch.simulate(pendulum(), q, dt=0.01, steps=50, integrator=la.RungeKutta(), controls=np.array([30.0, 0.0]))
    sims = la.batch.Simulator(pendulum(), 3, dt=0.05, integrator=la.ExplicitEuler())
    sims.reset(q)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        sims.step(steps=300)
        sims.reset(q)
    assert [w.category for w in found] == [la.EnergyWarning]
    assert str(found[0].message).startswith("robot ")
    assert found[0].filename == __file__
