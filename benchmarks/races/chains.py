"""Chains of 2 to 128 links from random starts: error against CPU time beside MuJoCo and Pinocchio."""

import importlib.util

import numpy as np

import leastaction as la
from benchmarks import mujoco_chain, timing, work_precision
from benchmarks.report import Measure, Plot, Report, Sheet
from benchmarks.rollouts import Rollout
from benchmarks.starts import near_neutral

LENGTHS, FEW = (2, 8, 32, 128), (2, 8, 32)
DURATION, ANGLE = 1.0, 0.3
SEEDS, ONE = (0, 1, 2), (0,)
COUNTS = (25, 50, 100, 200, 400, 800)
OURS = {
    "Galerkin(2)": la.Galerkin(order=2),
    "Galerkin(4)": la.Galerkin(order=4),
    "Galerkin(8)": la.Galerkin(order=8),
    "Maximal(2)": la.Maximal(),
    "RungeKutta(4)": la.RungeKutta(order=4),
}
MUJOCO = ("Euler", "implicitfast", "RK4")
ACCURACIES = (1e-2, 1e-4, 1e-6)

NOTES = f"""Pendulums of rods of 1 m and 1 kg from rest, angles within ±{ANGLE} rad, {DURATION:g} s of motion. Error: \
largest of the joint angles at the end, beside DOP853 with rtol = 1e-12; means over starts. CPU time of the whole \
motion in a compiled loop; MuJoCo in its own loop without contacts and constraints; Pinocchio: aba with Runge-Kutta \
of order 4 from Python, less what a call costs (as told by one joint). Medians of seven repetitions, in turns. Time \
at an accuracy is interpolated; "–": not reached with up to {COUNTS[-1]} steps. "Fastest": the best of ours, and its \
time as part of that of the best peer."""


class Ours:
    """One of our integrators."""

    def __init__(self, n, method, q, count):
        self.rollout = Rollout(la.robots.pendulum(n), method, q, np.zeros(n), DURATION / count, count)
        self.run = self.rollout.run

    def end(self):
        done = self.rollout.run()
        return self.rollout.record["q"][-1] if done == self.rollout.steps else np.full(1, np.nan)


class Mujoco:
    """One of MuJoCo's."""

    def __init__(self, n, kind, q, count):
        self.chain, self.count = mujoco_chain.Chain(n, kind, DURATION / count, q, np.zeros(n)), count

    def run(self):
        self.chain.reset()
        self.chain.run(self.count)

    def end(self):
        self.run()
        return self.chain.data.qpos.copy()


class Pinocchio:
    """aba with Runge-Kutta of order 4."""

    def __init__(self, n, _, q, count):
        import pinocchio as pin

        from tests.oracles.pinocchio_model import PinocchioModel

        self.pin, self.peer, self.q, self.count = pin, PinocchioModel(la.robots.pendulum(n)), q, count
        self.zero = np.zeros(n)

    def run(self):
        pin, model, data, tau, dt = self.pin, self.peer.model, self.peer.data, self.zero, DURATION / self.count
        q, v = self.peer.q(self.q), self.zero
        for _ in range(self.count):
            a1 = pin.aba(model, data, q, v, tau).copy()
            v2 = v + 0.5 * dt * a1
            a2 = pin.aba(model, data, q + 0.5 * dt * v, v2, tau).copy()
            v3 = v + 0.5 * dt * a2
            a3 = pin.aba(model, data, q + 0.5 * dt * v2, v3, tau).copy()
            v4 = v + dt * a3
            a4 = pin.aba(model, data, q + dt * v3, v4, tau).copy()
            q = q + dt / 6.0 * (v + 2.0 * v2 + 2.0 * v3 + v4)
            v = v + dt / 6.0 * (a1 + 2.0 * a2 + 2.0 * a3 + a4)
        return q

    def end(self):
        return self.run()


def call_seconds():
    """Seconds of a step that Python and not Pinocchio takes: of a chain with one link."""
    one = Pinocchio(1, None, np.zeros(1), 100)
    one.run()
    return min(timing.cpu_seconds(one.run) for _ in range(5)) / 100


def contenders(n):
    """{name: how to make a run of (start, number of steps)}, peers that are missing."""
    found = {name: (lambda q, count, m=m: Ours(n, m, q, count)) for name, m in OURS.items()}
    found |= {f"MuJoCo {kind}": (lambda q, count, k=kind: Mujoco(n, k, q, count)) for kind in MUJOCO}
    if importlib.util.find_spec("pinocchio") is None:
        return found, ["Pinocchio"]
    return found | {"Pinocchio RK4": lambda q, count: Pinocchio(n, None, q, count)}, []


def run(progress, quick=False) -> Report:
    """All lengths and contenders."""
    lengths, seeds, counts = (FEW, ONE, COUNTS[::2]) if quick else (LENGTHS, SEEDS, COUNTS)
    progress.total(len(lengths) * len(counts))
    sheet = Sheet("CPU ms to an accuracy [rad]", ["links", "method", *(f"{a:g}" for a in ACCURACIES)])
    plots, measures, missing, called = [], [], [], 0.0
    ratios = {}
    for n in lengths:
        methods, missing = contenders(n)
        called = called or (call_seconds() if not missing else 0.0)
        starts = [near_neutral(la.robots.pendulum(n), ANGLE, seed) for seed in seeds]
        tight = la.DOP853(rtol=1e-12, atol=1e-13)
        ends = [la.simulate(la.robots.pendulum(n), q, dt=DURATION, steps=1, integrator=tight).q[-1] for q in starts]
        curves = {name: [] for name in methods}
        for count in counts:
            progress.next(f"{n} links, {count} steps")
            runs = {name: [make(q, count) for q in starts] for name, make in methods.items()}
            errors = {
                name: float(np.mean([np.abs(r.end() - end).max() for r, end in zip(some, ends, strict=True)]))
                for name, some in runs.items()
            }
            times = timing.in_turns({name: (lambda s=some: [r.run() for r in s]) for name, some in runs.items()})
            for name, seconds in times.items():
                taken = [x / len(starts) - (called * count if name.startswith("Pinocchio") else 0.0) for x in seconds]
                curves[name].append((max(float(np.median(taken)), 1e-9), errors[name]))
                if name in ("Galerkin(2)", "Galerkin(4)") and count == counts[1]:
                    base = [x / len(starts) for x in times["MuJoCo RK4"]]
                    ratio = [a / b for a, b in zip(taken, base, strict=True)]
                    measures.append(Measure(f"{n} links, {name} / MuJoCo RK4, {count} steps", "ratio", ratio))
            progress.done()
        for name, points in curves.items():
            row = [work_precision.seconds_at([(0.0, e, s) for s, e in points], accuracy) for accuracy in ACCURACIES]
            sheet.rows.append([n, name, *(1e3 * x if np.isfinite(x) else "–" for x in row)])
            ratios[n, name] = row
        lines = {
            name: ([1e3 * p[0] for p in points if p[1] < 1.0], [p[1] for p in points if p[1] < 1.0])
            for name, points in curves.items()
        }
        plots.append(Plot(f"{n} links", "CPU time [ms]", "error at the end [rad]", lines, "xy"))
    fastest = Sheet("Fastest", ["links", *(f"to {a:g}" for a in ACCURACIES)])
    for n in lengths:
        row = []
        for k in range(len(ACCURACIES)):
            own, other = (
                min(
                    ((r[k], name) for (m, name), r in ratios.items() if m == n and (name in OURS) == mine),
                    default=(np.inf, ""),
                )
                for mine in (True, False)
            )
            ratio = f" ({own[0] / other[0]:.2g} of {other[1]})" if np.isfinite(other[0]) else " (no peer gets there)"
            row.append(f"{own[1]}{ratio}" if np.isfinite(own[0]) else other[1])
        fastest.rows.append([n, *row])
    return Report("Chains from random starts", NOTES, [fastest, sheet], [], [], measures, plots, list(seeds), missing)
