"""A race: contenders over numbers of steps, error against CPU time, and which of ours leads which peer where."""

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import leastaction as la
from benchmarks import timing, work_precision
from benchmarks.races import dart, engines
from benchmarks.report import Measure, Plot, Report, Sheet
from benchmarks.wins import BESIDE

ACCURACIES = (1e-2, 1e-4, 1e-6)
CALLED = "Pinocchio"
"""Its time is without what a call from Python takes, as one body shows."""

RULES = """CPU times: medians of seven repetitions measured in turns, means over starts. Times to an accuracy are \
interpolated; "–": not reached."""
LOOPS = """Each engine runs the whole motion in its own loop (Pinocchio is called from Python: the cost of a call, \
measured with one body, is subtracted from its times, of which at least a tenth remains). Ours are timed from the \
second step on and scaled to all steps: the first step prepares the run, as peers do when they read a model. Drake's \
CENIC chooses its steps by an accuracy, set to (dt/s)² where others use steps of dt. MuJoCo 4.0.0 computes a wrong \
sparse factor of its solver's Hessian (mujoco#3767, fixed in 4.0.1), which affects models with constraints only."""
ERRORS = f"Error: largest distance of a body's centre of mass at the end from that of a reference solution. {LOOPS}"

LONGEST = 2.0
"""CPU seconds of a run, beyond which a contender leaves the race."""

LEAST = 0.1
"""Share of a time that stays without the calls: of one or two bodies nearly all is calls, and noise would be left."""

Make = Callable[..., Any]
"""make(robot, q, v, dt, count): a runner of `engines`."""


def named(methods: dict[str, Any]) -> dict[str, Make]:
    """Contenders of this package by name."""
    return {name: (lambda *a, m=m: engines.Ours(*a, m)) for name, m in methods.items()}


def peers(*, constraints: bool = False) -> dict[str, Make]:
    """Contenders of all engines; those that are not installed are left to `engines.missing`."""
    found: dict[str, Make] = {
        f"MuJoCo {kind}": (lambda *a, k=kind: engines.Mujoco(*a, k, constraints=constraints)) for kind in engines.MUJOCO
    }
    found["Pinocchio RK4"] = engines.PinocchioLoops if constraints else engines.Pinocchio
    if not constraints:  # which its continuous plants do not take
        found["Drake RK3"] = lambda *a: engines.Drake(*a, "runge_kutta3")
        found["Drake CENIC"] = lambda *a: engines.Drake(*a, "cenic")
    found["Drake discrete"] = lambda *a: engines.Drake(*a, "discrete")
    found["PyBullet"] = engines.PyBullet
    found["DART"] = dart.Dart
    gone = engines.missing()
    return {name: make for name, make in found.items() if name.split()[0] not in gone}


class Course:
    """Collects races of one kind, and makes their report."""

    def __init__(
        self,
        progress,
        contenders: dict[str, Make],
        mine,
        accuracies=ACCURACIES,
        unit: str = "m",
        rivals=tuple(engines.PEERS),
    ) -> None:
        self.progress, self.contenders, self.mine = progress, contenders, set(mine)
        self.accuracies, self.unit = accuracies, unit
        self.times = Sheet(f"CPU ms to an accuracy [{unit}]", ["robot", "method", *(f"{a:g}" for a in accuracies)])
        self.rivals = [name for name in rivals if any(c.split()[0] == name for c in contenders)]
        self.leads = Sheet(BESIDE, ["robot", f"accuracy [{unit}]", "ours", *self.rivals])
        self.growth = Sheet("Median CPU ms of the most steps", ["robot", "method", "steps", "ms", f"error [{unit}]"])
        self.plots: list[Plot] = []
        self.measures: list[Measure] = []
        self.failed: dict[str, str] = {}

    def race_scenes(self, name: str, scenes, duration: float, counts, ends) -> None:
        """Several scenes of free bodies."""
        self._race(name, [(scene, None, None) for scene in scenes], duration, counts, ends, set(), 0.0)

    def race(self, name: str, robot, starts, duration: float, counts, ends, *, leave=(), call=0.0) -> None:
        """One robot from several starts (q, v); `ends`: where its bodies end; `call`: seconds of Python a step."""
        self._race(name, [(robot, q, v) for q, v in starts], duration, counts, ends, set(leave), call)

    def _race(self, name: str, starts, duration: float, counts, ends, leave: set[str], call: float) -> None:
        curves: dict[str, list] = {}
        for count in counts:
            self.progress.next(f"{name}, {count} steps")
            runs, errors = {}, {}
            for method, make in self.contenders.items():
                if method in leave or f"{name}, {method}" in self.failed:
                    continue
                try:
                    some = [make(*start, duration / count, count) for start in starts]
                    began = time.process_time()
                    found = [float(np.abs(r.end() - e).max()) for r, e in zip(some, ends, strict=True)]
                except (RuntimeError, ValueError, MemoryError, la.LeastActionError, *bullet_error()) as error:
                    self.failed[f"{name}, {method}"] = (str(error) or type(error).__name__).partition("\n")[0][:120]
                    continue
                once = (time.process_time() - began) / len(starts)
                if once > LONGEST:
                    self.failed[f"{name}, {method}"] = f"{count} steps take {once:.1f} s: no more were tried"
                    continue
                runs[method], errors[method] = some, float(np.mean(found))
            times = in_turns(runs)
            for method, seconds in times.items():
                off = call * count if method.startswith(CALLED) else 0.0
                taken = [max(x - off, LEAST * x) for x in (s / len(starts) for s in seconds)]
                curves.setdefault(method, []).append((float(np.median(taken)), errors[method]))
                if count == counts[-1]:
                    self.growth.rows.append([name, method, count, 1e3 * curves[method][-1][0], errors[method]])
            self._ratios(name, count, times)
            self.progress.done()
        self._tables(name, curves)

    def _ratios(self, name: str, count: int, times: dict[str, list[float]]) -> None:
        for method in (m for m in times if m in self.mine):
            for peer in (m for m in times if m not in self.mine):
                if "RK" in peer or "discrete" in peer or peer == "PyBullet":
                    what = f"{name}, {count} steps, {method} / {peer}"
                    self.measures.append(timing.ratio(what, times[method], times[peer]))

    def _tables(self, name: str, curves: dict[str, list]) -> None:
        reached = {}
        for method, points in curves.items():
            row = [
                work_precision.seconds_at([(0.0, e, s) for s, e in points], accuracy) for accuracy in self.accuracies
            ]
            reached[method] = row
            self.times.rows.append([name, method, *(1e3 * x if np.isfinite(x) else "–" for x in row)])
        for k, accuracy in enumerate(self.accuracies):
            for family in dict.fromkeys(family_of(m) for m in self.contenders if m in self.mine):
                seconds = least(reached, k, lambda m, f=family: m in self.mine and family_of(m) == f)
                rivals = [
                    least(reached, k, lambda m, e=e: m not in self.mine and m.split()[0] == e) for e in self.rivals
                ]
                self.leads.rows.append([name, f"{accuracy:g}", family, *(beside(seconds, x) for x in rivals)])
        lines = {
            method: ([1e3 * s for s, e in points if e < 1.0], [max(e, 1e-16) for _, e in points if e < 1.0])
            for method, points in curves.items()
        }
        self.plots.append(Plot(name, "CPU time [ms]", f"error [{self.unit}]", lines, "xy"))

    def report(self, title: str, notes: str, seeds, *, errors: str = ERRORS) -> Report:
        """With the tables of all races; `errors`: what an error is."""
        sheets = [self.leads, self.times, self.growth]
        if self.failed:
            sheets.append(
                Sheet("Did not run, or no further", ["race", "why"], [[k, why] for k, why in self.failed.items()])
            )
        return Report(
            title,
            f"{notes} {errors} {RULES}",
            sheets,
            [],
            [],
            self.measures,
            self.plots,
            list(seeds),
            engines.missing(),
        )


def in_turns(runs: dict[str, list[Any]]) -> dict[str, list[float]]:
    """CPU seconds of all runs of each method, several times, one method after the other."""
    found: dict[str, list[float]] = {method: [] for method in runs}
    for _ in range(timing.REPEATS):
        for method, some in runs.items():
            seconds = 0.0
            for one in some:
                if hasattr(one, "ready"):
                    one.ready()
                    seconds += timing.cpu_seconds(one.race) / one.share
                else:
                    seconds += timing.cpu_seconds(one.run)
            found[method].append(seconds)
    return found


def family_of(method: str) -> str:
    """The formulation of one of our methods: its name without the order."""
    return method.partition("(")[0]


def least(reached: dict[str, list[float]], k: int, chosen) -> float:
    """Least time of some methods to accuracy k; NaN if there is none of them."""
    return min((row[k] for method, row in reached.items() if chosen(method)), default=np.nan)


def beside(mine: float, theirs: float) -> float | str:
    """Our time over that of a peer, or which of both gets there at all."""
    if np.isnan(theirs):
        return "not run"
    if np.isfinite(mine) and np.isfinite(theirs):
        return mine / theirs
    return "alone" if np.isfinite(mine) else "peer alone" if np.isfinite(theirs) else "neither"


def bullet_error() -> tuple[type[Exception], ...]:
    """What PyBullet raises, where it is installed."""
    if "PyBullet" in engines.missing():
        return ()
    import pybullet

    return (pybullet.error,)


def call_seconds(joint: str = "revolute") -> float:
    """Seconds of a step that Python and not Pinocchio takes: of a chain with one link, a ball where any joint turns."""
    if CALLED in engines.missing():
        return 0.0
    robot = la.robots.pendulum(1, joint=joint)
    one = engines.Pinocchio(robot, robot.neutral(), np.zeros(robot.nv), 1e-3, 100)
    one.run()
    return min(timing.cpu_seconds(one.run) for _ in range(5)) / 100
