"""Parameters of a mechanism by name: reading them, and mechanisms with other values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from leastaction.contact.point_shapes import gone_along
from leastaction.errors import MechanismError
from leastaction.mechanism import Joint, Mechanism, Pose, Servo
from leastaction.mechanism._check import real_array, shown, suggestion
from leastaction.mechanism.arguments import FloatArray, robot
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.elements import Attachment, Cable
from leastaction.mechanism.shapes import COEFFICIENTS
from leastaction.typing import Parameters

_INERTIA = {"mass": "mass", "com": "com", "inertia": "moments"}
_CONTACT = (*COEFFICIENTS, "radius", "point")
_SHAPE = (*COEFFICIENTS, "radius", "length", "size", "radii", "position", "rotation")
_PENALTY = ("stiffness", "damping", "friction", "stiction", "origin", "points")
_JOINT = ("stiffness", "damping", "rest", "armature", "friction", "lower", "upper", "limit_stiffness", "limit_damping")
_PATH = {"stiffness": "stiffness", "damping": "damping", "rest": "rest_length"}
_TENDON = ("stiffness", "damping")
_SERVO = ("kp", "kv")
_MUSCLE = ("peak",)
_OTHER = ("gravity", "wrench", "position", "rotation")


def parameter_names(parameters: Any) -> list[str]:
    """Names of parameters as a list; one name stands for itself."""
    if isinstance(parameters, str):
        return [parameters]
    several: list[Any] = list(parameters) if isinstance(parameters, Iterable) else [None]
    if not all(isinstance(name, str) for name in several):
        raise MechanismError(f"parameters: expected names such as 'mass:link1', got {shown(parameters)}")
    return several


def parameter(mechanism: Mechanism, name: str) -> FloatArray:
    """The value of a parameter such as "mass:link1" (see `adjoint`), a number or a vector; turns are zero."""
    robot(mechanism)
    if not isinstance(name, str):
        raise MechanismError(f"name: expected that of a parameter, such as 'mass:link1', got {shown(name)}")
    kind, _, part = name.partition(":")
    for force in mechanism.forces:
        if force.name == part and kind in (*force.PARAMETERS, "point"):
            return np.array(getattr(force, kind))
    if kind in _SERVO:
        return np.array(getattr(_servo(mechanism, part), kind))
    if kind in _MUSCLE:
        return np.array(getattr(_named(mechanism.muscles, part, "muscle"), kind))
    kinds = dict.fromkeys((*_SERVO, *_MUSCLE, *_INERTIA, *_OTHER, *_CONTACT, *_SHAPE, *_PENALTY, *_JOINT))
    if kind not in kinds:
        raise MechanismError(f"there is no parameter {name!r}{suggestion(kind, kinds)}")
    if kind == "gravity":
        return np.array(mechanism.gravity)
    if kind in _INERTIA:
        body = mechanism.bodies[_body(mechanism, part)]
        return np.array(getattr(body.inertia, _INERTIA[kind]))
    if kind == "wrench":
        return np.array(_named(mechanism.wrenches, part, "external wrench").wrench)
    paths = [e for e in (*mechanism.springs, *mechanism.cables) if e.name == part]
    if paths and kind in _PATH:
        return np.array(getattr(paths[0], _PATH[kind]))
    if paths and kind == "points":
        return np.array([a.point for a in _attachments(paths[0])])
    tendons = [t for t in mechanism.tendons if t.name == part]
    if tendons and kind in _TENDON:
        return np.array(getattr(tendons[0], kind))
    points = [x for x in mechanism.contacts if x.name == part]
    if points and kind in _CONTACT:
        return np.array(getattr(points[0], kind))
    penalties = [x for x in mechanism.penalties if x.name == part]
    if penalties and kind in _PENALTY:
        return np.array(getattr(penalties[0], kind))
    found = _shape(mechanism, kind, part)
    if found is not None:
        return _of_shape(mechanism, kind, *found)
    joint = mechanism.joint(part)
    if kind == "position":
        return np.array(joint.pose.position)
    if kind == "rotation":
        return np.zeros(3)
    if kind in _JOINT:
        return np.array(getattr(joint, kind))
    raise MechanismError(f"there is no parameter {name!r}; see the documentation of leastaction.adjoint")


def with_parameters(mechanism: Mechanism, values: Parameters) -> Mechanism:
    """A mechanism with other values of some parameters (see `adjoint`); turns come on top of the joint's own."""
    robot(mechanism)
    if not isinstance(values, Mapping):
        raise MechanismError(f"values: expected values by names of parameters, got {shown(values)}")
    for name, value in values.items():
        numbers, size = real_array(value), parameter(mechanism, name).size
        if numbers is None or numbers.size != size:
            raise MechanismError(f"parameter {name!r}: expected {size} numbers, got {shown(value)}")
        try:
            mechanism = _with(mechanism, name, numbers)
        except MechanismError as error:
            raise MechanismError(f"parameter {name!r}: {error}") from None
    return mechanism


def _with(m: Mechanism, name: str, value: FloatArray) -> Mechanism:
    kind, _, part = name.partition(":")
    entries = tuple(value.ravel().tolist())
    if kind == "gravity":
        return m.replace(gravity=entries)
    if any(f.name == part and kind in (*f.PARAMETERS, "point") for f in m.forces):
        return m.replace(forces=_exchanged(m.forces, part, **{kind: entries if kind == "point" else entries[0]}))
    if kind in (*_SERVO, *_MUSCLE):
        return m.replace(actuators=_exchanged(m.actuators, part, **{kind: entries[0]}))
    if kind in _INERTIA:
        k = _body(m, part)
        body = m.bodies[k]
        own = entries[0] if kind == "mass" else entries
        body = replace(body, inertia=replace(body.inertia, **{_INERTIA[kind]: own}))
        return m.replace(bodies=(*m.bodies[:k], body, *m.bodies[k + 1 :]))
    if kind == "wrench":
        _named(m.wrenches, part, "external wrench")
        return m.replace(wrenches=_exchanged(m.wrenches, part, wrench=entries))
    if kind in _PATH and any(e.name == part for e in (*m.springs, *m.cables)):
        change = {_PATH[kind]: entries[0]}
        return m.replace(springs=_exchanged(m.springs, part, **change), cables=_exchanged(m.cables, part, **change))
    if kind == "points" and any(e.name == part for e in (*m.springs, *m.cables)):
        return m.replace(
            springs=tuple(_moved(e, value) if e.name == part else e for e in m.springs),
            cables=tuple(_moved(e, value) if e.name == part else e for e in m.cables),
        )
    if kind in _TENDON and any(t.name == part for t in m.tendons):
        return m.replace(tendons=_exchanged(m.tendons, part, **{kind: entries[0]}))
    if kind in _CONTACT and any(x.name == part for x in m.contacts):
        own = entries if kind == "point" else entries[0]
        return m.replace(contacts=_exchanged(m.contacts, part, **{kind: own}))
    if kind in _PENALTY and any(x.name == part for x in m.penalties):
        own = entries if kind == "origin" else entries[0]
        if kind == "points":
            own = tuple(map(tuple, value.tolist()))
        return m.replace(penalties=_exchanged(m.penalties, part, **{kind: own}))
    found = _shape(m, kind, part)
    if found is not None:
        return _with_shape(m, kind, *found, value)
    change = _of_joint(m.joint(part), kind, value)
    if change is None:
        raise MechanismError(f"there is no parameter {name!r}; see the documentation of leastaction.adjoint")
    return m.replace(joints=_exchanged(m.joints, part, **change), loops=_exchanged(m.loops, part, **change))


def _of_joint(joint: Joint, kind: str, value: FloatArray) -> dict[str, Any] | None:
    """What a parameter of a joint changes in it."""
    placement, entries = joint.pose, tuple(value.ravel().tolist())
    if kind == "rest":
        k = 0
        for p in joint.primitives:
            k += p.nq
            if p.nq > p.nv:  # a quaternion, of which only the direction counts
                turn = value[k - 4 : k] / np.linalg.norm(value[k - 4 : k])
                entries = (*entries[: k - 4], *turn.tolist(), *entries[k:])
    if kind in ("position", "rotation"):
        return {"pose": _displaced(placement, kind, value)}
    return {kind: entries} if kind in _JOINT else None


def _displaced(pose: Pose, kind: str, value: FloatArray) -> Pose:
    """A pose with another position, or turned about axes of the frame that it is given in."""
    if kind == "position":
        return Pose(tuple(value.tolist()), pose.quaternion)
    angle = float(np.linalg.norm(value))
    turn = Pose.from_axis_angle(value / angle, angle) if angle else Pose()
    return Pose(pose.position, (turn * Pose((0, 0, 0), pose.quaternion)).quaternion)


def _shape(m: Mechanism, kind: str, part: str) -> tuple[int, int] | None:
    """Body (-1: the world) and number of the shape BODY/NAME, or BODY/NUMBER among those of the body; None if none."""
    if kind not in _SHAPE or any(j.name == part for j in (*m.joints, *m.loops)):
        return None
    for i, name in enumerate((WORLD, *(b.name for b in m.bodies)), -1):
        own = part.removeprefix(f"{name}/")
        if own != part:
            shapes = _shapes(m, i)
            for k, shape in enumerate(shapes):
                if own in (shape.name, str(k)) and own:
                    return i, k
            names = ", ".join(f"{name}/{shape.name or k}" for k, shape in enumerate(shapes))
            raise MechanismError(f"unknown shape {part!r}; there is {names or 'none'}")
    return None


def _shapes(m: Mechanism, body: int) -> tuple[Any, ...]:
    return m.ground if body < 0 else m.bodies[body].shapes


def _of_shape(m: Mechanism, kind: str, body: int, k: int) -> FloatArray:
    """A parameter of a shape."""
    shape = _shapes(m, body)[k]
    if kind in ("position", "rotation"):
        return np.array(shape.pose.position) if kind == "position" else np.zeros(3)
    value = getattr(shape, kind, None)
    if value is None:
        raise MechanismError(f"{shape.kind} {shape.name!r} says no {kind}, so nothing can be differentiated by it")
    return np.array(value, float)


def _with_shape(m: Mechanism, kind: str, body: int, k: int, value: FloatArray) -> Mechanism:
    """A mechanism with another parameter of a shape, and of the contact points in it; masses stay what they are."""
    shapes = _shapes(m, body)
    _of_shape(m, kind, body, k)
    if kind in ("position", "rotation"):
        change: dict[str, Any] = {"pose": _displaced(shapes[k].pose, kind, value)}
    else:
        change = {kind: tuple(value.tolist()) if value.ndim else float(value)}
    changed = replace(shapes[k], **change)
    others = (*shapes[:k], changed, *shapes[k + 1 :])
    if body < 0:
        return m.replace(ground=others)
    owner = m.bodies[body]
    contacts = [gone_along(x, shapes, k, changed) if x.body == owner.name else x for x in m.contacts]
    bodies = (*m.bodies[:body], replace(owner, shapes=others), *m.bodies[body + 1 :])
    return m.replace(bodies=bodies, contacts=tuple(contacts))


def _attachments(path: Any) -> tuple[Attachment, ...]:
    """The points of a spring or cable."""
    return path.via if isinstance(path, Cable) else (path.start, path.end)


def _moved(path: Any, points: FloatArray) -> Any:
    """A spring or cable through other points of the same bodies."""
    ends = tuple(replace(a, point=tuple(x)) for a, x in zip(_attachments(path), points.tolist(), strict=True))
    return replace(path, via=ends) if isinstance(path, Cable) else replace(path, start=ends[0], end=ends[1])


def _exchanged(items: tuple[Any, ...], name: str, **changes: Any) -> tuple[Any, ...]:
    return tuple(replace(x, **changes) if x.name == name else x for x in items)


def _servo(m: Mechanism, name: str) -> Servo:
    actuator = _named(m.actuators, name, "actuator")
    if not isinstance(actuator, Servo):
        raise MechanismError(f"actuator {name!r} is no servo: it has neither kp nor kv")
    return actuator


def _body(m: Mechanism, name: str) -> int:
    k = m.body_index(name)
    if k < 0:
        raise MechanismError("the world has no inertia")
    return k


def _named(items: tuple[Any, ...], name: str, what: str) -> Any:
    for item in items:
        if item.name == name:
            return item
    raise MechanismError(f"unknown {what} {name!r}")
