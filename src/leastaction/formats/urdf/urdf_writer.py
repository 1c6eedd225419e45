"""Writing URDF, with the extensions that `urdf_reader` describes."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterable
from os import PathLike
from pathlib import Path

from leastaction._files._output import check_output, writing
from leastaction.errors import FormatError
from leastaction.formats._files import Notes, with_article
from leastaction.formats._xml import Element, write_xml
from leastaction.formats.urdf._urdf_shapes import DEFAULT_COLOR, SURFACE
from leastaction.mechanism import (
    Box,
    Capsule,
    Coupling,
    Cylinder,
    Frame,
    Inertia,
    Joint,
    Mechanism,
    Mesh,
    Pose,
    Shape,
    Sphere,
)
from leastaction.mechanism.building.graph import WORLD

TYPES = {
    "fixed": "fixed",
    "revolute": "revolute",
    "prismatic": "prismatic",
    "planar": "planar",
    "free": "floating",
    "spherical": "ball",
}
"""Our kinds of joints and their URDF types; a revolute joint without limits is `continuous`."""


def save_urdf(robot: Mechanism, path: str | PathLike[str], *, lossy: bool = False) -> None:
    """Write a robot as URDF; `load_urdf` reads the same robot back.

    Loops become `<loop_joint>`, couplings `<mimic>`, joint springs and armatures attributes of `<dynamics>`,
    friction (of sliding, spinning and rolling) and restitution of shapes a `<contact>`; other programs ignore what
    is not standard. Frames become links without mass, on fixed joints.
    Meshes are written as `.obj` files into the folder `<name>_meshes` beside the file. A link's
    frame sits at the joint that carries it: where a joint has a `child_pose`, the frame of its body moves there.

    Args:
        robot: what to write.
        path: of the file to write; its folder must exist.
        lossy: leave out, with one warning, what URDF cannot say: actuators, sensors, contact points, excluded contacts,
            springs and cables between bodies, tendons, external wrenches, prescribed motions, moving surfaces, groups,
            condim and priority of shapes, contact pairs, ground that is not a solid, gravity, nonlinear couplings.

    Raises:
        FormatError: URDF cannot say it; names the element. Nothing is written then.
    """
    if not isinstance(robot, Mechanism):
        raise FormatError(f"save_urdf needs a Mechanism, got {robot!r}")
    if not isinstance(lossy, bool):
        raise FormatError(f"lossy must be True or False, got {lossy!r}")
    path = check_output(path)
    notes = Notes(path)
    writer = _Writer(robot, path, notes, lossy)
    text, _ = write_xml(writer.write())
    for file, mesh in writer.meshes.items():
        with contextlib.suppress(OSError):  # `writing` says what is wrong with the folder
            (path.parent / file).parent.mkdir(exist_ok=True)
        with writing(path.parent / file) as part:
            part.write_text(_obj(mesh), "utf-8")
    with writing(path) as part:
        part.write_text(text, "utf-8")
    notes.warn()


def rpy(pose: Pose) -> tuple[float, float, float]:
    """Roll, pitch, yaw [rad] with R = Rz(yaw) Ry(pitch) Rx(roll), exact to rounding also at pitch = +-pi/2.

    With half angles, (w + y, z - x) = (cos p + sin p) (cos, sin) of (yaw - roll)/2 and
    (w - y, z + x) = (cos p - sin p) (cos, sin) of (yaw + roll)/2. Where one pair vanishes, its angle is
    arbitrary, and does no harm because it is multiplied by zero.
    """
    w, x, y, z = pose.quaternion
    half_difference = math.atan2(z - x, w + y)
    half_sum = math.atan2(z + x, w - y)
    a, b = math.hypot(w + y, z - x), math.hypot(w - y, z + x)
    return half_sum - half_difference, 2.0 * math.atan2(a - b, a + b), half_sum + half_difference


def _text(values: Iterable[float]) -> str:
    """Numbers that read back as the same floats."""
    return " ".join(repr(float(x)) for x in values)


def _surface(element: Element, shape: Shape) -> None:
    """Friction and restitution in Bullet's words, but for each shape."""
    words = {tag: getattr(shape, name) for tag, name in SURFACE.items()}
    given = {tag: value for tag, value in words.items() if value is not None}
    if given:
        contact = element.add("contact")
        for tag, value in given.items():
            contact.add(tag, value=_text([value]))


def _origin(parent: Element, pose: Pose, tag: str = "origin", **attributes: str) -> None:
    if tag != "origin" or not pose.is_identity:
        parent.add(tag, **attributes, xyz=_text(pose.position), rpy=_text(rpy(pose)))


def _obj(mesh: Mesh) -> str:
    lines = [f"v {_text(vertex)}" for vertex in mesh.vertices.tolist()]
    lines += [f"f {a + 1} {b + 1} {c + 1}" for a, b, c in mesh.faces.tolist()]
    return "\n".join(lines) + "\n"


class _Writer:
    def __init__(self, robot: Mechanism, path: Path, notes: Notes, lossy: bool) -> None:
        self.robot = robot
        self.path = path
        self.notes = notes
        self.lossy = lossy
        self.meshes: dict[str, Mesh] = {}
        self.root = Element("robot", {"name": robot.name}, file=str(path))
        # Pose of each body's frame in the frame of its link.
        self.shift = {WORLD: Pose()}
        for joint in robot.joints:
            self.shift[joint.child] = Pose() if joint.kind == "fixed" else joint.child_pose

    def write(self) -> Element:
        robot = self.robot
        self._refuse_elements()
        joints = robot.joints
        if self._root_is_implied():
            joints = joints[1:]
        else:
            self._shapes(self.root.add("link", name=WORLD), robot.ground, Pose())
        for body in robot.bodies:
            link = self.root.add("link", name=body.name)
            self._inertial(link, body.inertia.moved(self.shift[body.name]))
            self._shapes(link, body.shapes, self.shift[body.name])
        mimics = self._mimics()
        for joint in joints:
            self._joint(joint, mimics.get(joint.name))
        for loop in robot.loops:
            self._loop(loop)
        for frame in robot.frames:
            self._frame(frame)
        return self.root

    def _refuse(self, what: str, name: str, why: str) -> None:
        if not self.lossy:
            hint = "pass lossy=True to leave it out with a warning"
            raise FormatError(f"URDF cannot say {why}; {hint}", file=self.path, element=f'{what} "{name}"')
        self.notes.left_out(what, name)

    def _refuse_elements(self) -> None:
        robot = self.robot
        kinds = {
            "spring": robot.springs,
            "cable": robot.cables,
            "tendon": robot.tendons,
            "actuator": robot.actuators,
            "external wrench": robot.wrenches,
            "force": robot.forces,
            "contact point": robot.contacts,
            "sensor": robot.sensors,
        }
        for what, elements in kinds.items():
            for element in elements:
                self._refuse(what, element.name, f"that a robot has {with_article(what)}")
        for pair in robot.contact_pairs:
            self._refuse("contact pair", pair.name, "what holds between two shapes alone")
        for name in robot.prescribed:
            self._refuse("prescribed motion", name, "that a motion is prescribed")
        for first, second in robot.excluded_contacts:
            self._refuse("excluded contact", f"{first} - {second}", "that two links do not touch")
        followers = {coupling.follower for coupling in robot.couplings}
        for joint in robot.joints:
            if joint.nq == joint.nv == 1 and joint.name not in followers:
                nearest = min(max(0.0, joint.lower[0]), joint.upper[0])  # to zero within the limits: the reader's
                if joint.home[0] != nearest:
                    self._refuse("home", joint.name, f"that a joint starts at {joint.home[0]:g} and not at {nearest:g}")
        if robot.gravity != (0.0, 0.0, -9.81):
            self._refuse("mechanism", robot.name, f"that gravity is {robot.gravity}")

    def _root_is_implied(self) -> bool:
        """Whether the reader would weld the first body to the world just as it is here."""
        robot = self.robot
        base = robot.joints[0]
        alone = sum(joint.parent == WORLD for joint in robot.joints) == 1 and not robot.ground
        at_origin = base.pose.is_identity and base.child_pose.is_identity
        return alone and at_origin and base.kind == "fixed" and base.name == f"{base.child}_fixed"

    # ------------------------------------------------------------------ links

    def _inertial(self, link: Element, inertia: Inertia) -> None:
        if inertia == Inertia():
            return
        element = link.add("inertial")
        _origin(element, Pose(inertia.com))
        element.add("mass", value=_text([inertia.mass]))
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        element.add("inertia", **{n: _text([x]) for n, x in zip(names, inertia.moments, strict=True)})

    def _shapes(self, link: Element, shapes: tuple[Shape, ...], shift: Pose) -> None:
        for shape in shapes:
            if not isinstance(shape, Box | Sphere | Cylinder | Capsule | Mesh):
                self._refuse("shape", shape.name or shape.kind, f"that a body is {with_article(shape.kind)}")
                continue
            if not (shape.visual or shape.collision):
                self._refuse("shape", shape.name or shape.kind, "that a shape is neither seen nor touched")
                continue
            if shape.collision:
                self._refuse_contact(shape)
            geometry = self._geometry(shape)
            for tag in ("visual", "collision"):
                if not getattr(shape, tag):
                    continue
                element = link.add(tag, **({"name": shape.name} if shape.name else {}))
                _origin(element, shift * shape.pose)
                element.add("geometry").children.append(geometry)
                if shape.color != DEFAULT_COLOR:
                    element.add("material", name="").add("color", rgba=_text(shape.color))
                if tag == "collision":
                    _surface(element, shape)

    def _refuse_contact(self, shape: Shape) -> None:
        """Refuse what a shape says of contact and URDF cannot."""
        name = shape.name or shape.kind
        if any(shape.surface_velocity or ()):
            self._refuse("surface velocity", name, "that the surface of a shape moves")
        if (shape.groups, shape.touches) != (1, 1):
            self._refuse("contact group", name, "which groups of shapes touch")
        if shape.condim is not None or shape.priority:
            self._refuse("contact rule", name, "condim and priority of a shape")

    def _geometry(self, shape: Shape) -> Element:
        if isinstance(shape, Box):
            return Element("box", {"size": _text(shape.size)})
        if isinstance(shape, Mesh):
            file = f"{self.path.stem}_meshes/mesh{len(self.meshes)}.obj"
            self.meshes[file] = shape
            return Element("mesh", {"filename": file})
        if isinstance(shape, Sphere):
            return Element("sphere", {"radius": _text([shape.radius])})
        assert isinstance(shape, Cylinder | Capsule)
        return Element(shape.kind, {"radius": _text([shape.radius]), "length": _text([shape.length])})

    # ------------------------------------------------------------------ joints

    def _joint(self, joint: Joint, mimic: Coupling | None) -> None:
        element = self.root.add("joint", name=joint.name, type=self._type(joint))
        element.add("parent", link=joint.parent)
        element.add("child", link=joint.child)
        placement = self.shift[joint.parent] * joint.pose
        _origin(element, placement * joint.child_pose if joint.kind == "fixed" else placement)
        self._motion(element, joint)
        if mimic is not None:
            offset, ratio = (*mimic.coefficients, 0.0, 0.0)[:2]
            name = {} if mimic.name == f"{joint.name}_mimic" else {"name": mimic.name}
            element.add("mimic", joint=mimic.leader, multiplier=_text([ratio]), offset=_text([offset]), **name)

    def _loop(self, loop: Joint) -> None:
        element = self.root.add("loop_joint", name=loop.name, type=self._type(loop))
        _origin(element, self.shift[loop.parent] * loop.pose, "link1", link=loop.parent)
        _origin(element, self.shift[loop.child] * loop.child_pose.inverse(), "link2", link=loop.child)
        self._motion(element, loop)

    def _frame(self, frame: Frame) -> None:
        if frame.body == WORLD and self._root_is_implied():
            self._refuse("frame", frame.name, "that the world has a frame where the first link is fixed to it")
            return
        name = f"{frame.name}_frame" if frame.name in (WORLD, *self.robot.body_names) else frame.name
        self.root.add("link", name=name)
        element = self.root.add("joint", name=f"{name}_fixed", type="fixed")
        element.add("parent", link=frame.body)
        element.add("child", link=name)
        _origin(element, self.shift[frame.body] * frame.pose)

    def _type(self, joint: Joint) -> str:
        if joint.kind not in TYPES:
            known = ", ".join(TYPES)
            message = f"URDF cannot say that a joint is {joint.kind}; it knows {known}"
            raise FormatError(message, file=self.path, element=f'joint "{joint.name}"')
        unlimited = not any(map(math.isfinite, (*joint.lower, *joint.upper)))
        return "continuous" if joint.kind == "revolute" and unlimited else TYPES[joint.kind]

    def _motion(self, element: Element, joint: Joint) -> None:
        if joint.kind in ("revolute", "prismatic", "planar"):
            # A plane's normal is the axis of its rotation, which comes last.
            element.add("axis", xyz=_text(joint.primitives[-1].axis))
        default = Joint(joint.name, joint.kind, joint.parent, joint.child, joint.primitives)
        limits = {"lower": "lower", "upper": "upper", "effort_limit": "effort", "velocity_limit": "velocity"}
        dynamics = {
            "damping": "damping",
            "friction": "friction",
            "stiffness": "spring_stiffness",
            "rest": "spring_reference",
            "armature": "armature",
        }
        for tag, names in (("limit", limits), ("dynamics", dynamics)):
            given = {name for name in names if getattr(joint, name) != getattr(default, name)}
            if {"lower", "upper"} & given:
                given |= {"lower", "upper"}
            if given:
                element.add(tag, **{names[n]: _text(getattr(joint, n)) for n in names if n in given})

    def _mimics(self) -> dict[str, Coupling]:
        mimics: dict[str, Coupling] = {}
        names = {joint.name for joint in self.robot.joints}
        for c in self.robot.couplings:
            if any(c.coefficients[2:]):
                self._refuse("coupling", c.name, "that a joint follows another nonlinearly")
            elif c.follower in mimics:
                self._refuse("coupling", c.name, f"that {c.follower!r} follows two joints")
            elif c.follower not in names or c.leader not in names:
                self._refuse("coupling", c.name, "that one axis of a joint with several follows another")
            else:
                mimics[c.follower] = c
        return mimics
