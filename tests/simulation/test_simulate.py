"""The front door: ways to give controls, refused input, and runs that fail."""

import warnings

import numpy as np
import pytest

import leastaction as la
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import hinge_ball_slide, random_state, random_tree

EXPLICIT = [la.ExplicitEuler(), la.SemiImplicitEuler(), la.Heun(), la.RungeKutta(order=4), la.DOP853()]
RK4 = la.RungeKutta(order=4)


@pytest.fixture(scope="module")
def robot():
    return random_tree(3, 3, ("revolute", "spherical", "prismatic"), branching=0.0)


@pytest.mark.parametrize("integrator", EXPLICIT, ids=lambda x: type(x).__name__)
def test_all_ways_to_give_the_same_controls(robot, integrator):
    """Constant, table, function of time and controller make the very same run."""
    q, v = random_state(robot, 1)
    u = np.arange(robot.nu) - 1.5
    ways = (
        {"controls": u},
        {"controls": list(u)},
        {"controls": np.tile(u, (7, 1))},
        {"controls": lambda t: u},
        {"controller": lambda t, q, v: list(u)},
    )
    runs = [la.simulate(robot, q, v, dt=0.01, steps=7, integrator=integrator, **way) for way in ways]
    for run in runs[1:]:
        assert (run.q == runs[0].q).all()
        assert (run.v == runs[0].v).all()
    idle = la.simulate(robot, q, v, dt=0.01, steps=7, integrator=integrator)
    assert (idle.q[1:] != runs[0].q[1:]).any()


def test_the_controls_of_a_run_make_it_again(robot):
    q, v = random_state(robot, 1)
    run = la.simulate(
        robot, q, v, dt=0.01, steps=6, integrator=RK4, controls=lambda t: np.sin(50.0 * t + np.arange(robot.nu))
    )
    assert run.stored["u"].shape[1] > 1
    again = la.simulate(robot, q, v, dt=0.01, steps=6, integrator=RK4, controls=run.stored["u"])
    assert (run.q == again.q).all()


def test_a_table_holds_each_row_over_its_step(robot):
    q, v = random_state(robot, 1)
    table = np.random.default_rng(0).normal(size=(6, robot.nu))
    run = la.simulate(robot, q, v, dt=0.01, steps=6, integrator=RK4, controls=table)
    by_hand = la.simulate(
        robot, q, v, dt=0.01, steps=6, integrator=RK4, controller=lambda t, q, v: table[round(t / 0.01)]
    )
    assert (run.q == by_hand.q).all()


def test_a_controller_sees_the_state_and_cannot_change_it(robot):
    q, v = random_state(robot, 1)
    seen = []

    def controller(t, q, v):
        seen.append((t, q.copy(), v.copy()))
        u = -3.0 * v
        q[:] = 0.0
        v[:] = 0.0
        return u

    run = la.simulate(robot, q, v, dt=0.02, steps=5, start=2.0, integrator=RK4, controller=controller)
    assert [t for t, _, _ in seen] == [run.t[k] for k in range(5)]
    assert run.t[0] == 2.0
    for k, (_, x, y) in enumerate(seen):
        assert (x == run.q[k]).all()
        assert (y == run.v[k]).all()


def test_a_run_continues_where_another_ended(robot):
    q, v = random_state(robot, 1)
    whole = la.simulate(robot, q, v, dt=0.01, steps=10, integrator=RK4)
    first = la.simulate(robot, q, v, dt=0.01, steps=4, integrator=RK4)
    rest = la.simulate(robot, first.q[-1], first.v[-1], dt=0.01, steps=6, integrator=RK4, start=first.t[-1])
    assert_close(rest.q, whole.q[4:], 1e-14)
    assert_close(rest.t, whole.t[4:], 1e-15)


def test_momentum_instead_of_velocity(robot):
    """p = M v: starting from either gives the same run."""
    q, v = random_state(robot, 1)
    p = la.dynamics.mass_matrix(robot, q) @ v
    by_v = la.simulate(robot, q, v, steps=3, integrator=RK4)
    by_p = la.simulate(robot, q, p=p, steps=3, integrator=RK4)
    assert_close(by_p.q, by_v.q, 1e-12)
    assert_close(by_v.p[0], p, 1e-12)


def test_shapes_and_times(robot):
    run = la.simulate(robot, dt=0.1, duration=1.0, integrator=RK4)
    assert run.steps == 10
    assert len(run) == 11
    assert run.q.shape == (11, robot.nq)
    assert run.v.shape == run.p.shape == (11, robot.nv)
    assert run.momentum.shape == (11, 6)
    assert run.energy.shape == run.constraint_violation.shape == run.iterations.shape == (11,)
    assert_close(run.t, np.linspace(0.0, 1.0, 11), 1e-15)
    assert (run.q[0] == robot.neutral()).all()
    nothing = la.simulate(robot, steps=0, integrator=RK4)
    assert nothing.q.shape == (1, robot.nq)
    assert "10 steps of 0.1 s to 1 s" in repr(run)


GOOD = {"dt": 0.01, "steps": 3, "integrator": RK4}
BAD = {
    "dt of zero": ({"dt": 0.0}, la.IntegratorError, "dt must be"),
    "dt negative": ({"dt": -0.1}, la.IntegratorError, "dt must be"),
    "dt not a number": ({"dt": float("nan")}, la.IntegratorError, "dt must be"),
    "dt infinite": ({"dt": float("inf")}, la.IntegratorError, "dt must be"),
    "dt a string": ({"dt": "0.1"}, la.IntegratorError, "dt must be"),
    "duration and steps": ({"duration": 1.0}, la.IntegratorError, "either duration"),
    "neither": ({"steps": None}, la.IntegratorError, "either duration"),
    "negative duration": ({"steps": None, "duration": -1.0}, la.IntegratorError, "duration must be"),
    "endless": ({"steps": None, "duration": float("inf")}, la.IntegratorError, "duration must be"),
    "less than a step": ({"steps": None, "duration": 0.004}, la.IntegratorError, "no more than half a step"),
    "duration a string": ({"steps": None, "duration": "1"}, la.IntegratorError, "duration must be"),
    "half a step": ({"steps": 2.5}, la.IntegratorError, "steps must be"),
    "negative steps": ({"steps": -1}, la.IntegratorError, "steps must be"),
    "steps a string": ({"steps": "3"}, la.IntegratorError, "steps must be"),
    "steps not a number": ({"steps": float("nan")}, la.IntegratorError, "steps must be"),
    "start": ({"start": float("nan")}, la.IntegratorError, "start must be"),
    "integrator's class": ({"integrator": la.RungeKutta}, la.IntegratorError, "integrator must be"),
    "integrator's name": ({"integrator": "rk4"}, la.IntegratorError, "integrator must be"),
    "size of q": ({"q": [0.0]}, la.MechanismError, r"q: expected shape \(6,\)"),
    "q not a number": ({"q": [0, 1, 0, 0, 0, float("nan")]}, la.MechanismError, "entry 5"),
    "q a string": ({"q": "zero"}, la.MechanismError, "q: expected"),
    "quaternion": ({"q": [0, 2, 0, 0, 0, 0]}, la.MechanismError, "unit norm"),
    "size of v": ({"v": np.zeros(6)}, la.MechanismError, r"v: expected shape \(5,\)"),
    "v infinite": ({"v": [0, 0, float("inf"), 0, 0]}, la.MechanismError, "v: entry 2"),
    "size of p": ({"p": np.zeros(4)}, la.MechanismError, r"p: expected shape \(5,\)"),
    "v and p": ({"v": np.zeros(5), "p": np.zeros(5)}, la.IntegratorError, "either v or p"),
    "size of controls": ({"controls": [1.0]}, la.IntegratorError, "controls: expected shape"),
    "rows of controls": ({"controls": np.zeros((4, 5))}, la.IntegratorError, "controls: expected shape"),
    "controls not numbers": (
        {"controls": [0, 0, float("nan"), 0, 0]},
        la.IntegratorError,
        "controls must be finite",
    ),
    "controls a string": ({"controls": "full speed"}, la.IntegratorError, "controls must be finite"),
    "function of wrong size": ({"controls": lambda t: [t]}, la.IntegratorError, "controls at t = 0 s"),
    "function of NaN": (
        {"controls": lambda t: np.full(5, np.nan)},
        la.IntegratorError,
        "controls at t = 0 s",
    ),
    "function of None": ({"controls": lambda t: None}, la.IntegratorError, "controls at t = 0 s"),
    "controller of wrong size": (
        {"controller": lambda t, q, v: [0.0]},
        la.IntegratorError,
        "controls at t = 0 s",
    ),
    "controller not a function": ({"controller": [0.0] * 5}, la.IntegratorError, "controller must be"),
    "controls and controller": (
        {"controls": np.zeros(5), "controller": lambda t, q, v: np.zeros(5)},
        la.IntegratorError,
        "either controls or a controller",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case):
    changes, error, message = BAD[case]
    with pytest.raises(error, match=message):
        la.simulate(hinge_ball_slide(), **(GOOD | changes))


@pytest.mark.parametrize("integrator", [la.ExplicitEuler(), la.SemiImplicitEuler(), RK4])
def test_a_run_that_fails_keeps_what_it_had(integrator):
    """A stiff damper with a step far too large: every explicit method grows without bound."""
    b = la.MechanismBuilder(gravity=(0, 0, 0))
    b.body("slider", mass=1.0)
    b.prismatic("rail", "world", "slider", damping=1e9)
    with pytest.raises(la.ConvergenceError, match=r"step \d+, t = .*take a smaller dt") as caught:
        la.simulate(b.build(), v=[1.0], dt=0.1, steps=1000, start=5.0, integrator=integrator, controls=[0.0])
    error = caught.value
    run = error.trajectory
    assert 0 < run.steps < 1000
    assert error.step == run.steps
    assert error.time == pytest.approx(5.0 + 0.1 * run.steps)
    assert np.isfinite(run.q).all()
    assert np.isfinite(run.v).all()
    assert len(run.v) == len(run.q) == len(run.t) == len(run.stored["u"]) + 1
    shorter = la.simulate(run.mechanism, v=[1.0], dt=0.1, steps=run.steps, integrator=integrator)
    assert (shorter.v == run.v).all()


def test_a_mechanism_that_cannot_move():
    b = la.MechanismBuilder()
    b.body("stone", mass=1.0)
    b.fixed("weld", "world", "stone")
    run = la.simulate(b.build(), steps=2, integrator=RK4)
    assert run.q.shape == (3, 0)
    assert_close(run.kinetic_energy, np.zeros(3), 0.0)


def test_progress_goes_to_stderr_only(robot, capsys):
    la.simulate(robot, steps=3, integrator=RK4, progress=True)
    la.simulate(robot, steps=3, integrator=RK4, progress=False)
    assert capsys.readouterr().out == ""


def test_who_has_contact_and_limits_is_said_by_the_robot():
    """`Minimal` for a tree of joints, as by default."""
    dog = la.robots.unitree_a1(ground=True)
    with pytest.warns(la.LeastActionWarning, match=r"falls through the ground; leastaction\.Minimal has them"):
        la.simulate(dog, la.robots.home(dog), dt=0.01, steps=1, integrator=la.Galerkin(order=2))
    b = la.MechanismBuilder("hinge")
    b.body("arm", mass=1.0, inertia=0.1, com=(0, 0, -0.5))
    b.revolute("hinge", "world", "arm", axis="y", limits=(-0.1, 0.1))
    with pytest.warns(la.LeastActionWarning, match=r"do not act with Galerkin; leastaction\.Minimal keeps them"):
        la.simulate(b.build(), [0.0], [2.0], dt=0.01, steps=20, integrator=la.Galerkin(order=2))


def test_contacts_that_do_not_act_are_warned_of():
    """Only where they do not: `Maximal` has contact."""
    q = la.robots.on_ground(la.robots.cube())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        la.simulate(la.robots.cube(), q, steps=0, integrator=la.Maximal())
    with pytest.warns(UserWarning, match="contacts do not act with RungeKutta: 'cube' .*leastaction.Maximal"):
        la.simulate(la.robots.cube(), steps=0, integrator=RK4)


def test_starts_by_name():
    """Entries that are not named are neutral, or at rest."""
    robot = hinge_ball_slide()
    run = la.simulate(robot, q={"slide": 0.3}, v={"hinge": -1.0}, dt=0.01, steps=1, integrator=RK4)
    q, v = robot.neutral(), np.zeros(robot.nv)
    q[robot.coordinate_index("slide")], v[robot.velocity_index("hinge")] = 0.3, -1.0
    assert (run.q[0] == q).all()
    assert (run.v[0] == v).all()
    for state in ({"q": {"slid": 0.3}}, {"v": {"hing": 1.0}}):
        with pytest.raises(la.MechanismError, match="did you mean"):
            la.simulate(robot, **state, dt=0.01, steps=1, integrator=RK4)


def test_a_class_in_place_of_an_integrator():
    with pytest.raises(la.IntegratorError, match=r"write Heun\(\)"):
        la.simulate(la.robots.pendulum(), steps=1, integrator=la.Heun)


def test_steps_may_be_given_as_a_single_precision_number():
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        run = la.simulate(la.robots.pendulum(links=2), dt=np.float32(0.01), steps=2, integrator=la.Galerkin(order=4))
    assert run.dt == float(np.float32(0.01))
