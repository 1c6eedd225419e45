"""Sites, equalities, tendons, actuators and sensors of an MJCF file that is written."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.polynomial import Polynomial

from leastaction.formats._xml import Element
from leastaction.formats.mjcf._mjcf_bodies import Names
from leastaction.formats.mjcf._mjcf_geoms import HIDDEN_GROUP
from leastaction.formats.mjcf._mjcf_sensors import OF_FRAMES, OF_JOINTS, OF_SITES
from leastaction.formats.mjcf._mjcf_text import numbers, placed
from leastaction.mechanism import (
    Attachment,
    BodyActuator,
    Box,
    Capsule,
    Coupling,
    Cylinder,
    Frame,
    Joint,
    JointActuator,
    Muscle,
    Pose,
    Sensor,
    Servo,
    Shape,
    Sphere,
    Spring,
    Tendon,
    Wrap,
)
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.joints import Motion

if TYPE_CHECKING:
    from leastaction.formats.mjcf.mjcf_writer import Sheet

FAR = 1e10
"""Limit of a tendon where there is none."""

EVERYWHERE = Sphere(1e6)
"""Zone of a touch sensor that has none."""


class Written:
    """Writes what holds and drives bodies and what is measured."""

    def __init__(self, sheet: Sheet) -> None:
        self.sheet = sheet
        self.names = Names()
        self.sites: dict[str, tuple[str, Pose, Element]] = {}
        self.made: list[str] = []  # names of what the robot has not
        self.made_geoms: list[str] = []
        self.equality, self.tendon = Element("equality"), Element("tendon")
        self.actuator, self.sensor = Element("actuator"), Element("sensor")

    def sections(self) -> tuple[Element, ...]:
        """The sections beside the bodies."""
        return self.equality, self.tendon, self.actuator, self.sensor

    def write(self) -> None:
        """Write them all."""
        robot = self.sheet.robot
        for frame in robot.frames:
            self._site(frame.name, frame.body, frame.pose)
        for loop in robot.loops:
            self._loop(loop)
        for coupling in robot.couplings:
            self._coupling(coupling)
        for spring in robot.springs:
            self._spring(spring)
        for cable in robot.cables:
            if cable.pulls_only and not cable.clip:
                self.sheet.refuse("cable", cable.name, "that the damper of a cable may push")
            lengths = (0.0, cable.rest_length) if cable.pulls_only else (cable.rest_length,)
            self._tendon(cable, cable.via, lengths)
        for tendon in robot.tendons:
            self._write_tendon(tendon)
        for actuator in robot.actuators:
            self._actuator(actuator)
        for sensor in robot.sensors:
            self._sensor(sensor)

    # ------------------------------------------------------------------ sites

    def _site(self, name: str, body: str, pose: Pose) -> str:
        """A new site at a pose in the frame of a body."""
        name = self.names.unique(name)
        element = self.sheet.bodies[body].add("site", name=name)
        placed(element, self.sheet.chains.shift[body] * pose)
        self.sites[name] = (body, pose, element)
        return name

    def _site_at(self, name: str, body: str, pose: Pose, *, point: bool = False) -> str:
        """A site there; one that exists if there is one, else a new one of that name. `point`: of any directions."""
        for known, (owner, place, _) in self.sites.items():
            if owner == body and (place == pose or (point and place.position == pose.position)):
                return known
        return self._make(name, body, pose)

    def _make(self, name: str, body: str, pose: Pose) -> str:
        """A site that is no frame of the robot."""
        self.made.append(self._site(name, body, pose))
        return self.made[-1]

    # ------------------------------------------------------------------ equalities

    def _loop(self, loop: Joint) -> None:
        turns = loop.kind == "revolute"
        if loop.kind not in ("spherical", "fixed", "revolute", "cylindrical_free_orientation"):
            raise self.sheet.error("joint", loop.name, f"that a loop is closed by a joint that is {loop.kind}")
        plain = Joint(loop.name, loop.kind, loop.parent, loop.child, loop.primitives)
        for name in ("lower", "upper", "stiffness", "damping", "friction", "armature", "limit_stiffness"):
            if getattr(loop, name) != getattr(plain, name):
                self.sheet.refuse(name, loop.name, f"that a joint which closes a loop has {name}")
        ends = (loop.parent, loop.pose), (loop.child, loop.child_pose.inverse())
        first, second = (self._site_at(f"{loop.name}_{k + 1}", *end) for k, end in enumerate(ends))
        word = "weld" if loop.kind == "fixed" else "connect"
        self.equality.add(word, name=loop.name, site1=first, site2=second)
        if turns:
            # A second point of the axis.
            along, name = Pose(loop.primitives[0].axis), f"{loop.name}_axis"
            first, second = (self._site_at(f"{name}_{k + 1}", body, X * along) for k, (body, X) in enumerate(ends))
            self.equality.add("connect", name=name, site1=first, site2=second)
            self.made.append(name)

    def _coupling(self, c: Coupling) -> None:
        """follower - ref = polynomial of (leader - ref)."""
        axes = self.sheet.chains.axes
        polynomial = Polynomial(c.coefficients)
        (follower, _), (leader, _) = axes[c.follower], axes[c.leader]
        if leader.ref or follower.ref:
            polynomial = polynomial(Polynomial([leader.ref, 1.0])) - follower.ref
        values = polynomial.coef.tolist()
        if len(values) > 5:
            raise self.sheet.error("coupling", c.name, "a coupling by a polynomial of degree above four")
        values += [0.0] * (5 - len(values))
        self.equality.add("joint", name=c.name, joint1=follower.name, joint2=leader.name, polycoef=numbers(values))

    # ------------------------------------------------------------------ tendons

    def _spring(self, spring: Spring) -> None:
        if spring.isotropic:
            self.sheet.refuse("spring", spring.name, "that a spring is isotropic")
            return
        self._tendon(spring, (spring.start, spring.end), (spring.rest_length,))

    def _tendon(self, owner: Any, via: tuple[Attachment, ...], lengths: tuple[float, ...]) -> None:
        element = self.tendon.add("spatial", name=owner.name, springlength=numbers(lengths))
        for name in ("stiffness", "damping"):
            if getattr(owner, name):
                element.attributes[name] = numbers([getattr(owner, name)])
        for k, end in enumerate(via):
            site = self._site_at(f"{owner.name}_{k + 1}", end.body, Pose(end.point), point=True)
            element.add("site", site=site)

    def _write_tendon(self, tendon: Tendon) -> None:
        low, high = tendon.rest
        lengths = (low,) if low == high else (low, high)
        element = self.tendon.add("fixed" if tendon.joints else "spatial", name=tendon.name)
        element.attributes["springlength"] = numbers(lengths)
        for name in ("stiffness", "damping"):
            if getattr(tendon, name):
                element.attributes[name] = numbers([getattr(tendon, name)])
        if tendon.is_limited:
            # MJCF has limits on both sides, and says softness for the mass that is moved; see `_mjcf_extension`.
            bounds = (max(tendon.lower, -FAR), min(tendon.upper, FAR))
            element.attributes |= {"limited": "true", "range": numbers(bounds)}
        if tendon.force_limits is not None:
            motors = [a for a in self.sheet.robot.actuators if isinstance(a, JointActuator)]
            gears = {a.gear for a in motors if a.coordinate == tendon.name}
            gear = gears.pop() if len(gears) == 1 else 1.0
            if gears or gear <= 0.0:
                self.sheet.refuse("force limits", tendon.name, "that drives of a limited tendon have different gears")
            else:
                bounds = numbers(x / gear for x in tendon.force_limits)
                element.attributes |= {"actuatorfrclimited": "true", "actuatorfrcrange": bounds}
        for name, weight in tendon.joints:
            axis, _ = self.sheet.chains.axes[name]
            element.add("joint", joint=axis.name, coef=numbers([weight]))
        for k, item in enumerate(tendon.via):
            name = f"{tendon.name}_{k + 1}"
            if isinstance(item, Attachment):
                element.add("site", site=self._site_at(name, item.body, Pose(item.point), point=True))
            elif isinstance(item, Wrap):
                self._around(name, item, element)
            else:
                element.add("pulley", divisor=numbers([item]))

    def _around(self, name: str, item: Wrap, tendon: Element) -> None:
        """A geom of its own that touches nothing, for a path to go around."""
        name = self.sheet.geom_names.unique(name)
        self.made_geoms.append(name)
        size = [item.radius] if item.kind == "sphere" else [item.radius, item.radius]
        geom = self.sheet.bodies[item.body].add("geom", name=name, type=item.kind, size=numbers(size))
        placed(geom, self.sheet.chains.shift[item.body] * item.pose)
        geom.attributes |= {"contype": "0", "conaffinity": "0", "group": str(HIDDEN_GROUP), "mass": "0"}
        tendon.add("geom", geom=name)
        if item.side is not None:
            site = self._site_at(f"{name}_side", item.body, Pose(item.side), point=True)
            tendon.children[-1].attributes["sidesite"] = site

    # ------------------------------------------------------------------ actuators

    def _actuator(self, a: JointActuator | BodyActuator) -> None:
        element = Element("general", {"name": a.name})
        if isinstance(a, BodyActuator):
            torque, force = np.array(a.wrench).reshape(2, 3)
            on_body = [name for name, (body, _, _) in self.sites.items() if body == a.body]
            site = on_body[0] if on_body else self._make(f"{a.name}_site", a.body, Pose())
            X = self.sites[site][1]
            torque = X.rotation.T @ (torque - np.cross(X.position, force))
            element.attributes |= {"site": site, "gear": numbers((*(X.rotation.T @ force), *torque))}
        else:
            if any(t.name == a.coordinate for t in self.sheet.robot.tendons):
                element.attributes |= {"tendon": a.coordinate, "gear": numbers([a.gear])}
                self._law(a, element)
                return
            axis, k = self.sheet.chains.axes[a.coordinate]
            if axis.primitive.motion == Motion.FREE:
                self.sheet.refuse("actuator", a.name, "that a motor drives a free joint")
                return
            gear = [0.0] * 3
            gear[k] = a.gear
            element.attributes |= {"joint": axis.name, "gear": numbers(gear if axis.primitive.nv > 1 else [a.gear])}
        self._law(a, element)

    def _law(self, a: JointActuator | BodyActuator, element: Element) -> None:
        """Limits, activation and feedback of an actuator."""
        if np.isfinite([a.lower, a.upper]).any():
            if a.lower >= a.upper:
                self.sheet.refuse("limit", a.name, "that the lower limit of a control is its upper one")
            else:
                element.attributes |= {"ctrllimited": "true", "ctrlrange": numbers((a.lower, a.upper))}
        if a.activation is not None:
            words = {"filter": "filterexact", "integrator": "integrator", "muscle": "muscle"}
            element.attributes["dyntype"] = words[a.activation.kind]
            if a.activation.kind == "filter":
                element.attributes["dynprm"] = numbers([a.activation.time_constant])
            elif a.activation.kind == "muscle":
                times = a.activation.time_constant, a.activation.release, a.activation.smooth
                element.attributes["dynprm"] = numbers(times)
            if np.isfinite([a.activation.lower, a.activation.upper]).any():
                element.attributes |= {
                    "actlimited": "true",
                    "actrange": numbers((a.activation.lower, a.activation.upper)),
                }
        if isinstance(a, Servo):
            gain = a.gain if a.gain is not None else a.kp if a.kp > 0.0 else a.kv
            element.attributes |= {
                "gainprm": numbers([gain]),
                "biastype": "affine",
                "biasprm": numbers((a.kp * a.rest, -a.kp, -a.kv)),
            }
        if isinstance(a, Muscle):
            curves = numbers((*a.range, a.peak, 1.0, a.lmin, a.lmax, a.vmax, a.fpmax or 1.0, a.fvmax))
            element.attributes |= {"gaintype": "muscle", "gainprm": curves}
            if a.fpmax:
                element.attributes |= {"biastype": "muscle", "biasprm": curves}
            element.attributes["lengthrange"] = numbers(a.length_range)
        if isinstance(a, Servo | Muscle) and a.force_limits is not None:
            element.attributes |= {"forcelimited": "true", "forcerange": numbers(a.force_limits)}
        self.actuator.children.append(element)

    # ------------------------------------------------------------------ sensors

    def _sensor(self, s: Sensor) -> None:
        element = Element("", {"name": s.name})
        for table in (OF_JOINTS, OF_SITES, OF_FRAMES, {"subtreecom": "center_of_mass"}):
            element.tag = next((word for word, kind in table.items() if kind == s.kind), element.tag)
        if s.cutoff:
            element.attributes["cutoff"] = numbers([s.cutoff])
        if s.kind in OF_JOINTS.values():
            axis, _ = self.sheet.chains.axes.get(s.target, (None, 0))
            if axis is None or axis.primitive.nv > 1:
                self.sheet.refuse("sensor", s.name, "that one axis of a ball or free joint is measured")
                return
            element.attributes["joint"] = axis.name
        elif s.kind in OF_SITES.values():
            element.attributes["site"] = self._measured(s)
        elif s.kind == "center_of_mass":
            body = self.sheet.robot.frame(s.target).body
            if body == WORLD:
                self.sheet.refuse("sensor", s.name, "the centre of mass of the world")
                return
            element.attributes["body"] = body
        else:
            for name, words in ((s.target, ("objtype", "objname")), (s.reference, ("reftype", "refname"))):
                if name == WORLD and words[0] == "reftype":
                    continue
                kind, known = self._object(name)
                element.attributes |= {words[0]: kind, words[1]: known}
        self.sensor.children.append(element)

    def _object(self, name: str) -> tuple[str, str]:
        """Kind and name of what the file has for a frame or body."""
        if name in self.sites:
            return "site", name
        if self.sheet.chains.shift.get(name, Pose()).is_identity:
            return "xbody", name
        return "site", self._make(name, name, Pose())

    def _measured(self, s: Sensor) -> str:
        """Site of a sensor, with the zone that it feels."""
        if s.target in self.sites:
            site = s.target
        else:
            frame: Frame = self.sheet.robot.frame(s.target)
            site = self._make(s.target, frame.body, frame.pose)
        if s.kind != "touch":
            return site
        zone = _zone(s.zone or EVERYWHERE)
        element = self.sites[site][2]
        if any(element.get(word) not in (None, value) for word, value in zone.items()):
            site = self._site(f"{s.name}_site", *self.sites[site][:2])
            element = self.sites[site][2]
        element.attributes |= zone
        return site


def _zone(shape: Shape) -> dict[str, str]:
    if isinstance(shape, Box):
        return {"type": "box", "size": numbers(0.5 * x for x in shape.size)}
    if isinstance(shape, Capsule | Cylinder):
        return {"type": shape.kind, "size": numbers((shape.radius, 0.5 * shape.length))}
    assert isinstance(shape, Sphere)
    return {"type": "sphere", "size": numbers([shape.radius])}
