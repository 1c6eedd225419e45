"""A robot as a part of a scene: all names get a prefix, and a body of the scene takes the place of its world."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.drives.gravity_compensation import shares
from leastaction.mechanism.drives.tendons import Tendon, Wrap
from leastaction.mechanism.elements import Attachment, ExternalWrench, PenaltyContact, PointElement, Rolling
from leastaction.mechanism.joints import Joint
from leastaction.mechanism.mechanism import Mechanism
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.sensors import Sensor
from leastaction.mechanism.shapes import Plane, Shape

LEVEL = 1e-12
"""Distance [m], and sine of an angle, up to which a pose leaves the plane z = 0 where it is."""


@dataclass(frozen=True)
class Part:
    """A robot that is to be part of a scene.

    Attributes:
        robot: as it is by itself.
        prefix: of all its names.
        parent: body of the scene, or "world", that is its world.
        pose: of its world in that body.
    """

    robot: Mechanism
    prefix: str
    parent: str
    pose: Pose

    def name(self, own: str) -> str:
        """What the scene calls what the robot calls `own`."""
        return self.prefix + own

    def place(self, body: str) -> tuple[str, Pose]:
        """The body of the scene that a body is, and its pose there."""
        return (self.parent, self.pose) if body == WORLD else (self.name(body), Pose())

    def joint(self, joint: Joint) -> Joint:
        """A joint of the scene; bodies that are free in the world keep their coordinates and start elsewhere."""
        parent, X = self.place(joint.parent)
        changes: dict[str, Any] = {"name": self.name(joint.name), "parent": parent, "pose": X * joint.pose}
        changes["child"] = self.name(joint.child)
        changes["motions"] = tuple(self.name(motion) for motion in joint.motions)
        if joint.kind == "free" and joint.parent == parent == WORLD:
            start = joint.pose.inverse() * X * joint.pose * Pose(joint.home[:3], joint.home[3:])
            changes |= {"pose": joint.pose, "home": (*start.position, *start.quaternion)}
        return replace(joint, **changes)

    def ground(self) -> list[Shape]:
        """Shapes of its world, in the frame of the parent."""
        return [replace(shape, pose=self.pose * shape.pose) for shape in self.robot.ground]

    def excluded(self) -> list[tuple[str, str]]:
        """Pairs that pass through each other."""
        return [(self.place(a)[0], self.place(b)[0]) for a, b in self.robot.excluded_contacts]

    def elements(self, field: str) -> list[Any]:
        """What a field of the mechanism holds, for the scene."""
        return [self._element(element) for element in getattr(self.robot, field)]

    def _at(self, a: Attachment) -> Attachment:
        body, X = self.place(a.body)
        return Attachment(body, X.apply(a.point))

    def _along(self, item: Any) -> Any:
        if isinstance(item, Wrap):
            return item.moved(*self.place(item.body))
        return self._at(item) if isinstance(item, Attachment) else item

    def _element(self, element: Any) -> Any:
        known = {field.name for field in fields(element)}
        changes: dict[str, Any] = {"name": self.name(element.name)} if "name" in known else {}
        if isinstance(element, PointElement):
            place = {body: self.place(body) for body in (WORLD, *self.robot.body_names)}
            return replace(element.moved(place), **changes)
        if isinstance(element, Tendon):
            changes["joints"] = tuple((self.name(joint), weight) for joint, weight in element.joints)
        elif isinstance(element, Sensor):
            changes["target"] = self.place(element.target)[0]
            changes["reference"] = element.reference if element.reference == WORLD else self.name(element.reference)
        elif isinstance(element, Rolling):
            self._check_level(element)
        elif isinstance(element, PenaltyContact):
            changes |= self._plane(element)
        elif isinstance(element, ExternalWrench) and element.name in shares(self.robot):
            changes["name"] = f"gravcomp of {self.name(element.body)}"
        return replace(element, **changes, **self._references(element, known))

    def _references(self, element: Any, known: set[str]) -> dict[str, Any]:
        """Joints and bodies that an element names by fields that several kinds have."""
        changes: dict[str, Any] = {}
        for field in ("follower", "leader", "coordinate"):
            if field in known:
                changes[field] = self.name(getattr(element, field))
        for field in ("first", "second"):
            if field in known:
                changes[field] = self.place(getattr(element, field))[0]
        if "start" in known:
            changes |= {"start": self._at(element.start), "end": self._at(element.end)}
        elif "via" in known:
            changes["via"] = tuple(map(self._along, element.via))
        if "body" in known:
            changes["body"], X = self.place(element.body)
            if "pose" in known:
                changes["pose"] = X * element.pose
        return changes

    def _check_level(self, rolling: Rolling) -> None:
        X = self.pose
        if self.parent != WORLD or abs(X.position[2]) > LEVEL or np.abs(X.rotation[2, :2]).max() > LEVEL:
            raise MechanismError(f"attach: {rolling.name!r} rolls on the plane z = 0, from which it cannot be moved")

    def _plane(self, contact: PenaltyContact) -> dict[str, Any]:
        if self.parent != WORLD:
            raise MechanismError(f"attach: the plane of {contact.name!r} cannot move with {self.parent!r}")
        normal = self.pose.rotation @ np.array(contact.normal)
        return {"origin": self.pose.apply(contact.origin), "normal": tuple(normal.tolist())}


def same_place(a: Shape, b: Shape) -> bool:
    """Whether two shapes are the same; planes are that wherever along themselves they are given."""
    if not isinstance(a, Plane) or not isinstance(b, Plane) or a.surface_velocity is not None:
        return a == b
    normal, other = a.pose.rotation[:, 2], b.pose.rotation[:, 2]
    apart = abs(float(normal @ (np.array(a.pose.position) - b.pose.position)))
    level = apart <= LEVEL and float(np.abs(normal - other).max()) <= LEVEL
    return level and a == replace(b, pose=a.pose)
