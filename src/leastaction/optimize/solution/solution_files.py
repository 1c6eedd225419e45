"""Solutions in .npz files."""

from __future__ import annotations

import json
from dataclasses import asdict
from os import PathLike
from os.path import exists
from pathlib import Path
from typing import Any

import numpy as np

from leastaction._files._archive import FORMAT, UNREADABLE, check_format, read_archive
from leastaction._files._output import writing
from leastaction.errors import FormatError, LeastActionError
from leastaction.integration import registry
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown
from leastaction.mechanism.text.codec import from_json, to_json
from leastaction.optimize.constraints.feet import Foot, Phase
from leastaction.optimize.solution.solution import Iteration, Solution
from leastaction.trajectory.run_checks import check_values, check_widths
from leastaction.trajectory.trajectory import Trajectory

_FIELDS = ("status", "cost", "violation", "u", "configurations", "duration", "seconds", "z")
_RENAMED = {"success": "converged", "reason": "failure"}
"""What files call by another name."""


def save(solution: Solution, file: str | PathLike[str]) -> None:
    """See `Solution.save`."""
    run = solution.trajectory
    data: dict[str, Any] = {name: getattr(solution, name) for name in _FIELDS}
    data |= {name: getattr(solution, own) for name, own in _RENAMED.items()}
    data["replay_tolerance"] = solution.replay_tolerance
    data |= {f"run_{name}": values for name, values in run.stored.items()}
    data |= {"t": run.t, "q": run.q, "dt": run.dt, "robot": run.mechanism.name}
    data |= {"lam_x": solution.multipliers[0], "lam_g": solution.multipliers[1]}
    data["phases"] = json.dumps([(phase.steps, [asdict(foot) for foot in phase.feet]) for phase in solution.phases])
    data["log"] = np.array([(i.number, i.cost, i.violation) for i in solution.iterations]).reshape(-1, 3)
    about = {"format": FORMAT, "mechanism": to_json(run.mechanism), "integrator": registry.to_json(run.integrator)}
    data["about"] = np.array(json.dumps(about))
    with writing(file) as part, part.open("wb") as stream:
        np.savez(stream, **data)


def load(
    file: str | PathLike[str], mechanism: Mechanism | None = None, integrator: Integrator | None = None
) -> Solution:
    """A solution from a file of `Solution.save`.

    Args:
        file: its path.
        mechanism: the robot; default: the one in the file, which files of older versions do not hold.
        integrator: for `Solution.replay`; default: that of the problem.
    """
    if not isinstance(file, str | PathLike):
        raise FormatError(f"expected the path of a file to read, got {shown(file)}")
    if not isinstance(mechanism, Mechanism | None):
        raise FormatError(f"load: expected the Mechanism of the solution or none, got {shown(mechanism)}", file=file)
    if not exists(file):
        raise FormatError("there is no such file", file=file)
    try:
        data = read_archive(Path(file))
        about = json.loads(str(data["about"])) if "about" in data else {}
        check_format(about)
        if mechanism is None and not about:
            raise ValueError("it holds no robot: give load the Mechanism of the solution")
        given: Mechanism = mechanism or from_json(about["mechanism"])
        integrator = integrator or registry.from_json(about.get("integrator")) or registry.make("midpoint")
        if "lam_x" not in data:
            raise ValueError("it is none of Solution.save; Trajectory.load reads runs")
        robot, q = str(data["robot"]), data["q"]
        if robot != given.name or q.shape[1:] != (given.nq,):
            raise ValueError(f"the solution is one of {robot!r}, not of {given.name!r}")
        return _solution(data, given, integrator)
    except (*UNREADABLE, LeastActionError) as error:
        raise FormatError(f"no solution can be read: {error}", file=file) from None


def _solution(data: dict[str, Any], mechanism: Mechanism, integrator: Any) -> Solution:
    """From the arrays of a file, which are checked for sizes and finite values."""
    stored = {name.removeprefix("run_"): value for name, value in data.items() if name.startswith("run_")}
    run = Trajectory(mechanism, integrator, float(data["dt"]), data["t"], data["q"], stored)
    check_values(mechanism, run.dt, run.t, run.q, run.stored)
    check_widths(run)
    values = {name: data[name][()] for name in _FIELDS}
    points, u, nodes = values["configurations"], values["u"], np.size(stored.get("nodes", 0))
    if points.ndim != 2 or points.shape[1] != mechanism.nq or u.shape != (run.steps, nodes, mechanism.nu):
        raise ValueError(f"configurations of shape {points.shape} and controls of shape {u.shape} do not fit the run")
    if values["z"].ndim != 1 or not all(np.isfinite(values[name]).all() for name in ("z", "u", "configurations")):
        raise ValueError("numbers that are not finite")
    log = tuple(Iteration(int(a), float(b), float(c)) for a, b, c in data["log"])
    values |= {own: data[name][()] for name, own in _RENAMED.items()}
    for name, kind in (("converged", bool), ("failure", str), ("status", str)):
        values[name] = kind(values[name])
    if "replay_tolerance" in data:  # files of older versions do not have it
        values["replay_tolerance"] = float(data["replay_tolerance"])
    for name in ("cost", "violation", "duration", "seconds"):
        values[name] = float(values[name])
    if not abs(values["duration"] - (run.t[-1] - run.t[0])) <= 1e-9 * max(1.0, abs(run.t[-1])):
        raise ValueError(f"a duration of {values['duration']:g} s, but times from {run.t[0]:g} to {run.t[-1]:g} s")
    phases = tuple(_phase(*each) for each in json.loads(str(data["phases"]))) if "phases" in data else ()
    return Solution(phases=phases, trajectory=run, multipliers=(data["lam_x"], data["lam_g"]), iterations=log, **values)


def _phase(steps: int, feet: list[dict[str, Any]]) -> Phase:
    """A phase from its entry in a file, whose lists were tuples."""
    read: list[dict[str, Any]] = [
        {name: tuple(x) if isinstance(x, list) else x for name, x in foot.items()} for foot in feet
    ]
    return Phase(steps, tuple(Foot(**foot) for foot in read))
