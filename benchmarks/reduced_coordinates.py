"""Implicit integrators in reduced coordinates: a step beside pin.aba, an adjoint gradient beside its forward run."""

import time

import numpy as np

import leastaction as la
from benchmarks import classical, peers
from benchmarks.report import Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note
from benchmarks.starts import bow
from leastaction.derivatives import gradient

LENGTHS, FEW = (2, 4, 8, 16, 32, 64), (2, 32)
METHODS = {"BDF1": la.BDF(order=1), "BDF2": la.BDF(order=2), "SDIRK2": la.SDIRK2()}
DT, STEPS = 0.01, 20

NOTES = f"""Chains of n links in a curved initial posture, steps of {DT} s, mean of {STEPS}, best of several runs in a \
compiled loop; pin.aba without the cost of a call from Python (see benchmarks/peers.py). The gradient is that of an \
objective of all positions by all controls, 500 steps of a 10-link arm, including the forward run."""


def steps(progress, lengths):
    _, one = classical.pinocchio_seconds(la.robots.pendulum(1), "forward dynamics")
    sheet = Sheet(
        "A step beside one forward dynamics", ["links", "integrator", "its", "step [µs]", "pin.aba [µs]", "ratio"]
    )
    ratios = {}
    for n in lengths:
        robot = la.robots.pendulum(n)
        for name, method in METHODS.items():
            progress.next(f"{n} links, {name}")
            step = theirs = np.inf
            for _ in range(3):  # in turns: the load changes with time
                rollout = Rollout(robot, method, bow(n), np.zeros(n), DT, STEPS)
                step = min(step, rollout.seconds(least=0.05))
                _, bare = classical.pinocchio_seconds(robot, "forward dynamics")
                theirs = min(theirs, peers.without_call(bare, one, n))
            its = float(rollout.record["iterations"][1:].mean())
            ratios[n, name] = step / theirs
            sheet.rows.append([n, name, its, 1e6 * step, 1e6 * theirs, step / theirs])
            progress.done()
    return sheet, ratios


def gradients(progress, repeats, count=500, links=10):
    robot, controls = la.robots.pendulum(links), np.zeros((count, links))
    sheet = Sheet("Gradient by all controls", ["integrator", "controls", "run [ms]", "gradient [ms]", "both / run"])
    ratios = {}
    for name, method in METHODS.items():
        progress.next(f"adjoint of {name}")
        forward = backward = np.inf
        for _ in range(repeats):
            began = time.perf_counter()
            run = la.simulate(robot, bow(links), dt=0.005, steps=count, controls=controls, integrator=method)
            middle = time.perf_counter()
            gradient(run, np.ones_like(run.q), None, ["controls"])
            forward, backward = min(forward, middle - began), min(backward, time.perf_counter() - middle)
        ratios[name] = (forward + backward) / forward
        sheet.rows.append([name, count * links, 1e3 * forward, 1e3 * backward, ratios[name]])
        progress.done()
    return sheet, ratios


def run(progress, quick=False) -> Report:
    """Time all."""
    lengths, repeats = (FEW, 2) if quick else (LENGTHS, 8)
    progress.total(len(lengths) * len(METHODS) + len(METHODS))
    first, ratios = steps(progress, lengths)
    second, costs = gradients(progress, repeats)
    requirements = [
        Requirement("BDF2 step, 32 links / pin.aba", ratios[32, "BDF2"], 25.0),
        Requirement("run and gradient of BDF2 / run", costs["BDF2"], 2.5),
    ]
    return Report("Reduced coordinates", f"{NOTES} {load_note()}", [first, second], requirements)
