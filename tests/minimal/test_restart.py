"""A step depends on (q, p) and the controls alone: runs can be cut, continued and repeated bit for bit."""

import numpy as np
import pytest

import leastaction as la
from tests.minimal.helpers import METHODS, method
from tests.oracles.random_trees import KINDS, random_state, random_tree

STEPS = 12


@pytest.fixture(scope="module")
def robot():
    """A tree with every joint, springs, dampers and armatures."""
    tree = random_tree(212, 22, KINDS, branching=0.6, stiffness=2.0, damping=0.1)
    assert {joint.kind for joint in tree.joints} == set(KINDS)
    return tree


@pytest.fixture(scope="module")
def start(robot):
    return random_state(robot, 2, speed=0.3)


def assert_same(first, second):
    assert (first.q == second.q).all()
    assert (first.stored["p"] == second.stored["p"]).all()
    assert (first.iterations == second.iterations).all()


@pytest.fixture(scope="module", params=METHODS)
def run(request, robot, start):
    return la.simulate(robot, *start, dt=0.01, steps=STEPS, integrator=method(request.param))


def test_restart_from_any_state(robot, run):
    """From every (q_k, p_k), the rest of the run is the same, to the last bit."""
    for k in range(STEPS):
        rest = la.simulate(robot, run.q[k], p=run.p[k], dt=0.01, steps=STEPS - k, integrator=run.integrator)
        assert (rest.q == run.q[k:]).all(), k
        assert (rest.p == run.p[k:]).all(), k
        assert (rest.iterations[1:] == run.iterations[k + 1 :]).all(), k


@pytest.mark.parametrize("cuts", [(1,), (5,), (2, 3, 7, 11), tuple(range(1, STEPS))], ids=str)
def test_pieces_of_the_compiled_loop(robot, run, cuts):
    """A stepper that is called for one piece after another, of any sizes, makes the same run."""
    stepper = run.integrator.prepare(robot, 0.01)
    record = stepper.record(STEPS)
    record["q"][0], record["p"][0] = run.q[0], run.p[0]
    u = np.zeros((STEPS, len(stepper.control_nodes), robot.nu))
    for first, last in zip((0, *cuts), (*cuts, STEPS), strict=True):
        assert stepper.advance(record, first, last, u[first:last]) == last
    assert (record["q"] == run.q).all()
    assert (record["p"] == run.p).all()


def test_a_stepper_forgets_what_it_did_before(robot, start, run):
    """A used work space, even one in which a step failed, gives the numbers of a fresh one."""
    stepper = run.integrator.prepare(robot, 0.01)
    used = stepper.record(3)
    used["q"][0] = robot.neutral()
    used["p"][0] = 1e6
    stepper.advance(used, 0, 3, np.ones((3, len(stepper.control_nodes), robot.nu)))
    record = stepper.record(STEPS)
    record["q"][0], record["p"][0] = run.q[0], run.p[0]
    stepper.advance(record, 0, STEPS, np.zeros((STEPS, len(stepper.control_nodes), robot.nu)))
    assert (record["q"] == run.q).all()


def test_a_controller_that_does_nothing(robot, start, run):
    """Stepping through Python makes the run of the compiled loop."""
    zeros = np.zeros(robot.nu)
    options = {"dt": 0.01, "steps": STEPS, "integrator": run.integrator}
    assert_same(la.simulate(robot, *start, controller=lambda t, q, v: zeros, **options), run)
    assert_same(la.simulate(robot, *start, controls=zeros, **options), run)
    assert_same(la.simulate(robot, *start, controls=lambda t: zeros, **options), run)
    assert_same(la.simulate(robot, *start, controls=np.zeros((STEPS, robot.nu)), **options), run)


def test_repeated_runs_are_identical(robot, start, run):
    assert_same(la.simulate(robot, *start, dt=0.01, steps=STEPS, integrator=run.integrator), run)


def test_a_saved_run_continues(robot, run, tmp_path):
    """Through a file and back: nothing is rounded."""
    loaded = la.Trajectory.load(run.save(tmp_path / "run"))
    rest = la.simulate(
        loaded.mechanism, loaded.q[4], p=loaded.p[4], dt=loaded.dt, steps=STEPS - 4, integrator=run.integrator
    )
    assert (rest.q == run.q[4:]).all()
