"""What acts on a mechanism besides its joints and actuators: springs, cables, couplings, wrenches, contact points."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.shapes import check_surface

STICK_TIME = 0.2
"""Time [s] in which a point of a penalty contact slides by its depth when friction begins to slip, by default."""


@dataclass(frozen=True, slots=True)
class Attachment:
    """A point fixed to a body.

    Attributes:
        body: name of the body, or "world".
        point: in the body's frame [m], 3 numbers.
    """

    body: str
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        what = f"attachment on {_check.label(self.body, 'body of an attachment')!r}: point"
        object.__setattr__(self, "point", _check.vector(self.point, 3, what))


def attachment(value: Any, what: str) -> Attachment:
    """An `Attachment` from one, from a body's name (its origin), or from a pair (body, point)."""
    if isinstance(value, Attachment):
        return value
    if isinstance(value, str):
        return Attachment(value)
    try:
        body, point = value
    except (TypeError, ValueError):
        raise MechanismError(f"{what}: expected a body's name or (body, point), got {value!r}") from None
    return Attachment(_check.label(body, what), point)


@dataclass(frozen=True, slots=True)
class Spring:
    """Spring and damper in parallel between two points: pulls with k (l - rest) + c dl/dt.

    Attributes:
        name: unique among springs and cables.
        start, end: the two points.
        stiffness: k [N/m].
        rest_length: [m].
        damping: c along the line [N s/m].
        isotropic: the force is k d + c dd/dt with the vector d between the points, also across the line (Sueda 2021,
            Eqs. 1.40 and 1.45); its rest length is zero.
    """

    name: str
    start: Attachment
    end: Attachment
    stiffness: float = 0.0
    rest_length: float = 0.0
    damping: float = 0.0
    isotropic: bool = False

    def __post_init__(self) -> None:
        what = f"spring {_check.label(self.name, 'name of a spring')!r}"
        for field in ("start", "end"):
            _check.instance(getattr(self, field), Attachment, f"{what}: {field}")
        object.__setattr__(self, "isotropic", _check.flag(self.isotropic, f"{what}: isotropic"))
        for field in ("stiffness", "rest_length", "damping"):
            object.__setattr__(self, field, _check.nonnegative(getattr(self, field), f"{what}: {field}"))
        if self.isotropic and self.rest_length:
            raise MechanismError(f"{what}: an isotropic spring has rest length zero")


@dataclass(frozen=True, slots=True)
class Cable:
    """An elastic cable through via points, which slides through them without friction and only pulls.

    Tension k (l - rest) + c dl/dt where l, the length of the whole path, exceeds the rest length; else zero.

    Attributes:
        name: unique among springs and cables.
        via: at least two points, from end to end.
        stiffness: k [N/m].
        rest_length: [m].
        damping: c [N s/m].
        pulls_only: False makes it a spring through via points, which also pushes.
        clip: a taut cable whose damper would make it push is slack; False: its damper acts whenever it is longer than
            at rest, as Eq. 1.83 of Sueda 2021 is written.
    """

    name: str
    via: tuple[Attachment, ...]
    stiffness: float = 0.0
    rest_length: float = 0.0
    damping: float = 0.0
    pulls_only: bool = True
    clip: bool = True

    def __post_init__(self) -> None:
        what = f"cable {_check.label(self.name, 'name of a cable')!r}"
        object.__setattr__(self, "via", _check.instances(self.via, Attachment, f"{what}: via"))
        for field in ("pulls_only", "clip"):
            object.__setattr__(self, field, _check.flag(getattr(self, field), f"{what}: {field}"))
        if len(self.via) < 2:
            raise MechanismError(f"cable {self.name!r}: needs at least two points, got {len(self.via)}")
        for field in ("stiffness", "rest_length", "damping"):
            object.__setattr__(self, field, _check.nonnegative(getattr(self, field), f"{what}: {field}"))


@dataclass(frozen=True, slots=True)
class Coupling:
    """A gear or mimic relation between two coordinates: follower = c0 + c1 leader + c2 leader^2 + ...

    Attributes:
        name: unique among the couplings.
        follower, leader: names of coordinates (as in `Mechanism.coordinate_names`) of joints with one axis.
        coefficients: c0, c1, ... [rad or m, and per power of it].
    """

    name: str
    follower: str
    leader: str
    coefficients: tuple[float, ...] = (0.0, 1.0)

    def __post_init__(self) -> None:
        what = f"coupling {_check.label(self.name, 'name of a coupling')!r}"
        for field in ("follower", "leader"):
            _check.label(getattr(self, field), f"{what}: {field}")
        several = _check.instances(self.coefficients, object, f"{what}: coefficients")
        if not several:
            raise MechanismError(f"{what}: coefficients: needs at least one")
        object.__setattr__(self, "coefficients", tuple(_check.number(c, f"{what}: coefficients") for c in several))
        if self.follower == self.leader:
            raise MechanismError(f"coupling {self.name!r}: {self.follower!r} cannot follow itself")


@dataclass(frozen=True, slots=True)
class ExternalWrench:
    """A constant wrench on a body.

    Attributes:
        name: unique among the external wrenches.
        body: name of the body.
        wrench: (torque, force) about `point` [N m, N], 6 numbers.
        point: where it acts, in the body's frame [m].
        frame: "world" or "body": in which directions the wrench is given.
    """

    name: str
    body: str
    wrench: tuple[float, ...]
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    frame: str = "world"

    def __post_init__(self) -> None:
        what = f"external wrench {_check.label(self.name, 'name of an external wrench')!r}"
        _check.label(self.body, f"{what}: body")
        object.__setattr__(self, "wrench", _check.vector(self.wrench, 6, f"{what}: wrench"))
        object.__setattr__(self, "point", _check.vector(self.point, 3, f"{what}: point"))
        if not (isinstance(self.frame, str) and self.frame in ("world", "body")):
            raise MechanismError(f"{what}: frame must be 'world' or 'body', got {_check.shown(self.frame)}")


@dataclass(frozen=True, slots=True)
class ContactPoint:
    """A point (or a small ball) of a body that may touch the ground, but not other bodies; those are touched by shapes.

    Attributes:
        name: unique among the contact points.
        body: name of the body.
        point: centre in the body's frame [m], 3 numbers.
        radius: of the ball about the point [m]; 0 is a point.
        friction: Coulomb coefficient.
        static_friction: that of contacts that stick, at least `friction`; None: the same.
        restitution: Newton's coefficient, 0 (plastic) to 1 (elastic).
        spinning, rolling: friction against spinning about the normal and against rolling: torque per normal force [m].
        compliance, relaxation_time: how far it gives way [m/N], and in what time [s], see `Shape`; None: rigid.
    """

    name: str
    body: str
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)
    radius: float = 0.0
    friction: float = 0.0
    restitution: float = 0.0
    spinning: float = 0.0
    rolling: float = 0.0
    static_friction: float | None = None
    compliance: float | None = None
    relaxation_time: float | None = None

    def __post_init__(self) -> None:
        what = f"contact point {_check.label(self.name, 'name of a contact point')!r}"
        _check.label(self.body, f"{what}: body")
        object.__setattr__(self, "point", _check.vector(self.point, 3, f"{what}: point"))
        for field in ("radius", "friction", "restitution", "spinning", "rolling"):
            object.__setattr__(self, field, _check.nonnegative(getattr(self, field), f"{what}: {field}"))
        for field in ("static_friction", "compliance", "relaxation_time"):
            if getattr(self, field) is not None:
                object.__setattr__(self, field, _check.nonnegative(getattr(self, field), f"{what}: {field}"))
        check_surface(self, what)


@dataclass(frozen=True, slots=True)
class PenaltyContact:
    """Points of a body that a plane pushes back with springs and dampers, with friction (Sueda 2021, 1.9.6).

    At a point in depth d <= 0 with velocity v acts the force -k d n - c (n . v) n along the plane's normal n, and
    against the sliding velocity a the friction min(stiction |a|, friction k |d|).

    Attributes:
        name: unique among the penalty contacts.
        body: name of the body.
        points: in the body's frame [m], one or several of 3 numbers.
        stiffness: k [N/m].
        damping: c along the normal [N s/m].
        friction: Coulomb coefficient of the sliding point.
        stiction: viscous law of the sticking point [N s/m]: what sticks creeps, and a point slides where this law would
            hold it with more than friction can. By default friction k `STICK_TIME`, so that a point slides when it
            moves faster than its depth in that time; 0 leaves friction out.
        origin: a point of the plane [m], 3 numbers.
        normal: unit normal of the plane, out of the ground.
    """

    name: str
    body: str
    points: tuple[tuple[float, float, float], ...]
    stiffness: float
    damping: float = 0.0
    friction: float = 0.0
    stiction: float | None = None
    origin: tuple[float, float, float] = (0.0, 0.0, 0.0)
    normal: tuple[float, float, float] = (0.0, 0.0, 1.0)

    def __post_init__(self) -> None:
        what = f"penalty contact {_check.label(self.name, 'name of a penalty contact')!r}"
        _check.label(self.body, f"{what}: body")
        several = _check.instances(self.points, object, f"{what}: points")
        points = tuple(_check.vector(p, 3, f"{what}: points") for p in several)
        if not points:
            raise MechanismError(f"{what}: needs at least one point")
        object.__setattr__(self, "points", points)
        for field in ("stiffness", "damping", "friction"):
            object.__setattr__(self, field, _check.nonnegative(getattr(self, field), f"{what}: {field}"))
        usual = self.friction * self.stiffness * STICK_TIME
        stiction = usual if self.stiction is None else _check.nonnegative(self.stiction, f"{what}: stiction")
        object.__setattr__(self, "stiction", stiction)
        object.__setattr__(self, "origin", _check.vector(self.origin, 3, f"{what}: origin"))
        object.__setattr__(self, "normal", _check.axis(self.normal, f"{what}: normal"))


@dataclass(frozen=True)
class PointElement:
    """A force on a point of a body; base of the kinds in `Mechanism.forces`.

    Attributes:
        name: unique among these forces.
        body: name of the body.
        point: where it acts, in the body's frame [m], 3 numbers.
    """

    name: str
    body: str
    point: tuple[float, float, float] = (0.0, 0.0, 0.0)

    KIND: ClassVar[str] = "force"
    """What it is, in words, and the field of `forces.arrays.ForceModel` with its records."""
    RECORDS: ClassVar[str] = ""
    PARAMETERS: ClassVar[tuple[str, ...]] = ()
    """Its numbers, none of them negative, in the order of their columns in `forces.arrays.ForceGradients`."""

    def __post_init__(self) -> None:
        what = f"{self.KIND} {_check.label(self.name, f'name of a {self.KIND}')!r}"
        _check.label(self.body, f"{what}: body")
        object.__setattr__(self, "point", _check.vector(self.point, 3, f"{what}: point"))
        for field in self.PARAMETERS:
            object.__setattr__(self, field, _check.nonnegative(getattr(self, field), f"{what}: {field}"))

    @property
    def bodies(self) -> tuple[str, ...]:
        """Names of all bodies it acts on; the first is `body`, others may be the world."""
        return (self.body,)

    def moved(self, place: Mapping[str, tuple[str, Pose]]) -> Self:
        """The same force on other bodies: for each body one that carries it, and its pose in that."""
        body, pose = place[self.body]
        return replace(self, body=body, point=pose.apply(self.point))


@dataclass(frozen=True)
class Drag(PointElement):
    """Resistance of the air or of water: the force -(linear + quadratic |v|) v against the velocity v of a point.

    Attributes:
        name, body, point: see `PointElement`.
        linear: [N s/m].
        quadratic: [N s^2/m^2]; of a body with cross-section A and coefficient c in a fluid of density rho, rho c A / 2.
    """

    linear: float = 0.0
    quadratic: float = 0.0

    KIND: ClassVar[str] = "drag"
    RECORDS: ClassVar[str] = "drags"
    PARAMETERS: ClassVar[tuple[str, ...]] = ("linear", "quadratic")


@dataclass(frozen=True, slots=True)
class Rolling:
    """A disc or ball that rolls on the plane z = 0 without slipping and without leaving it.

    Attributes:
        name: unique among loops, couplings and rolling contacts.
        body: name of the body.
        radius: [m].
        axis: unit axis of the disc in the body's frame; None for a ball.
        center: in the body's frame [m], 3 numbers.
    """

    name: str
    body: str
    radius: float
    axis: tuple[float, float, float] | None = None
    center: tuple[float, float, float] = (0.0, 0.0, 0.0)

    def __post_init__(self) -> None:
        what = f"rolling contact {_check.label(self.name, 'name of a rolling contact')!r}"
        _check.label(self.body, f"{what}: body")
        object.__setattr__(self, "radius", _check.positive(self.radius, f"{what}: radius"))
        object.__setattr__(self, "center", _check.vector(self.center, 3, f"{what}: center"))
        if self.axis is not None:
            object.__setattr__(self, "axis", _check.axis(self.axis, f"{what}: axis"))
