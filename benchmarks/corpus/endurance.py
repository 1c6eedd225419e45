"""Random scenes of all families with both contact integrators, one after another, for as long as is wanted."""

import itertools
import os
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la
from benchmarks.corpus.families import FAMILIES, scene
from benchmarks.corpus.figures import measured, simulated
from benchmarks.corpus.table import DEEP
from benchmarks.foreign_robots import Worker
from benchmarks.report import Report, Requirement, Sheet

LONG = True
HOURS, QUICK_HOURS = 0.05, 0.01
FIRST = 1_000_000
"""First seed: the other tables of the corpus have those from 0 on."""
GAIN = 0.02
"""Energy gain of one step, relative to the largest kinetic energy of its run, above which a run is named."""
PATIENCE = 240.0
"""CPU time after which a run counts as one that does not end [s]: `Worker` adds 120 s to six times what it is told."""

INTEGRATORS = {"Maximal": la.Maximal(), "Minimal": la.Minimal()}

NOTES = f"""Random scenes for ENDURANCE_HOURS={{hours:g}} hours, family after family, with seeds from \
ENDURANCE_FIRST={{first}} on, each with both integrators in a process that is restarted when it dies or when a run \
takes more than {PATIENCE:g} s of CPU time. ENDURANCE_HOURS=168 runs for a week. Failed: `ConvergenceError`. Gain: \
runs with a step whose energy rises by more than {GAIN:g} of the largest kinetic energy. Deep: penetration above \
{DEEP:g} m. Files: runs whose saved file does not reproduce the positions and energies. The scenes are \
`benchmarks.corpus.families.scene(family, seed)`."""


def serve(pipe: Any) -> None:
    """The process of the runs: figures of ("family:seed", integrator)."""
    warnings.simplefilter("ignore")
    while True:
        try:
            name, _ = pipe.recv()
        except EOFError:
            return
        integrator, family, seed = name.split(":")
        try:
            pipe.send(figures(family, int(seed), INTEGRATORS[integrator]))
        except Exception as error:  # what is looked for
            pipe.send({"why": f"{type(error).__name__}: {error}"})


def figures(family: str, seed: int, integrator: Any) -> dict[str, Any]:
    """What is counted of one run."""
    one = scene(family, seed)
    found = measured(one, integrator)
    if found["refused"]:
        return {"refused": True}
    return {
        "refused": False,
        "failure": found["failure"],
        "steps": len(found["iterations"]),
        "gain": float(np.max(found["gains"], initial=0.0)),
        "depth": found["depth"],
        "seconds": found["seconds"],
        "kept": bool(found["failure"]) or is_kept(one, integrator),
    }


def is_kept(one: Any, integrator: Any) -> bool:
    """Whether a short run comes back from its file."""
    one.steps = min(one.steps, 5)
    run = simulated(one, integrator)
    with tempfile.TemporaryDirectory() as folder:
        again = la.Trajectory.load(run.save(Path(folder) / "run.npz"))
    return np.array_equal(run.q, again.q) and np.array_equal(run.energy, again.energy)


def run(progress, quick: bool = False) -> Report:
    """Until the time is over."""
    hours = float(os.environ.get("ENDURANCE_HOURS", QUICK_HOURS if quick else HOURS))
    first = int(os.environ.get("ENDURANCE_FIRST", FIRST))
    end, worker = time.monotonic() + 3600.0 * hours, Worker(serve)
    results: dict[str, list[tuple[str, dict]]] = {name: [] for name in INTEGRATORS}
    progress.total(1)
    try:
        for seed, family in ((seed, family) for seed in itertools.count(first) for family in FAMILIES):
            for name in INTEGRATORS:
                progress.next(f"{family}:{seed}")
                results[name].append(
                    (f"{family}:{seed}", worker.result(f"{name}:{family}:{seed}", (PATIENCE - 120.0) / 6.0))
                )
            if time.monotonic() > end:
                break
    finally:
        worker.close()
    table = Sheet(
        "Runs", ["integrator", "runs", "steps", "refused", "failed", "ended", "gain", "deep", "files", "h of CPU"]
    )
    named = Sheet("Named runs", ["integrator", "scene", "what"])
    for name, runs in results.items():
        row, found = summary(runs)
        table.rows.append([name, *row])
        named.rows += [[name, scene_name, what] for scene_name, what in found[:50]]
    ended = sum(row[5] for row in table.rows)
    files = sum(row[8] for row in table.rows)
    gains = sum(row[6] for row in table.rows)
    required = [
        Requirement("runs whose process died or did not end", ended, 0),
        Requirement("runs with a step that gains", gains, 0),
        Requirement("files that give back another run", files, 0),
    ]
    title = "Endurance run over random contact scenes"
    return Report(title, NOTES.format(hours=hours, first=first), [table, named], required, seeds=[first])


def summary(runs: list[tuple[str, dict]]) -> tuple[list, list[tuple[str, str]]]:
    """A row of the table, and the runs that are named with what was found."""
    kinds: dict[str, list[tuple[str, str]]] = {"failed": [], "ended": [], "gain": [], "deep": [], "files": []}
    good = [found for _, found in runs if "why" not in found and not found["refused"]]
    for name, found in runs:
        if "why" in found:
            kinds["ended"].append((name, found["why"]))
        elif not found["refused"]:
            if found["failure"]:
                kinds["failed"].append((name, found["failure"]))
            if found["gain"] > GAIN:
                kinds["gain"].append((name, f"gain {found['gain']:.3g}"))
            if found["depth"] > DEEP:
                kinds["deep"].append((name, f"depth {found['depth']:.3g} m"))
            if not found["kept"]:
                kinds["files"].append((name, "another run from its file"))
    refused = sum(found.get("refused", False) for _, found in runs)
    hours = sum(found["seconds"] for found in good) / 3600.0
    row = [len(runs), sum(found["steps"] for found in good), refused, *(len(kind) for kind in kinds.values()), hours]
    return row, [one for kind in kinds.values() for one in kind]
