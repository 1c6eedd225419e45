"""Linearization of a Galerkin step: growth with the number of links, and beside Pinocchio's derivatives."""

from typing import Any

import numpy as np
import pinocchio as pin

import leastaction as la
from benchmarks import peers
from benchmarks.report import Report, Requirement, Sheet
from leastaction._jit import entry
from leastaction.minimal.galerkin_joints.derivatives import joint_linearization as linear
from tests.oracles.pinocchio_model import PinocchioModel

LENGTHS, FEW = (8, 16, 32, 64, 128, 256), (8, 16, 32)
ORDERS = (2, 4)
DT = 0.001

NOTES = """Time per linearization (A, B) at a solved step, best of 9, in a compiled loop. "Before the solve": all \
second derivatives of the discrete action, O(n^2) on chains; the elimination for A and B is O(n^3). Pinocchio gives \
the derivatives of the continuous accelerations (pin.computeABADerivatives), which is less work than those of a step; \
its time is without the cost of a call from Python and of copying its results (see benchmarks/peers.py)."""


@entry
def linearize_loop(count, model, settings, points, data, states, momenta, A, B):
    for _ in range(count):
        linear.linearize(model, settings, points, data, states, momenta, A, B)


@entry
def blocks_loop(count, model, settings, points, data):
    for _ in range(count):
        linear.second_derivatives(model, settings, points, data)


def state(robot):
    rng = np.random.default_rng(1)
    # Slow, since the far end of a long chain adds up the speeds of all its links.
    q, v = robot.random_configuration(rng, scale=0.1), 0.1 * rng.normal(size=robot.nv)
    return q, la.dynamics.mass_matrix(robot, q) @ v


def our_seconds(robot, order):
    """Seconds of the kernel alone, and of its part before the solve; the step is solved before."""
    # The dense Newton direction takes any robot; how the step was solved does not matter here.
    stepper: Any = la.Galerkin(order=order, solver="dense").prepare(robot, DT)
    q, p = state(robot)
    record = stepper.solve_whole(q, p, stepper.held(np.zeros(robot.nu)))
    n = robot.nv
    matrices = np.zeros((2 * n, 2 * n)), np.zeros((2 * n, robot.nu))
    before = (stepper.model.tree, stepper.settings, stepper.data.points, stepper.linear)
    arguments = (*before, record["q"], record["p"], *matrices)
    return peers.best(lambda count: linearize_loop(count, *arguments)), peers.best(
        lambda count: blocks_loop(count, *before)
    )


def pinocchio_seconds(robot):
    """As called from Python, and the same less the copies of what it gives back."""
    peer = PinocchioModel(robot)
    q, p = state(robot)
    v = peer.P @ np.linalg.solve(la.dynamics.mass_matrix(robot, q), p)
    seconds = peers.python_calls(pin.computeABADerivatives, peer.model, peer.data, peer.q(q), v, np.zeros(robot.nv))
    return seconds, seconds - peers.copy_seconds(robot.nv, 3)


def run(progress, quick=False) -> Report:
    """Time linearizations of chains of 8 to 256 links and of a humanoid."""
    every = FEW if quick else LENGTHS
    robots = {f"{n} links": la.robots.pendulum(n) for n in every} | {"humanoid": la.robots.humanoid_tree()}
    report = Report("Linearization of a step", NOTES)
    progress.total(len(robots))
    columns = ["robot", "dof"]
    for order in ORDERS:
        columns += [f"order {order} [µs]", f"order {order}, before the solve [µs]"]
    columns += ["Pinocchio [µs]", "as called [µs]"]
    sheet = Sheet("Linearization", [*columns, "ratio, order 4"])
    _, one = pinocchio_seconds(la.robots.pendulum(1))
    times = {}
    for name, robot in robots.items():
        progress.next(name)
        ours = [seconds for order in ORDERS for seconds in our_seconds(robot, order)]
        called, bare = pinocchio_seconds(robot)
        theirs = peers.without_call(bare, one, robot.nv)
        times[name] = *ours, theirs
        sheet.rows.append([name, robot.nv, *(1e6 * t for t in (*ours, theirs, called)), ours[2] / theirs])
        progress.done()
    growth = Sheet("Growth: exponent of n", ["links", *columns[2:-2], "Pinocchio"])
    for lengths in dict.fromkeys((every, every[-3:])):
        chains = np.array([times[f"{n} links"] for n in lengths])
        growth.rows.append([f"{lengths[0]} to {lengths[-1]}", *(peers.exponent(lengths, t) for t in chains.T)])
    report.sheets = [sheet, growth]
    humanoid = times["humanoid"]
    report.requirements = [
        Requirement("humanoid, order 4, ours / pin.computeABADerivatives", humanoid[2] / humanoid[4], 12.0),
        *(
            Requirement(f"growth of order {order} before the solve, 8 to {every[-1]} links, exponent of n", slope, 2.2)
            for order, slope in zip(ORDERS, growth.rows[0][2:5:2], strict=True)
        ),
    ]
    return report
