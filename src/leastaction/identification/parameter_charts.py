"""Charts: what is identified as one vector without constraints, or with bounds, in which all values are physical.

A real body has a positive mass and a positive definite second moment of its density about the centre of mass,
Sigma = tr(I) / 2 - I, which is the triangle inequality of its principal moments (Traversaro et al. 2016). So the chart
has the logarithm of the mass, the centre of mass, and Sigma = L L' with the logarithms of the diagonal of L: the
log-Cholesky coordinates of the pseudo-inertia (Rucker and Wensing 2022), but that these scale Sigma with the mass. Each
vector is one real body and each real body is one vector.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from leastaction.errors import IdentificationError, MechanismError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import suggestion
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.drives.actuators import JointActuator, Servo
from leastaction.parameters.parameters import parameter, with_parameters

BODY = ("mass", "com", "inertia")
"""What "body:NAME" stands for."""

POSITIVE = (
    *(
        "damping",
        "stiffness",
        "armature",
        "friction",
        "static_friction",
        "spinning",
        "rolling",
        "restitution",
        "kp",
        "kv",
    ),
    *(
        "linear",
        "quadratic",
        "radius",
        "length",
        "size",
        "radii",
        "limit_stiffness",
        "limit_damping",
        "stiction",
        "peak",
    ),
)
"""Kinds of which all entries are at least zero."""

REFUSED = {
    "q": "the start of each segment is estimated beside the parameters, see `starts`",
    "v": "the start of each segment is estimated beside the parameters, see `starts`",
    "p": "the start of each segment is estimated beside the parameters, see `starts`",
    "controls": "they are what the logs say",
    "rotation": "turn the joint's pose in the model, or identify its position",
    "rest": "of ball joints it is no vector",
}

LOWER = np.tril_indices(3)
UPPER = np.triu_indices(3)
SCALES = {"mass": 1.0, "inertia": 1.0, "com": 0.1, "position": 0.1, "delay": 0.01, "gravity": 1.0}
"""By how much a coordinate of a chart may change to be something else: logarithms by one, places by 0.1 m."""


@dataclass(frozen=True)
class Piece:
    """One parameter in the vector.

    Attributes:
        name: such as "mass:link1".
        rows: its entries among those of all parameters, and its coordinates in the vector, as many.
    """

    name: str
    rows: slice

    @property
    def kind(self) -> str:
        """Before the colon."""
        return self.name.partition(":")[0]

    @property
    def part(self) -> str:
        """After the colon."""
        return self.name.partition(":")[2]


class Chart:
    """Parameters of a robot and of its drives as a vector x, and back.

    Args:
        robot: with the first values.
        names: of the parameters: those of `leastaction.adjoint`; "body:NAME" for mass, centre of mass and inertia;
            "gear:ACTUATOR"; "delay:ACTUATOR", or "delay" of all controls [s].

    Attributes:
        labels: of all entries, such as "com:link1[x]".
        start: the vector of the first values, shape (n,).
        lower, upper: bounds of the vector.
        scale: by how much a coordinate changes to be something else altogether, shape (n,).
    """

    def __init__(self, robot: Mechanism, names: Sequence[str], longest_delay: float = 0.0) -> None:
        self.robot = robot
        self.pieces: list[Piece] = []
        self.labels: list[str] = []
        values, at = [], 0
        for name in _expanded(robot, names):
            value = self._value(name)
            self.pieces.append(Piece(name, slice(at, at + value.size)))
            self.labels += _labels(name, value)
            values.append(self._to_chart(name, value))
            at += value.size
        self.size = at
        self.start = np.concatenate(values)
        self.lower, self.upper = np.full(at, -np.inf), np.full(at, np.inf)
        self.scale = np.ones(at)
        for piece in self.pieces:
            own = self.start[piece.rows]
            if piece.kind in POSITIVE or piece.kind == "delay":
                self.lower[piece.rows] = 0.0
            if piece.kind == "restitution":
                self.upper[piece.rows] = 1.0
            if piece.kind == "delay":
                self.upper[piece.rows] = longest_delay
            size = np.abs(own).max(initial=0.0) or 1.0
            self.scale[piece.rows] = SCALES.get(piece.kind, size)

    @property
    def names(self) -> list[str]:
        """Of the single parameters."""
        return [piece.name for piece in self.pieces]

    def _value(self, name: str) -> FloatArray:
        kind, _, part = name.partition(":")
        if kind == "delay":
            return np.zeros(1)
        if kind == "gear":
            return np.array([_motor(self.robot, part).gear])
        value = np.atleast_1d(parameter(self.robot, name)).ravel()
        if not np.isfinite(value).all():
            raise IdentificationError(f"parameter {name!r} is infinite: there is nothing to start from")
        return value

    def _to_chart(self, name: str, value: FloatArray) -> FloatArray:
        kind, _, part = name.partition(":")
        if kind == "mass":
            if value[0] <= 0.0:
                raise IdentificationError(f"parameter {name!r} is zero: give the body some mass to start from")
            return np.log(value)
        if kind != "inertia":
            return value
        moments = np.linalg.eigvalsh(_second_moment(value))
        if moments[-1] <= 0.0:
            raise IdentificationError(f"parameter {name!r} is zero: give body {part!r} some inertia to start from")
        # Thin rods and plates are at the edge of what real bodies have, where the logarithm ends.
        least = 1e-4 * moments[-1]
        L: FloatArray = np.asarray(
            np.linalg.cholesky(_second_moment(value) + max(0.0, least - moments[0]) * np.eye(3)), float
        )
        L[np.diag_indices(3)] = np.log(np.diag(L))
        return L[LOWER]

    def _from_chart(self, piece: Piece, x: FloatArray) -> FloatArray:
        if piece.kind == "mass":
            return np.exp(x)
        return _inertia(_triangle(x)) if piece.kind == "inertia" else x

    def entries(self, x: FloatArray) -> FloatArray:
        """The values of all parameters, one after the other, shape (n,)."""
        return np.concatenate([self._from_chart(piece, x[piece.rows]) for piece in self.pieces])

    def values(self, x: FloatArray) -> dict[str, FloatArray]:
        """The values by name, in their own shapes."""
        entries = self.entries(x)
        return {piece.name: entries[piece.rows].reshape(self._shape(piece)) for piece in self.pieces}

    def _shape(self, piece: Piece) -> tuple[int, ...]:
        return () if piece.kind in ("delay", "gear") else parameter(self.robot, piece.name).shape

    def by_name(self, entries: FloatArray) -> dict[str, FloatArray]:
        """Numbers of all entries by name, in the shapes of the parameters."""
        return {piece.name: entries[piece.rows].reshape(self._shape(piece)) for piece in self.pieces}

    def slopes(self, x: FloatArray) -> FloatArray:
        """Derivatives of the entries by x, shape (n, n)."""
        out = np.eye(self.size)
        for piece in self.pieces:
            own = x[piece.rows]
            if piece.kind == "mass":
                out[piece.rows, piece.rows] = np.exp(own)
            elif piece.kind == "inertia":
                L, columns = _triangle(own), []
                for i, j in zip(*LOWER, strict=True):
                    change = np.zeros((3, 3))
                    change[i, j] = L[i, i] if i == j else 1.0
                    columns.append(_inertia_of_second_moment(change @ L.T + L @ change.T))
                out[piece.rows, piece.rows] = np.column_stack(columns)
        return out

    def sizes(self, x: FloatArray) -> FloatArray:
        """By how much an entry may change to be something else altogether, shape (n,), in its own unit.

        Masses and gears by themselves, moments by the largest of their body, others as `scale`.
        """
        out, entries = self.scale.copy(), self.entries(x)
        for piece in self.pieces:
            if piece.kind in ("mass", "inertia"):
                out[piece.rows] = np.abs(entries[piece.rows]).max()
        return out

    def robot_at(self, x: FloatArray, *, strict: bool = True) -> Mechanism:
        """The robot with the values of x; not strict: also with those that no real body has."""
        robot = self.robot if strict else self.robot.replace(strict=False)
        return self.with_values(robot, self.values(x))

    def with_values(self, robot: Mechanism, values: dict[str, FloatArray]) -> Mechanism:
        """A robot with other values; delays are none of its own."""
        own = {name: value for name, value in values.items() if name.partition(":")[0] not in ("delay", "gear")}
        gears = {name.partition(":")[2]: value for name, value in values.items() if name.startswith("gear:")}
        if gears:
            actuators = [replace(a, gear=float(gears[a.name])) if a.name in gears else a for a in robot.actuators]
            robot = robot.replace(actuators=tuple(actuators))
        return with_parameters(robot, own)

    def delays(self, x: FloatArray) -> FloatArray:
        """Of the controls [s], shape (nu,)."""
        return self.delay_slopes() @ x

    def delay_slopes(self) -> FloatArray:
        """Derivatives of the delays by x, shape (nu, n)."""
        out = np.zeros((self.robot.nu, self.size))
        for piece in self.pieces:
            if piece.kind == "delay":
                rows = slice(None) if not piece.part else _actuator(self.robot, piece.part)
                out[rows, piece.rows.start] = 1.0
        return out

    def gear_slopes(self, x: FloatArray) -> FloatArray:
        """Derivatives of the logarithms of the gears by x, shape (nu, n): a gear multiplies its control."""
        out = np.zeros((self.robot.nu, self.size))
        for piece in self.pieces:
            if piece.kind == "gear":
                out[_actuator(self.robot, piece.part), piece.rows.start] = 1.0 / x[piece.rows.start]
        return out


def _expanded(robot: Mechanism, names: Sequence[str]) -> list[str]:
    """Names of single parameters; each once, and each there."""
    out: list[str] = []
    for name in names:
        kind, _, part = name.partition(":")
        if kind in REFUSED:
            raise IdentificationError(f"parameter {name!r} cannot be identified: {REFUSED[kind]}")
        if kind == "body":
            robot.body_index(part)
            several = [f"{k}:{part}" for k in BODY]
        else:
            several = [name]
        for one in several:
            if one in out:
                raise IdentificationError(f"parameter {one!r} is named twice")
            _check(robot, one)
            out.append(one)
    if not out:
        raise IdentificationError("parameters: expected one name or more")
    if "delay" in out and any(name.startswith("delay:") for name in out):
        raise IdentificationError("parameters: name either 'delay', of all controls, or those of actuators")
    return out


def _check(robot: Mechanism, name: str) -> None:
    kind, _, part = name.partition(":")
    if kind == "gear":
        if _motor(robot, part).gear == 0.0:
            raise IdentificationError(f"parameter {name!r} is zero: there is nothing to start from")
    elif kind == "delay":
        if part:
            _actuator(robot, part)
        if not robot.nu:
            raise IdentificationError(f"parameter {name!r}: {robot.name!r} has no controls")
    else:
        parameter(robot, name)


def _actuator(robot: Mechanism, name: str) -> int:
    names = [a.name for a in robot.actuators]
    if name not in names:
        raise IdentificationError(f"unknown actuator {name!r}{suggestion(name, names)}")
    return names.index(name)


def _motor(robot: Mechanism, name: str) -> JointActuator:
    found = robot.actuators[_actuator(robot, name)]
    if not isinstance(found, JointActuator) or isinstance(found, Servo):
        raise IdentificationError(
            f"actuator {name!r} is no plain motor: a servo has gains, 'kp:{name}' and 'kv:{name}'"
        )
    return found


def _labels(name: str, value: FloatArray) -> list[str]:
    kind = name.partition(":")[0]
    if value.size == 1:
        return [name]
    ends = {3: "xyz", 6: ("xx", "xy", "xz", "yy", "yz", "zz") if kind == "inertia" else "abcdef"}
    return [f"{name}[{end}]" for end in ends.get(value.size, range(value.size))]


def _matrix(moments: FloatArray) -> FloatArray:
    out = np.zeros((3, 3))
    out[UPPER] = moments
    return out + np.triu(out, 1).T


def _second_moment(moments: FloatArray) -> FloatArray:
    """Of the density about the centre of mass [kg m^2], from (xx, xy, xz, yy, yz, zz) of the inertia."""
    inertia = _matrix(moments)
    return 0.5 * np.trace(inertia) * np.eye(3) - inertia


def _inertia_of_second_moment(second: FloatArray) -> FloatArray:
    return (np.trace(second) * np.eye(3) - second)[UPPER]


def _triangle(x: FloatArray) -> FloatArray:
    L = np.zeros((3, 3))
    L[LOWER] = x
    L[np.diag_indices(3)] = np.exp(np.diag(L))
    return L


def _inertia(L: FloatArray) -> FloatArray:
    return _inertia_of_second_moment(L @ L.T)


def chart_of(robot: Mechanism, names: Sequence[str], longest_delay: float) -> Chart:
    """`Chart`, with errors of names that are those of an identification."""
    try:
        return Chart(robot, names, longest_delay)
    except IdentificationError:
        raise
    except MechanismError as error:
        raise IdentificationError(f"parameters: {error}") from None
