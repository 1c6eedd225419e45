"""Sensors of an MJCF file."""

from __future__ import annotations

from typing import Any

from leastaction.formats._files import Notes
from leastaction.formats._xml import Element
from leastaction.formats.mjcf._mjcf_bodies import Bodies, Names, pose
from leastaction.formats.mjcf._mjcf_geoms import BOX, CAPSULE, CYLINDER, SPHERE
from leastaction.mechanism import Box, Capsule, Cylinder, Frame, MechanismBuilder, Sensor, Shape, Sphere

OF_JOINTS = {"jointpos": "joint_position", "jointvel": "joint_velocity", "jointactuatorfrc": "joint_force"}
OF_SITES = {
    "gyro": "gyro",
    "accelerometer": "accelerometer",
    "velocimeter": "velocimeter",
    "force": "force",
    "torque": "torque",
    "touch": "touch",
    "rangefinder": "range",
}
OF_FRAMES = {
    "framepos": "position",
    "framequat": "orientation",
    "framelinvel": "linear_velocity",
    "frameangvel": "angular_velocity",
}


class Sensors:
    """Adds sensors to a builder; `sites` are the names that sites got, by their numbers."""

    def __init__(self, model: Any, builder: MechanismBuilder, notes: Notes, bodies: Bodies, sites: list[str]) -> None:
        self.m = model
        self.builder = builder
        self.notes = notes
        self.bodies = bodies
        self.sites = sites
        self.inertial: set[str] = set()

    def read(self, elements: list[Element]) -> None:
        """Add all that have a counterpart, and note the others."""
        names = Names()
        for k, element in enumerate(elements):
            given = element.get("name") or f"{element.tag} {k}"
            sensor = self._sensor(element)
            if sensor is None:
                self.notes.add("sensors", given)
                continue
            kind, target, options = sensor
            cutoff = element.number("cutoff", 0.0)
            self.builder.add(Sensor(names.unique(given), kind, target, cutoff=max(cutoff, 0.0), **options))

    def _sensor(self, element: Element) -> tuple[str, str, dict[str, Any]] | None:
        tag = element.tag
        if tag in OF_JOINTS:
            joint = self._number("joint", element.get("joint"))
            target = None if joint is None else self.bodies.coordinates.get(joint)
            return None if target is None else (OF_JOINTS[tag], target, {})
        if tag in OF_SITES:
            site = self._number("site", element.get("site"))
            if site is None:
                return None
            zone = {"zone": self._zone(site)} if tag == "touch" else {}
            if zone and zone["zone"] is None:
                return None
            return OF_SITES[tag], self.sites[site], zone
        if tag in OF_FRAMES:
            target = self._frame(element.get("objtype"), element.get("objname"))
            reference = "world"
            if element.get("refname") is not None:
                reference = self._frame(element.get("reftype"), element.get("refname"))
            if target is None or reference is None:
                return None
            return OF_FRAMES[tag], target, {"reference": reference}
        if tag == "subtreecom":
            body = self._number("body", element.get("body"))
            return None if not body else ("center_of_mass", self.bodies.bodies[body], {})
        return None

    def _number(self, kind: str, name: str | None) -> int | None:
        """Number of an object of the compiled model."""
        for k in range({"joint": self.m.njnt, "site": self.m.nsite, "body": self.m.nbody}[kind]):
            if name is not None and getattr(self.m, kind)(k).name == name:
                return k
        return None

    def _frame(self, kind: str | None, name: str | None) -> str | None:
        """Name of the frame that MJCF calls `name` of a `kind`."""
        if kind == "site":
            site = self._number("site", name)
            return None if site is None else self.sites[site]
        if kind not in ("body", "xbody"):
            return None
        body = self._number("body", name)
        if body is None:
            return None
        if kind == "xbody":
            return self.bodies.bodies[body]
        # The frame of a "body" is that of its principal axes of inertia, about its centre of mass.
        own = f"inertia of {self.bodies.bodies[body]}"
        if own not in self.inertial:
            place = pose(self.m.body_ipos[body], self.m.body_iquat[body])
            self.builder.add(Frame(own, self.bodies.bodies[body], place))
            self.inertial.add(own)
        return own

    def _zone(self, site: int) -> Shape | None:
        a, b, c = self.m.site_size[site].tolist()
        kind = self.m.site_type[site]
        if kind == SPHERE:
            return Sphere(a)
        if kind == CAPSULE:
            return Capsule(a, 2.0 * b)
        if kind == CYLINDER:
            return Cylinder(a, 2.0 * b)
        return Box((2.0 * a, 2.0 * b, 2.0 * c)) if kind == BOX else None
