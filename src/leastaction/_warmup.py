"""Compiling every kernel ahead of use, by running a tiny mechanism through all that the package offers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["warmup"]


def warmup(progress: Callable[[str, int, int], None] | None = None, *, first_runs: bool = False) -> None:
    """Compile all kernels and keep them on disk; what is there already only loads.

    Args:
        progress: called with (what comes next, parts done, parts in all).
        first_runs: only those that `simulate` calls, with the integrators that are used most.
    """
    parts = _first_runs() if first_runs else _parts()
    for k, (name, run) in enumerate(parts):
        if progress is not None:
            progress(name, k, len(parts))
        run()
    if progress is not None:
        progress("done", len(parts), len(parts))


def _first_runs() -> list[tuple[str, Callable[[], Any]]]:
    """Name and work of runs with each of the main integrators, and of what is read from their results."""
    import leastaction as la

    robot, cube = _tiny(), la.robots.cube()
    integrators = (
        la.Midpoint(),
        la.Maximal(),
        la.Minimal(),
        la.BDF(order=2),
        la.RungeKutta(order=4),
    )
    parts: list[tuple[str, Callable[[], Any]]] = [*_galerkin(orders=(4, 2))]
    for integrator in integrators:
        parts.append((_title(integrator), lambda i=integrator: _simulate(robot, i)))
    parts.append(("Maximal, cube", lambda: la.simulate(cube, steps=1, integrator=la.Maximal()).energy))
    return parts


def _tiny(damping: float = 0.0) -> Any:
    from leastaction.mechanism import MechanismBuilder

    b = MechanismBuilder("tiny")
    b.body("rod", mass=1.0, com=(0.0, 0.0, -0.5), inertia=0.1)
    b.revolute("pivot", "world", "rod", axis="y", damping=damping)
    return b.build()


def _galerkin(orders: tuple[int, ...]) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Runs on the poses of bodies: their kernels have no code for other orders, nor for joints that are not there."""
    import leastaction as la

    robots = {"plain": _tiny(), "damped": _tiny(damping=0.1), "balls": la.robots.heavy_top()}
    for order in orders:
        for kind, robot in robots.items():
            integrator = la.Galerkin(order=order)
            yield f"{_title(integrator)}, {kind}", lambda r=robot, i=integrator: _simulate(r, i)


def _parts() -> list[tuple[str, Callable[[], Any]]]:
    """Name and work of each part, most used first. Kernels do not depend on the mechanism, so any will do."""
    import leastaction as la

    robot = _tiny()
    explicit = (la.RungeKutta(order=4), la.SemiImplicitEuler(), la.Heun(), la.ExplicitEuler(), la.DOP853())
    # The order is no matter of compilation, the solver is.
    solvers = ("sparse", "recursive", "dense", "quasi")
    implicit = [la.Galerkin(order=2, solver=solver) for solver in solvers]
    implicit += [la.Midpoint(), la.Minimal(), la.HermiteSimpson(), la.ImplicitTrapezoidal()]
    parts: list[tuple[str, Callable[[], Any]]] = [("classical dynamics", lambda: _dynamics(robot))]
    for integrator in (*explicit, *implicit):
        parts.append((_title(integrator), lambda i=integrator: _simulate(robot, i)))
    parts.append(("runs with an accuracy", lambda: la.simulate(robot, duration=0.01, accuracy=1e-2)))
    for solver in ("recursive", "sparse", "dense"):
        parts.append((f"rare steps, {solver}", lambda s=solver: _rare_steps(robot, s)))
    bodies, joints = la.Galerkin(order=2), la.Galerkin(order=2, interpolation="joints")
    parts += _galerkin(orders=(2, 4, 6))
    parts.append(("Galerkin with forces on bodies", lambda: _bodies(bodies)))
    parts.append(("derivatives of steps", lambda: _derivatives(robot, (bodies, joints, la.Midpoint()))))
    parts.append(("trajectory optimisation", lambda: _optimize(robot)))
    parts.append(("closed loops", lambda: _loops(bodies)))
    parts.append(("closed loops on joints", lambda: _loops(joints)))
    parts.append(("inverse kinematics", lambda: _inverse_kinematics(robot)))
    parts.append(("contact", _contact))
    parts.append(("graph factorisation", _graph))
    # Each compiles what the others have not: trees, closed loops, damped springs, contact with and without edges.
    for robot_name in ("pendulum", "four_bar", "flyball_governor", "cube"):
        parts.append((f"Maximal, {robot_name}", lambda n=robot_name: _maximal(la.robots.get(n), la.robots.home(n))))
    parts.append(("Maximal, gradients by parameters", _parameters))
    parts.append(("boxes", _boxes))
    parts.append(("forces that press", _pressed))
    parts.append(("impacts", _bounce))
    parts.append(("Minimal, springs", lambda: _springs(robot)))
    parts.append(("Maximal, servos with force ranges", lambda: _ranges(_ranged(robot))))
    parts.append(("muscles", lambda: _muscles(robot)))
    parts.append(("pictures", lambda: la.view.screenshot(robot, width=32, height=32)))
    parts.append(("hybrid dynamics", lambda: _hybrid(robot)))
    parts.append(("linearly implicit steps", lambda: _constrained(robot)))
    parts.append(("BDF and SDIRK2, with adjoint", lambda: _reduced(la.BDF(order=2))))
    parts.append(("LinearlyImplicitEuler", lambda: _reduced(la.LinearlyImplicitEuler())))
    return parts


def _title(integrator: Any) -> str:
    """Such as "Galerkin, order 4, sparse"."""
    words = [type(integrator).__name__]
    words += [f"order {integrator.order}"] if hasattr(integrator, "order") else []
    words += [integrator.solver] if hasattr(integrator, "solver") else []
    return ", ".join(words)


def _inverse_kinematics(robot: Any) -> None:
    from leastaction.kinematics import reach_position, solve_ik

    solve_ik(robot, reach_position("rod", (0.0, 0.0, 0.0)))


def _dynamics(robot: Any) -> None:
    import numpy as np

    import leastaction as la
    from leastaction import dynamics
    from leastaction.sensing import SensorReader

    q = v = [0.1]
    dynamics.body_twists(robot, q, v)
    dynamics.inverse_dynamics(robot, q, v, v)
    dynamics.forward_dynamics_derivatives(robot, q, v)
    dynamics.passive_forces(robot, q, v)
    dynamics.momentum(robot, q, v)
    dynamics.body_jacobian(robot, q, robot.body_names[0])
    builder = robot.edit()
    builder.sensor("range", "range", robot.body_names[0])
    for own in (builder, la.robots.four_bar().edit()):
        own.sensor("acceleration", "accelerometer", own.build().body_names[0])
        reader = SensorReader(own.build())
        m = reader.mechanism
        reader.read(m.home(), np.full(m.nv, 0.1), np.zeros(m.nu))
        reader.may_hold(m.home())


def _rare_steps(robot: Any, solver: str) -> None:
    """Variational steps that begin with sweeps."""
    import numpy as np

    import leastaction as la
    from leastaction.minimal.galerkin_joints.joint_models import simplified_data, sizes
    from leastaction.minimal.galerkin_joints.stepper import VariationalStepper

    stepper = VariationalStepper(la.Galerkin(order=2, solver=solver), robot, 0.01)
    record, u = stepper.record(1), np.zeros((1, 2, robot.nu))
    size = sizes(stepper.model.tree, stepper.settings.rule)
    stepper.data = stepper.data._replace(sweeps=simplified_data(size, stepper.settings.rule))
    stepper.advance(record, 0, 1, u)


def _derivatives(robot: Any, integrators: Any) -> None:
    import numpy as np

    import leastaction as la

    for integrator in integrators:
        stepper = integrator.prepare(robot, 0.01)
        zero = np.zeros((1, 1))
        stepper.residual(zero[0], zero[0], zero, zero)
        stepper.residual_blocks(zero[0], zero[0], zero, zero)
        la.derivatives.parameter_jacobian(robot, integrator, [0.1], [0.1], parameters=["gravity"])
        la.linearize(robot, integrator, [0.1], [0.1])
        la.derivatives.action_blocks(robot, integrator, [0.1], [0.1])
        run = la.simulate(robot, q=[0.1], steps=2, integrator=integrator)
        la.derivatives.backpropagate(run, run.v, run.v)


def _optimize(robot: Any) -> None:
    """Two steps of searches with nonlinear programs of each kind, exact second derivatives and a foot on the ground."""
    import leastaction as la
    from leastaction import optimize

    for integrator in (la.Midpoint(), la.Galerkin(order=2), la.HermiteSimpson()):
        problem = optimize.Problem(robot, steps=2, dt=0.01, integrator=integrator).start(v=[0.1])
        problem.minimize(optimize.momentum())
        problem.subject_to(optimize.position("rod", upper=1.0)).subject_to(optimize.center_of_mass(-9.0, 9.0))
        if not isinstance(integrator, la.HermiteSimpson):
            problem.phases(optimize.phase(1, optimize.foot("rod", point=(0.0, 0.0, -1.0))), optimize.phase(1))
        # Of two: second derivatives of what no multiplier weighs yet are not asked for in the first.
        problem.solve(solver="horizon", hessian="exact", max_iterations=2)
    bars = la.robots.four_bar()
    loop = optimize.Problem(bars, steps=2, dt=0.01).start(q=la.robots.home(bars)).minimize(optimize.effort())
    loop.solve(solver="horizon", hessian="exact", max_iterations=2)
    shot = optimize.Problem(robot, steps=2, dt=0.01, integrator=la.Midpoint()).start(q=robot.home(), v=[0.1])
    optimize.ilqr(shot.minimize(optimize.effort(), optimize.velocity()), max_iterations=1)
    ball = optimize.Problem(la.robots.heavy_top(), steps=2, dt=0.01).start(v=[0.1, 0.1, 0.1])
    ball.minimize(optimize.momentum()).solve(solver="horizon", hessian="exact", max_iterations=1)
    ball.solve(solver="horizon", hessian="quasi-newton", max_iterations=2)


def _bodies(integrator: Any) -> None:
    """The rule on the poses of bodies with a force on one of them, and with one that ties two."""
    import leastaction as la
    from leastaction.mechanism import MechanismBuilder

    for other in ("world", "link2"):
        b = MechanismBuilder.from_mechanism(la.robots.pendulum(2))
        b.spring("tiny spring", other, ("link1", (0.1, 0.0, 0.0)), stiffness=1.0)
        la.simulate(b.build(), q=[0.1, 0.1], steps=1, integrator=integrator)


def _reduced(integrator: Any) -> None:
    """A hinge, a ball and a spline in a loop: kernels are compiled with and without what is rare."""
    import numpy as np

    import leastaction as la
    from leastaction.mechanism import MechanismBuilder, Pose

    b = MechanismBuilder("tiny reduced")
    b.body("ball", mass=1.0, com=(0.0, 0.0, -0.5), inertia=0.1)
    b.spherical("socket", "world", "ball")
    ball = b.build()
    b.body("bead", mass=1.0, inertia=0.1)
    b.joint("wire", "spline_curve", "ball", "bead", frames=[Pose((x, 0, 0)) for x in range(4)])
    b.spherical("hook", "world", "ball", loop=True)
    wired = b.build()
    upright = [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]  # far from the chart that is tried first
    bars = la.robots.four_bar()
    for robot, q in ((la.robots.pendulum(), None), (ball, upright), (wired, None), (bars, la.robots.home(bars))):
        run = la.simulate(robot, q=q, steps=1, integrator=integrator)
        assert len(run.energy) == len(run.p) == 2
        if "reverse" in integrator.prepare(robot, run.dt).can:
            places = [f"position:{loop.name}" for loop in robot.loops]
            la.derivatives.gradient(run, run.v, run.v, ["controls", "gravity", *places])
    la.redmax.body_forces(ball, upright)
    la.redmax.jacobian(ball, upright)


def _loops(integrator: Any) -> None:
    import leastaction as la

    robot = la.robots.four_bar()
    run = la.simulate(robot, v=[0.1] * robot.nv, steps=2, integrator=integrator, project=True)
    assert len(run.constraint_violation) == len(run)
    la.derivatives.parameter_jacobian(robot, integrator, run.q[-1], run.p[-1], parameters=["gravity"])


def _contact() -> None:
    import numpy as np

    import leastaction as la
    from leastaction.contact.contact_entries import (
        detect_any_pairs,
        detect_smooth_pairs,
        material_points_of,
        measure_all,
    )
    from leastaction.contact.contact_shapes import collect
    from leastaction.contact.records import CONTACT, records
    from leastaction.mechanism import Pose

    table, contacts = collect(la.robots.cube(), {"cube": (0, Pose())}), records(8, CONTACT)
    poses = np.concatenate([np.eye(3).ravel(), np.zeros(3)]).reshape(1, 12)
    for detect in (detect_any_pairs, detect_smooth_pairs):
        found = contacts[: detect(table.shapes, table.ground, poses, table.data, contacts, 0.0)]
    measure_all(found, poses, np.zeros(len(found)), np.zeros((len(found), 3)), np.zeros((len(found), 3)))
    material_points_of(found, poses, np.zeros((len(found), 2, 3)))


def _graph() -> None:
    from leastaction.maximal import GraphLDU

    GraphLDU([1], []).factor({(0, 0): [[1.0]]}).solve([1.0])


def _maximal(robot: Any, q: Any = None) -> None:
    import leastaction as la

    run = la.simulate(robot, q=q, steps=1, integrator=la.Maximal())
    la.linearize(robot, la.Maximal(), run.q[-1], run.p[-1])
    la.derivatives.gradient(run, run.v, run.v, ["q", "v"])


def _parameters() -> None:
    """Of a loop and of a tree, by a centre of mass, which all that steps compute depends on; of a box that slides."""
    import leastaction as la
    from leastaction.mechanism import Box, MechanismBuilder, Plane

    for robot, body in ((la.robots.four_bar(), "coupler"), (la.robots.pendulum(2), "link1")):
        run = la.simulate(robot, steps=2, integrator=la.Maximal())
        la.derivatives.gradient(run, run.v, run.v, [f"com:{body}"])
    b = MechanismBuilder("tiny box")
    b.body("box", mass=1.0, shapes=Box((0.2, 0.2, 0.2), name="skin", friction=0.5))
    b.free("box")
    b.add_shape("world", Plane())
    for integrator in (la.Maximal(), la.Minimal()):
        run = la.simulate(b.build(), [0, 0, 0.1, 1, 0, 0, 0], [0, 0, 0, 1, 0, 0], steps=2, integrator=integrator)
        la.derivatives.gradient(run, run.v, run.v, ["friction:box/skin", "mass:box"])


def _ranges(robot: Any) -> None:
    """The Jacobian by a parameter takes differences of steps, in which a servo that is clipped stays so."""
    import leastaction as la

    _maximal(robot)
    options = (robot.neutral(), [0.0] * robot.nv, [0.0] * robot.nu, 0.01)
    la.derivatives.parameter_jacobian(robot, la.Maximal(), *options, parameters=["gravity"])


def _ranged(robot: Any) -> Any:
    """With a servo that pushes no harder than its range."""
    b = robot.edit()
    b.position_servo("servo", robot.velocity_names[0], kp=1.0, kv=0.1, force_limits=(-1.0, 1.0))
    return b.build()


def _muscles(robot: Any) -> None:
    """Activation and force of a muscle, and a tendon around a thing."""
    import leastaction as la
    from leastaction.mechanism import Muscle, Wrap

    b = robot.edit()
    b.tendon("around", via=[("world", (1.0, 0.0, 0.0)), Wrap("rod", 0.5), ("rod", (-1.0, 0.0, 0.0))])
    b.add(Muscle("muscle", robot.velocity_names[0]))
    b.sensor("force", "joint_force", robot.velocity_names[0])
    own = b.build()
    la.kinematics.tendon_lengths(own, own.home())
    sim = la.Simulator(own, la.SemiImplicitEuler(), 0.01)
    sim.step([0.5])
    sim.sensors["force"]


def _boxes() -> None:
    """Two boxes in the air, which edges and faces of each other may touch; with a cylinder, too."""
    from leastaction.mechanism import Box, Cylinder, MechanismBuilder

    b = MechanismBuilder("tiny boxes")
    for name in ("left", "right"):
        b.body(name, mass=1.0, inertia=0.1, shapes=Box((0.5, 0.5, 0.5)))
        b.free(name)
    robot = b.build()
    _maximal(robot, [-0.4, 0, 0, 1, 0, 0, 0, 0.4, 0, 0, 1, 0, 0, 0])
    _maximal(robot, [-0.25, 0, 0, 1, 0, 0, 0, 0.25, 0, 0, 1, 0, 0, 0])  # face to face
    start = [-0.4, 0, 0, 1, 0, 0, 0, 0.4, 0, 0, 1, 0, 0, 0]
    _minimal(robot, start)
    # Shapes of these kinds are in the whole variant of `Minimal`.
    b = robot.edit()
    b.add_shape("left", Cylinder(0.5, 0.5))
    _minimal(b.build(), start)


def _minimal(robot: Any, q: Any) -> None:
    import numpy as np

    import leastaction as la

    run = la.simulate(robot, q, steps=2, integrator=la.Minimal())
    la.derivatives.gradient(run, run.v, run.v, ["controls"])
    la.Minimal().prepare(robot, 0.01).overlapping(np.array(run.q))


def _pressed() -> None:
    """A cube that forces press on the ground while it lands with a corner."""
    import numpy as np

    import leastaction as la

    cube = la.robots.cube()
    q = cube.normalize(np.array([0.0, 0.0, 0.0, 0.95, 0.3, 0.02, 0.1]))
    q[2] = 0.002 + 0.25 * np.abs(la.dynamics.body_poses(cube, q)[0, 2, :3]).sum()
    p = la.dynamics.mass_matrix(cube, q) @ [0.3, -0.4, 0.5, 0.5, 0.3, -2.0]
    for integrator in (la.Maximal(), la.Minimal()):
        la.linearize(cube, integrator, q, p, np.arange(6.0), 0.01)


def _bounce() -> None:
    """A ball that bounces, with the gradient by its restitution."""
    import leastaction as la
    from leastaction.mechanism import MechanismBuilder, Plane, Sphere

    b = MechanismBuilder("tiny ball")
    b.body("ball", mass=1.0, shapes=Sphere(0.1, restitution=0.5, name="skin"))
    b.free("ball")
    b.add_shape("world", Plane(restitution=0.5))
    for integrator in (la.Maximal(), la.Minimal()):
        run = la.simulate(b.build(), [0, 0, 0.105, 1, 0, 0, 0], [0, 0, 0, 0, 0, -1.0], steps=2, integrator=integrator)
        la.derivatives.gradient(run, run.v, run.v, ["restitution:ball/skin"])


def _springs(robot: Any) -> None:
    """A spring between bodies in `Minimal`, with its gradient."""
    import leastaction as la

    b = robot.edit()
    b.spring("spring", ("world", (1.0, 0.0, 0.0)), ("rod", (0.5, 0.0, 0.0)), stiffness=1.0)
    run = la.simulate(b.build(), steps=1, integrator=la.Minimal())
    la.derivatives.gradient(run, run.v, run.v, ["v"])
    assert len(run.energy)  # with forces on bodies


def _hybrid(robot: Any) -> None:
    import leastaction as la

    la.redmax.hybrid_dynamics(la.robots.four_bar(), la.robots.home(la.robots.four_bar()))
    la.redmax.inverse_inertia_product(robot, [0.1], [1.0])


def _constrained(robot: Any) -> None:
    import numpy as np

    import leastaction as la

    for solver in ("dense", "pcg"):
        _simulate(robot, la.ConstrainedEuler(solver=solver))
    # No step: it would need a solver of quadratic programs, which is an extra.
    loop = la.robots.four_bar()
    bearings = tuple(la.redmax.Bearing(name, 0.1) for name in loop.joint_names)
    stepper: Any = la.StaggeredProjections(bearings).prepare(loop, 0.01)
    q, v = la.robots.home(loop), np.zeros(loop.nv)
    equations = stepper.equations(0.0, q, v, np.zeros(loop.nu))
    stepper.bounds(equations, stepper.external(equations), v, np.zeros(0), np.zeros(loop.nv))


def _simulate(robot: Any, integrator: Any) -> None:
    import leastaction as la

    moving, still = [0.1] * robot.nv, [0.0] * robot.nu
    run = la.simulate(robot, v=moving, steps=2, integrator=integrator)
    la.simulate(robot, p=moving, steps=1, integrator=integrator, controller=lambda t, q, v: still)
    la.Simulator(robot, integrator).step()
    assert len(run.p) == len(run.v) == len(run.energy)  # these are kernels too
