"""Tendons: lengths of joints or of paths through points and around things, with a spring, a damper, limits, drives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.drives.actuators import INF, JointActuator, Servo, force_limits
from leastaction.mechanism.drives.muscles import Muscle
from leastaction.mechanism.elements import Attachment
from leastaction.mechanism.joints import SPLINES
from leastaction.mechanism.pose import Pose

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism


@dataclass(frozen=True, slots=True)
class Wrap:
    """A sphere or a cylinder without ends that a tendon goes around where it would otherwise pass through it.

    Attributes:
        body: name of the body that carries it, or "world".
        radius: [m].
        pose: of its centre in the frame of the body; the axis of a cylinder is the z axis there.
        kind: "sphere" or "cylinder".
        side: point in the frame of the body on whose side the tendon passes. A point inside holds the tendon from
            within, as a ring does that it is threaded through. None: on the side where the way is shorter.
    """

    body: str
    radius: float
    pose: Pose = Pose()
    kind: str = "sphere"
    side: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        what = f"wrap on {_check.label(self.body, 'body of a wrap')!r}"
        object.__setattr__(self, "radius", _check.positive(self.radius, f"{what}: radius"))
        object.__setattr__(self, "pose", Pose.of(self.pose, f"{what}: pose"))
        if not (isinstance(self.kind, str) and self.kind in ("sphere", "cylinder")):
            raise MechanismError(f"{what}: kind must be 'sphere' or 'cylinder', got {_check.shown(self.kind)}")
        if self.side is not None:
            object.__setattr__(self, "side", _check.vector(self.side, 3, f"{what}: side"))

    def moved(self, body: str, X: Pose) -> Wrap:
        """The same as a part of another body, in which the pose of its own is X."""
        return Wrap(body, self.radius, X * self.pose, self.kind, None if self.side is None else X.apply(self.side))


@dataclass(frozen=True, slots=True)
class Tendon:
    """A length that several joints or bodies share: a weighted sum of joint positions, or a path through points.

    It pulls with k (l - rest) + c dl/dt, with a dead band where `rest` is a range, and beyond its limits with a spring
    and a damper more. Actuators drive it by its name: a positive force makes it longer.

    Attributes:
        name: unique among tendons, and no name of a degree of freedom.
        joints: pairs (degree of freedom, coefficient) of joints with one axis: l is the sum of coefficient times
            position [rad or m].
        via: or points, from end to end: l is the length of the path [m]. A number among them is a pulley: behind it
            begins another stretch, whose length counts divided by that number. A `Wrap` between two points is gone
            around.
        stiffness: k [N/m, or N m/rad].
        rest: lengths between which the spring is slack; one number, or the two of a range.
        damping: c [N s/m].
        lower, upper: limits of the length.
        limit_stiffness, limit_damping: of the spring and damper beyond them.
        rigid: whether `Maximal` keeps the limits as it keeps those of joints, instead of by the spring; it can where
            the path is a straight line from one body to another, or runs along one joint. Without a spring limits must
            be rigid, and no other integrator knows them.
        force_limits: least and largest force of all that drives it together [N]; None: any.
    """

    name: str
    joints: tuple[tuple[str, float], ...] = ()
    via: tuple[Attachment | Wrap | float, ...] = ()
    stiffness: float = 0.0
    rest: tuple[float, float] = (0.0, 0.0)
    damping: float = 0.0
    lower: float = -INF
    upper: float = INF
    limit_stiffness: float = 0.0
    limit_damping: float = 0.0
    force_limits: tuple[float, float] | None = None
    rigid: bool = False

    def __post_init__(self) -> None:
        what = f"tendon {_check.label(self.name, 'name of a tendon')!r}"
        pairs = [_check.pair(p, f"{what}: joints") for p in _check.instances(self.joints, object, f"{what}: joints")]
        joints = tuple((_check.label(n, f"{what}: joints"), _check.number(c, f"{what}: joints")) for n, c in pairs)
        object.__setattr__(self, "joints", joints)
        _check.unique([name for name, _ in joints], f"joint of tendon {self.name!r}")
        object.__setattr__(self, "via", _via(self.via, what))
        if bool(joints) == bool(self.via):
            raise MechanismError(f"{what}: needs either joints or points (via)")
        rest = self.rest if isinstance(self.rest, tuple | list) else (self.rest, self.rest)
        low, high = (_check.number(x, f"{what}: rest") for x in _check.pair(rest, f"{what}: rest"))
        object.__setattr__(self, "rest", (low, high))
        for field in ("stiffness", "damping", "limit_stiffness", "limit_damping"):
            object.__setattr__(self, field, _check.nonnegative(getattr(self, field), f"{what}: {field}"))
        for field in ("lower", "upper"):
            value = _check.number(getattr(self, field), f"{what}: {field}", infinite=True)
            object.__setattr__(self, field, value)
        object.__setattr__(self, "force_limits", force_limits(self.force_limits, what))
        for one, other, kind in ((low, high, "rest"), (self.lower, self.upper, "limits")):
            if one > other:
                raise MechanismError(f"{what}: {kind} are reversed: {one} > {other}")
        object.__setattr__(self, "rigid", _check.flag(self.rigid, f"{what}: rigid"))
        if self.is_limited and not self.limit_stiffness and not self.rigid:
            raise MechanismError(
                f"{what}: limits of tendons push back with a spring, give limit_stiffness [N/m]; or say rigid=True"
            )

    @property
    def is_limited(self) -> bool:
        """Whether it has limits."""
        return self.lower > -INF or self.upper < INF

    @property
    def unlimited(self) -> Tendon:
        """The same without limits."""
        return replace(self, lower=-INF, upper=INF, limit_stiffness=0.0, limit_damping=0.0, rigid=False)

    @property
    def acts(self) -> bool:
        """Whether it exerts forces without drives."""
        return self.stiffness > 0.0 or self.damping > 0.0 or (self.is_limited and self.limit_stiffness > 0.0)

    @property
    def stretches(self) -> tuple[tuple[float, tuple[Attachment | Wrap, ...]], ...]:
        """(number that its length is divided by, points and things to go around) of each stretch of the path."""
        out: list[tuple[float, list[Attachment | Wrap]]] = [(1.0, [])]
        for item in self.via:
            if isinstance(item, Attachment | Wrap):
                out[-1][1].append(item)
            else:
                out.append((item, []))
        return tuple((divisor, tuple(points)) for divisor, points in out if points)


def pieces(stretches: tuple[Any, ...]) -> Iterator[tuple[float, Attachment, Wrap | None, Attachment]]:
    """Pieces of a path from point to point: what their length is divided by, start, what they go around, end."""
    for divisor, path in stretches:
        start, around = None, None
        for item in path:
            if isinstance(item, Wrap):
                around = item
                continue
            if start is not None:
                yield divisor, start, around, item
            start, around = item, None


def _via(via: Any, what: str) -> tuple[Attachment | Wrap | float, ...]:
    out: list[Attachment | Wrap | float] = []
    for item in _check.instances(via, object, f"{what}: via"):
        out.append(item if isinstance(item, Attachment | Wrap) else _check.positive(item, f"{what}: pulley"))
    count = 0
    for k, item in enumerate([*out, 1.0]):
        if isinstance(item, Wrap):
            if not all(isinstance(x, Attachment) for x in (*out[max(k - 1, 0) : k], *out[k + 1 : k + 2])) or k == 0:
                raise MechanismError(f"{what}: the wrap on {item.body!r} needs a point on either side")
            continue
        if isinstance(item, Attachment):
            count += 1
            continue
        if out and count < 2 and (k > 0 or len(out) == 1):  # a path may begin with a pulley
            raise MechanismError(f"{what}: each stretch of the path needs at least two points")
        count = 0
    return tuple(out)


def drives_tendon(mechanism: Mechanism, actuator: Any) -> bool:
    """Whether an actuator drives a tendon."""
    return isinstance(actuator, JointActuator) and any(t.name == actuator.coordinate for t in mechanism.tendons)


def has_range(actuator: Any) -> bool:
    """Whether an actuator is a servo whose force has limits, or a muscle: a force along a tendon of its own."""
    return isinstance(actuator, Muscle) or (isinstance(actuator, Servo) and actuator.force_limits is not None)


def check_tendons(mechanism: Mechanism) -> None:
    """Refuse tendons of joints without one axis, and names that stand for two things."""
    axes = {group.iv for group in mechanism.coordinate_groups if group.nv == 1}
    for tendon in mechanism.tendons:
        if tendon.name in mechanism.velocity_names:
            raise MechanismError(f"tendon {tendon.name!r}: a degree of freedom has the same name")
        for name, _ in tendon.joints:
            if name not in mechanism.velocity_names:
                hint = _check.suggestion(name, mechanism.velocity_names)
                raise MechanismError(f"tendon {tendon.name!r}: unknown degree of freedom {name!r}{hint}")
            if mechanism.velocity_index(name) not in axes:
                raise MechanismError(f"tendon {tendon.name!r}: {name!r} is part of a ball or free joint")
            _refuse_spline(mechanism, name, f"tendon {tendon.name!r}")
        for item in tendon.via:
            if isinstance(item, Attachment | Wrap) and item.body not in (WORLD, *mechanism.body_names):
                hint = _check.suggestion(item.body, mechanism.body_names)
                raise MechanismError(f"tendon {tendon.name!r}: unknown body {item.body!r}{hint}")
    limited = {t.name for t in mechanism.tendons if t.force_limits is not None}
    for actuator in (a for a in mechanism.actuators if isinstance(a, JointActuator)):
        if has_range(actuator) and actuator.coordinate in limited:
            raise MechanismError(
                f"tendon {actuator.coordinate!r}: force limits of a tendon and of its actuator {actuator.name!r}, or a "
                "muscle, do not go together"
            )
        if not has_range(actuator) or drives_tendon(mechanism, actuator):
            continue
        what = (
            f"muscle {actuator.name!r}"
            if isinstance(actuator, Muscle)
            else f"servo {actuator.name!r} with a force range"
        )
        _refuse_spline(mechanism, actuator.coordinate, what)


def _refuse_spline(mechanism: Mechanism, name: str, what: str) -> None:
    splines = [g.iv for g in mechanism.coordinate_groups if g.kind in SPLINES]
    if mechanism.velocity_index(name) in splines:
        raise MechanismError(f"{what}: {name!r} runs along a spline")
