"""Batches on the CPU are the runs of `simulate`; each robot for itself, wrong input refused."""

import pickle
import warnings

import numpy as np
import pytest

import leastaction as la
from leastaction.batch.cpu_chunks import shares

BODIES = la.Galerkin(order=2, interpolation="bodies")


def starts(robot, count, seed=0):
    rng = np.random.default_rng(seed)
    q = np.stack([robot.integrate(robot.neutral(), rng.uniform(-0.5, 0.5, robot.nv)) for _ in range(count)])
    return q, rng.normal(size=(count, robot.nv))


@pytest.mark.parametrize("integrator", [BODIES, la.Maximal(), la.BDF(order=2)], ids=lambda i: type(i).__name__)
def test_robots_run_as_they_do_alone(integrator):
    robot = la.robots.cube(friction=0.3) if isinstance(integrator, la.Maximal) else la.robots.pendulum(3)
    q, v = starts(robot, 5)
    if robot.name == "cube":
        q[:, 2] = 0.6
    batch = la.batch.simulate(robot, q, v, dt=0.01, steps=40, integrator=integrator, every=5, workers=2)
    assert batch.success
    assert batch.q.shape == (5, 9, robot.nq)
    for k in range(5):
        alone = la.simulate(robot, q[k], v[k], dt=0.01, steps=40, integrator=integrator)
        np.testing.assert_array_equal(batch.q[k], alone.q[::5])
        assert batch.iterations[k] == alone.iterations.sum()
        np.testing.assert_array_equal(batch[k].q, alone.q[::5])
    name = "p" if batch.momentum else "v"
    np.testing.assert_array_equal(batch[4].stored[name][-1], alone.stored[name][-1])


@pytest.mark.parametrize("integrator", [BODIES, la.SemiImplicitEuler()], ids=lambda i: type(i).__name__)
@pytest.mark.parametrize("shape", [(2,), (150, 4, 2)], ids=["shared", "own"])
def test_many_robots_run_as_they_do_alone(integrator, shape):
    """So many that threads take several at once, and go from one to the next without Python."""
    robot = la.robots.pendulum(2)
    q, v = starts(robot, 150)
    u = 20.0 * np.random.default_rng(1).normal(size=shape)
    batch = la.batch.simulate(robot, q, v, dt=0.01, steps=4, every=2, controls=u, integrator=integrator, workers=2)
    for k in (0, 1, 2, 63, 100, 148, 149):
        own = u if u.ndim == 1 else u[k]
        alone = la.simulate(robot, q[k], v[k], dt=0.01, steps=4, controls=own, integrator=integrator)
        np.testing.assert_array_equal(batch.q[k], alone.q[::2])
        name = "p" if batch.momentum else "v"
        np.testing.assert_array_equal(batch[k].stored[name], alone.stored[name][::2])
        assert batch.iterations[k] == (alone.iterations.sum() if batch.momentum else 0)


def test_many_robots_on_the_ground_run_as_they_do_alone():
    """Those that start within the ground, or beyond a limit, are moved or warned of as they are alone."""
    robot = la.robots.unitree_a1(ground=True)
    rng = np.random.default_rng(0)
    q, v = np.tile(robot.home(), (70, 1)), rng.normal(size=(70, robot.nv))
    q[:, 2], q[:, 7:] = 0.3, 4 * (0.0, 0.8, -1.6)
    q[5, 2], q[40, 9] = 0.2, -10.0
    v[:9] = 0.0
    u = rng.normal(size=(70, 1, robot.nu))
    same = {"dt": 0.005, "steps": 6, "integrator": la.Grounded()}
    with pytest.warns(la.LeastActionWarning) as said:
        batch = la.batch.simulate(robot, q, v, controls=u, every=3, workers=2, **same)
    texts = sorted(str(one.message) for one in said)
    assert len(texts) == 2
    assert "overlap at the start" in texts[1]
    assert texts[1].startswith("robot 5: ")
    assert texts[0].startswith("robot 40: the start lies beyond the limits")
    for k in (0, 1, 5, 8, 9, 40, 69):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", la.LeastActionWarning)
            alone = la.simulate(robot, q[k], v[k], controls=u[k, 0], **same)
        np.testing.assert_array_equal(batch.q[k], alone.q[::3])
        np.testing.assert_array_equal(batch.p[k], alone.stored["p"][::3])
        assert batch.iterations[k] == alone.iterations.sum()


def test_prescribed_motions_are_those_of_runs_alone(monkeypatch):
    monkeypatch.setattr("leastaction.batch.threads.PIECE", 7)
    b = la.MechanismBuilder("arm")
    b.body("base", mass=2.0, com=(0, 0, 0.1), inertia=0.05)
    b.revolute("turn", "world", "base", axis="y")
    b.body("link", mass=1.0, com=(0, 0, -0.5), inertia=0.02)
    b.revolute("swing", "base", "link", axis="y", position=(0.5, 0, 0))
    b.prescribe("turn")
    robot, q = b.build(), np.array([[0.0, 0.5], [0.0, -0.2]])
    same = {"dt": 0.01, "steps": 20, "integrator": la.Maximal(), "motions": {"turn": lambda t: 0.5 * np.sin(3.0 * t)}}
    batch = la.batch.simulate(robot, q, **same)
    for k in range(2):
        alone = la.simulate(robot, q[k], **same)
        np.testing.assert_array_equal(batch.q[k], alone.q)
        np.testing.assert_array_equal(batch.p[k], alone.p)
    sim = la.batch.Simulator(robot, 2, dt=0.01, integrator=la.Maximal())
    sim.reset(q, [1.5, 0.0])
    sim.step(motions={"turn": 0.015})
    np.testing.assert_allclose(sim.q[:, 0], 0.015, atol=1e-12)
    for wrong, says in (({"motions": {"swing": 0.0}}, "not prescribed"), ({"motions": {"turn": "a"}}, "finite number")):
        with pytest.raises(la.IntegratorError, match=says):
            sim.step(**wrong)
    with pytest.raises(la.IntegratorError, match="steps must be 1, got 2"):
        sim.step(steps=2, motions={"turn": 0.0})
    with pytest.raises(la.IntegratorError, match="'swing' is not prescribed"):
        la.batch.simulate(robot, q, **same | {"motions": {"swing": 0.0}})
    pytest.importorskip("numba_cuda")
    with pytest.raises(la.IntegratorError, match="prescribed motions, such as that of 'turn'"):
        la.batch.simulate(robot, q, **same, device="cuda")


def test_long_runs_go_in_pieces(monkeypatch):
    monkeypatch.setattr("leastaction.batch.threads.PIECE", 7)
    robot = la.robots.pendulum(2)
    q, v = starts(robot, 2)
    u = np.random.default_rng(1).normal(size=(2, 20, 2))
    batch = la.batch.simulate(robot, q, v, dt=0.01, steps=20, controls=u, integrator=la.BDF(order=2))
    alone = la.simulate(robot, q[1], v[1], dt=0.01, steps=20, controls=u[1], integrator=la.BDF(order=2))
    np.testing.assert_array_equal(batch.q[1], alone.q)


@pytest.mark.parametrize("shape", [(2,), (3, 2), (10, 2), (3, 10, 2), (3, 1, 2), (1, 10, 2)])
def test_controls_of_all_shapes(shape):
    robot = la.robots.pendulum(2)
    u = np.random.default_rng(2).normal(size=shape)
    batch = la.batch.simulate(robot, starts(robot, 3)[0], dt=0.01, steps=10, controls=u, integrator=BODIES)
    own = u[2] if shape[0] == 3 else u.reshape(shape[-2:])
    own = own.reshape(shape[-1:]) if shape == (3, 1, 2) else own
    alone = la.simulate(robot, starts(robot, 3)[0][2], dt=0.01, steps=10, controls=own, integrator=BODIES)
    np.testing.assert_array_equal(batch.q[2], alone.q)


def test_parameters_differ_from_robot_to_robot():
    robot = la.robots.pendulum(2)
    masses = np.array([0.5, 1.0, 2.0])
    heavier = {"mass:link2": masses}
    batch = la.batch.simulate(robot, [0.3, 0.2], dt=0.01, steps=10, parameters=heavier, integrator=BODIES)
    assert [m.bodies[1].inertia.mass for m in batch.mechanisms] == masses.tolist()
    alone = la.simulate(batch.mechanisms[2], [0.3, 0.2], dt=0.01, steps=10, integrator=BODIES)
    np.testing.assert_array_equal(batch.q[2], alone.q)
    np.testing.assert_allclose(batch.v[2], alone.v, atol=1e-15)


def test_what_does_not_act_is_told():
    with pytest.warns(la.LeastActionWarning, match="contacts do not act with Galerkin: 'cube' falls through"):
        la.batch.simulate(la.robots.cube(), dt=0.01, steps=1, integrator=la.Galerkin(order=2))


@pytest.mark.parametrize("robot", [la.robots.pendulum(2), la.robots.cube()])
def test_a_batch_takes_the_integrator_of_single_runs(robot):
    one = la.simulate(robot, dt=0.01, steps=3)
    batch = la.batch.simulate(robot, dt=0.01, steps=3)
    assert batch.integrator == one.integrator == la.default_integrator(robot)
    assert np.array_equal(batch.q[0], one.q)
    sim = la.batch.Simulator(robot, 1, dt=0.01)
    sim.step(steps=3)
    assert sim.integrator == one.integrator
    assert np.array_equal(sim.q[0], one.q[-1])


def test_the_simulator_warns_once_for_all_robots():
    with pytest.warns(la.LeastActionWarning) as said:
        la.batch.Simulator(la.robots.cube(), 5, integrator=la.Galerkin())
    assert len(said) == 1
    assert str(said[0].message).startswith("contacts do not act with Galerkin: 'cube' falls through")
    assert said[0].filename == __file__
    b = la.MechanismBuilder("swing")
    b.body("link", mass=1.0, com=(0, 0, -0.5), inertia=0.02)
    b.revolute("joint", "world", "link", axis="y", limits=(-1.0, 1.0))
    sim = la.batch.Simulator(b.build(), 4, integrator=la.Maximal())
    with pytest.warns(la.LeastActionWarning, match=r"robot 1: the start lies beyond .* of 1 other robot\)") as said:
        sim.reset([[0.0], [1.5], [0.2], [2.0]])
    assert len(said) == 1
    assert said[0].filename == __file__


def test_a_robot_that_cannot_start_keeps_all_where_they_are():
    robot = la.robots.four_bar(crank_angle=1.0)
    sim, q = la.batch.Simulator(robot, 2, integrator=la.Maximal()), np.tile(robot.home(), (2, 1))
    q[1, 0] += 0.3  # opens the loop
    v = np.zeros((2, robot.nv))
    before = sim.q
    with pytest.raises(la.MechanismError, match=r"^robot 1: .*loop"):
        sim.reset(q, v)
    np.testing.assert_array_equal(sim.q, before)


def test_robots_of_a_batch_have_no_log_of_contacts(tmp_path):
    """Neither those of integrators that keep one for runs alone; it is said, not that nothing touches."""
    robot = la.robots.cube(friction=0.3)
    run = la.batch.simulate(robot, la.robots.home(robot), dt=0.01, steps=2, integrator=la.Maximal())[0]
    says = "this run of `Maximal` has no log of contacts: batches keep none; run that robot alone"
    again = la.Trajectory.load(run.save(tmp_path / "run"))
    calls = [lambda: run.contact_force("cube"), lambda: again.contact_force("cube"), lambda: run.contacts]
    for call in calls:
        with pytest.raises(la.LeastActionError, match=f"^{says}"):
            call()
    pytest.importorskip("matplotlib")
    with pytest.raises(la.LeastActionError, match=f"^plot.contacts: {says}"):
        la.plot.contacts(run)
    la.plot.contacts(run, gaps=np.ones((3, len(robot.contacts))))


def test_a_robot_that_fails_harms_no_other():
    robot = la.robots.pendulum(2)
    wild = la.Galerkin(order=2, max_iterations=1, tolerance=1e-15)
    q, v = np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([[0.0, 0.0], [60.0, -80.0]])
    batch = la.batch.simulate(robot, q, v, dt=0.5, steps=5, integrator=wild)
    assert batch.failed[0] == -1
    assert batch.failed[1] >= 0
    assert list(batch.reasons) == [1]
    assert "Newton" in batch.reasons[1]
    assert np.isfinite(batch.q[0]).all()
    assert len(batch[1]) == batch.failed[1] + 1


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"q": np.zeros((3, 4))}, r"q: expected shape \(robots, 2\)"),
        ({"q": [[0.0, np.nan], [0.0, 0.0]]}, "q: robot 0 has a number that is not finite"),
        ({"q": np.zeros((3, 2)), "v": np.zeros((4, 2))}, "do not fit together: q 3, v 4"),
        ({"q": np.zeros((0, 2))}, "at least one robot"),
        ({"q": "a"}, "q: expected numbers"),
        ({"controls": np.zeros(5)}, "controls: expected shape"),
        ({"controls": [np.inf, 0.0]}, "controls: the number at"),
        (
            {"q": np.zeros((2, 2)), "controls": np.eye(2)},
            r"2 steps or of 2 robots: give controls\[None\], .* \(1, 2, 2\), .* controls\[:, None\], .* \(2, 1, 2\)",
        ),
        ({"q": np.zeros((3, 2)), "controls": np.zeros((4, 1, 2))}, "do not fit together: q 3, controls 4"),
        ({"device": "tpu"}, "device must be one of"),
        ({"dtype": np.float32}, "needs device='cuda'"),
        ({"every": 0}, "every must be"),
        ({"workers": 0}, "workers must be"),
        ({"integrator": 3}, "integrator must be one"),
        ({"parameters": {"mass:link9": [1.0, 2.0]}}, "link9"),
        ({"policy": 3}, "policy must be a function"),
        ({"policy": print, "controls": [0.0, 0.0]}, "controls or a policy, not both"),
        ({"policy": lambda t, q, v: None}, r"can be called as policy\(t, q, v, own, u\): too many"),
        ({"policy": lambda t, q, v, own, u: own[3]}, "what is not there: .* own .policy_parameters. 1, u 2"),
        (
            {"parameters": {"mass:link1": [1.0, -2.0]}},
            "parameters of robot 1: parameter 'mass:link1': mass: must not be",
        ),
        ({"policy_parameters": [1.0]}, "but no policy"),
        ({"policy": print, "policy_parameters": [np.nan]}, "policy_parameters: expected finite numbers"),
    ],
)
def test_wrong_input(options, match):
    with pytest.raises(la.LeastActionError, match=match):
        la.batch.simulate(la.robots.pendulum(2), **({"dt": 0.01, "steps": 2} | options))


def test_policies_act_as_controllers_do():
    robot = la.robots.pendulum(2)
    q, v = starts(robot, 3)
    own = np.array([[1.0, 0.1], [4.0, 0.5], [0.0, 2.0]])

    def policy(t, q, v, own, u):
        u[:] = np.sin(3.0 * t) - own[0] * q - own[1] * v

    batch = la.batch.simulate(robot, q, v, dt=0.01, steps=20, policy=policy, policy_parameters=own, integrator=BODIES)
    sim = la.Simulator(robot, BODIES, dt=0.01)
    sim.reset(q[2], v[2])
    for _ in range(20):
        sim.step(np.sin(3.0 * sim.t) - own[2, 1] * sim.v)
    np.testing.assert_allclose(batch.q[2, -1], sim.q, rtol=0.0, atol=1e-13)
    assert not np.allclose(batch.q[2, -1], la.simulate(robot, q[2], v[2], dt=0.01, steps=20, integrator=BODIES).q[-1])


@pytest.mark.parametrize("integrator", [None, la.BDF(order=2), la.Maximal()], ids=lambda i: type(i).__name__)
def test_a_policy_without_numbers_fails_its_robot(integrator):
    """At the step that it asks them for; what was before stays."""
    robot, every = la.robots.pendulum(2), 1 if integrator is None else 2

    def policy(t, q, v, own, u):
        u[:] = own[0] if t > 0.025 else 0.0
        u[:] *= np.inf if own[0] == 1.0 and t > 0.025 else 1.0
        if own[0] == 2.0:
            raise la.ConvergenceError("no way", step=0)

    same = {"dt": 0.01, "steps": 6, "every": every, "integrator": integrator}
    batch = la.batch.simulate(robot, policy=policy, policy_parameters=[[0.0], [1.0], [2.0]], **same)
    assert batch.failed.tolist() == [-1, 3, 0]
    assert batch.reasons[1] == "step 3: the policy asks for controls that are not finite"
    assert "no way" in batch.reasons[2]
    assert np.isfinite(batch.q[1]).all(axis=1).sum() == len(batch[1]) == 3 // every + 1
    np.testing.assert_array_equal(batch[1].q, batch.q[0, : len(batch[1])])


def test_robots_go_on_step_by_step():
    robot = la.robots.pendulum(2)
    q, v = starts(robot, 3)
    u = np.random.default_rng(3).normal(size=(3, 2))
    sim = la.batch.Simulator(robot, 3, dt=0.01, integrator=BODIES, parameters={"mass:link2": [1.0, 2.0, 3.0]})
    sim.reset(q, v)
    sim.step(u, steps=5)
    sim.reset(q[0], which=np.array([False, True, False]))
    sim.step(u[0])
    masses = la.batch.simulate(robot, q, dt=0.01, steps=1, parameters={"mass:link2": [1.0, 2.0, 3.0]}).mechanisms
    third = la.Simulator(masses[2], BODIES, dt=0.01)
    third.reset(q[2], v[2])
    for _ in range(5):
        third.step(u[2])
    third.step(u[0])
    np.testing.assert_array_equal(sim.q[2], third.q)
    np.testing.assert_array_equal(sim.p[2], third.p)
    second = la.simulate(masses[1], q[0], dt=0.01, steps=1, controls=u[0], integrator=BODIES)
    np.testing.assert_array_equal(sim.q[1], second.q[-1])
    np.testing.assert_allclose(sim.v[1], second.v[-1], atol=1e-14)


def test_a_robot_that_fails_waits_for_its_reset():
    robot = la.robots.pendulum(2)
    wild = la.Galerkin(order=2, max_iterations=1, tolerance=1e-15)
    sim = la.batch.Simulator(robot, 2, dt=0.5, integrator=wild)
    sim.reset(np.array([[0.0, 0.0], [1.0, 2.0]]), np.array([[0.0, 0.0], [60.0, -80.0]]))
    for _ in range(3):
        sim.step()
    assert sim.failed.tolist() == [False, True]
    assert np.isnan(sim.q[1]).all()
    assert np.isfinite(sim.q[0]).all()
    sim.reset(which=[1])
    sim.step()
    assert not sim.failed.any()


@pytest.mark.parametrize(
    ("call", "match"),
    [
        (lambda sim: sim.step([1.0, 2.0, 3.0]), r"controls: expected shape \(2,\) or \(3, 2\)"),
        (lambda sim: sim.step("a"), "controls: expected shape"),
        (lambda sim: sim.step([[0.0, 0.0], [0.0, 0.0], [0.0, np.nan]]), "controls: robot 2 has a number that is not"),
        (lambda sim: sim.step([0.0, np.inf]), "controls: there is a number that is not finite"),
        (lambda sim: sim.step(steps=0), "steps must be"),
        (lambda sim: sim.reset(np.zeros((2, 2))), "do not fit together"),
        (lambda sim: sim.reset(which=[3]), "which: expected different numbers"),
        (lambda sim: sim.reset(which=[1, 1]), "which: expected different numbers"),
        (
            lambda sim: sim.reset(which=[True, False]),
            r"which: expected True or False for each of the 3 robots, .*\(2,\)",
        ),
        (lambda sim: sim.reset({"joint1": 0.1}), r"q: a batch takes no names, but arrays of shape \(robots, 2\)"),
        (lambda sim: la.batch.simulate(sim.mechanism, v={"joint1": 0.1}, steps=1), "v: a batch .*velocity_names"),
        (lambda sim: sim.step({"joint1": 0.1}), "controls take no names, but 2 numbers in the order of"),
        (lambda sim: la.batch.Simulator(sim.mechanism, 0), "robots must be"),
        (lambda sim: la.batch.Simulator(sim.mechanism, 3, parameters={"mass:link1": [1.0]}), "for 1 robots of 3"),
        (lambda sim: la.batch.Simulator(sim.mechanism, 3, device="tpu"), "device must be one of"),
        (lambda sim: la.batch.Simulator(sim.mechanism, 3, dtype=np.float32), "needs device='cuda'"),
        (lambda sim: la.batch.Simulator(4, 3), "needs a Mechanism"),
        (lambda sim: pickle.dumps(sim), "cannot be copied or pickled"),
    ],
)
def test_wrong_calls_of_the_simulator(call, match):
    sim = la.batch.Simulator(la.robots.pendulum(2), 3, integrator=BODIES)
    sim.reset([0.3, 0.2])
    with pytest.raises(la.LeastActionError, match=match):
        call(sim)
    assert (sim.q == [0.3, 0.2]).all()


def test_nobody_is_reset():
    """Where none has failed, none is put elsewhere."""
    sim = la.batch.Simulator(la.robots.pendulum(2), 3, integrator=BODIES)
    sim.reset([0.3, 0.2])
    sim.reset(which=sim.failed)
    sim.reset(which=[])
    assert (sim.q == [0.3, 0.2]).all()


def test_states_of_the_simulator_are_set_by_reset():
    sim = la.batch.Simulator(la.robots.pendulum(2), 3, integrator=BODIES)
    for name in "qvp":
        with pytest.raises(AttributeError, match=rf"{name} of a Simulator cannot be set: reset\(q, v\)"):
            setattr(sim, name, np.zeros((3, 2)))


def test_one_warning_for_all_robots_that_overlap():
    """Not one for each, from within threads; it names a robot and points to this file."""
    robot = la.robots.cube(friction=0.3)
    q = np.tile(robot.neutral(), (4, 1))
    q[:, 2] = 1.0, 0.2, 0.21, 0.22
    with pytest.warns(la.LeastActionWarning) as said:
        la.batch.simulate(robot, q, np.zeros((4, robot.nv)), dt=0.01, steps=2, integrator=la.Maximal())
    assert len(said) == 1
    assert str(said[0].message).startswith("robot 1: ")
    assert "2 other robots" in str(said[0].message)
    assert said[0].filename == __file__


@pytest.mark.parametrize(("robots", "most", "threads"), [(1, 32, 2), (2, 1, 16), (256, 32, 2), (255, 7, 16)])
def test_threads_take_every_robot_once(robots, most, threads):
    """Many at a time at first, single ones in the end."""
    taken = shares(1, robots, most, threads)
    assert [k for own in taken for k in own] == list(range(1, robots))
    sizes = [len(own) for own in taken]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1:] in ([], [1])
    assert max(sizes, default=1) <= most
