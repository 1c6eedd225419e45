"""idto's spinner and hopper: plans through contact from many starts, tracked by a rigid simulator, and MPC."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from leastaction.mechanism import Inertia, MechanismBuilder, Plane, Pose, Sphere, joints
from leastaction.optimize import MPC, Problem, ilqr, rehearse, touch
from leastaction.optimize.functions import costs

STEPS, DT = 40, 0.05
"""Of the horizon, as in idto's files of both problems."""
SEEDS, FEW, LOOPS = range(10), range(2), range(6)
SMOOTHING = (1e-2, 1e-3)
"""Of contacts in `ilqr` [J], one after the other: the wider it is, the farther contacts are felt."""
FINE = 0.005
"""Step of the rigid simulation [s]."""
TURN, WAY = 2.0, 0.5
"""Goals: of the spinner [rad], of the hopper [m]."""
RELAXATION, BARRIER = 0.1, 1e-4
"""Of contacts in the MPC of the hopper [N m], and its barrier parameter. Relaxed by 1e-2 or 1e-3 N m it throws itself
about."""
SECONDS = 3.0
"""How long the MPC runs [s]."""

NOTES = f"""Robots, horizon ({STEPS} steps of {DT:g} s), weights of the spinner and starts are those of idto's files \
(Kurtz, Castro, Önol and Li, arXiv:2309.01813); the hopper's last configuration has weight 100 instead of 10, since \
with 10 the optimum is to lean forward. Starts: joints of finger or leg within ±0.1 rad of idto's. Spinner: a finger \
flicks a ball by friction, by {TURN:g} rad; `ilqr` with `Maximal(order=1, smoothing=...)` from zero controls, \
smoothing {SMOOTHING[0]:g} J, then {SMOOTHING[1]:g}. Hopper: {WAY:g} m ahead; contact-implicit `Problem` from a \
straight line, solver "horizon", then `rehearse`. Each plan is tracked with its gains by `Minimal()` with steps of \
{FINE * 1e3:g} ms, rigid contacts. Reached: the spinner within 0.3 rad, the hopper within 0.1 m and 0.4 rad of pitch. \
MPC: {SECONDS:g} s in the same simulator; the spinner's goal is {TURN:g} rad ahead at the end of each horizon, one \
iteration of `ilqr` a tick of {DT * 1e3:g} ms; the hopper's goal is one hop of {WAY:g} m, by `MPC` from a plan that \
`solve` found, 3 iterations a tick. idto's contact is compliant (200 and 800 N/m) and acts at a distance; its files \
run spinner and hopper at 200 and 100 Hz on 4 threads."""


def spinner():
    """A finger of two links, and a ball on an axle; gravity acts along the axles."""
    b = MechanismBuilder("spinner", gravity=(0, 0, 0))
    rod, tip = Inertia(1.0, (0, 0, 0.5), (0.0839, 0.0839, 0.00125)), Pose((0, 0, 0.95))
    b.body("one", inertia=rod)
    b.revolute("theta_one", "world", "one", axis="y", damping=0.1)
    b.body("two", inertia=rod, shapes=Sphere(0.05, friction=0.5, pose=tip))
    b.revolute("theta_two", "one", "two", axis="y", position=(0, 0, 1.0), damping=0.1)
    b.body("spinner", inertia=Inertia(1.0, (0, 0, 0), (0.054, 0.074, 0.022)), shapes=Sphere(0.25, friction=0.5))
    b.revolute("theta_three", "world", "spinner", axis="y", position=(1.5, 0, 1.0), damping=0.1)
    b.actuator("one", "theta_one")
    b.actuator("two", "theta_two")
    return b.build()


TOES = (0.15, -0.05)


def hopper():
    """Trunk, leg and foot in the plane, motors at knee and ankle."""
    b = MechanismBuilder("hopper")
    b.add_shape("world", Plane(friction=1.0))
    plane = joints.prismatic("x"), joints.prismatic("z"), joints.revolute((0, -1, 0))
    b.body("torso", inertia=Inertia(1.0, (0, 0, 0), (0.013,) * 3))
    b.joint("base", "composite", "world", "torso", parts=plane)
    b.body("leg", inertia=Inertia(0.2, (0, 0, -0.2), (0.01,) * 3))
    b.revolute("knee", "torso", "leg", axis=(0, -1, 0), position=(0, 0, -0.2))
    soles = [Sphere(0.03, friction=1.0, pose=Pose((x, 0, 0))) for x in TOES]
    b.body("foot", inertia=Inertia(0.1, (0.05, 0, 0), (0.005,) * 3), shapes=soles)
    b.revolute("ankle", "leg", "foot", axis=(0, -1, 0), position=(0, 0, -0.4))
    b.actuator("knee", "knee")
    b.actuator("ankle", "ankle")
    return b.build()


def spinner_start(robot, rng):
    """Joint positions."""
    return np.array([0.3, 1.5, 0.0]) + np.append(rng.uniform(-0.1, 0.1, 2), 0.0)


def hopper_start(robot, rng):
    """The same, the sole level on the ground."""
    pitch, knee = np.array([0.3, -0.5]) + rng.uniform(-0.1, 0.1, 2)
    height = 0.2 * np.cos(pitch) + 0.4 * np.cos(pitch + knee) + 0.03
    return np.array([0.0, height, pitch, knee, -pitch - knee])


def line(q, goal):
    """From q to a goal at the knots."""
    return q + np.linspace(0.0, 1.0, STEPS + 1)[:, None] * (goal - q)


def spinner_problem(robot, q, v, home, smoothing=SMOOTHING[-1]):
    """With idto's weights: the finger to where it begins, the spinner on."""
    goal = np.array([*home[:2], q[2] + TURN])
    problem = Problem(robot, steps=STEPS, dt=DT, integrator=la.Maximal(order=1, smoothing=smoothing)).start(q=q, v=v)
    return problem.minimize(
        costs.tracking(line(np.array([*home[:2], q[2]]), goal)),
        costs.velocity(0.1),
        costs.effort(0.1),
        costs.terminal(goal, 10.0),
    )


def hopper_problem(robot, q, early=False):
    """With idto's weights but for the end."""
    goal = q + np.array([WAY, 0, 0, 0, 0])
    problem = Problem(robot, steps=STEPS, dt=DT).start(q=q, v=0)
    problem.minimize(costs.tracking(line(q, goal)), costs.velocity(0.1), costs.effort(0.1), costs.terminal(goal, 100.0))
    feet = (touch("foot", point=(x, 0, 0), radius=0.03, friction=1.0) for x in TOES)
    return problem.contact(*feet, early=early).guess(q=line(q, goal))


def planned(name, robot, q):
    """(plan, whether it converged)."""
    if name == "spinner":
        shots = []
        for smoothing in SMOOTHING:
            problem = spinner_problem(robot, q, 0, q, smoothing)
            if shots:
                problem.guess(u=shots[-1].u[:, 0])
            shots.append(ilqr(problem, tolerance=1e-4, max_iterations=100, time_limit=60.0))
        return shots[-1], shots[-1].converged
    plan = hopper_problem(robot, q).solve(solver="horizon", time_limit=60.0)
    return rehearse(plan, max_iterations=40, time_limit=60.0), plan.converged


def reached(name, end):
    """Whether a configuration is where it is to be."""
    if name == "spinner":
        return bool(abs(end[2] - TURN) < 0.3)
    return bool(abs(end[0] - WAY) < 0.1 and abs(end[2] - 0.3) < 0.4)


def spinner_mpc(robot, seed):
    """(configuration at the end, median CPU seconds of a tick)."""
    home = spinner_start(robot, np.random.default_rng(seed))
    simulator, ticks = la.Simulator(robot, la.Minimal(), dt=FINE), []
    simulator.reset(q=home)
    u = planned("spinner", robot, home)[0].u[:, 0]
    for _ in range(round(SECONDS / DT)):
        began = time.process_time()
        problem = spinner_problem(robot, simulator.q, simulator.v, home).guess(u=u)
        shot = ilqr(problem, max_iterations=1, tolerance=1e-4)
        ticks.append(time.process_time() - began)
        u = np.concatenate([shot.u[1:, 0], shot.u[-1:, 0]])
        for _ in range(round(DT / FINE)):
            simulator.step(shot.u[0, 0])
    return simulator.q, float(np.median(ticks))


def hopper_mpc(robot, seed):
    """(configuration at the end, median CPU seconds of a tick)."""
    q = hopper_start(robot, np.random.default_rng(seed))
    problem = hopper_problem(robot, q, early=True)
    plan = problem.solve(solver="horizon", time_limit=60.0)
    problem.relaxation = RELAXATION
    mpc, simulator = MPC(problem, iterations=3, barrier=BARRIER), la.Simulator(robot, la.Minimal(), dt=FINE)
    simulator.reset(q=q)
    way = line(q, q + np.array([WAY, 0, 0, 0, 0]))
    mpc.reset(plan=plan)
    ticks = []
    for k in range(round(SECONDS / DT)):
        began = time.process_time()
        mpc.target(way[np.minimum(k + np.arange(STEPS + 1), STEPS)])
        u = mpc.step(simulator.q, simulator.v)
        ticks.append(time.process_time() - began)
        for _ in range(round(DT / FINE)):
            simulator.step(u)
    return simulator.q, float(np.median(ticks))


KINDS = {"spinner": (spinner, spinner_start, spinner_mpc), "hopper": (hopper, hopper_start, hopper_mpc)}


def run(progress, quick=False):
    """Both problems from all starts."""
    seeds, loops = (FEW, LOOPS[:1]) if quick else (SEEDS, LOOPS)
    progress.total(len(KINDS) * (len(seeds) + len(loops)))
    columns = ["problem", "converged", "reached when tracked", "cost, median", "iterations, median", "CPU s, median"]
    plans = Sheet("Plans", columns)
    ends = Sheet("Where tracked runs end", ["problem", "seed", "plan", "tracked", "reached"])
    control = Sheet("MPC", ["problem", "seed", f"way in {SECONDS:g} s [rad or m]", "reached", "CPU ms a tick"])
    report = Report(
        "Plans through contact: idto's spinner and hopper", NOTES, [plans, ends, control], seeds=list(seeds)
    )
    for name, (make, start, loop) in KINDS.items():
        robot, rows, axis = make(), [], 2 if name == "spinner" else 0
        for seed in seeds:
            progress.next(f"{name}, {seed}")
            q = start(robot, np.random.default_rng(seed))
            began = time.process_time()
            shot, converged = planned(name, robot, q)
            seconds = time.process_time() - began
            try:
                end = shot.tracker.simulate(integrator=la.Minimal(), dt=FINE).q[-1]
            except la.ConvergenceError:
                end = np.full(robot.nq, np.nan)
            good = reached(name, end)
            rows.append((converged, good, shot.cost, len(shot.iterations) - 1, seconds))
            ends.rows.append([name, seed, float(shot.q[-1, axis]), float(end[axis]), str(good)])
            progress.done()
        sums = [f"{sum(row[k] for row in rows)} of {len(rows)}" for k in (0, 1)]
        plans.rows.append([name, *sums, *(float(np.median([row[k] for row in rows])) for k in (2, 3, 4))])
        missed = sum(not row[1] for row in rows) / len(rows)
        report.requirements.append(Requirement(f"{name}: share of starts from which it is not reached", missed, 0.2))
        failed = 0
        for seed in loops:
            progress.next(f"{name}, MPC, {seed}")
            end, tick = loop(robot, seed)
            good = reached(name, end) if name == "hopper" else bool(end[axis] > TURN)  # the spinner turns on
            control.rows.append([name, seed, float(end[axis]), str(good), 1e3 * tick])
            failed += not good
            progress.done()
        what = f"{name}: share of runs of the MPC that do not reach it"
        report.requirements.append(Requirement(what, failed / len(loops), 0.2))
    return report
