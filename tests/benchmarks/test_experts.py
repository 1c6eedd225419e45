"""Small versions of the experts' tests, with this package's engines alone: laws of contact, closed forms, energy."""

import numpy as np
import pytest

import leastaction as la
from benchmarks.experts import bodies, hard_contact, issues, residuals, simbenchmark

DT = 2e-3
ENGINES = pytest.mark.parametrize("engine", [la.Maximal(), la.Minimal()], ids=["Maximal", "Minimal"])


@ENGINES
def test_balls_roll_on_a_slab_as_the_closed_form_has_it(engine):
    scene = simbenchmark.rolling()
    scene = bodies.Scene([scene.bodies[k] for k in (0, 1, 25)], friction=0.8, ground_friction=0.4)
    walk = bodies.ours(engine)(scene, DT, 50)
    along = walk.v @ (np.array([1.0, 1.0, 0.0]) / np.sqrt(2.0))
    slab = (150.0 - 0.4 * 12.0 * 9.81) / (10.0 + 2.0 * 2.0 / 7.0)
    assert along[-1] == pytest.approx(slab * 50 * DT * np.array([1.0, 2.0 / 7.0, 2.0 / 7.0]), rel=1e-6)


@ENGINES
@pytest.mark.parametrize("scene", ["ball", "two cubes"])
def test_the_laws_of_contact_hold_at_every_step(engine, scene):
    scene = residuals.FREE[scene]()
    found = residuals.of_walk(scene, bodies.ours(engine)(scene, DT, 150, contacts=True))
    assert found.signorini.max() < 1e-6
    assert found.cone.max() < 1e-6
    assert found.dissipation.max() < 1e-6
    assert len(found.cone) > 50


def test_residuals_of_forces_that_break_the_laws():
    """A force at a distance, one outside of its cone, and friction along the slip."""
    frames = np.tile(np.eye(4), (2, 1, 1, 1))
    frames[1, 0, 0, 3] = 0.1  # slides along x by 0.1 m in a step
    still = np.zeros((2, 1, 3))
    for force, gap, which, value in (
        ([0.0, 0.0, 10.0], 0.05, "signorini", 0.5),
        ([-9.0, 0.0, 10.0], 0.0, "cone", 0.4),
        ([5.0, 0.0, 10.0], 0.0, "dissipation", 1.0),
    ):
        contact = (0, -1, 0, np.zeros(3), np.array([0.0, 0.0, 1.0]), np.array(force), gap)
        moving = still + [0.0, 0.0, 0.0] if which != "dissipation" else still + [1.0, 0.0, 0.0]
        found = residuals.measured([contact], frames, (moving, still), 0.1, 10.0, 0.1, 0.5, None)
        assert getattr(found, which) == pytest.approx([value])


@ENGINES
def test_a_table_bears_on_its_legs_with_the_least_norm(engine):
    robot, q = hard_contact.table()
    run = la.simulate(robot, q, dt=0.01, steps=20, integrator=engine)
    assert hard_contact.loads(run, 19) == pytest.approx(hard_contact.least_norm(), abs=0.02)
    again = la.simulate(robot, run.q[10], p=run.p[10], dt=0.01, steps=10, integrator=engine)
    assert hard_contact.loads(again, 9) == pytest.approx(hard_contact.loads(run, 19), abs=1e-6)


def test_energy_of_a_box_that_tumbles_elastically():
    robot, q, v = bodies.mechanism(hard_contact.tumbler())
    run = la.simulate(robot, q, v, dt=0.01, steps=4000, integrator=la.Maximal())
    assert run.energy == pytest.approx(run.energy[0], rel=1e-8)
    assert len(np.unique(run.stored["contacts"][:, 0])) > 50


@ENGINES
def test_a_tower_of_planks_stands_still(engine):
    scene = simbenchmark.kapla(floors=2)
    assert simbenchmark.moved(scene, bodies.ours(engine)(scene, DT, 20)) < 1e-6


@pytest.mark.parametrize(
    "line",
    [issues.lift_off, issues.elastic_gradient, issues.loop_joint, issues.hinge_closure],
    ids=lambda f: f.__name__,
)
def test_scenes_of_issues(line):
    assert line()[3], line()
