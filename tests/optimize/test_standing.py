"""Loops, feet in phases, and periods: their forces are unknowns."""

import numpy as np
import pytest

import leastaction as la
from leastaction import optimize as opt
from leastaction.mechanism import Inertia, MechanismBuilder, joints
from leastaction.optimize.solution import foothold_replay
from leastaction.optimize.solution.replay_check import warn_of_parting
from tests.optimize.problems import jacobian_and_differences, limb, perturbed
from tests.optimize.test_hessian import BODIES, compare

pytest.importorskip("casadi")


def hopper():
    """A trunk in the x-z plane on one leg that turns at the hip and slides; its toe is 0.75 m below the hip."""
    b = MechanismBuilder("hopper")
    b.body("trunk", inertia=Inertia(10.0, (0, 0, 0), (0.5, 0.5, 0.5)))
    plane = (joints.prismatic("x"), joints.prismatic("z"), joints.revolute("y"))
    b.joint("base", "composite", "world", "trunk", parts=plane)
    b.body("leg", inertia=Inertia(1.0, (0, 0, -0.25), (0.02, 0.02, 0.005)))
    b.revolute("hip", "trunk", "leg", axis="y")
    b.body("shank", inertia=Inertia(0.5, (0, 0, -0.25), (0.01, 0.01, 0.002)))
    b.prismatic("slide", "leg", "shank", axis="z", position=(0, 0, -0.25))
    b.actuator("hip", "hip", limits=(-60, 60))
    b.actuator("slide", "slide", limits=(-600, 600))
    return b.build()


TOE = opt.foot("shank", point=(0, 0, -0.5), friction=0.8)


def hop(distance=0.1, steps=(10, 8, 10), **options):
    """It stands, flies and stands again."""
    total = sum(steps)
    problem = opt.Problem(hopper(), steps=total, duration=total / 30, **options)
    problem.start(q=[0, 0.65, 0, 0, 0.1], v=0).finish(q=[distance, 0.65, 0, 0, 0.1], v=0)
    problem.phases(opt.phase(steps[0], TOE), opt.phase(steps[1]), opt.phase(steps[2], TOE))
    return problem.minimize(opt.effort(1e-3)).bounds(q={"slide": (-0.1, 0.3), "hip": (-1.2, 1.2)})


def standing_limb(integrator, duration=(0.3, 0.5), **options):
    """Two steps of the limb on several feet, none of which is where it should be."""
    robot, rng = limb(), np.random.default_rng(1)
    problem = opt.Problem(robot, steps=2, integrator=integrator, duration=duration, **options)
    problem.minimize(opt.effort()).start(v=rng.normal(size=robot.nv)).finish(v=rng.normal(size=robot.nv))
    sole = opt.foot("tool", point=(0.1, 0, 0), size=(0.1, 0.05), heading=0.3)
    problem.phases(opt.phase(1, sole), opt.phase(1, opt.foot("tail", at=(0.1, 0.2, 0.3)), opt.foot("lower"), sole))
    base = robot.random_configuration(rng)
    return problem.guess(q=robot.integrate(base, 0.3 * rng.normal(size=(3, robot.nv))))


@pytest.mark.parametrize("integrator", [la.Midpoint(), la.Galerkin(order=4)], ids=["midpoint", "simpson"])
def test_derivatives_with_feet(integrator):
    program, z = perturbed(standing_limb(integrator))
    exact, found = jacobian_and_differences(program, z)
    np.testing.assert_allclose(exact, found, atol=1e-6 * np.abs(found).max())
    stored = program.jacobian_pattern.dense(np.ones(program.jacobian_pattern.count)) > 0
    assert not (np.abs(found) > 1e-7 * np.abs(found).max())[~stored].any()
    assert np.abs(exact)[stored].astype(bool).mean() > 0.97


def test_derivatives_of_a_period():
    robot = limb()
    problem = opt.Problem(robot, steps=3, duration=(0.3, 0.5)).minimize(opt.effort())
    problem.periodic({robot.coordinate_names[0]: 0.5})
    problem.phases(opt.phase(2, opt.foot("tool", size=(0.1, 0.05))), opt.phase(1))
    program, z = perturbed(problem)
    exact, found = jacobian_and_differences(program, z)
    np.testing.assert_allclose(exact, found, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("duration", [(0.3, 0.5), 0.4], ids=["free time", "given time"])
@pytest.mark.parametrize("integrator", [la.Midpoint(), BODIES], ids=["midpoint", "bodies"])
def test_second_derivatives(integrator, duration):
    """Of the dynamics exactly; with a free final time those of reactions by differences of their own gradients."""
    compare(standing_limb(integrator, duration))


@pytest.mark.parametrize("closure", ["in_plane", "revolute"])
def test_derivatives_with_loops(closure):
    """With equations that depend on each other, too; those are left out."""
    robot = la.robots.four_bar(lengths=(1, 2, 1.5), crank_angle=-0.6, closure=closure)
    problem = opt.Problem(robot, steps=2, dt=0.1).minimize(opt.effort()).start(v=0)
    program, z = perturbed(problem)
    assert len(program.reactions.all[0].labels) == 2
    exact, found = jacobian_and_differences(program, z)
    np.testing.assert_allclose(exact, found, atol=1e-6 * np.abs(found).max())


def ring(hinges, kind, **options):
    """A chain of hinges about x, y, z, x, ... whose end a loop joint about z ties to the world; closed at rest."""
    b, before, end, place = la.MechanismBuilder(kind), "world", np.zeros(3), np.zeros(3)
    for k in range(hinges):
        step = np.roll((0.3, 0.1, -0.2), k)
        b.body(f"link{k}", mass=1.0, com=step / 2, inertia=(0.02, 0.03, 0.01))
        b.revolute(f"hinge{k}", before, f"link{k}", axis="xyz"[k % 3], position=end)
        before, place, end = f"link{k}", place + end, step
    b.actuator("motor", "hinge0")
    b.joint("closing", kind, "world", before, axis="z", position=place, loop=True, **options)
    return b.build()


SPRINGS = {"stiffness": 8.0, "damping": 2.0, "rest": 0.3}


@pytest.mark.parametrize("integrator", [la.Midpoint(), la.Galerkin(order=4)], ids=["joints", "bodies"])
@pytest.mark.parametrize(
    ("hinges", "kind", "options"),
    [(3, "rotation_axis_free_movement", SPRINGS), (7, "screw", {"pitch": 0.2})],
    ids=["springs", "screw"],
)
def test_derivatives_with_open_hinges(hinges, kind, options, integrator):
    """Plans on their way have open loops: springs, dampers and screws are told from axes that are not in line."""
    robot = ring(hinges, kind, **options)
    problem = opt.Problem(robot, steps=1, dt=0.1, integrator=integrator).minimize(opt.effort()).start(v=0)
    exact, found = jacobian_and_differences(*perturbed(problem, scale=0.3))
    np.testing.assert_allclose(exact, found, atol=1e-7 * np.abs(found).max())


@pytest.mark.parametrize("integrator", [la.Midpoint(), la.Galerkin(order=4)], ids=["midpoint", "simpson"])
def test_a_four_bar_moves_as_the_simulator_says(integrator):
    robot = la.robots.four_bar(lengths=(1, 2, 1.5), crank_angle=-0.6)
    start = robot.neutral()
    finish = start
    for x in np.linspace(0.1, 0.6, 6):
        finish = la.dynamics.close_loops(robot, [x, *finish[1:]])
    problem = opt.Problem(robot, steps=8, duration=1.0, integrator=integrator).minimize(opt.effort())
    solution = problem.start(q=start, v=0).finish(q=finish, v=0).solve()
    assert solution.success, str(solution)
    assert la.dynamics.loops.violation(robot, solution.q).max() < 1e-8
    run = solution.replay()
    np.testing.assert_allclose(run.q, solution.q, atol=1e-8)
    np.testing.assert_allclose(run.p, solution.trajectory.p, atol=1e-7)
    assert solution.forces["loop"].shape == (9, 2)
    elsewhere = run.q + 0.01 * (np.arange(9) > 4)[:, None]  # as with steps that are too long
    other = la.Trajectory(robot, integrator, run.dt, run.t, elsewhere, dict(run.stored))
    with pytest.warns(la.errors.ReplayWarning, match="leaves the plan at step 4"):
        warn_of_parting(solution, other)


@pytest.mark.parametrize("integrator", [la.Midpoint(), la.Galerkin(order=4)], ids=["midpoint", "simpson"])
def test_a_hop_with_given_phases(integrator, tmp_path):
    solution = hop(integrator=integrator).solve()
    assert solution.success, str(solution)
    robot = solution.mechanism
    toes = np.array([(la.dynamics.body_poses(robot, q)[2] @ [0, 0, -0.5, 1])[:3] for q in solution.q])
    np.testing.assert_allclose(toes[:11], [[0, 0, 0]] * 11, atol=1e-7)  # stands where it started
    np.testing.assert_allclose(toes[18:], [[0.1, 0, 0]] * 11, atol=1e-7)  # and where it landed
    x, z = solution.forces["foot shank"].T
    assert (z >= -1e-8).all()
    assert (np.abs(x) <= 0.8 * z + 1e-6).all()
    assert not z[11:18].any()
    run = solution.replay()  # phase by phase, with joints in place of the feet
    np.testing.assert_allclose(run.q, solution.q, atol=1e-6)
    np.testing.assert_allclose(run.p, solution.trajectory.p, atol=1e-5)
    solution.save(tmp_path / "hop.npz")
    assert opt.load(tmp_path / "hop.npz", robot).phases == solution.phases


def test_a_periodic_hop():
    """Velocities at the end are those at the start: played on from there, the motion repeats, further ahead."""
    problem = opt.Problem(hopper(), steps=12, duration=0.6).minimize(opt.effort(1e-3), opt.velocity(0.1))
    problem.phases(opt.phase(6, TOE), opt.phase(6)).periodic({"base.slide1": 0.2})
    problem.start(q={"base.slide1": 0.0}).bounds(q={"slide": (-0.1, 0.3), "hip": (-1, 1), "base.turn1": (-0.3, 0.3)})
    solution = problem.guess(q=np.array([0, 0.65, 0, 0, 0.1]) + np.linspace(0, 0.2, 13)[:, None] * np.eye(5)[0]).solve()
    assert solution.success, str(solution)
    np.testing.assert_allclose(solution.q[-1] - solution.q[0], [0.2, 0, 0, 0, 0], atol=1e-7)
    run = solution.replay()
    np.testing.assert_allclose(run.q[-1] - run.q[0], [0.2, 0, 0, 0, 0], atol=1e-5)
    again = foothold_replay.held(solution.mechanism, (TOE,), run.q[-1])  # the toe lands: the next period begins
    after = la.simulate(again, q=run.q[-1], v=run.v[-1], dt=run.dt, steps=1, integrator=la.Midpoint(), project=True)
    np.testing.assert_allclose(after.v[0], solution.v[0], atol=1e-5)


def on_rails(kind, **options):
    """Its foot is a point of a body that goes neither up nor down."""
    b = MechanismBuilder("rails")
    for name in ("base", "arm"):
        b.body(name, mass=1.0, com=(0, 0, -0.1), inertia=0.1)
    b.joint("rail", kind, "world", "base", **options)
    b.revolute("shoulder", "base", "arm", axis="y")
    problem = opt.Problem(b.build(), steps=2, dt=0.1).minimize(opt.effort())
    return problem.phases(opt.phase(2, opt.foot("base", size=(0.1, 0.1))))


def ill_posed():
    foot = opt.foot
    yield "friction must not be negative", lambda: foot("shank", friction=-1)
    yield "size must be positive", lambda: foot("shank", size=(0.1, 0))
    yield "point must be 3 finite numbers", lambda: foot("shank", point=(0, 0))
    yield "steps must be a whole number", lambda: opt.phase(0, TOE)
    yield "expected feet", lambda: opt.phase(3, "shank")
    yield "there is no body 'shnk'; did you mean 'shank'", lambda: hop().phases(opt.phase(28, foot("shnk")))
    yield "they have 3 steps together, the problem has 28", lambda: hop().phases(opt.phase(3, TOE))
    yield "expected phases", lambda: hop().phases(TOE)
    yield r"start: foot shank \(z\) is off by 0.05", lambda: hop().start(q=[0, 0.7, 0, 0, 0.1], v=0).transcribe()
    yield "foot base: nothing moves its point .* up or down", lambda: on_rails("fixed").transcribe()
    yield "foot base: nothing moves its point .* up or down", lambda: on_rails("prismatic", axis="x").transcribe()
    yield "momenta=False", lambda: hop(momenta=True).transcribe()
    yield "takes no loops, feet", lambda: hop(integrator=la.ImplicitTrapezoidal()).transcribe()
    yield "cannot be given", lambda: hop().periodic().transcribe()
    yield "there is no 'base.x'", lambda: hop().periodic({"base.x": 1.0})
    yield "periodic: shift of 'base.slide1': expected a number", lambda: hop().periodic({"base.slide1": "far"})
    yield r"periodic: shift: expected a number or shape \(5,\)", lambda: hop().periodic([1, 2])
    yield "orientations", lambda: opt.Problem(limb(), steps=3, dt=0.1).periodic(0.1)


@pytest.mark.parametrize(("message", "call"), list(ill_posed()), ids=lambda x: x if isinstance(x, str) else "")
def test_ill_posed_problems_say_so(message, call):
    with pytest.raises(la.ProblemError, match=message):
        call()
