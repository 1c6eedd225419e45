"""Maximal coordinates: steps beside MuJoCo and Pinocchio, growth with the number of links, equal tolerances."""

import time

import mujoco
import numpy as np

import leastaction as la
from benchmarks import classical, peers
from benchmarks.report import Report, Requirement, Sheet
from benchmarks.rollouts import Rollout, load_note
from benchmarks.starts import bow

DT, STEPS = 0.01, 20
LENGTHS, FEW = (8, 16, 32, 64, 125, 250, 500, 1000), (8, 32, 125)
CHAINS = (4, 16, 64)
TOLERANCES = (1e-4, 1e-6, 1e-8, 1e-10)

FINE = 0.001
"""Step of the longest chains [s]: the weight of 1000 links makes lateral waves with dt omega > 2 at 0.01 s."""

NOTES = f"""Pendulums of uniform rods, in a curved initial posture, those with ball joints also rotating slowly; mean \
of {STEPS} steps of {DT} s (growth: {FINE} s), best of several runs in a compiled loop. MuJoCo: Euler, without \
contacts, in its own loop. pin.aba without the cost of a call from Python (see benchmarks/peers.py). Growth is \
measured in CPU time, since a busy machine interrupts long runs. Maximal is order 2 solved to 1e-10 unless said \
otherwise."""


def start(links, joint):
    """(q, v) of a chain."""
    angles = bow(links)
    if joint == "revolute":
        return angles, np.zeros(links)
    q = np.zeros((links, 4))
    q[:, 0], q[:, 2] = np.cos(angles / 2), np.sin(angles / 2)
    v = np.zeros((links, 3))
    v[0, 0] = 0.3
    return q.ravel(), v.ravel()


class Chain(Rollout):
    """A chain, ready to run again without being placed again: only the compiled loop is timed."""

    def __init__(self, links, joint, integrator, dt):
        super().__init__(la.robots.pendulum(links, joint=joint), integrator, *start(links, joint), dt, STEPS)
        if isinstance(integrator, la.Maximal):
            s = self.stepper
            s.begin(self.record)
            self.angles = s.data.coordinates.value.copy()
            s.begin = self.again

    def again(self, record):
        """In place of `begin`."""
        data = self.stepper.data
        data.bodies.w = data.bodies.vc = data.bodies.x = 0.0
        data.rows.lam = data.rows.mu = 0.0
        data.past.known, data.past.dt, data.past.kinetic = 0, 0.0, -1.0
        data.coordinates.value = self.angles


def timed(links, joint, integrator):
    """(seconds per step, mean updates, largest violation)."""
    chain = Chain(links, joint, integrator, DT)
    seconds = chain.seconds(repeats=5, least=0.1)
    violation = chain.record.get("violation", np.zeros(1))
    return seconds, float(chain.record["iterations"][1:].mean()), float(violation.max())


def processor_seconds(links, joint):
    """Seconds of the processor per step."""
    chain = Chain(links, joint, la.Maximal(), FINE)
    chain.run()
    times = []
    for _ in range(max(5, 3000 // links)):
        began = time.thread_time()
        if chain.run() < STEPS:
            return float("nan")
        times.append(time.thread_time() - began)
    return min(times) / STEPS


def mujoco_seconds(links, joint):
    """Seconds of one mj_step (Euler)."""
    kind = 'type="ball"' if joint == "spherical" else 'type="hinge" axis="0 1 0"'
    body = (
        f'<body pos="0 0 {{z}}"><joint {kind}/>'
        f'<inertial pos="0 0 -0.5" mass="1" diaginertia="{1 / 12} {1 / 12} 0.0002"/>'
    )
    bodies = "".join(body.format(z=0 if k == 0 else -1) for k in range(links)) + links * "</body>"
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{DT}" integrator="Euler"><flag contact="disable" constraint="disable"/></option>'
        f"<worldbody>{bodies}</worldbody></mujoco>"
    )
    data = mujoco.MjData(model)
    q, _ = start(links, joint)

    def steps(count):
        for _ in range(count):
            mujoco.mj_resetData(model, data)
            data.qpos[:] = q
            mujoco.mj_step(model, data, nstep=STEPS)

    return peers.best(steps, repeats=5, least=0.05) / STEPS


def beside_peers(progress):
    """The required ratios; each pair is measured in turns, since the load changes with time."""
    sheet = Sheet("A step beside peers", ["chain", "updates", "step [µs]", "peer", "peer [µs]", "ratio"])
    _, one = classical.pinocchio_seconds(la.robots.pendulum(1), "forward dynamics")
    ratios = {}
    for links, joint, peer in ((32, "spherical", "mj_step"), (64, "spherical", "mj_step"), (32, "revolute", "pin.aba")):
        progress.next(f"{links} {joint}")
        ours = theirs = np.inf
        for _ in range(3):
            seconds, updates, _ = timed(links, joint, la.Maximal())
            ours = min(ours, seconds)
            if peer == "mj_step":
                theirs = min(theirs, mujoco_seconds(links, joint))
            else:
                _, bare = classical.pinocchio_seconds(la.robots.pendulum(links), "forward dynamics")
                theirs = min(theirs, peers.without_call(bare, one, links))
        ratios[links, joint] = ours / theirs
        sheet.rows.append([f"{links} {joint}", updates, 1e6 * ours, peer, 1e6 * theirs, ours / theirs])
        progress.done()
    return sheet, ratios


def growth(progress, lengths):
    """Time per step against the number of links, and its exponent from 125 links on."""
    sheet = Sheet("Growth", ["links", "revolute [µs]", "per link", "spherical [µs]", "per link"])
    seconds = {"revolute": [], "spherical": []}
    for links in lengths:
        progress.next(f"growth, {links} links")
        row = [links]
        for joint, times in seconds.items():
            times.append(processor_seconds(links, joint))
            row += [1e6 * times[-1], 1e6 * times[-1] / links]
        sheet.rows.append(row)
        progress.done()
    few = lengths.index(32)
    worst = {
        j: max(t[few:] / np.array(lengths[few:])) / min(t[few:] / np.array(lengths[few:])) for j, t in seconds.items()
    }
    return sheet, worst


def equal_tolerance(progress, chains, tolerances):
    """Minimal and maximal coordinates to the same tolerance (Bruedigam 2023, Figure 10)."""
    columns = ["links", "tolerance", "Galerkin 2 [µs]", "updates", "Maximal [µs]", "updates", "violation"]
    sheet, failures = Sheet("Minimal and maximal coordinates, chains on hinges", columns), 0
    for links in chains:
        for tolerance in tolerances:
            progress.next(f"{links} links to {tolerance:g}")
            minimal = timed(links, "revolute", la.Galerkin(order=2, tolerance=tolerance))
            maximal = timed(links, "revolute", la.Maximal(tolerance=tolerance))
            failures += int(np.isnan(minimal[0])) + int(np.isnan(maximal[0]))
            sheet.rows.append([links, tolerance, 1e6 * minimal[0], minimal[1], 1e6 * maximal[0], *maximal[1:]])
            progress.done()
    return sheet, failures


def run(progress, quick=False) -> Report:
    """All tables."""
    lengths, chains = (FEW, CHAINS[1:2]) if quick else (LENGTHS, CHAINS)
    tolerances = TOLERANCES[1::2] if quick else TOLERANCES
    progress.total(3 + len(lengths) + len(chains) * len(tolerances))
    note = load_note()
    first, ratios = beside_peers(progress)
    second, worst = growth(progress, lengths)
    third, failures = equal_tolerance(progress, chains, tolerances)
    requirements = [
        Requirement("32 links on balls beside mj_step", ratios[32, "spherical"], 3.0),
        Requirement("64 links on balls beside mj_step", ratios[64, "spherical"], 1.0),
        Requirement("32 links on hinges beside pin.aba", ratios[32, "revolute"], 20.0),
        *(Requirement(f"time per link, most over least, 32 to {lengths[-1]} {j}", w, 1.15) for j, w in worst.items()),
        Requirement("failures at equal tolerance", failures, 0),
    ]
    return Report("Steps in maximal coordinates", f"{NOTES} {note}", [first, second, third], requirements)
