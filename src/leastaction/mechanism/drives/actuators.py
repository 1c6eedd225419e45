"""What drives a robot: motors and servos of joints, thrusters on bodies, and what lies between control and force."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from leastaction.errors import MechanismError
from leastaction.mechanism import _check

INF = float("inf")


@dataclass(frozen=True, slots=True)
class Activation:
    """What lies between a control and what it drives: a state a of its own, which starts at zero unless given.

    Attributes:
        kind: "filter": a follows the control u, da/dt = (u - a) / `time_constant`; "integrator": da/dt = u, so that
            the control of a position servo is a velocity; or "muscle": a follows a control from 0 to 1, up within
            `time_constant` (0.5 + 1.5 a), down within `release` / (0.5 + 1.5 a) (Millard et al. 2013, as in MuJoCo).
        time_constant: of a filter, or a muscle that is excited [s]; zero for an integrator.
        lower, upper: limits of a.
        release: time constant of a muscle that relaxes [s]; zero for others.
        smooth: width of u - a over which a muscle goes from one time constant to the other; zero: they switch.
    """

    kind: str = "filter"
    time_constant: float = 0.0
    lower: float = -INF
    upper: float = INF
    release: float = 0.0
    smooth: float = 0.0

    def __post_init__(self) -> None:
        if not (isinstance(self.kind, str) and self.kind in ("filter", "integrator", "muscle")):
            kinds = "'filter', 'integrator' or 'muscle'"
            raise MechanismError(f"activation: kind must be {kinds}, got {_check.shown(self.kind)}")
        for field, kinds in (("time_constant", ("filter", "muscle")), ("release", ("muscle",))):
            time = _check.nonnegative(getattr(self, field), f"activation: {field}")
            if (time > 0.0) != (self.kind in kinds):
                article = "an" if self.kind == "integrator" else "a"
                words = "must be positive" if self.kind in kinds else f"of {article} {self.kind} must be zero"
                raise MechanismError(f"activation: {field} {words}, got {time}")
            object.__setattr__(self, field, time)
        object.__setattr__(self, "smooth", _check.nonnegative(self.smooth, "activation: smooth"))
        _check_limits(self, "activation")


def force_limits(value: Any, what: str) -> tuple[float, float] | None:
    """Least and largest force, or None."""
    if value is None:
        return None
    low, high = (
        _check.number(x, f"{what}: force_limits", infinite=True) for x in _check.pair(value, f"{what}: force_limits")
    )
    if not low < high:
        raise MechanismError(f"{what}: force_limits are reversed: {low} >= {high}")
    return low, high


def activation(value: Any, what: str) -> Activation | None:
    """An `Activation` from one, from the time constant of a filter [s], or None."""
    if value is None or isinstance(value, Activation):
        return value
    return Activation("filter", _check.positive(value, f"{what}: activation"))


@dataclass(frozen=True)
class JointActuator:
    """A drive of one degree of freedom, or of a tendon: generalised force = gear * u.

    Attributes:
        name: unique among the actuators.
        coordinate: name of the degree of freedom (as in `Mechanism.velocity_names`), or of a tendon.
        gear: force or torque per unit of control; of a tendon, a positive force makes it longer.
        lower, upper: limits of the control u; `simulate` clips it to them.
        activation: what lies between the control and the force; None: nothing.
    """

    name: str
    coordinate: str
    gear: float = 1.0
    lower: float = -INF
    upper: float = INF
    activation: Activation | None = None

    def __post_init__(self) -> None:
        what = f"actuator {_check.label(self.name, 'name of an actuator')!r}"
        _check.label(self.coordinate, f"{what}: coordinate")
        object.__setattr__(self, "gear", _check.number(self.gear, f"{what}: gear"))
        object.__setattr__(self, "activation", activation(self.activation, what))
        _check_limits(self, what)

    @property
    def push(self) -> float:
        """Generalised force per unit of control."""
        return self.gear


@dataclass(frozen=True)
class Servo(JointActuator):
    """A motor with feedback of position and velocity: generalised force = gear (gain u - kp (x - rest) - kv dx/dt).

    x = gear * joint position is what the motor sees; u is the target. As a spring and a damper to the target it is
    solved for together with the motion, so that stiff gains do not make steps unstable, but in explicit methods. Its
    feedback is no part of the potential energy; the classical dynamics have it among `passive_forces`.

    Attributes:
        name, coordinate, lower, upper, activation: see `JointActuator`; of joints with one axis, tendons and ball
            joints. Of these x is gear times a component of the rotation vector, as in MuJoCo, and the force turns about
            that axis of the child; gear^2 kp must be the same about all three axes, and there are no rest and limits.
        gear: how often the motor turns for one turn of the joint; multiplies its force.
        kp: feedback of the position, force of the motor per x [N m/rad or N/m].
        kv: feedback of the velocity [N m s/rad or N s/m].
        gain: force of the motor per unit of control. None: kp, or kv where kp is zero; the control is then the
            position, or the velocity, that the motor is to have.
        rest: position x at which the motor exerts no force when u is zero [rad or m].
        force_limits: least and largest force of the motor, before the gear [N m or N]; None: any.
    """

    kp: float = 0.0
    kv: float = 0.0
    gain: float | None = None
    rest: float = 0.0
    force_limits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        # Without arguments, super() does not know its class in dataclasses that are made anew.
        JointActuator.__post_init__(self)
        what = f"servo {self.name!r}"
        for field in ("kp", "kv"):
            object.__setattr__(self, field, _check.nonnegative(getattr(self, field), f"{what}: {field}"))
        if self.gain is not None:
            object.__setattr__(self, "gain", _check.number(self.gain, f"{what}: gain"))
        object.__setattr__(self, "rest", _check.number(self.rest, f"{what}: rest"))
        if self.rest and not self.kp:
            raise MechanismError(f"{what}: a rest position needs a feedback kp of the position")
        object.__setattr__(self, "force_limits", force_limits(self.force_limits, what))

    @property
    def push(self) -> float:
        """Generalised force per unit of control."""
        own = self.gain
        if own is None:
            own = self.kp if self.kp > 0.0 else self.kv
        return self.gear * own


@dataclass(frozen=True, slots=True)
class BodyActuator:
    """A thruster: wrench = u * `wrench`, fixed in the body's frame.

    Attributes:
        name: unique among the actuators.
        body: name of the body.
        wrench: (torque, force) per unit of control, about the body's origin [N m, N], 6 numbers.
        lower, upper: limits of the control u; `simulate` clips it to them.
        activation: what lies between the control and the force; None: nothing.
    """

    name: str
    body: str
    wrench: tuple[float, ...]
    lower: float = -INF
    upper: float = INF
    activation: Activation | None = None

    def __post_init__(self) -> None:
        what = f"actuator {_check.label(self.name, 'name of an actuator')!r}"
        _check.label(self.body, f"{what}: body")
        object.__setattr__(self, "wrench", _check.vector(self.wrench, 6, f"{what}: wrench"))
        object.__setattr__(self, "activation", activation(self.activation, what))
        _check_limits(self, what)


def _check_limits(limited: Any, what: str) -> None:
    for field in ("lower", "upper"):
        value = _check.number(getattr(limited, field), f"{what}: {field}", infinite=True)
        object.__setattr__(limited, field, value)
    if limited.lower > limited.upper:
        raise MechanismError(f"{what}: limits are reversed: lower {limited.lower} > upper {limited.upper}")


Actuator = JointActuator | BodyActuator
"""What drives a robot: a motor or servo of a joint or a thruster on a body, in the order of the controls u."""
