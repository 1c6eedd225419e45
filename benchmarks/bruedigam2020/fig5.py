"""Brüdigam 2020, Fig. 5, and 2023, Fig. 8 a: pendulums and closed chains on hinges and balls beside explicit steps."""

from itertools import pairwise

import numpy as np

import leastaction as la
from benchmarks import peers
from benchmarks.races import course, engines
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from benchmarks.starts import bow
from leastaction.mechanism import MechanismBuilder, Pose
from leastaction.robots._parts import hinge_loop

LENGTHS, FEW = (1, 2, 5, 10, 20, 50, 100), (2, 10, 40)
DT, STEPS, SHORT = 0.01, 1000, 60
JOINTS = ("revolute", "spherical")
TIP = (1.0, 0.0, 0.0)
MAXIMAL = "Maximal(1)"
METHODS = {MAXIMAL: la.Maximal(order=1), "Maximal(2)": la.Maximal(), "RungeKutta(4)": la.RungeKutta(order=4)}
OTHERS = "Pinocchio RK4", "MuJoCo RK4"
CLOSED = {MAXIMAL: la.Maximal(order=1), "Maximal(2)": la.Maximal(), "Galerkin(2)": la.Galerkin(order=2)}

NOTES = """Chains of n rods of 1 m and 1 kg, in a curved initial posture, those on ball joints rotating slowly; steps \
of 0.01 s, CPU time of a step in a compiled loop. Maximal(order=1) is the paper's method; the explicit integrator in \
joint coordinates is Runge-Kutta of order 4, with four forward dynamics per step: this package's, one on Pinocchio's \
aba (called from Python: its time is reduced by the cost of a call, measured with one body, but by nine tenths at \
most) and MuJoCo's own, both from rest; the paper uses RigidBodyDynamics.jl. None of these supports loops, so \
Galerkin(2) represents joint coordinates on closed chains, whose last link is hinged to the world."""


def start(n, joint):
    """(q, v) of a chain."""
    angles = bow(n)
    if joint == "revolute":
        return angles, np.zeros(n)
    q, v = np.zeros((n, 4)), np.zeros((n, 3))
    q[:, 0], q[:, 2], v[0, 0] = np.cos(angles / 2), np.sin(angles / 2), 0.3
    return q.ravel(), v.ravel()


def closed(n, joint):
    """(chain of n links of 1 m that hangs between two supports, its configuration)."""
    b = MechanismBuilder("closed_chain")
    slopes = np.linspace(1.0, -1.0, n)  # down, then up
    turns = np.diff(slopes, prepend=0.0)
    names = [b.body(f"link{k}", mass=1.0, com=(0.5, 0.0, 0.0), inertia=(1e-4, 1 / 12, 1 / 12)) for k in range(n)]
    for k, (parent, child) in enumerate(pairwise(("world", *names))):
        position = (0.0, 0.0, 0.0) if k == 0 else TIP
        if joint == "revolute":
            b.revolute(f"joint{k}", parent, child, axis="y", position=position)
        else:
            b.spherical(f"joint{k}", parent, child, position=position)
    end = float(np.cos(slopes).sum()), 0.0, float(-np.sin(slopes).sum())
    if joint == "revolute":
        hinge_loop(b, "end", (("world", end), (names[-1], TIP)), "y", "in_plane")
        return b.build(), turns
    b.spherical("end", "world", names[-1], position=end, child_pose=Pose(TIP).inverse(), loop=True)
    q = np.zeros((n, 4))
    q[:, 0], q[:, 2] = np.cos(turns / 2), np.sin(turns / 2)
    return b.build(), q.ravel()


def rollouts(n, joint, steps):
    """{method: run of a pendulum}, {method: run of a closed chain}; these are missing where the chain cannot move."""
    robot, (q, v) = la.robots.pendulum(n, joint=joint), start(n, joint)
    swinging = {name: engines.Ours(robot, q, v, DT, steps, method) for name, method in METHODS.items()}
    swinging |= explicit(robot, q, fewer(n, steps))
    if n < 3:
        return swinging, {}
    robot, q = closed(n, joint)
    v = np.zeros(robot.nv)
    counts = {name: steps if name.startswith("Maximal") else fewer(n, steps) for name in CLOSED}
    return swinging, {name: engines.Ours(robot, q, v, DT, counts[name], m) for name, m in CLOSED.items()}


def explicit(robot, q, steps):
    """{peer: run from rest}, of those that are installed."""
    gone, found = engines.missing(), {}
    for name, make in zip(OTHERS, (engines.Pinocchio, lambda *a: engines.Mujoco(*a, "RK4")), strict=True):
        if name.split()[0] not in gone:
            found[name] = make(robot, np.array(q), np.zeros(robot.nv), DT, steps)
    return found


def fewer(n, steps):
    """Steps of those that take long: their times are the same from step to step."""
    return steps if n < 10 else max(20, steps // (10 if n < 50 else 50))


def seconds_of_steps(runs, call):
    """{method: seconds of a step, seven times}; `call`: what a step of Pinocchio's costs in calls from Python."""
    found = {}
    for name, seconds in course.in_turns({name: [run] for name, run in runs.items()}).items():
        steps = runs[name].count if name in OTHERS else runs[name].rollout.steps
        each = [x / steps for x in seconds]
        found[name] = [max(x - call, course.LEAST * x) for x in each] if name.startswith(course.CALLED) else each
    return found


def run(progress, quick=False) -> Report:
    """All lengths, joints and methods."""
    lengths, steps = (FEW, SHORT) if quick else (LENGTHS, STEPS)
    sheet = Sheet("CPU time of a step [µs]", ["chain", "links", "joints", *METHODS, *OTHERS, "Galerkin(2)", "failed"])
    progress.total(len(lengths) * len(JOINTS))
    medians, measures, failed, updates = {}, [], 0, np.nan
    calls = {joint: course.call_seconds(joint) for joint in JOINTS}
    for n in lengths:
        for joint in JOINTS:
            progress.next(f"{n} links, {joint}")
            for kind, runs in zip(("open", "closed"), rollouts(n, joint, steps), strict=True):
                if not runs:
                    continue
                done = {name: run.run() for name, run in runs.items()}  # compiles, and is not timed
                lost = steps - done[MAXIMAL]
                times = seconds_of_steps(runs, calls[joint])
                failed += lost
                if kind == "open":
                    updates = float(runs[MAXIMAL].rollout.record["iterations"].mean())
                for name, seconds in times.items():
                    medians[kind, joint, name, n] = float(np.median(seconds))
                    measures.append(Measure(f"{kind}, {n} {joint}, {name}", "time", seconds))
                names = (*METHODS, *OTHERS, "Galerkin(2)")
                row = [1e6 * medians.get((kind, joint, name, n), np.nan) for name in names]
                sheet.rows.append([kind, n, joint, *row, lost])
            progress.done()
    claims = list(verdicts(medians, lengths, updates))
    plots = []
    for kind, joint, names in (("open", JOINTS[0], METHODS), ("open", JOINTS[1], METHODS), ("closed", None, CLOSED)):
        lines = {}
        for name in (*names, *(OTHERS if kind == "open" else ())):
            for each in JOINTS if joint is None else (joint,):
                some = [n for n in lengths if (kind, each, name, n) in medians and (n > 1 or name != OTHERS[0])]
                label = name if joint else f"{name}, {each}"
                lines |= {label: (some, [1e6 * medians[kind, each, name, n] for n in some])} if some else {}
        title = f"{kind} chains, {joint}" if joint else f"{kind} chains"
        plots.append(Plot(title, "links", "CPU time of a step [µs]", lines, "xy"))
    requirements = [Requirement("steps of Maximal that failed", failed, 0)]
    gone = [name for name in engines.missing() if name in [other.split()[0] for other in OTHERS]]
    title = "Fig. 5: open and closed chains"
    return Report(title, NOTES, [sheet], requirements, claims, measures, plots, missing=gone)


def verdicts(medians, lengths, updates):
    """Linear time; hinges lose, balls win against explicit steps; balls are cheaper than hinges.

    `updates`: how many a step of the longest chain on balls takes.
    """
    tail = [n for n in lengths if n >= 10]
    slopes = {
        (kind, joint): peers.exponent(tail, [medians[kind, joint, MAXIMAL, n] for n in tail])
        for kind in ("open", "closed")
        for joint in JOINTS
    }

    def beside(joint, other):
        """Ratios of our times to those of another, from ten links on."""
        some = [n for n in tail if ("open", joint, other, n) in medians]
        return [medians["open", joint, MAXIMAL, n] / medians["open", joint, other, n] for n in some]

    def told(ratios):
        return f"{min(ratios):.2g} to {max(ratios):.2g}"

    own = "RungeKutta(4)"
    once = 0.25e6 * medians["open", "spherical", own, tail[-1]]
    update = 1e6 * medians["open", "spherical", MAXIMAL, tail[-1]] / updates
    yield judged(
        "Brüdigam 2020, Fig. 5 a, b; 2023, Fig. 8 a",
        "The time of a step grows linearly, in open and closed chains.",
        "exponents from 10 links on: "
        + ", ".join(f"{x:.2f} ({kind}, {joint})" for (kind, joint), x in slopes.items())
        + ".",
        max(slopes.values()) < 1.25,
        "Longer chains need more updates.",
    )
    raced = {other: beside("spherical", other) for other in OTHERS}
    raced = {other: ratios for other, ratios in raced.items() if ratios}
    said = "On ball joints maximal coordinates outperform the explicit integrator."
    if raced:
        yield judged(
            "Brüdigam 2020, Fig. 5 a; 2023, Fig. 8 a (balls, beside other packages)",
            said,
            "; ".join(f"{told(ratios)} of the time of {other}" for other, ratios in raced.items()) + ".",
            max(max(ratios) for ratios in raced.values()) < 1.0,
            "An explicit step on compiled forward dynamics costs less.",
        )
    yield judged(
        "Brüdigam 2020, Fig. 5 a; 2023, Fig. 8 a (balls, beside our own)",
        said,
        f"{told(beside('spherical', own))} of the time of this package's Runge-Kutta of order 4.",
        max(beside("spherical", own)) < 1.0,
        f"Four forward dynamics of {tail[-1]} balls take {4 * once:.0f} µs here; a step of {MAXIMAL} solves "
        f"{updates:.2g} linear systems (Newton) at {update:.0f} µs each.",
    )
    ball, hinge = (medians["open", joint, MAXIMAL, tail[-1]] for joint in ("spherical", "revolute"))
    yield judged(
        "Brüdigam 2020, Fig. 5 a; 2023, Fig. 8 a (hinges)",
        "On hinges the explicit integrator is faster; on balls maximal coordinates take less time than on hinges.",
        f"hinges {told(beside('revolute', own))} times the explicit time; balls {ball / hinge:.2g} times that of "
        "hinges.",
        ball < hinge,
        "Balls take as long as hinges.",
    )
