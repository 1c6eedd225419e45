"""Solutions in .npz files."""

from __future__ import annotations

import json
from dataclasses import asdict
from os import PathLike
from typing import Any

import numpy as np

from leastaction.errors import FormatError
from leastaction.mechanism import Mechanism
from leastaction.optimize.feet import Foot, Phase
from leastaction.optimize.solution import Iteration, Solution
from leastaction.trajectory import Trajectory

_FIELDS = ("success", "reason", "status", "cost", "violation", "u", "configurations", "duration", "seconds", "z")


def save(solution: Solution, file: str | PathLike[str]) -> None:
    """See `Solution.save`."""
    run = solution.trajectory
    data: dict[str, Any] = {name: getattr(solution, name) for name in _FIELDS}
    data |= {f"run_{name}": values for name, values in run.stored.items()}
    data |= {"t": run.t, "q": run.q, "dt": run.dt, "robot": run.mechanism.name}
    data |= {"lam_x": solution.multipliers[0], "lam_g": solution.multipliers[1]}
    data["phases"] = json.dumps([(phase.steps, [asdict(foot) for foot in phase.feet]) for phase in solution.phases])
    data["log"] = np.array([(i.number, i.cost, i.violation) for i in solution.iterations]).reshape(-1, 3)
    with open(file, "wb") as stream:
        np.savez(stream, **data)


def load(file: str | PathLike[str], mechanism: Mechanism, integrator: Any = None) -> Solution:
    """A solution from a file of `Solution.save`.

    Args:
        file: its path.
        mechanism: the robot, which the file does not hold.
        integrator: that of the problem, for `Solution.replay`.
    """
    try:
        with np.load(file, allow_pickle=False) as archive:
            data = {name: archive[name] for name in archive.files}
        values = {name: data[name][()] for name in _FIELDS}
        robot, q = str(data["robot"]), data["q"]
    except (OSError, ValueError, KeyError) as error:
        raise FormatError(f"no solution can be read: {error}", file=file) from None
    if robot != mechanism.name or q.shape[1:] != (mechanism.nq,):
        raise FormatError(f"the solution is one of {robot!r}, not of {mechanism.name!r}", file=file)
    if integrator is None:
        from leastaction import registry

        integrator = registry.make("midpoint")
    stored = {name.removeprefix("run_"): value for name, value in data.items() if name.startswith("run_")}
    run = Trajectory(mechanism, integrator, float(data["dt"]), data["t"], q, stored)
    log = tuple(Iteration(int(a), float(b), float(c)) for a, b, c in data["log"])
    for name, kind in (("success", bool), ("reason", str), ("status", str)):
        values[name] = kind(values[name])
    for name in ("cost", "violation", "duration", "seconds"):
        values[name] = float(values[name])
    phases = tuple(_phase(*each) for each in json.loads(str(data["phases"]))) if "phases" in data else ()
    return Solution(phases=phases, trajectory=run, multipliers=(data["lam_x"], data["lam_g"]), iterations=log, **values)


def _phase(steps: int, feet: list[dict[str, Any]]) -> Phase:
    """A phase from its entry in a file, whose lists were tuples."""
    read: list[dict[str, Any]] = [
        {name: tuple(x) if isinstance(x, list) else x for name, x in foot.items()} for foot in feet
    ]
    return Phase(steps, tuple(Foot(**foot) for foot in read))
