"""Checks that need the whole mechanism."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING

import numpy as np

from leastaction.errors import LeastActionWarning, MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.drives.actuators import BodyActuator
from leastaction.mechanism.drives.servos import check_servos
from leastaction.mechanism.drives.tendons import check_tendons
from leastaction.mechanism.joints import SPLINES, Motion
from leastaction.mechanism.sensors import OF_JOINTS

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism


def validate(mechanism: Mechanism) -> None:
    """Refuse a mechanism that cannot move as described; the message names the culprit."""
    if not mechanism.bodies:
        raise MechanismError(f"mechanism {mechanism.name!r} has no bodies")
    for body in mechanism.bodies:
        if _check.label(body.name, "body") == WORLD:
            raise MechanismError("body 'world': this name is taken by the fixed world")
    _check_inertias(mechanism)
    _check_movable_masses(mechanism)
    _check_loops(mechanism)
    _check_names(mechanism)
    _check_references(mechanism)
    check_tendons(mechanism)
    check_servos(mechanism)
    _check_prescribed(mechanism)


def _check_inertias(mechanism: Mechanism) -> None:
    """Refuse mass distributions that no real body has; without `strict`, one warning names them all."""
    largest = max(float(np.linalg.eigvalsh(body.inertia.matrix)[-1]) for body in mechanism.bodies)
    complaints = ((body.name, body.inertia.complaint(largest)) for body in mechanism.bodies)
    wrong = [f"body {name!r}: {complaint}" for name, complaint in complaints if complaint]
    if wrong and mechanism.strict:
        raise MechanismError(f"{wrong[0]}; pass strict=False to keep it with a warning")
    if wrong:
        more = f" (and {len(wrong) - 1} more bodies)" if len(wrong) > 1 else ""
        text = f"{wrong[0]}{more}; kept as given, so energies and motions may be wrong"
        warnings.warn(text, LeastActionWarning, stacklevel=4)


def _check_movable_masses(mechanism: Mechanism) -> None:
    """A joint must move some inertia: mass for a translation, mass or moments for a rotation.

    A massless body between two joints is fine as long as something with mass hangs on it.
    """
    mass = [body.inertia.mass for body in mechanism.bodies]
    turning = [body.inertia.mass > 0.0 or any(body.inertia.moments) for body in mechanism.bodies]
    for i in range(len(mass) - 1, -1, -1):
        joint = mechanism.joints[i]
        slides = any(p.motion in (Motion.PRISMATIC, Motion.FREE, *SPLINES) for p in joint.primitives)
        driven = all(a > 0.0 for a in joint.armature)
        if not driven and (mass[i] <= 0.0 if slides else not turning[i]):
            raise MechanismError(
                f"body {joint.child!r}: joint {joint.name!r} moves it, but neither it nor anything it carries has "
                "mass; give it mass, or fix the joint"
            )
        if mechanism.parents[i] >= 0:
            mass[mechanism.parents[i]] += mass[i]
            turning[mechanism.parents[i]] = turning[mechanism.parents[i]] or turning[i]


def _check_loops(mechanism: Mechanism) -> None:
    """Joints that close loops have no coordinates in q, so neither inertias nor soft limits along them."""
    for joint in mechanism.loops:
        for field, what in (("armature", "an armature"), ("limit_stiffness", "soft limits")):
            if any(getattr(joint, field)):
                raise MechanismError(
                    f"joint {joint.name!r}: it closes a loop, where a joint cannot have {what}; a joint of the tree "
                    "can: a body hangs on the first joint that reaches it"
                )


def _check_names(mechanism: Mechanism) -> None:
    groups: dict[str, Iterable[str]] = {
        "coupling": (c.name for c in mechanism.couplings),
        "spring or cable": (e.name for e in (*mechanism.springs, *mechanism.cables)),
        "actuator": (a.name for a in mechanism.actuators),
        "external wrench": (w.name for w in mechanism.wrenches),
        "contact point": (c.name for c in mechanism.contacts),
        "rolling contact": (r.name for r in mechanism.rollings),
        "penalty contact": (p.name for p in mechanism.penalties),
        "force": (f.name for f in mechanism.forces),
        "frame": (f.name for f in mechanism.frames),
        "sensor": (s.name for s in mechanism.sensors),
        "tendon": (t.name for t in mechanism.tendons),
    }
    if any(joint.motions for joint in mechanism.joints):  # other names of coordinates are those of joints
        groups["coordinate"] = mechanism.coordinate_names
    for what, names in groups.items():
        _check.unique([_check.label(name, what) for name in names], what)


def _check_references(mechanism: Mechanism) -> None:
    def body(name: str, what: str) -> None:
        try:
            mechanism.body_index(name)
        except MechanismError as error:
            raise MechanismError(f"{what}: {error}") from None

    def movable(name: str, what: str) -> None:
        if name == WORLD:
            raise MechanismError(f"{what}: the world does not move; name a body")
        body(name, what)

    for spring in mechanism.springs:
        body(spring.start.body, f"spring {spring.name!r}")
        body(spring.end.body, f"spring {spring.name!r}")
        if spring.start == spring.end:
            raise MechanismError(f"spring {spring.name!r}: both ends are the same point")
    for cable in mechanism.cables:
        for point in cable.via:
            body(point.body, f"cable {cable.name!r}")
    pushed = (*mechanism.wrenches, *mechanism.penalties, *mechanism.forces)
    for element in (*pushed, *mechanism.contacts, *mechanism.rollings):
        movable(element.body, f"{type(element).__name__} {element.name!r}")
    for force in mechanism.forces:
        for name in force.bodies[1:]:
            body(name, f"{force.KIND} {force.name!r}")
    for frame in mechanism.frames:
        body(frame.body, f"frame {frame.name!r}")
    for sensor in mechanism.sensors:
        try:
            if sensor.kind == "joint_position":
                mechanism.coordinate_index(sensor.target)
            elif sensor.kind in OF_JOINTS:
                mechanism.velocity_index(sensor.target)
            else:
                mechanism.frame(sensor.target)
                mechanism.frame(sensor.reference)
        except MechanismError as error:
            raise MechanismError(f"sensor {sensor.name!r}: {error}") from None
    for pair in mechanism.excluded_contacts:
        first, second = _check.pair(pair, "excluded contact")
        for name in (first, second):
            body(name, "excluded contact")
        if first == second:
            raise MechanismError(f"excluded contact: {first!r} is named twice; name two bodies")
    for contact in mechanism.contact_pairs:
        for name, shape in zip((contact.first, contact.second), contact.shapes, strict=True):
            body(name, f"contact pair {contact.name}")
            shapes = mechanism.ground if name == WORLD else mechanism.bodies[mechanism.body_index(name)].shapes
            if shape and shape not in [own.name for own in shapes]:
                hint = _check.suggestion(shape, [own.name for own in shapes])
                raise MechanismError(f"contact pair {contact.name}: {name!r} has no shape {shape!r}{hint}")
    for actuator in mechanism.actuators:
        if isinstance(actuator, BodyActuator):
            movable(actuator.body, f"actuator {actuator.name!r}")
        elif actuator.coordinate not in (*mechanism.velocity_names, *(t.name for t in mechanism.tendons)):
            hint = _check.suggestion(actuator.coordinate, mechanism.velocity_names)
            raise MechanismError(f"actuator {actuator.name!r}: unknown degree of freedom {actuator.coordinate!r}{hint}")
    for coupling in mechanism.couplings:
        for name in (coupling.follower, coupling.leader):
            if name not in mechanism.coordinate_names:
                hint = _check.suggestion(name, mechanism.coordinate_names)
                raise MechanismError(f"coupling {coupling.name!r}: unknown coordinate {name!r}{hint}")
            if name not in mechanism.velocity_names:
                raise MechanismError(f"coupling {coupling.name!r}: {name!r} is part of a ball or free joint")


def _check_prescribed(mechanism: Mechanism) -> None:
    """Prescribed are coordinates of joints with one axis, and bodies that fly."""
    m = mechanism
    _check.unique([_check.label(name, "prescribed motion") for name in m.prescribed], "prescribed motion")
    for name in m.prescribed:
        if name in m.velocity_names and name in m.coordinate_names:
            continue
        if name in m.body_names:
            joint = m.joints[m.body_index(name)]
            if joint.kind == "free" and joint.parent == WORLD:
                continue
            raise MechanismError(
                f"prescribed motion {name!r}: its pose can be given where a free joint ties it to the world, "
                f"not a {joint.kind} joint to {joint.parent!r}"
            )
        if name in (*m.velocity_names, *m.coordinate_names):
            raise MechanismError(f"prescribed motion {name!r} is part of a ball or free joint; name the body")
        known = [*m.coordinate_names, *m.body_names]
        raise MechanismError(f"prescribed motion: no coordinate or body {name!r}{_check.suggestion(name, known)}")
    followers = {coupling.follower: coupling.name for coupling in m.couplings}
    for name in m.prescribed:
        if name in followers:
            raise MechanismError(f"prescribed motion {name!r}: the coupling {followers[name]!r} moves it already")
