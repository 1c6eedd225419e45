"""Classical dynamics against Pinocchio: forward and inverse dynamics, mass matrix, derivatives."""

import numpy as np
import pinocchio as pin
from numba.core.runtime import _nrt_python, rtsys

import leastaction as la
from benchmarks import peers
from benchmarks.report import Report, Requirement, Sheet
from leastaction._jit import entry
from leastaction._tuples import plain
from leastaction.dynamics import derivatives, recursions
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel, SlopeData
from leastaction.dynamics.workspace import Workspace
from tests.oracles.pinocchio_model import PinocchioModel

LENGTHS, FEW = (16, 32, 64, 128, 256), (16, 32)

NOTES = """Microseconds per call, best of 9. Ours: in a compiled loop. Pinocchio: without the cost of a call from \
Python and of copying its results (see benchmarks/peers.py); "as called" includes both."""

# Each loop changes q by a hair every time, so that the compiler cannot move work out of it.


@entry
def forward_loop(count, model, data, q, v, tau, acc):
    model, data = DynamicsModel(*model), DynamicsData(*data)
    for _ in range(count):
        q[0] += 1e-12
        recursions.forward_dynamics(model, data, q, v, tau, acc)


@entry
def inverse_loop(count, model, data, q, v, a, tau):
    model, data = DynamicsModel(*model), DynamicsData(*data)
    for _ in range(count):
        q[0] += 1e-12
        recursions.inverse_dynamics(model, data, q, v, a, tau)


@entry
def mass_loop(count, model, data, q, H):
    model, data = DynamicsModel(*model), DynamicsData(*data)
    for _ in range(count):
        q[0] += 1e-12
        recursions.mass_matrix(model, data, q, H)


@entry
def derivative_loop(count, model, data, slopes, q, v, a, tau):
    model, data, slopes = DynamicsModel(*model), DynamicsData(*data), SlopeData(*slopes)
    for _ in range(count):
        q[0] += 1e-12
        derivatives.inverse_dynamics_derivatives(model, data, slopes, q, v, a, tau)


ALGORITHMS = ("forward dynamics", "inverse dynamics", "mass matrix", "derivatives")
PEERS = {
    "forward dynamics": "aba",
    "inverse dynamics": "rnea",
    "mass matrix": "crba",
    "derivatives": "computeRNEADerivatives",
}
COPIES = {"mass matrix": 1, "derivatives": 3}


def state(robot):
    rng = np.random.default_rng(1)
    return robot.random_configuration(rng), *rng.normal(size=(2, robot.nv))


def loops(robot):
    """For each algorithm the compiled loop and its arguments after the count."""
    q, v, a = state(robot)
    n, w = robot.nv, Workspace(robot)
    arrays = (w.model, w.data)
    return {
        "forward dynamics": (forward_loop, (*arrays, q, v, a, np.zeros(n))),
        "inverse dynamics": (inverse_loop, (*arrays, q, v, a, np.zeros(n))),
        "mass matrix": (mass_loop, (*arrays, q, np.zeros((n, n)))),
        "derivatives": (derivative_loop, (*arrays, plain(w.slopes()), q, v, a, np.zeros(n))),
    }


def our_seconds(robot, algorithm):
    loop, arguments = loops(robot)[algorithm]
    return peers.best(lambda count: loop(count, *arguments))


def pinocchio_seconds(robot, algorithm):
    """As called from Python, and the same less the copies of what it gives back."""
    peer = PinocchioModel(robot)
    q, v, a = state(robot)
    state_of_peer = (peer.q(q),) if algorithm == "mass matrix" else (peer.q(q), peer.P @ v, peer.P @ a)
    seconds = peers.python_calls(getattr(pin, PEERS[algorithm]), peer.model, peer.data, *state_of_peer)
    copies = COPIES.get(algorithm)
    return seconds, seconds - peers.copy_seconds(robot.nv, copies) if copies else seconds


def allocations(robot, algorithm):
    """Allocations in 1000 further calls of a kernel."""
    _nrt_python.memsys_enable_stats()
    loop, arguments = loops(robot)[algorithm]

    def made(count):
        before = rtsys.get_allocation_stats().alloc
        loop(count, *arguments)
        return rtsys.get_allocation_stats().alloc - before

    made(1)
    return made(1001) - made(1)


def run(progress, quick=False) -> Report:
    """Time all algorithms on pendulums of 16 to 256 links and on a humanoid."""
    lengths = FEW if quick else LENGTHS
    robots = {f"{n} links": la.robots.pendulum(n) for n in lengths}
    robots["humanoid"] = la.robots.humanoid_tree()
    single = la.robots.pendulum(1)
    report = Report("Classical dynamics against Pinocchio", NOTES)
    progress.total(len(ALGORITHMS) * len(robots))
    growth = Sheet(
        f"Growth from {lengths[0]} to {lengths[-1]} links: exponent of n", ["algorithm", "ours", "Pinocchio"]
    )
    memory = Sheet("Memory taken by kernels", ["algorithm", "allocations in 1000 calls"])
    ratios = {}
    for algorithm in ALGORITHMS:
        _, one = pinocchio_seconds(single, algorithm)
        columns = ["robot", "dof", "ours [µs]", "Pinocchio [µs]", "as called [µs]", "ratio"]
        sheet = Sheet(f"{algorithm} (pin.{PEERS[algorithm]})", columns)
        times = {}
        for name, robot in robots.items():
            progress.next(f"{algorithm}, {name}")
            ours, (called, bare) = our_seconds(robot, algorithm), pinocchio_seconds(robot, algorithm)
            theirs = peers.without_call(bare, one, robot.nv)
            times[name] = ours, theirs
            ratios[algorithm, name] = ours / theirs
            sheet.rows.append([name, robot.nv, 1e6 * ours, 1e6 * theirs, 1e6 * called, ours / theirs])
            progress.done()
        report.sheets.append(sheet)
        both = np.array([times[f"{n} links"] for n in lengths])
        growth.rows.append([algorithm, *(peers.exponent(lengths, both[:, k]) for k in (0, 1))])
        memory.rows.append([algorithm, allocations(robots["32 links"], algorithm)])
    report.sheets += [growth, memory]
    slopes = {row[0]: row[1] for row in growth.rows}
    report.requirements = [
        Requirement("forward dynamics, 32 links, ours / pin.aba", ratios["forward dynamics", "32 links"], 1.5),
        Requirement("mass matrix, 32 links, ours / pin.crba", ratios["mass matrix", "32 links"], 2.0),
        Requirement("growth of forward dynamics, exponent of n", slopes["forward dynamics"], 1.1),
        Requirement("growth of inverse dynamics, exponent of n", slopes["inverse dynamics"], 1.1),
        Requirement("allocations in kernels", max(row[1] for row in memory.rows), 0),
    ]
    return report
