"""What a robot measures."""

from __future__ import annotations

from dataclasses import dataclass

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.shapes import Box, Capsule, Cylinder, Shape, Sphere

OF_JOINTS = {"joint_position": 1, "joint_velocity": 1, "joint_force": 1}
"""Kinds that a coordinate or degree of freedom has, and how many numbers they give."""

OF_FRAMES = {
    "position": 3,
    "orientation": 4,
    "linear_velocity": 3,
    "angular_velocity": 3,
    "velocimeter": 3,
    "gyro": 3,
    "accelerometer": 3,
    "force": 3,
    "torque": 3,
    "touch": 1,
    "range": 1,
    "center_of_mass": 3,
}
"""Kinds that a frame or body has."""

UNITS = {
    "joint_position": "rad or m",
    "joint_velocity": "rad/s or m/s",
    "joint_force": "N m or N",
    "position": "m",
    "orientation": "1",
    "linear_velocity": "m/s",
    "angular_velocity": "rad/s",
    "velocimeter": "m/s",
    "gyro": "rad/s",
    "accelerometer": "m/s^2",
    "force": "N",
    "torque": "N m",
    "touch": "N",
    "range": "m",
    "center_of_mass": "m",
}
"""Units of all kinds."""

RELATIVE = ("position", "orientation", "linear_velocity", "angular_velocity")
"""Kinds that may be seen from another frame."""


@dataclass(frozen=True, slots=True)
class Sensor:
    """Something that is measured.

    Attributes:
        name: unique among the sensors.
        kind: "joint_position" [rad or m], "joint_velocity" [rad/s or m/s], "joint_force" [N m or N] of all motors and
            servos of a joint with one axis;
            of a frame, in the world or as a `reference` frame sees it: "position" [m], "orientation" (quaternion),
            "linear_velocity" [m/s], "angular_velocity" [rad/s];
            in its own directions: "velocimeter" [m/s], "gyro" [rad/s], "accelerometer" [m/s^2] (without gravity: 9.81
            upwards at rest), "force" [N] and "torque" [N m] by which the joint of its body holds it and all that it
            carries;
            "touch" [N]: normal forces of contacts of its body, within `zone`;
            "range" [m]: distance along z to the next shape of another body, -1 where there is none;
            "center_of_mass" [m]: of a body and all that it carries, in the world.
        target: name of the coordinate, of the frame or of the body.
        reference: frame that sees it; "world" by default.
        zone: in the directions and about the origin of the frame, where it feels contacts; None: everywhere.
        cutoff: largest size of its reading; 0: any.
    """

    name: str
    kind: str
    target: str
    reference: str = "world"
    zone: Shape | None = None
    cutoff: float = 0.0

    def __post_init__(self) -> None:
        what = f"sensor {_check.label(self.name, 'name of a sensor')!r}"
        known = (*OF_JOINTS, *OF_FRAMES)
        if not isinstance(self.kind, str) or self.kind not in known:
            hint = _check.suggestion(str(self.kind), known)
            raise MechanismError(f"{what}: unknown kind {_check.shown(self.kind)}{hint}")
        _check.label(self.target, f"{what}: target")
        _check.label(self.reference, f"{what}: reference")
        if self.reference != "world" and self.kind not in RELATIVE:
            raise MechanismError(f"{what}: a {self.kind} is not seen from another frame")
        if self.zone is not None and not isinstance(self.zone, Sphere | Capsule | Cylinder | Box):
            raise MechanismError(
                f"{what}: zone must be a sphere, capsule, cylinder or box, got {_check.shown(self.zone)}"
            )
        if self.zone is not None and self.kind != "touch":
            raise MechanismError(f"{what}: a {self.kind} has no zone")
        object.__setattr__(self, "cutoff", _check.nonnegative(self.cutoff, f"{what}: cutoff"))

    @property
    def size(self) -> int:
        """How many numbers it gives."""
        return (OF_JOINTS | OF_FRAMES)[self.kind]

    @property
    def unit(self) -> str:
        """Of its numbers."""
        return UNITS[self.kind]

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of its numbers: that of the sensor, or NAME.x, NAME.y, NAME.z; of a quaternion NAME.w first."""
        parts = {1: ("",), 3: (".x", ".y", ".z"), 4: (".w", ".x", ".y", ".z")}[self.size]
        return tuple(f"{self.name}{part}" for part in parts)
