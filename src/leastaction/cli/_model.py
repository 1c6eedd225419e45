"""MODEL, positions and velocities as they are typed."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from leastaction.errors import LeastActionError

FILES = (".urdf", ".xml", ".mjcf", ".xacro")


@dataclass
class Model:
    """A robot and where it starts.

    Attributes:
        robot: the mechanism.
        q, v: positions and velocities of its start.
    """

    robot: Any
    q: Any
    v: Any


def complete_model(incomplete: str) -> list[str]:
    """Names of robots, and files."""
    from leastaction.robots import catalogue

    names = [entry.name for entry in catalogue() if entry.name.startswith(incomplete)]
    folder = Path(incomplete).parent if "/" in incomplete else Path()
    files = [path for path in folder.glob(f"{Path(incomplete).name}*") if path.is_dir() or path.suffix in FILES]
    return names + [f"{path}/" if path.is_dir() else str(path) for path in files]


def complete_run(incomplete: str) -> list[str]:
    """Files of runs, then models."""
    folder = Path(incomplete).parent if "/" in incomplete else Path()
    runs = [str(path) for path in folder.glob(f"{Path(incomplete).name}*") if path.suffix == ".npz"]
    return runs + complete_model(incomplete)


ModelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="Name of a robot, or path of a URDF or MJCF file.", autocompletion=complete_model
    ),
]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="NAME=VALUE",
        help="Parameter of a robot of the package, such as links=3; option of `load` for a file: merge_fixed=True.",
    ),
]
Floating = Annotated[bool, typer.Option("--floating", help="Let the root link of a URDF file fly.")]
Ground = Annotated[
    bool, typer.Option("--ground", help="Add level ground, and put a robot that flies on it with its lowest point.")
]
Positions = Annotated[
    str | None,
    typer.Option(
        "--q",
        metavar="NUMBERS",
        help="Positions: 1.5,0 or joint1=pi/2,joint2=45deg or home or a keyframe of an MJCF file; default: home.",
    ),
]
Velocities = Annotated[
    str | None, typer.Option("--v", metavar="NUMBERS", help="Velocities: 0,1 or joint2=1; default: its home's.")
]


def find_model(
    text: str,
    parameters: Sequence[str] | None = None,
    floating: bool = False,
    q: str | None = None,
    v: str | None = None,
) -> Model:
    """The robot of that name or file, with the start that was asked for."""
    import leastaction as la

    name = text.replace("-", "_")
    entry = next((e for e in la.robots.catalogue() if e.name == name), None)
    if entry is not None:
        if floating:
            raise LeastActionError("--floating is for URDF files")
        robot = la.robots.get(name, **_parameters(parameters or ()))
        model = Model(robot, entry.home(robot), entry.home_velocity(robot))
    elif Path(text).suffix.lower() in FILES or "/" in text or Path(text).exists():
        options = _parameters(parameters or ()) | ({"floating_base": True} if floating else {})
        robot = la.load(text, **options)
        outside = {key: options[key] for key in ("allow_outside",) if key in options}
        model = Model(robot, robot.home(), [0.0] * robot.nv)
        keys = la.formats.load_keyframes(text, **outside) if q is not None and not floating and _is_mjcf(text) else {}
        if q in keys:
            model.q, q = robot.normalize(keys[q][: robot.nq]), None
    else:
        from leastaction.mechanism._check import suggestion

        hint = suggestion(text, [e.name for e in la.robots.catalogue()])
        hint = hint or "; `leastaction robots` lists those of the package, files end in .urdf or .xml"
        raise LeastActionError(f"unknown robot {text!r}{hint}")
    q = None if q == "home" else q
    model.q = read_vector(q, robot.coordinate_names, model.q, "q")
    model.v = read_vector(v, robot.velocity_names, model.v, "v")
    return model


def _is_mjcf(path: str) -> bool:
    from leastaction.formats._xml import MAX_BYTES, read_xml

    return read_xml(Path(path), MAX_BYTES).tag == "mujoco"


def add_ground(model: Model, project: bool) -> None:
    """Add the plane z = 0 where there is none, and stand the robot on it if it flies, its loops closed on request."""
    import leastaction as la

    if not any(isinstance(shape, la.mechanism.Plane) for shape in model.robot.ground):
        builder = model.robot.edit()
        builder.add_shape("world", la.mechanism.Plane())
        model.robot = builder.build()
    if project and not model.robot.is_tree:
        model.q = la.dynamics.close_loops(model.robot, model.q)
    if any(joint.kind == "free" for joint in model.robot.joints):
        model.q = la.robots.on_ground(model.robot, model.q).tolist()


def _parameters(texts: Sequence[str]) -> dict[str, Any]:
    import ast

    values = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals:
            raise LeastActionError(f"--set {text}: expected NAME=VALUE, such as links=3")
        try:
            values[name.strip()] = ast.literal_eval(value)
        except (ValueError, SyntaxError):
            values[name.strip()] = value
    return values


def read_vector(text: str | None, names: Sequence[str], default: Any, what: str) -> list[float]:
    """Numbers for all of `names` in their order, or `name=number` for some of them and the rest from `default`."""
    values = [float(x) for x in default]
    if text is None:
        return values
    parts = [part for part in re.split(r"[,\s]+", text.strip()) if part]
    if any("=" in part for part in parts):
        from leastaction.mechanism._check import suggestion

        for part in parts:
            name, _, number = part.partition("=")
            if name not in names:
                raise LeastActionError(f"--{what}: unknown name {name!r}{suggestion(name, names)}")
            values[names.index(name)] = read_number(number, f"--{what} {name}")
        return values
    if len(parts) != len(names):
        some = ", ".join(names[:8]) + (", …" if len(names) > 8 else "")
        raise LeastActionError(f"--{what}: expected {len(names)} numbers ({some}), got {len(parts)}")
    return [read_number(part, f"--{what}") for part in parts]


def read_number(text: str, what: str) -> float:
    """A number, a multiple of pi such as `-pi/2` or `0.5pi`, or degrees such as `45deg`."""
    number = r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
    try:
        if match := re.fullmatch(rf"({number}|[+-]?)\*?pi(?:/({number}))?", text):
            factor, divisor = match.groups()
            return float(factor + "1" if factor in ("", "+", "-") else factor) * math.pi / float(divisor or 1.0)
        value = math.radians(float(text[:-3])) if text.endswith("deg") else float(text)
    except (ValueError, ZeroDivisionError):
        raise LeastActionError(f"{what}: expected a number such as 1.5, pi/2 or 45deg, got {text!r}") from None
    if not math.isfinite(value):
        raise LeastActionError(f"{what}: expected a finite number, got {text!r}")
    return value
