"""Runs benchmarks, each in a process of its own: what one needs or breaks is not the others' affair."""

import importlib
import math
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks import plan, store
from benchmarks.catalogue import Entry
from benchmarks.machine import ROOT, fingerprint, machine
from benchmarks.report import Report
from benchmarks.watch import ended_late

MISSING = 3
"""Exit status of a benchmark whose peer is not installed."""

LATE = 4
"""Status of one that was ended because it took too long."""


ONE_THREAD = {
    **dict.fromkeys(("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"), "1"),
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}
"""Times are CPU times: threads of libraries that wait for each other must not count."""


class Steps:
    """The progress bar of one benchmark."""

    def __init__(self, bar: Progress, name: str) -> None:
        self.bar, self.name = bar, name
        self.task = bar.add_task(name, total=None)

    def total(self, count: int) -> None:
        """How many steps there will be."""
        self.bar.update(self.task, total=count)

    def next(self, what: str) -> None:
        """What comes next."""
        self.bar.update(self.task, description=f"{self.name}: {what}")

    def done(self) -> None:
        """One more step is done."""
        self.bar.advance(self.task)


def run_here(entry: Entry, quick: bool) -> int:
    """Run one in this process, and write its result; the exit status."""
    from leastaction._jit import LISTENERS

    console, compiled = Console(), []
    where, began, used = machine(), time.perf_counter(), time.process_time()
    mark = fingerprint(entry.path)
    LISTENERS.append(lambda _, seconds: compiled.append(seconds or 0.0))
    try:
        module = importlib.import_module(entry.module)
    except ModuleNotFoundError as missing:
        if (missing.name or "").partition(".")[0] in ("leastaction", "benchmarks", "tests", "examples"):
            raise
        console.print(f"{entry.name}: not run, for {missing.name} is not installed", style="red")
        return MISSING
    columns = TextColumn("{task.description:40}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        report = module.run(Steps(bar, entry.name), **({"quick": True} if quick and entry.quick else {}))
    result = {
        "name": entry.name,
        "about": entry.text,
        "quick": quick and entry.quick,
        "fingerprint": mark,
        "machine": where,
        "seconds": time.perf_counter() - began,
        "cpu_seconds": time.process_time() - used,
        "budget_seconds": plan.budget(entry.name, quick and entry.quick),
        "compile_seconds": sum(compiled),
        "kernels_compiled": sum(seconds > 0.0 for seconds in compiled),
        "peak_memory_mb": peak_memory(),
    }
    path = store.write(store.path_of(entry.name, quick), result | report.data())
    report.show(console)
    console.print(f"written to {path}\n", highlight=False)
    return 0


def peak_memory() -> float | None:
    """Most memory that this process held [MB]."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e3 if sys.platform != "darwin" else 1e6)


class Apart:
    """Benchmarks in processes of their own, which end when this one is interrupted."""

    def __init__(self, together: bool) -> None:
        self.together = together
        self.children: list[subprocess.Popen] = []
        self.stopped = False

    def run(self, entry: Entry, quick: bool) -> tuple[int, str]:
        """The exit status of one, and what it said where several run at a time."""
        if self.stopped:
            return -signal.SIGTERM, ""
        command = [sys.executable, "-m", "benchmarks", entry.name, "--here", *(["--quick"] if quick else [])]
        path = os.pathsep.join(filter(None, (str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH"))))
        where = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT} if self.together else {}
        child = subprocess.Popen(
            command, cwd=ROOT, env=os.environ | ONE_THREAD | {"PYTHONPATH": path}, text=True, **where
        )
        self.children.append(child)
        said, late = ended_late(child, plan.limit(entry.name, quick))
        return LATE if late else child.returncode, said

    def stop(self) -> None:
        """End those that run, and begin no more."""
        self.stopped = True
        for child in self.children:
            if child.poll() is None:
                child.terminate()


def why(status: int) -> str:
    """What an exit status that is not 0 shows."""
    if status == MISSING:
        return "a peer is missing"
    if status == LATE:
        return "stopped, for it took too long"
    if hasattr(signal, "SIGKILL") and status == -signal.SIGKILL:
        return "killed, perhaps for its memory"
    return f"exit status {status}"


def run_all(
    entries: list[Entry], quick: bool, again: bool, named: bool, minutes: float = math.inf, jobs: int = 1
) -> int:
    """Run those whose result is not there yet, in the order of `plan`; 0 if all ran and all figures are met.

    Whatever happens to one is given at the end, and the others go on.

    Args:
        entries: what to run.
        quick: the short versions.
        again: also those whose result is there.
        named: whether the user named them; long ones then run in full.
        minutes: none is begun later than this; the next call goes on there.
        jobs: how many run at a time.
    """
    console, began, apart = Console(), time.perf_counter(), Apart(jobs > 1)
    entries = plan.ordered(entries)

    def guarded(k: int, entry: Entry) -> list[str]:
        try:
            return one(k, entry)
        except (OSError, ValueError, KeyError) as error:  # of files that cannot be written or read
            return [f"{entry.name}: {error}"]

    def one(k: int, entry: Entry) -> list[str]:
        short = quick or (entry.long and not named)
        if quick and not entry.quick:
            return [f"{entry.name}: not run, for it has no short version"]
        where = f"[{k + 1} of {len(entries)}] {entry.name}"
        if not again and store.is_current(entry.name, short, fingerprint(entry.path)):
            console.print(f"{where}: its result is there (--again makes it anew)", highlight=False, markup=False)
        elif time.perf_counter() - began > 60.0 * minutes:
            return [f"{entry.name}: not run, for {minutes:g} minutes are over; the same command goes on here"]
        else:
            console.print(where, highlight=False, markup=False)
            status, said = apart.run(entry, short)
            console.print(said, end="", highlight=False, markup=False)
            if status:
                return [f"{entry.name}: {why(status)}"]
        return unmet(entry.name, store.read(store.path_of(entry.name, short)))

    places = dict(enumerate(entries))
    crowd = {k: entry for k, entry in places.items() if jobs == 1 or entry.name not in plan.ALONE}
    with ThreadPoolExecutor(jobs) as pool:
        waiting = [pool.submit(guarded, k, entry) for k, entry in crowd.items()]
        try:
            failed = [line for future in waiting for line in future.result()]
        except BaseException:
            for future in waiting:
                future.cancel()
            apart.stop()
            raise
    failed += [line for k, entry in places.items() if k not in crowd for line in guarded(k, entry)]
    for line in failed:
        console.print(line, style="red", highlight=False, markup=False)
    seconds = time.perf_counter() - began
    console.print(f"{len(entries)} benchmarks in {seconds / 60.0:.1f} minutes", highlight=False)
    return 1 if failed else 0


def unmet(name: str, result: dict[str, Any]) -> list[str]:
    """Required figures that were not met."""
    report = Report.of(result)
    return [f"{name}: {r.what}: {r.value:.3g}, at most {r.bound:g}" for r in report.requirements if not r.met]
