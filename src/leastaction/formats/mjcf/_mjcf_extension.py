"""What MJCF has no words for, in a `<custom>` text that other programs ignore: contact points, limits, a home."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import TYPE_CHECKING, Any

from leastaction.errors import LeastActionError
from leastaction.formats._xml import Element
from leastaction.formats.mjcf._mjcf_joint_forces import bears
from leastaction.mechanism import ContactPair, ContactPoint, Inertia, Joint, Mechanism, Primitive, Spring
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.joints import Motion

if TYPE_CHECKING:
    from leastaction.formats.mjcf._mjcf_chains import Axis, Chains

EXTENSION = "leastaction"
"""Name of the text."""

PROPERTIES = ("velocity_limit", "effort_limit", "upper", "limit_stiffness", "limit_damping")
"""Properties of degrees of freedom that MJCF does not know, not of all joints, or not all values of."""


def extension(robot: Mechanism, chains: Chains, made: list[str], inertias: dict[str, Inertia], geoms: list[str]) -> str:
    """The text.

    Args:
        robot: what is written.
        chains: its joints in the file.
        made: names of sites and equalities that the file needs and the robot has not.
        inertias: of bodies, in the frames of the file, for which the file has others.
        geoms: names of geoms that tendons go around, and of those that stand for contact points.
    """
    stored: dict[str, Any] = {"contacts": [], "made": made, "springs": [spring.name for spring in robot.springs]}
    stored["geoms"] = geoms
    stored["loops"] = {
        loop.name: {"kind": loop.kind, "primitives": [[int(p.motion), p.axis] for p in loop.primitives]}
        for loop in robot.loops
        if loop.kind not in ("spherical", "fixed")
    }
    for contact in robot.contacts:
        point = chains.shift[contact.body].apply(contact.point)
        stored["contacts"].append(
            {f.name: getattr(contact, f.name) for f in fields(contact)} | {"point": list(point)},
        )
    # The reader takes the pairs of bodies with geoms that touch.
    touching = {b.name for b in robot.bodies if any(s.collision for s in b.shapes)}
    touching |= {WORLD} if any(s.collision for s in robot.ground) else set()
    stored["excluded"] = [pair for pair in robot.excluded_contacts if not touching.issuperset(pair)]
    stored["inertias"] = {name: [x.mass, x.com, x.moments] for name, x in inertias.items()}
    stored["tendons"] = {
        t.name: {name: getattr(t, name) for name in ("lower", "upper", "limit_stiffness", "limit_damping", "rigid")}
        for t in robot.tendons
        if t.is_limited
    }
    mocap = {b.name: j.name for b, j in zip(robot.bodies, robot.joints, strict=True) if b.name in robot.prescribed}
    stored["mocap"], stored["prescribed"] = mocap, list(robot.prescribed)
    stored["pairs"] = [{f.name: getattr(pair, f.name) for f in fields(pair)} for pair in robot.contact_pairs]
    axes = chains.all_axes()
    if any(axis.home != axis.started for axis in axes):
        stored["home"] = [x for axis in axes for x in axis.home]
    for name in PROPERTIES:
        values = {
            dof: axis.value(name)[k] for dof, (axis, k) in chains.axes.items() if not _said(robot, dof, axis, k, name)
        }
        if values:
            stored[name] = values
    return json.dumps({name: value for name, value in stored.items() if value or name == "contacts"})


def _said(robot: Mechanism, dof: str, axis: Axis, k: int, name: str) -> bool:
    """Whether the file says a property of degree of freedom k of a joint, or need not."""
    value, single = axis.value(name)[k], axis.primitive.nv == 1
    if name == "upper":
        return not single or value > axis.value("lower")[k]
    if name == "effort_limit" and single:
        return value > 0.0 and bears(robot, dof, value)
    return value == (0.0 if name.startswith("limit_") else float("inf"))


def restored(robot: Mechanism, text: Element | None, contacts: bool) -> Mechanism:
    """The robot with what the text adds; `contacts`: whether contact points are wanted."""
    if text is None:
        return robot
    try:
        stored = json.loads(text.required("data"))
        if contacts:
            robot = robot.replace(contacts=tuple(ContactPoint(**contact) for contact in stored.get("contacts", ())))
        excluded = dict.fromkeys((*robot.excluded_contacts, *map(tuple, stored.get("excluded", ()))))
        robot = robot.replace(excluded_contacts=tuple(excluded))
        robot = _renamed(robot, stored.get("mocap", {}))
        pairs = tuple(ContactPair(**(pair | {"shapes": tuple(pair["shapes"])})) for pair in stored.get("pairs", ()))
        robot = robot.replace(prescribed=tuple(stored.get("prescribed", ())), contact_pairs=pairs)
        bodies = {name: Inertia(*given) for name, given in stored.get("inertias", {}).items()}
        robot = robot.replace(bodies=tuple(replace(b, inertia=bodies.get(b.name, b.inertia)) for b in robot.bodies))
        limits = stored.get("tendons", {})
        tendons = tuple(replace(t, **limits.get(t.name, {})) for t in robot.tendons)
        robot = robot.replace(tendons=tendons)
        robot = _without(
            robot, set(stored.get("made", ())), set(stored.get("springs", ())), set(stored.get("geoms", ()))
        )
        return robot.replace(joints=_joints(robot, stored), loops=_loops(robot, stored.get("loops", {})))
    except (LeastActionError, ValueError, TypeError, AttributeError, KeyError) as error:
        raise text.error(f"the text of leastaction cannot be understood: {error}") from None


def _renamed(robot: Mechanism, mocap: dict[str, str]) -> Mechanism:
    """The robot with the names that joints of mocap bodies had."""
    named = {joint.child: joint for joint in robot.joints if joint.child in mocap}
    joints = tuple(replace(j, name=mocap[j.child]) if j.child in named else j for j in robot.joints)
    return robot.replace(joints=joints)


def _without(robot: Mechanism, made: set[str], springs: set[str], geoms: set[str]) -> Mechanism:
    """The robot without what the file needed, and with springs that tendons stand for."""
    if geoms:
        own = [
            tuple(s for s in shapes if s.name not in geoms)
            for shapes in (robot.ground, *(b.shapes for b in robot.bodies))
        ]
        bodies = tuple(replace(b, shapes=shapes) for b, shapes in zip(robot.bodies, own[1:], strict=True))
        robot = robot.replace(ground=own[0], bodies=bodies)
    cables = {cable.name: cable for cable in robot.cables}
    return robot.replace(
        frames=tuple(frame for frame in robot.frames if frame.name not in made),
        loops=tuple(loop for loop in robot.loops if loop.name not in made),
        cables=tuple(cable for cable in robot.cables if cable.name not in springs),
        springs=tuple(
            Spring(name, c.via[0], c.via[-1], c.stiffness, c.rest_length, c.damping)
            for name, c in cables.items()
            if name in springs
        ),
    )


def _loops(robot: Mechanism, stored: dict[str, Any]) -> tuple[Joint, ...]:
    """Loops of the kinds that they were."""
    loops = []
    for loop in robot.loops:
        if loop.name in stored:
            parts = tuple(Primitive(Motion(m), tuple(axis)) for m, axis in stored[loop.name]["primitives"])
            poses: dict[str, Any] = {"pose": loop.pose, "child_pose": loop.child_pose, "loop": True}
            loop = Joint(loop.name, stored[loop.name]["kind"], loop.parent, loop.child, parts, **poses)
        loops.append(loop)
    return tuple(loops)


def _joints(robot: Mechanism, stored: dict[str, Any]) -> tuple[Joint, ...]:
    """Joints with the properties that MJCF does not know, and where they start."""
    joints, first = [], 0
    for joint in robot.joints:
        dofs, changes = joint.velocity_names(), {}
        for name in PROPERTIES:
            by_dof = stored.get(name, {})
            if any(dof in by_dof for dof in dofs):
                given = getattr(joint, name)
                changes[name] = tuple(by_dof.get(dof, x) for dof, x in zip(dofs, given, strict=True))
        if "home" in stored:
            changes["home"] = tuple(stored["home"][first : first + joint.nq])
        first += joint.nq
        joints.append(replace(joint, **changes))
    return tuple(joints)
