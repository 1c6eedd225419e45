"""Writing MJCF, so that `mjcf_reader` reads the same robot back."""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from leastaction._files._output import check_output, writing
from leastaction.contact.point_shapes import shapes_of_point
from leastaction.errors import FormatError
from leastaction.formats._files import Notes, with_article
from leastaction.formats._xml import Element, write_xml
from leastaction.formats.mjcf._mjcf_bodies import Names
from leastaction.formats.mjcf._mjcf_chains import Axis, Chains
from leastaction.formats.mjcf._mjcf_extension import EXTENSION, extension
from leastaction.formats.mjcf._mjcf_joint_forces import bears
from leastaction.formats.mjcf._mjcf_text import numbers, placed
from leastaction.formats.mjcf._mjcf_written_elements import Written
from leastaction.formats.mjcf._mjcf_written_geoms import WrittenGeoms
from leastaction.mechanism import Inertia, Mechanism, Pose
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.drives.gravity_compensation import shares
from leastaction.mechanism.inertia import ROUND_OFF
from leastaction.mechanism.joints import Motion

SMALLEST = 1e-15
"""Mass and moments below which MuJoCo refuses a body that moves (mjMINVAL)."""

LEAST_MASS = 1e-9
"""Mass for MuJoCo of a body that moves and has none [kg]."""

NARROW = 1e-9
"""Least width of limits for MuJoCo [rad or m], and least range of torques [N m or N]."""

TAGS = {Motion.REVOLUTE: "hinge", Motion.PRISMATIC: "slide", Motion.SPHERICAL: "ball", Motion.FREE: "free"}


def save_mjcf(robot: Mechanism, path: str | PathLike[str], *, lossy: bool = False) -> None:
    """Write a robot as MJCF; `load_mjcf` reads the same robot back, and MuJoCo one that moves as it does.

    The robot's home is the pose of the file: `ref` of hinges and slides, the place of free bodies. Composite joints
    become several joints of one body, which read back as a composite joint called like the body. Loops become `connect`
    or `weld` between sites, hinges in loops two of them; springs and cables become tendons, frames sites.

    Contact points that no shape stands for are balls that touch the ground alone, by pairs with its geoms, a point one
    of a micrometre. What MJCF has no words for and other programs may ignore is in a `<custom>` text that `load_mjcf`
    reads: the points themselves, velocity limits, springs of limits, where ball joints start, prescribed joints (bodies
    whose poses are prescribed are mocap bodies), and that points of loops slide along an axis (MuJoCo holds them;
    planar loops do not need that freedom). Inertias that MuJoCo refuses are there, too; it gets the nearest that it
    takes, with a warning where that matters. Meshes and height fields are part of the file; MuJoCo keeps them in single
    precision. A body on a ball or free joint with a `child_pose` that turns it has its frame moved to the joint's.

    Args:
        robot: what to write.
        path: of the file to write; its folder must exist.
        lossy: leave out, with one warning, what MJCF cannot say: external wrenches, drags and other forces, penalty and
            rolling contacts, restitution, moving surfaces, limits and unequal properties of ball and free joints,
            motors of free joints.

    Raises:
        FormatError: MJCF cannot say it; names the element. Nothing is written then.
    """
    if not isinstance(robot, Mechanism):
        raise FormatError(f"save_mjcf needs a Mechanism, got {robot!r}")
    if not isinstance(lossy, bool):
        raise FormatError(f"lossy must be True or False, got {lossy!r}")
    path = check_output(path)
    sheet = Sheet(robot, path, lossy)
    text, _ = write_xml(_document(sheet))
    with writing(path) as part:
        part.write_text(text, "utf-8")
    sheet.notes.warn()


class Sheet:
    """What is written, and what is said of that which cannot be."""

    def __init__(self, robot: Mechanism, path: Path, lossy: bool) -> None:
        self.robot = robot
        self.path = path
        self.lossy = lossy
        self.notes = Notes(path)
        self.root = Element("mujoco", {"model": robot.name}, file=str(path))
        self.chains = Chains(robot, self.error)
        self.bodies: dict[str, Element] = {}
        self.geom_names = Names()
        self.inertias: dict[str, Inertia] = {}  # those that MuJoCo refuses
        self.compensated = shares(robot)
        self.largest = max(float(np.linalg.eigvalsh(body.inertia.matrix)[-1]) for body in robot.bodies)

    def error(self, what: str, name: str, why: str) -> FormatError:
        """That MJCF cannot say something which a robot cannot do without."""
        return FormatError(f"MJCF cannot say {why}", file=self.path, element=f'{what} "{name}"')

    def refuse(self, what: str, name: str, why: str) -> None:
        """Leave something out, or raise."""
        if not self.lossy:
            hint = "pass lossy=True to leave it out with a warning"
            raise FormatError(f"MJCF cannot say {why}; {hint}", file=self.path, element=f'{what} "{name}"')
        self.notes.left_out(what, name)


def _document(sheet: Sheet) -> Element:
    robot, root = sheet.robot, sheet.root
    _refuse_elements(sheet)
    root.add("compiler", angle="radian", inertiafromgeom="false")
    root.add("option", gravity=numbers(robot.gravity))
    sheet.bodies[WORLD] = root.add("worldbody")
    geoms = WrittenGeoms(sheet)
    geoms.write(WORLD, robot.ground)
    for body, joint in zip(robot.bodies, robot.joints, strict=True):
        if body.name in sheet.chains.absorbed:
            continue
        chain = sheet.chains.of(body.name)
        element = sheet.bodies[chain.parent].add("body", name=body.name)
        sheet.bodies[body.name] = element
        placed(element, chain.pose)
        for wrench in robot.wrenches:
            if wrench.body == body.name and wrench.name in sheet.compensated:
                element.attributes["gravcomp"] = numbers([sheet.compensated[wrench.name]])
        _inertial(sheet, element, body.name, body.inertia.moved(sheet.chains.shift[body.name]), bool(joint.nv))
        if body.name in robot.prescribed and joint.kind == "free":
            element.attributes["mocap"] = "true"
        else:
            for axis in chain.axes:
                _joint(sheet, element, axis)
        geoms.write(body.name, body.shapes)
        for point in robot.contacts:
            if point.body == body.name and not shapes_of_point(point, body.shapes):
                geoms.write_point(point)
    elements = Written(sheet)
    elements.write()
    if robot.excluded_contacts or robot.contact_pairs or geoms.points:
        contact = root.add("contact")
        geoms.pairs(contact)
        for first, second in robot.excluded_contacts:
            contact.add("exclude", body1=first, body2=second)
    root.children += [s for s in (geoms.assets, *elements.sections()) if s.children]
    text = extension(
        robot, sheet.chains, elements.made, sheet.inertias, elements.made_geoms + [name for _, name in geoms.points]
    )
    root.add("custom").add("text", name=EXTENSION, data=text)
    return root


def _refuse_elements(sheet: Sheet) -> None:
    robot = sheet.robot
    kinds = {
        "external wrench": [w for w in robot.wrenches if w.name not in sheet.compensated],
        "force": robot.forces,
        "penalty contact": robot.penalties,
        "rolling contact": robot.rollings,
    }
    for what, elements in kinds.items():
        for element in elements:
            sheet.refuse(what, element.name, f"that a robot has {with_article(what)}")


def _inertial(sheet: Sheet, element: Element, name: str, inertia: Inertia, moves: bool) -> None:
    """Mass, principal moments and their axes; MuJoCo's own way to them from a matrix is less precise."""
    if inertia == Inertia() and not moves:
        return
    matrix = inertia.matrix
    moments, pose = inertia.principal()
    if np.array_equal(matrix, np.diag(np.diag(matrix))):
        moments, pose = np.diag(matrix).copy(), Pose(inertia.com)
    given, mass = moments.copy(), inertia.mass
    if moves and not _welded_mass(sheet.robot, name):
        mass, moments = max(mass, LEAST_MASS), np.maximum(moments, 2.0 * SMALLEST)
    moments = np.maximum(moments, 0.0)
    largest = int(np.argmax(moments))
    # MuJoCo refuses even what rounding makes of a thin rod.
    moments[largest] = min(moments[largest], np.delete(moments, largest).sum())
    if mass != inertia.mass or not np.array_equal(moments, given):
        sheet.inertias[name] = inertia
        if mass != inertia.mass or np.abs(moments - given).max() > max(1e-9 * given.max(), ROUND_OFF * sheet.largest):
            sheet.notes.add("for MuJoCo, inertias that it refuses, changed to the nearest it takes", name)
    child = element.add("inertial", pos=numbers(pose.position), mass=numbers([mass]))
    if pose.quaternion != (1.0, 0.0, 0.0, 0.0):
        child.attributes["quat"] = numbers(pose.quaternion)
    child.attributes["diaginertia"] = numbers(moments)


def _welded_mass(robot: Mechanism, name: str) -> bool:
    """Whether a body has parts welded to it that have mass and inertia, which MuJoCo then takes for it."""
    welded = [
        body for body, joint in zip(robot.bodies, robot.joints, strict=True) if joint.parent == name and not joint.nv
    ]
    return any(min(b.inertia.mass, *np.linalg.eigvalsh(b.inertia.matrix)) >= SMALLEST for b in welded)


def _joint(sheet: Sheet, body: Element, axis: Axis) -> None:
    kind = TAGS[axis.primitive.motion]
    element = body.add("joint", name=axis.name, type=kind)
    single = kind in ("hinge", "slide")
    if single:
        element.attributes["axis"] = numbers(axis.direction)
        if axis.ref:
            element.attributes["ref"] = numbers([axis.ref])
        low, high = axis.value("lower")[0], axis.value("upper")[0]
        if np.isfinite(low) or np.isfinite(high):
            element.attributes |= {"limited": "true", "range": numbers((low, max(high, low + NARROW)))}
        effort = axis.value("effort_limit")[0]
        dof = next(name for name, (own, _) in sheet.chains.axes.items() if own is axis)
        if np.isfinite(effort) and bears(sheet.robot, dof, effort):
            effort = max(effort, NARROW)
            element.attributes |= {"actuatorfrclimited": "true", "actuatorfrcrange": numbers((-effort, effort))}
    elif np.isfinite([*axis.value("lower"), *axis.value("upper")]).any():
        sheet.refuse("limit", axis.name, f"that the axes of a {kind} joint have limits")
    if kind in ("hinge", "ball") and any(axis.anchor):
        element.attributes["pos"] = numbers(axis.anchor)
    names = {"stiffness": "stiffness", "damping": "damping", "friction": "frictionloss", "armature": "armature"}
    for name, word in names.items():
        values = axis.value(name)
        if len(set(values)) > 1:
            sheet.refuse(name, axis.name, f"that a {kind} joint has another {name} about each axis")
        elif values[0]:
            element.attributes[word] = numbers(values[:1])
    if any(axis.joint.stiffness):
        if single and axis.rest[0]:
            element.attributes["springref"] = numbers(axis.rest)
        elif not single and any(axis.value("stiffness")) and axis.rest != axis.started:
            sheet.refuse(
                "spring", axis.name, f"that the spring of a {kind} joint rests elsewhere than in the file's pose"
            )
