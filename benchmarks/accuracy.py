"""`simulate(accuracy=...)`: does the error follow what is asked for, and at what cost, beside CENIC and RK45?"""

import importlib.util
import time

import numpy as np

import leastaction as la
from benchmarks.races import engines, free_bodies
from benchmarks.report import Plot, Report, Requirement, Sheet
from leastaction.mechanism import Box, MechanismBuilder, Plane, Sphere

ASKED = (1e-1, 1e-2, 1e-3, 1e-4, 1e-5)
LEAST = 1e-9
"""Errors below this count as this [rad or m]: rests that solvers leave."""
LONG, CALM = 200.0, 1e-3
"""Length [s] of the run whose energy is looked at, and its accuracy."""
COUNT = 3
"""Balls of the clutter."""
FINEST = 1e-6
"""What the run is asked for that a pile is compared with: of the same engine, for each has its own law of contact."""

REPEATED, LONG_ENOUGH = 5, 0.5
"""Most repetitions of a run, of which the least time counts, and CPU seconds after which there are no more."""
MOMENT = 1e-6
"""Length of a run [s] that takes as long as it takes to begin one."""

NOTES = f"""Error: of positions at the end [rad or m]; requested accuracy: relative error per second. Pendulum: two \
rods from horizontal rest, 2 s (reference: DOP853, rtol = 1e-12). Ball: slips at 3 m/s, friction 0.1, and rolls, 1.5 s \
(without `Maximal`, whose steps its limit on the rotation per step determines); cube: slides to rest from 2 m/s, \
friction 0.2, 1.5 s (closed forms). Clutter: {COUNT} balls fall on each other, 0.5 s; distance from the same engine's \
run at {FINEST:g}. Gripper: two fingers hold a cube of 1 kg with 15 N, friction 0.5, 1 s; error: its slip, which is \
zero by Coulomb's law. CENIC: point contact of 1e5 N/m. RK45: SciPy's, on this package's forward dynamics (no \
contact), rtol = atol = requested accuracy. Steps: half steps of the returned run (ours), accepted steps (others). \
CPU: least of up to {REPEATED} repetitions of the whole call, including building the plant (CENIC) or preparing a \
robot that was not simulated before (ours); start: the same call over {MOMENT:g} s; again: for a robot that was \
simulated before, for CENIC without the start. Step size control runs in Python for ours and RK45, in C++ for CENIC. \
Energy: the pendulum over {LONG:g} s at {CALM:g}; largest error of the first and of the last tenth over m g l."""


class Taken:
    """What a run ended with: error, steps, least CPU seconds of the whole call, of one over a moment, and of one more
    of the same robot."""

    def __init__(self, name, method, asked, duration):
        self.end, self.steps = method(asked, duration)
        self.seconds = least_time(lambda: method(asked, duration))
        self.begin = min(self.seconds, least_time(lambda: method(asked, MOMENT)))
        own = name in OURS
        self.again = least_time(lambda: method(asked, duration, False)) if own else self.seconds - self.begin


def least_time(call):
    """Of some repetitions [CPU s]."""
    best = spent = np.inf
    for k in range(REPEATED):
        began = time.process_time()
        call()
        seconds = time.process_time() - began
        best, spent = min(best, seconds), seconds if k == 0 else spent + seconds
        if spent > LONG_ENOUGH:
            break
    return best


def ours(robot, q, v, asked, duration, integrator, anew, **options):
    """(positions at the end, steps); anew: of a robot of which nothing was kept from other runs."""
    robot = robot.replace(name=robot.name) if anew else robot
    run = la.simulate(robot, q, v, accuracy=asked, duration=duration, integrator=integrator, **options)
    return run.q[-1], run.steps


def scipy_run(robot, q, v, asked, duration):
    """SciPy's RK45, coordinates without quaternions."""
    from scipy.integrate import solve_ivp

    def rates(_, x):
        return np.concatenate([x[robot.nq :], la.dynamics.forward_dynamics(robot, x[: robot.nq], x[robot.nq :])])

    found = solve_ivp(rates, (0.0, duration), np.concatenate([q, v]), rtol=asked, atol=asked)
    return found.y[: robot.nq, -1], len(found.t) - 1, found


# ---------------------------------------------------------------------- scenes


def pendulum():
    """(robot, q, v, duration)."""
    return la.robots.pendulum(2), np.array([np.pi / 2, 0.0]), np.zeros(2), 2.0


def on_ground(kind, size, friction, positions, velocities):
    """A scene of `free_bodies` and our robot of it."""
    scene = free_bodies.Scene(kind, size, friction, np.array(positions), np.array(velocities))
    b = MechanismBuilder("scene")
    for k in range(len(scene.positions)):
        skin = Box((size,) * 3, friction=friction) if kind == "box" else Sphere(size, friction=friction)
        b.body(f"b{k}", mass=1.0, inertia=scene.inertia, shapes=skin)
        b.free(f"b{k}")
    b.add_shape("world", Plane(friction=friction))
    q, v = np.zeros((len(positions), 7)), np.zeros((len(positions), 6))
    q[:, :3], q[:, 3], v[:, 3:] = scene.positions, 1.0, scene.velocities
    return scene, b.build(), q.ravel(), v.ravel()


def ball():
    """(scene, robot, q, v, duration, where x ends)."""
    speed, friction, duration = 3.0, 0.1, 1.5
    slips = 2.0 / 7.0 * speed / (friction * 9.81)
    x = speed * slips - 0.5 * friction * 9.81 * slips**2 + 5.0 / 7.0 * speed * (duration - slips)
    return *on_ground("ball", 0.1, friction, [[0, 0, 0.1]], [[speed, 0, 0]]), duration, x


def cube():
    """The same of a cube that comes to rest."""
    return *on_ground("box", 0.5, 0.2, [[0, 0, 0.25]], [[2.0, 0, 0]]), 1.5, 4.0 / (0.4 * 9.81)


def clutter():
    """The same without an end that is known."""
    rng = np.random.default_rng(0)
    places = np.array([[0.0, 0.0, 0.15 + 0.25 * k] for k in range(COUNT)]) + 0.02 * rng.uniform(-1, 1, (COUNT, 3))
    return *on_ground("ball", 0.1, 0.5, places, np.zeros((COUNT, 3))), 0.5, None


def gripper():
    """A cube between two fingers."""
    b = MechanismBuilder("gripper")
    for name, side in (("left", -1.0), ("right", 1.0)):
        b.body(name, mass=0.5, inertia=1e-3, shapes=Box((0.02, 0.1, 0.1), friction=0.5))
        b.prismatic(f"{name}_slide", "world", name, axis="x", position=(0.06 * side, 0.0, 0.0))
    b.body("cube", mass=1.0, inertia=1.0 / 600.0, shapes=Box((0.1, 0.1, 0.1), friction=0.5))
    b.free("cube")
    return b.build()


def gripper_end(robot, run):
    """How far the cube has slipped [m]."""
    q, steps = run
    return q[[robot.coordinate_names.index("cube_free.z")]], steps


# ---------------------------------------------------------------------- Drake


def cenic_pendulum(asked, duration, energies=None):
    """(angles at the end, steps) of CENIC; `energies`: a list for (time, energy) of each second."""
    robot, q, v, _ = pendulum()
    one = engines.Drake(robot, q, v, duration, 1, "cenic")
    one.simulator.get_mutable_integrator().set_target_accuracy(asked)
    one.root.SetTime(0.0)
    one.simulator.Initialize()
    for t in [duration] if energies is None else np.arange(1.0, duration + 0.5):
        one.simulator.AdvanceTo(t)
        if energies is not None:
            energies.append(one.plant.EvalKineticEnergy(one.context) + one.plant.EvalPotentialEnergy(one.context))
    return one.plant.GetPositions(one.context).copy(), one.simulator.get_integrator().get_num_steps_taken()


def cenic_free(scene, asked, duration):
    """(places at the end, steps)."""
    one = free_bodies.Drake(scene, duration, 1, None, "cenic")
    one.simulator.get_mutable_integrator().set_target_accuracy(asked)
    one.run()
    q = one.plant.GetPositions(one.context).reshape(-1, 7)[:, 4:]
    return q.copy(), one.simulator.get_integrator().get_num_steps_taken()


def cenic_gripper(asked, duration):
    """The same of the gripper."""
    from pydrake import geometry as g
    from pydrake.math import RigidTransform
    from pydrake.multibody.plant import AddMultibodyPlantSceneGraph, CoulombFriction
    from pydrake.multibody.tree import PrismaticJoint, SpatialInertia, UnitInertia
    from pydrake.systems.analysis import Simulator
    from pydrake.systems.framework import DiagramBuilder

    builder = DiagramBuilder()
    plant, _ = AddMultibodyPlantSceneGraph(builder, 0.0)
    material = g.ProximityProperties()
    g.AddContactMaterial(1.0, 1e5, CoulombFriction(0.5, 0.5), material)
    block, tiny = UnitInertia.SolidCube(0.1), 1e-4
    for name, side in (("left", -1.0), ("right", 1.0)):
        body = plant.AddRigidBody(name, SpatialInertia(0.5, np.zeros(3), block))
        plant.RegisterCollisionGeometry(body, RigidTransform(), g.Box(0.02, 0.1, 0.1), name, material)
        at = RigidTransform([0.06 * side, 0.0, 0.0])
        joint = plant.AddJoint(
            PrismaticJoint(
                f"{name}_slide",
                plant.world_frame(),
                body.body_frame(),
                [1, 0, 0],
            )
        )
        joint.set_default_translation(at.translation()[0])
        plant.AddJointActuator(f"{name}_motor", joint)
    cube_body = plant.AddRigidBody("cube", SpatialInertia(1.0, np.zeros(3), block))
    for i, corner in enumerate(
        (0.05 - tiny) * np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    ):
        plant.RegisterCollisionGeometry(cube_body, RigidTransform(corner), g.Sphere(tiny), f"c{i}", material)
    plant.Finalize()
    simulator = Simulator(builder.Build())
    root = simulator.get_mutable_context()
    context = plant.GetMyMutableContextFromRoot(root)
    plant.get_actuation_input_port().FixValue(context, [15.0, -15.0])
    engines.error_controlled(simulator, 1.0).set_target_accuracy(asked)
    simulator.Initialize()
    simulator.AdvanceTo(duration)
    z = plant.EvalBodyPoseInWorld(context, cube_body).translation()[2]
    return np.array([z]), simulator.get_integrator().get_num_steps_taken()


# ---------------------------------------------------------------------- the run


def contenders(drake):
    """{(scene, method): (run(asked, duration), duration, end)}; end None: that of the method's own run at `FINEST`."""
    found = {}
    robot, q, v, duration = pendulum()
    tight = la.DOP853(rtol=1e-12, atol=1e-13, max_steps=50_000)
    end = la.simulate(robot, q, v, dt=duration, steps=1, integrator=tight).q[-1]
    for name, integrator in (("Galerkin(4)", la.Galerkin(order=4)), ("Galerkin(8)", la.Galerkin(order=8))):
        found["double pendulum", name] = lambda a, t, n=True, i=integrator: ours(robot, q, v, a, t, i, n), duration, end
    found["double pendulum", "SciPy RK45"] = lambda a, t: scipy_run(robot, q, v, a, t)[:2], duration, end
    if drake:
        found["double pendulum", "Drake CENIC"] = cenic_pendulum, duration, end
    for name, make in (("ball", ball), ("cube", cube), ("clutter", clutter)):
        scene, own, q0, v0, length, x = make()
        for integrator in (la.Minimal(), la.Maximal()):
            if name == "ball" and isinstance(integrator, la.Maximal):
                continue  # minutes: the angle of the ball is followed to the accuracy, too

            def run(a, t, n=True, own=own, q0=q0, v0=v0, i=integrator):
                q1, steps = ours(own, q0, v0, a, t, i, n)
                return q1.reshape(-1, 7)[:, :3], steps

            found[name, type(integrator).__name__] = run, length, x
        if drake:
            found[name, "Drake CENIC"] = lambda a, t, s=scene: cenic_free(s, a, t), length, x
    hand = gripper()
    hold = {"controls": np.array([15.0, -15.0, *np.zeros(6)])}
    for integrator in (la.Minimal(), la.Maximal()):
        found["gripper", type(integrator).__name__] = (
            lambda a, t, n=True, i=integrator: gripper_end(hand, ours(hand, hand.home(), None, a, t, i, n, **hold)),
            1.0,
            0.0,
        )
    if drake:
        found["gripper", "Drake CENIC"] = cenic_gripper, 1.0, 0.0
    return found


def distance(place, end):
    """Of the places at the end from where they should be; of a number: of the first coordinate."""
    if isinstance(end, float):
        return abs(float(np.ravel(place)[0]) - end)
    return float(np.abs(place - end).max())


def energy(sheet, drake):
    """Rows of the energy over a long time."""
    robot, q, v, _ = pendulum()

    def row(name, values, steps, seconds):
        error, tenth = np.abs(np.array(values) - values[0]) / 9.81, len(values) // 10
        sheet.rows.append([name, float(error[:tenth].max()), float(error[-tenth:].max()), steps, seconds])

    began = time.process_time()
    run = la.simulate(robot, q, v, accuracy=CALM, duration=LONG, integrator=la.Galerkin(order=4))
    row("Galerkin(4)", run.energy, run.steps, time.process_time() - began)
    began = time.process_time()
    _, steps, found = scipy_run(robot, q, v, CALM, LONG)
    y = found.y.T
    E = [la.dynamics.kinetic_energy(robot, x[:2], x[2:]) + la.dynamics.potential_energy(robot, x[:2]) for x in y]
    row("SciPy RK45", E, steps, time.process_time() - began)
    if drake:
        began, values = time.process_time(), []
        one = engines.Drake(robot, q, v, 1.0, 1, "cenic")
        values.append(one.plant.EvalPotentialEnergy(one.context))
        _, steps = cenic_pendulum(CALM, LONG, values)
        row("Drake CENIC", values, steps, time.process_time() - began)


def at_errors_of_cenic(sheet, runs):
    """Rows of our quickest run that is as exact as one of CENIC's, over the time of that.

    Args:
        sheet: which gets them.
        runs: {(scene, method): [(asked, error, `Taken`), ...]}.
    """
    worst = {}
    for (scene, name), theirs in runs.items():
        if name != "Drake CENIC":
            continue
        own = [(*run, m) for (s, m), rows in runs.items() if s == scene and m in OURS for run in rows]
        for asked, error, taken in theirs:
            exact = [run for run in own if run[1] <= error]
            whole = min(exact, key=lambda run: run[2].seconds, default=None)
            bare = min((run[2].again for run in exact), default=np.nan)
            rest = max(taken.again, 1e-9)
            ratio = np.nan if whole is None else whole[2].seconds / taken.seconds
            how = "–" if whole is None else f"{whole[3]}, {whole[0]:g}"
            own_error = np.nan if whole is None else whole[1]
            sheet.rows.append([scene, f"{asked:g}", error, 1e3 * taken.seconds, how, own_error, ratio, bare / rest])
            worst[scene] = max(worst.get(scene, 0.0), ratio)
    return worst


OURS = ("Galerkin(4)", "Galerkin(8)", "Minimal", "Maximal")


def run(progress, quick=False):
    """All scenes and methods."""
    drake = importlib.util.find_spec("pydrake") is not None
    methods, asked = contenders(drake), ASKED[:3] if quick else ASKED
    progress.total(len(methods) + 1)
    table = Sheet(
        "Errors asked for and found",
        ["scene", "method", "asked", "found", "found / asked", "steps", "CPU ms", "of which to begin"],
    )
    slopes = Sheet("How the error follows", ["scene", "method", "slope", "largest found / asked"])
    equal = Sheet(
        "CPU time at CENIC's errors, over that of CENIC",
        ["scene", "CENIC asked", "found", "CPU ms", "ours, asked", "found", "whole call", "again"],
    )
    report = Report(
        "Error control: accuracy requested and achieved", NOTES, [slopes, table], missing=[] if drake else ["Drake"]
    )
    runs = {}
    for (scene, name), (method, duration, end) in methods.items():
        progress.next(f"{scene}, {name}")
        goal = method(FINEST, duration)[0] if end is None else end
        method(asked[0], duration)  # compiles
        rows = runs[scene, name] = []
        for a in asked:
            taken = Taken(name, method, a, duration)
            error = max(distance(taken.end, goal), LEAST)
            rows.append((a, error, taken))
            times = 1e3 * taken.seconds, 1e3 * taken.begin
            table.rows.append([scene, name, f"{a:g}", error, error / a, taken.steps, *times])
        seen = [(a, e) for a, e, _ in rows if e > LEAST]
        slope = (
            float(np.polyfit(np.log([a for a, _ in seen]), np.log([e for _, e in seen]), 1)[0])
            if len(seen) > 2
            else np.nan
        )
        worst = max(e / a for a, e, _ in rows)
        slopes.rows.append([scene, name, slope, worst])
        if name in OURS:
            report.requirements.append(Requirement(f"{scene}, {name}: found / asked", worst, 10.0))
        plot = next((p for p in report.plots if p.title == scene), None)
        if plot is None:
            report.plots.append(plot := Plot(scene, "asked [1/s]", "found [rad or m]", {}, "xy"))
        plot.lines[name] = list(asked), [e for _, e, _ in rows]
        progress.done()
    if drake:
        report.sheets.append(equal)
        for scene, ratio in at_errors_of_cenic(equal, runs).items():
            report.requirements.append(Requirement(f"{scene}: CPU time over CENIC's at its errors", ratio, 1.0))
    if not quick:
        progress.next("energy")
        sheet = Sheet(f"Energy error over m g l, {LONG:g} s", ["method", "first tenth", "last tenth", "steps", "CPU s"])
        energy(sheet, drake)
        report.sheets.append(sheet)
        first, last = sheet.rows[0][1:3]
        report.requirements.append(Requirement("energy error, last tenth / first", last / first, 3.0))
    progress.done()
    return report
