"""Every robot file of Gymnasium, dm_control and example-robot-data: does it run, how well, how fast beside MuJoCo."""

import math
import multiprocessing as mp
import os
import queue
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from importlib import metadata
from pathlib import Path
from typing import Any

from benchmarks import store
from benchmarks.foreign_run import BOUNDS, serve
from benchmarks.machine import fingerprint, revision
from benchmarks.report import Report, Requirement, Sheet
from benchmarks.watch import Watch

LONG = True
PACKAGES = {
    "gymnasium": ("gymnasium/envs/mujoco/assets/*.xml",),
    "dm_control": ("dm_control/suite/*.xml", "dm_control/locomotion/**/*.xml"),
    "example-robot-data": ("**/*.urdf",),
}
"""Packages and the files of each, by pattern."""

PARTS = ("common", "build_fruitfly", "props", "floor.xml", "dog_base.xml")
"""Files and folders that hold parts of models."""

PATIENCE = 120.0
"""CPU seconds that a file may take, beside six times what it simulates."""

WORKERS = 2
"""How many files run at a time; times are CPU times."""

COLUMNS = [
    "file",
    "dof",
    "runs",
    "depth [m]",
    "gap [m]",
    "energy",
    "step [µs]",
    "MuJoCo [µs]",
    "ratio",
    "iterations",
    "revision",
]

NOTES = """Each file is loaded with defaults, URDF files with a floating base; floating robots are placed on the \
ground, which is added if the file has none. Each runs with Maximal at dt 0.005 s and random torques, new ones every \
0.1 s, with a fixed seed per file. Depth: largest penetration, except of pairs that overlap at the start; gap: largest \
opening of a joint; energy: largest rise above the start and the work of the torques, relative to the largest kinetic \
energy or work, or to the energy of free fall in a step. Times: CPU time per step of the whole `simulate` call, and \
MuJoCo's for the same file, or for the MJCF that the library writes of a URDF file, since MuJoCo does not find its \
meshes."""


def files() -> tuple[dict[str, Path], list[str]]:
    """Paths of all files by "package/name", and the packages that are not installed."""
    found, missing = {}, []
    for package, patterns in PACKAGES.items():
        try:
            own = metadata.files(package) or []
        except metadata.PackageNotFoundError:
            missing.append(package)
            continue
        for file in own:
            path = Path(str(file.locate()))
            if any(_matches(file, p) for p in patterns) and not any(part in PARTS for part in file.parts):
                found[f"{package}/{_short(file)}"] = path
    return dict(sorted(found.items())), missing


def _matches(file, pattern: str) -> bool:
    """Whether a path matches a pattern in which ** stands for any folders."""
    head, _, tail = pattern.rpartition("/")
    folders = "/".join(file.parts[:-1])
    if head.endswith("**"):
        return folders.startswith(head[:-2].rstrip("/")) and file.match(tail)
    return folders == head and file.match(tail)


def _short(file) -> str:
    """The last parts of a path that show it from others."""
    folder = file.parts[-3] if file.parts[-2] in ("urdf", "robots", "assets") else file.parts[-2]
    return f"{folder}/{file.name}"


class Worker:
    """A process that runs one file after another with `serve`, and is replaced where one takes too long."""

    def __init__(self, serve: Callable[[Any], None]) -> None:
        self.context, self.serve = mp.get_context("spawn"), serve
        self.process = None

    def result(self, path: Path | str, duration: float) -> dict:
        """Figures of a file."""
        if self.process is None:
            self.pipe, other = self.context.Pipe()
            self.process = self.context.Process(target=self.serve, args=(other,), daemon=True)
            self.process.start()
            other.close()  # else nobody would notice that the process is gone
        patience = PATIENCE + 6.0 * duration
        watch, why = Watch(self.process.pid), "takes too long"
        self.pipe.send((str(path), duration))
        try:
            while watch.spent() <= patience:
                if self.pipe.poll(0.2):
                    return self.pipe.recv()
        except EOFError:
            why = "the process ends"
        self.close()
        return {"why": why}

    def close(self) -> None:
        """End the process."""
        if self.process is not None:
            self.process.kill()
            self.process.join()
            self.process = None


def results(paths: dict[str, Path], duration: float, progress) -> Iterator[tuple[str, dict]]:
    """Names of files and their figures, as they are done."""
    workers, idle = [Worker(serve) for _ in range(WORKERS)], queue.SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def one(name: str) -> tuple[str, dict]:
        worker = idle.get()
        progress.next(name)
        try:
            return name, worker.result(paths[name], duration)
        finally:
            idle.put(worker)
            progress.done()

    with ThreadPoolExecutor(WORKERS) as pool:
        waiting = [pool.submit(one, name) for name in paths]
        try:
            for future in as_completed(waiting):
                yield future.result()
        finally:
            for future in waiting:
                future.cancel()
            for worker in workers:
                worker.close()


class Kept:
    """Figures of files, each with the code that it was measured with.

    A run that was interrupted goes on where it ended. Where the environment variable FOREIGN_AGAIN names parts of the
    names of files, with commas between them, only these are measured again, and files that were never; rows show
    their revisions.
    """

    def __init__(self, quick: bool) -> None:
        self.path, self.mark, self.files = store.path_of("foreign_files", quick), fingerprint(Path(__file__)), {}
        again = os.environ.get("FOREIGN_AGAIN", "")
        for name, result in (store.read(self.path)["files"] if self.path.exists() else {}).items():
            if result["fingerprint"] == self.mark or (again and not any(part in name for part in again.split(","))):
                self.files[name] = result

    def add(self, name: str, result: dict) -> None:
        """Keep the figures of a file."""
        own = {"fingerprint": self.mark, "revision": revision()}
        self.files[name] = {key: value for key, value in result.items() if key != "said"} | own
        store.write(self.path, {"files": self.files})


def run(progress, quick: bool = False) -> Report:
    """The table; quick: 1 s of every tenth file in place of 5 s of each."""
    paths, missing = files()
    paths = dict(list(paths.items())[::10]) if quick else paths
    report = Report("Third-party robot files", NOTES + (f" Not installed: {', '.join(missing)}." if missing else ""))
    sheet, reasons = Sheet(f"{1 if quick else 5} s of each file", COLUMNS), Sheet("Why not", ["file", "reason"])
    failed, kept = dict.fromkeys(("runs", *BOUNDS), 0), Kept(quick)
    left = {name: path for name, path in paths.items() if name not in kept.files}
    progress.total(len(left))
    for name, result in results(left, 1.0 if quick else 5.0, progress):
        kept.add(name, result)
    for name in paths:
        result = kept.files[name]
        if result.get("refused"):
            reasons.rows.append([name, result["why"]])
            continue
        sheet.rows.append([name, *row_of(result)])
        failed["runs"] += bool(result["why"])
        if result["why"]:
            reasons.rows.append([name, result["why"]])
            continue
        for key, bound in BOUNDS.items():
            failed[key] += not result[key] <= bound
    report.sheets += [sheet, reasons]
    words = {"runs": "files that do not run"}
    words |= {key: f"files with {key} above {bound:g}" for key, bound in BOUNDS.items()}
    report.requirements += [Requirement(words[key], float(count), 0.0) for key, count in failed.items()]
    return report


def row_of(result: dict) -> list:
    """The cells of a file but its name."""
    if result["why"]:
        return [result.get("dof", ""), "no", *[""] * (len(COLUMNS) - 4), result["revision"]]
    theirs = result["mujoco"] or math.nan  # it has no model of some
    ok = all(result[key] <= bound for key, bound in BOUNDS.items())
    figures = [result[key] for key in BOUNDS] + [1e6 * result["step"], 1e6 * theirs, result["step"] / theirs]
    return [result["dof"], "yes" if ok else "beyond", *figures, result["iterations"], result["revision"]]
