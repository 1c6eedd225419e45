"""What MJCF's `actuatorfrcrange` of joints leaves of the forces of their actuators."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, replace

from leastaction.formats._files import Notes
from leastaction.mechanism import JointActuator, Mechanism, Muscle, Servo, Tendon

Range = tuple[float, float]


def reach(a: JointActuator) -> Range:
    """Least and largest force of an actuator on its joint, whatever its control and the state."""
    if isinstance(a, Servo | Muscle):
        return (-math.inf, math.inf) if a.force_limits is None else _times(a.force_limits, a.gear)
    low, high = a.lower, a.upper
    if a.activation is not None and a.activation.kind == "integrator":
        low, high = -math.inf, math.inf
    if a.activation is not None:
        # Activations start from zero, or from where the user says within their own bounds.
        low, high = max(min(low, 0.0), a.activation.lower), min(max(high, 0.0), a.activation.upper)
    return _times((low, high), a.gear)


def _times(x: Range, gear: float) -> Range:
    low, high = sorted(gear * bound if gear else 0.0 for bound in x)
    return low, high


def fits(actuators: list[JointActuator], bounds: Range) -> bool:
    """Whether the forces of all actuators of a joint together are within its bounds anyway."""
    return bounds[0] <= sum(reach(a)[0] for a in actuators) and sum(reach(a)[1] for a in actuators) <= bounds[1]


def bears(robot: Mechanism, name: str, effort: float) -> bool:
    """Whether nothing that drives a coordinate can exceed its effort limit, which is then the range of its force.

    Effort limits do not act by themselves: where actuators exceed one, MuJoCo would clip what we do not.
    """
    drives = [a for a in robot.actuators if isinstance(a, JointActuator)]
    moved = {name, *(t.name for t in robot.tendons if name in dict(t.joints))}
    if any(a.coordinate in moved - {name} for a in drives):
        return effort == math.inf
    return fits([a for a in drives if a.coordinate == name], (-effort, effort))


def clipped(robot: Mechanism, ranges: Mapping[str, Range], notes: Notes) -> Mechanism:
    """The robot with actuators that exert no more on their joints than these bear.

    One actuator of a joint gets limits of its control (a motor) or of its force. Several act on a tendon along the
    joint that has them, for MuJoCo clips their sum.

    Args:
        robot: as read, without these ranges.
        ranges: least and largest force by names of coordinates [N m or N].
        notes: collects what cannot be kept to.
    """
    actuators, tendons = list(robot.actuators), list(robot.tendons)
    taken = {t.name for t in tendons} | set(robot.velocity_names)
    driven = {a.coordinate for a in actuators if isinstance(a, JointActuator)}
    for name, bounds in ranges.items():
        if any(t.name in driven and name in dict(t.joints) for t in robot.tendons):
            notes.add("force ranges of joints that tendons drive", name)
            continue
        own = [k for k, a in enumerate(actuators) if isinstance(a, JointActuator) and a.coordinate == name]
        drives = [a for a in actuators if isinstance(a, JointActuator) and a.coordinate == name and a.gear]
        if fits(drives, bounds):
            continue
        if len(drives) == 1:
            k = actuators.index(drives[0])
            actuators[k] = _within(drives[0], bounds)
        elif any(isinstance(a, Muscle) or (isinstance(a, Servo) and a.force_limits is not None) for a in drives):
            notes.add("force ranges of joints with several actuators, of which some have ranges or are muscles", name)
        else:
            along = f"force on {name}"
            while along in taken:
                along += "_"
            taken.add(along)
            tendons.append(Tendon(along, ((name, 1.0),), force_limits=bounds))
            for k in own:
                actuators[k] = replace(actuators[k], coordinate=along)
    return robot.replace(actuators=tuple(actuators), tendons=tuple(tendons))


def _within(a: JointActuator, bounds: Range) -> JointActuator:
    """An actuator whose force on its joint is clipped to bounds."""
    low, high = _times(bounds, 1.0 / a.gear)
    if isinstance(a, Servo | Muscle):
        own = (-math.inf, math.inf) if a.force_limits is None else a.force_limits
        # Clipped twice: what lies beyond both ends at the nearer end of the second range.
        first, last = (min(max(x, low), high) for x in own)
        return replace(a, force_limits=(first, last) if first < last else (low, high))
    if a.activation is None and max(a.lower, low) < min(a.upper, high):
        return replace(a, lower=max(a.lower, low), upper=min(a.upper, high))
    common = {field.name: getattr(a, field.name) for field in fields(JointActuator)}
    return Servo(**common, gain=1.0, force_limits=(low, high))
