"""Brüdigam 2020, Fig. 5, and 2023, Fig. 8 a: pendulums and closed chains on hinges and balls beside explicit steps."""

from itertools import pairwise

import numpy as np

import leastaction as la
from benchmarks import peers, timing
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from benchmarks.rollouts import Rollout
from benchmarks.starts import bow
from leastaction.mechanism import MechanismBuilder, Pose
from leastaction.robots._parts import hinge_loop

LENGTHS, FEW = (1, 2, 5, 10, 20, 50, 100), (2, 10, 40)
DT, STEPS, SHORT = 0.01, 1000, 60
JOINTS = ("revolute", "spherical")
TIP = (1.0, 0.0, 0.0)
MAXIMAL = "Maximal(1)"
METHODS = {MAXIMAL: la.Maximal(order=1), "Maximal(2)": la.Maximal(), "RungeKutta(4)": la.RungeKutta(order=4)}
CLOSED = {MAXIMAL: la.Maximal(order=1), "Maximal(2)": la.Maximal(), "Galerkin(2)": la.Galerkin(order=2)}

NOTES = """Chains of n rods of 1 m and 1 kg, bent like a bow, those on ball joints turning slowly; steps of 0.01 s, \
CPU time of a step in a compiled loop. Maximal(order=1) is the paper's method; the explicit integrator in joint \
coordinates is this package's Runge-Kutta of order 4 (the paper has that of RigidBodyDynamics.jl), four forward \
dynamics a step. It takes no loops, so Galerkin(2) stands for joint coordinates on closed chains, whose last link is \
hinged to the world."""


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
    swinging = {name: Rollout(robot, method, q, v, DT, steps) for name, method in METHODS.items()}
    if n < 3:
        return swinging, {}
    robot, q = closed(n, joint)
    v = np.zeros(robot.nv)
    return swinging, {name: Rollout(robot, method, q, v, DT, steps) for name, method in CLOSED.items()}


def run(progress, quick=False) -> Report:
    """All lengths, joints and methods."""
    lengths, steps = (FEW, SHORT) if quick else (LENGTHS, STEPS)
    sheet = Sheet("CPU time of a step [µs]", ["chain", "links", "joints", *METHODS, "Galerkin(2)", "steps that failed"])
    progress.total(len(lengths) * len(JOINTS))
    medians, measures, failed = {}, [], 0
    for n in lengths:
        for joint in JOINTS:
            progress.next(f"{n} links, {joint}")
            for kind, runs in zip(("open", "closed"), rollouts(n, joint, steps), strict=True):
                if not runs:
                    continue
                lost = sum(steps - run.run() for name, run in runs.items() if name == MAXIMAL)
                times = timing.in_turns({name: run.run for name, run in runs.items()}, 7)
                failed += lost
                for name, seconds in times.items():
                    medians[kind, joint, name, n] = float(np.median(seconds)) / steps
                    measures.append(Measure(f"{kind}, {n} {joint}, {name}", "time", [x / steps for x in seconds]))
                row = [1e6 * medians.get((kind, joint, name, n), np.nan) for name in (*METHODS, "Galerkin(2)")]
                sheet.rows.append([kind, n, joint, *row, lost])
            progress.done()
    claims = list(verdicts(medians, lengths))
    plots = []
    for kind, names in (("open", METHODS), ("closed", CLOSED)):
        some = [n for n in lengths if (kind, JOINTS[0], MAXIMAL, n) in medians]
        lines = {
            f"{name}, {joint}": (some, [1e6 * medians[kind, joint, name, n] for n in some])
            for name in names
            for joint in JOINTS
        }
        plots.append(Plot(f"{kind} chains", "links", "CPU time of a step [µs]", lines, "xy"))
    requirements = [Requirement("steps of Maximal that failed", failed, 0)]
    return Report("Fig. 5: open and closed chains", NOTES, [sheet], requirements, claims, measures, plots)


def verdicts(medians, lengths):
    """Linear time; hinges lose, balls win against explicit steps; balls are cheaper than hinges."""
    tail = [n for n in lengths if n >= 10]
    slopes = {
        (kind, joint): peers.exponent(tail, [medians[kind, joint, MAXIMAL, n] for n in tail])
        for kind in ("open", "closed")
        for joint in JOINTS
    }
    ratio = {
        joint: [medians["open", joint, MAXIMAL, n] / medians["open", joint, "RungeKutta(4)", n] for n in tail]
        for joint in JOINTS
    }
    yield judged(
        "Brüdigam 2020, Fig. 5 a, b; 2023, Fig. 8 a",
        "The time of a step grows linearly, in open and closed chains.",
        "exponents from 10 links on: "
        + ", ".join(f"{x:.2f} ({kind}, {joint})" for (kind, joint), x in slopes.items())
        + ".",
        max(slopes.values()) < 1.25,
        "Longer chains need more updates.",
    )
    yield judged(
        "Brüdigam 2020, Fig. 5 a; 2023, Fig. 8 a (balls)",
        "On ball joints maximal coordinates outperform the explicit integrator.",
        f"{min(ratio['spherical']):.2g} to {max(ratio['spherical']):.2g} of the time of Runge-Kutta of order 4.",
        max(ratio["spherical"]) < 1.0,
        "Four compiled forward dynamics in O(n) are quicker here than those of the paper's peer.",
    )
    ball, hinge = (medians["open", joint, MAXIMAL, tail[-1]] for joint in ("spherical", "revolute"))
    yield judged(
        "Brüdigam 2020, Fig. 5 a; 2023, Fig. 8 a (hinges)",
        "On hinges the explicit integrator is faster; on balls maximal coordinates take less time than on hinges.",
        f"hinges {min(ratio['revolute']):.2g} to {max(ratio['revolute']):.2g} times the explicit time; balls "
        f"{ball / hinge:.2g} times that of hinges.",
        ball < hinge,
        "Balls take as long as hinges.",
    )
