"""Problems in TOML files."""

from __future__ import annotations

import inspect
import tomllib
from collections.abc import Callable, Mapping
from os import PathLike
from os.path import exists
from pathlib import Path
from typing import Any

from leastaction.errors import FormatError, LeastActionError, ProblemError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import shown, suggestion
from leastaction.optimize.constraints.contact_implicit import touch
from leastaction.optimize.constraints.feet import foot, phase
from leastaction.optimize.constraints.terrain import flat, gaps, steps
from leastaction.optimize.functions import costs, motion_constraints
from leastaction.optimize.problem.problem import Problem

COSTS: dict[str, Callable[..., Any]] = {
    name: getattr(costs, name)
    for name in ("effort", "velocity", "differences", "momentum", "tracking", "terminal", "reach", "time")
}
CONSTRAINTS: dict[str, Callable[..., Any]] = {
    name: getattr(motion_constraints, name)
    for name in ("position", "pose", "clearance", "center_of_mass", "centroidal_momentum")
}
GROUNDS: dict[str, Callable[..., Any]] = {"flat": flat, "steps": steps, "gaps": gaps}
SECTIONS = ("start", "finish", "bounds", "guess", "costs", "constraints", "feet", "phases", "periodic", "contact")
SETTINGS = ("robot", "parameters", "steps", "dt", "duration", "integrator", "controls", "momenta", "limits")


def read_problem(file: str | PathLike[str], **options: Any) -> Problem:
    """A problem from a TOML file; `docs/tutorial/swing_up.md` shows one.

    Args:
        file: its path. `robot` in it is a name of the zoo or the path of a robot's file, from where the file is.
        options: in place of what the file says: `steps`, `integrator`, ...
    """
    if not isinstance(file, str | PathLike):
        raise FormatError(f"expected the path of a file to read, got {shown(file)}")
    path = Path(file)
    if not exists(path):
        raise FormatError("there is no such file", file=file)
    try:
        data = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise FormatError(f"no problem can be read: {error}", file=file) from None
    try:
        return _problem(data, path.parent, options)
    except FormatError:
        raise
    except LeastActionError as error:
        raise FormatError(str(error), file=file) from None


def _problem(data: dict[str, Any], folder: Path, options: dict[str, Any]) -> Problem:
    _known(data, (*SETTINGS, *SECTIONS), "the file")
    if "robot" not in data:
        raise ProblemError("robot is missing: a name such as 'cart_pole', or a file")
    settings = {name: data[name] for name in SETTINGS[2:] if name in data}
    if isinstance(settings.get("integrator"), str):
        from leastaction.integration import registry

        settings["integrator"] = registry.parse(settings["integrator"])
    if isinstance(settings.get("duration"), list):
        settings["duration"] = tuple(settings["duration"])
    settings |= options
    if "steps" not in settings:
        raise ProblemError("steps is missing: the number of time steps")
    problem = _call(Problem, {"mechanism": _robot(data, folder), **settings}, "the file")
    for name in ("start", "finish", "bounds", "guess"):
        if name in data:
            _call(getattr(problem, name), _table(data[name], name), name)
    for name, value in _table(data.get("costs", {}), "costs").items():
        make = _one_of(COSTS, name, "costs")
        problem.minimize(_call(make, value if isinstance(value, Mapping) else {"weight": value}, f"costs.{name}"))
    for entry in _list(data.get("constraints", []), "constraints"):
        problem.subject_to(_made(CONSTRAINTS, entry, "constraints"))
    feet = {k: _call(foot, v, f"feet.{k}") for k, v in _table(data.get("feet", {}), "feet").items()}
    if "phases" in data:
        phases = []
        for entry in _list(data["phases"], "phases"):
            _known(entry, ("steps", "feet"), "phases")
            phases.append(
                phase(entry.get("steps", 0), *(_one_of(feet, k, "phases: feet") for k in entry.get("feet", [])))
            )
        problem.phases(*phases)
    if "periodic" in data:
        problem.periodic(_table(data["periodic"], "periodic"))
    if "contact" in data:
        _contact(problem, _table(data["contact"], "contact"))
    return problem


def _contact(problem: Problem, table: Mapping[str, Any]) -> None:
    _known(table, ("points", "ground", "early"), "contact")
    points = [_call(touch, entry, "contact.points") for entry in _list(table.get("points", []), "contact.points")]
    ground = table.get("ground", 0.0)
    if isinstance(ground, Mapping):
        ground = _made(GROUNDS, ground, "contact.ground")
    problem.contact(*points, ground=ground, early=bool(table.get("early", False)))


def _robot(data: dict[str, Any], folder: Path) -> Mechanism:
    from leastaction import formats, robots

    name = data["robot"]
    if not isinstance(name, str):
        raise ProblemError(f"robot must be a name such as 'cart_pole', or a file, got {name!r}")
    if Path(name).suffix:
        return formats.load(folder / name)
    return robots.get(name, **_table(data.get("parameters", {}), "parameters"))


def _made(makers: Mapping[str, Any], entry: Any, what: str) -> Any:
    """What a table with a `kind` describes."""
    table = dict(_table(entry, what))
    kind = table.pop("kind", None)
    return _call(_one_of(makers, kind, f"{what}: kind"), table, f"{what} {kind}")


def _call(function: Callable[..., Any], given: Any, what: str) -> Any:
    """The function with arguments by name; unknown and missing ones are refused."""
    table = _table(given, what)
    parameters = inspect.signature(function).parameters
    _known(table, tuple(parameters), what)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and name not in table:
            raise ProblemError(f"{what}: {name} is missing")
    return function(**table)


def _one_of(known: Mapping[str, Any], name: Any, what: str) -> Any:
    if name not in known:
        hint = suggestion(name, list(known)) or f"; there are {', '.join(known)}"
        raise ProblemError(f"{what}: there is no {name!r}{hint}")
    return known[name]


def _known(table: Any, names: tuple[str, ...], what: str) -> None:
    for name in _table(table, what):
        if name not in names:
            raise ProblemError(f"{what}: there is no {name!r}{suggestion(name, names) or f'; there are {names}'}")


def _table(value: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise ProblemError(f"{what}: expected a table, got {value!r}")
    return value


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise ProblemError(f"{what}: expected a list of tables, got {value!r}")
    return value
