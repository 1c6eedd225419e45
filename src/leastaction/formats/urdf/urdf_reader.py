"""Reading URDF.

The elements are read here, straight from the XML tree of `_xml`, so that a robot needs no extra package and
every complaint names its line. The readers of others reject common dialects (limits without effort, capsules,
`<loop_joint>`) or follow a file's references on their own; trimesh, which the extra `urdf` brings with
yourdfpy, reads the meshes.

Understood beyond the standard:

- `<loop_joint name type>` with `<link1 link xyz rpy>`, `<link2 link xyz rpy>` (the joint's frame in each
  link) and `<axis>`: a joint that closes a loop (Bruedigam's ConstrainedDynamics.jl, Dojo.jl);
- joint types `ball` (spherical) and `planaraxis` (planar) of the same authors, `spherical` (Bullet's);
- `<capsule radius length>`, as Drake and Dojo write it;
- `<dynamics>` with `spring_stiffness`, `spring_reference` (SDFormat's names) and `armature` (MuJoCo's);
  properties of joints with several axes as one number for all, or one for each;
- `<density value>` in place of mass and inertia: what `<collision>` describes is filled with it (Isaac Gym);
- `<contact>` of a link (Bullet's) or of a `<collision>` with `<lateral_friction value>`, `<restitution value>`;
- revolute joints without `<limit>` (said in a warning) or lower and upper: unlimited; the old `<joint_properties>`.

Ignored: transmissions but for the names of joints that they drive, Gazebo and ROS elements, safety controllers,
collision filters, textures.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from leastaction.errors import FormatError, MechanismError
from leastaction.formats._files import Folder, Notes, checked_options
from leastaction.formats._meshes import MeshFiles
from leastaction.formats._repair_inertia import repair_inertias
from leastaction.formats._room import with_room
from leastaction.formats._rounded_loops import closed_to_digits
from leastaction.formats._xml import MAX_BYTES, Element, read_xml
from leastaction.formats.merge import merge_fixed_bodies
from leastaction.formats.urdf._urdf_elements import inertia_of, limits_of, motion_of
from leastaction.formats.urdf._urdf_shapes import ShapeReader, pose_of
from leastaction.formats.urdf._urdf_unread import note_left_out
from leastaction.formats.urdf._xacro import expanded, macro
from leastaction.mechanism import Mechanism, MechanismBuilder
from leastaction.mechanism._check import suggestion
from leastaction.mechanism.building.graph import WORLD
from leastaction.warn import warn


def load_urdf(
    path: str | PathLike[str],
    *,
    floating_base: bool = False,
    merge_fixed: bool = False,
    strict: bool = False,
    meshes: bool = True,
    allow_outside: bool = False,
    package_dirs: Sequence[str | PathLike[str]] = (),
    max_bytes: int = MAX_BYTES,
    xacro_args: Mapping[str, object] | None = None,
) -> Mechanism:
    """Read a URDF file, or one with macros of xacro (`pip install "leastaction[xacro]"`).

    The root link is welded to the world by a joint called `<root>_fixed`, or flies on one called
    `<root>_free`; a root link called "world", also one that only joints name, is the world itself. Joints keep the
    order of the file, depth first. The robot's home has joints at zero, or at the limit nearest to it.

    Args:
        path: of the file.
        floating_base: let the root link fly. Controls then drive joints, not the base: one actuator for each joint with
            an axis, or for those with a `<transmission>` if there are any, within `<limit effort>`.
        merge_fixed: make one body of each group of bodies that fixed joints hold together.
        strict: refuse inertias that no real body has, instead of keeping them with a warning, and bodies that a joint
            moves but that have none, instead of giving them that of a ball of water (of 1 cm, where there is no mass).
            What they miss by round-off does not count.
        meshes: read mesh files; those that are missing or cannot be read are omitted with one warning.
        allow_outside: let the file name meshes by absolute paths.
        package_dirs: folders in which the packages of `package://` lie, beside the folders above the file and those of
            the environment variable ROS_PACKAGE_PATH.
        max_bytes: limit of the size of each file.
        xacro_args: values of the file's `<xacro:arg>` by name. Packages of `$(find ...)` are looked for as those of
            meshes; lines in messages are then those of the expanded text.

    Raises:
        FormatError: naming the file, the line and the element.
    """
    flags = {"floating_base": floating_base, "merge_fixed": merge_fixed, "strict": strict, "meshes": meshes}
    path = checked_options(path, max_bytes, allow_outside=allow_outside, **flags)
    root = read_xml(path, max_bytes)
    if root.tag != "robot":
        raise root.error("a URDF file has the root element <robot>")
    notes = Notes(path)
    folder = Folder.of(path, allow_outside, max_bytes, _folders(package_dirs))
    if macro(root) is not None or xacro_args is not None:
        root = expanded(path, root, folder, xacro_args or {})
    files = MeshFiles(folder, notes) if meshes else None
    note_left_out(root, notes)
    robot = _Reader(root, files, notes, strict, floating_base).read()
    notes.warn()
    return merge_fixed_bodies(robot) if merge_fixed else robot


def _implied_world(root: Element) -> Element | None:
    """The first `<parent link="world"/>`: files for Drake tie robots to a world that no `<link>` declares."""
    parents = (joint.find("parent") for joint in root.all("joint"))
    return next((p for p in parents if p is not None and p.get("link") == WORLD), None)


def _folders(given: Any) -> tuple[Path, ...]:
    """`package_dirs` as paths."""
    try:
        return (Path(given),) if isinstance(given, str | PathLike) else tuple(Path(x) for x in given)
    except TypeError:
        raise FormatError(f"package_dirs: expected paths of folders, got {given!r}") from None


@contextmanager
def _at(element: Element) -> Iterator[None]:
    """Turns a `MechanismError` into a `FormatError` at `element`."""
    try:
        yield
    except MechanismError as error:
        # The error names the joint or body itself; the label does so too.
        message = re.sub(r"^(joint|body|coupling) '.*?': ", "", str(error))
        raise element.error(message) from None


class _Reader:
    def __init__(
        self, root: Element, meshes: MeshFiles | None, notes: Notes, strict: bool, floating_base: bool
    ) -> None:
        self.root = root
        self.notes = notes
        self.floating_base = floating_base
        self.shapes = ShapeReader(root, meshes, notes)
        self.links = _by_name(root.all("link"))
        self.joints = _by_name([*root.all("joint"), *root.all("loop_joint")])
        if (parent := _implied_world(root)) is not None:
            self.links.setdefault(WORLD, parent)
        self.builder = MechanismBuilder(root.get("name") or notes.file.stem, strict=strict)

    def read(self) -> Mechanism:
        base, order = self._tree()
        for name, link in self.links.items():
            self._link(name, link)
        self._base(base)
        for joint in order:
            self._joint(joint)
        for loop in self.root.all("loop_joint"):
            self._loop(loop)
        for joint in order:
            self._mimic(joint)
        if self.floating_base:
            self._check_floating(base)
            self._actuators(order)
        if not self.root.all("loop_joint"):
            self._home(order)
        if not self.builder.strict:
            repair_inertias(self.builder, self.notes.file)
        try:
            return closed_to_digits(with_room(self.builder.build(), self.notes.file), self.notes.file)
        except MechanismError as error:
            raise self._located(error) from None

    def _tree(self) -> tuple[str, list[Element]]:
        """The root link's name and the joints, depth first from it."""
        carrier: dict[str, Element] = {}
        children: dict[str, list[Element]] = {}
        for joint in self.root.all("joint"):
            parent, child = self._end(joint, "parent"), self._end(joint, "child")
            if child in carrier:
                first = carrier[child]
                which = f"link {child!r} already hangs on {first.label} (line {first.line})"
                raise joint.error(f"{which}; close the loop with a <loop_joint>")
            carrier[child] = joint
            children.setdefault(parent, []).append(joint)
        roots = [name for name in self.links if name not in carrier]
        if not self.links:
            raise self.root.error("has no <link>")
        if not roots:
            raise self.root.error("has no root: every link is the child of a joint, so they form a cycle")
        if len(roots) > 1:
            link, other = self.links[roots[1]], self.links[roots[0]]
            which = f"no joint carries it, nor {other.label} (line {other.line})"
            raise link.error(f"{which}; a robot has one root link")
        order: list[Element] = []
        stack = list(reversed(children.get(roots[0], [])))
        while stack:
            joint = stack.pop()
            order.append(joint)
            stack.extend(reversed(children.get(self._end(joint, "child"), [])))
        if len(order) < len(carrier):
            reached = {id(joint) for joint in order}
            lost = next(joint for joint in carrier.values() if id(joint) not in reached)
            raise lost.error(f"is part of a cycle that does not hang on the root link {roots[0]!r}")
        return roots[0], order

    def _end(self, joint: Element, role: str) -> str:
        """Name of the link that `<parent>`, `<child>`, `<link1>` or `<link2>` of a joint means."""
        end = joint.find(role)
        if end is None:
            raise joint.error(f"has no <{role}>")
        name = end.required("link")
        if name not in self.links and not (name == WORLD and joint.tag == "loop_joint"):
            raise end.error(f"{role} link {name!r} does not exist{suggestion(name, self.links)}")
        return name

    def _link(self, name: str, link: Element) -> None:
        shapes = self.shapes.read(link)
        inertial = link.find("inertial")
        with _at(link):
            if name == WORLD:
                for shape in shapes:
                    self.builder.add_shape(WORLD, shape)
            else:
                self.builder.body(name, inertia=inertia_of(inertial, shapes), shapes=shapes)

    def _check_floating(self, base: str) -> None:
        """Refuse a flying base that nothing holds against the one joint on it: it is meant to be fixed."""
        bodies = {body.name: body.inertia for body in self.builder.bodies}
        own, moving = {base}, []
        for joint in self.builder.joints:
            if joint.loop or joint.primitives:
                moving += [joint.name] if own & {joint.parent, joint.child} and joint.parent != WORLD else []
            elif joint.parent in own:
                own.add(joint.child)
        if len(moving) != 1 or any(bodies[name].mass > 0.0 for name in own):
            return
        why = f"no inertia, and nothing would hold it against joint {moving[0]!r}"
        if any(bodies[name].matrix.any() for name in own):
            why = "moments of inertia but no mass, by which files say that it is fixed"
        raise self.links[base].error(
            f"the root link has {why}, so it cannot float; give it an <inertial> with mass, or leave it fixed "
            "(floating_base=False)"
        )

    def _base(self, name: str) -> None:
        if WORLD in self.links and name != WORLD:
            raise self.links[WORLD].error("only the root link may be called 'world'")
        if name == WORLD:
            if self.floating_base:
                raise self.links[name].error("the root link is the world, so it cannot float")
            return
        joint = f"{name}_free" if self.floating_base else f"{name}_fixed"
        while joint in self.joints:
            joint += "_"
        self.builder.joint(joint, "free" if self.floating_base else "fixed", WORLD, name)

    def _look_for_degrees(self, joint: Element) -> None:
        """Warn of limits that are angles in degrees, as far as can be seen."""
        limits = limits_of(joint, "revolute", 1)
        angles = [x for name in ("lower", "upper") for x in limits.get(name, ())]
        if any(30.0 <= abs(x) <= 360.0 for x in angles) and all(x % 5.0 == 0.0 and abs(x) != 100.0 for x in angles):
            low, high = angles
            warn(
                f"{self.notes.file}:{joint.line}: joint {joint.required('name')!r} turns from {low:g} to {high:g} rad; "
                "URDF has angles in radians, and these look like degrees"
            )

    def _joint(self, joint: Element) -> None:
        if joint.get("type") in ("revolute", "prismatic") and joint.find("limit") is None:
            self.notes.add("limits of joints whose type needs a <limit>, which move freely", joint.required("name"))
        if joint.get("type") == "revolute":
            self._look_for_degrees(joint)
        with _at(joint):
            self.builder.joint(
                joint.required("name"),
                parent=self._end(joint, "parent"),
                child=self._end(joint, "child"),
                pose=pose_of(joint.find("origin")),
                **motion_of(joint),
            )

    def _loop(self, loop: Element) -> None:
        ends = [(self._end(loop, role), pose_of(loop.find(role))) for role in ("link1", "link2")]
        if ends[1][0] == WORLD:
            raise loop.error("link2 must not be the world; swap link1 and link2")
        with _at(loop):
            self.builder.joint(
                loop.required("name"),
                parent=ends[0][0],
                child=ends[1][0],
                pose=ends[0][1],
                child_pose=ends[1][1].inverse(),
                loop=True,
                **motion_of(loop),
            )

    def _mimic(self, joint: Element) -> None:
        mimic = joint.find("mimic")
        if mimic is None:
            return
        follower, leader = joint.required("name"), mimic.required("joint")
        if leader not in self.joints:
            hint = suggestion(leader, self.joints)
            raise mimic.error(f"mimics joint {leader!r}, which does not exist{hint}")
        if joint.get("type") == "fixed":
            self.notes.add("mimics of fixed joints", follower)
            return
        for name in (follower, leader):
            if self.joints[name].get("type") not in ("revolute", "continuous", "prismatic"):
                kind = self.joints[name].get("type")
                raise mimic.error(f"{name!r} is {kind}; only joints with one axis can mimic")
        with _at(joint):
            self.builder.coupling(
                mimic.get("name") or f"{follower}_mimic",
                follower,
                leader,
                ratio=mimic.number("multiplier", 1.0),
                offset=mimic.number("offset", 0.0),
            )

    def _home(self, order: list[Element]) -> None:
        """Joints start at zero, or at the limit that is nearest to it; those that mimic others where these decide."""
        axes = [joint for joint in order if joint.get("type") in ("revolute", "prismatic", "continuous")]
        home, mimics = {}, []
        for joint in axes:
            name, mimic = joint.required("name"), joint.find("mimic")
            limits = limits_of(joint, joint.required("type"), 1)
            if mimic is None:
                home[name] = min(max(0.0, *limits.get("lower", (0.0,))), *limits.get("upper", (math.inf,)))
            else:
                mimics.append((name, mimic.required("joint"), mimic))
        for _ in mimics:  # those that mimic one that mimics come last
            for name, leader, mimic in mimics:
                if leader in home:
                    home[name] = mimic.number("multiplier", 1.0) * home[leader] + mimic.number("offset", 0.0)
        self.builder.home({name: x for name, x in home.items() if x != 0.0})

    def _actuators(self, order: list[Element]) -> None:
        """Drives of the joints, so that controls do not push the base."""
        driven = [joint.get("name") for t in self.root.all("transmission") for joint in t.all("joint")]
        axes = ("revolute", "continuous", "prismatic")
        for joint in order:
            name = joint.required("name")
            if joint.get("type") in axes and joint.find("mimic") is None and (not driven or name in driven):
                limit = joint.find("limit")
                effort = limit.number("effort", 0.0) if limit is not None else 0.0
                with _at(joint):
                    self.builder.actuator(name, name, limits=(-effort, effort) if effort > 0.0 else None)

    def _located(self, error: MechanismError) -> FormatError:
        """What `build()` complains about, at the line of the link or joint that it names."""
        match = re.match(r"(body|joint|coupling) '(.*?)': ", str(error))
        if match:
            table = self.links if match[1] == "body" else self.joints
            element = table.get(match[2]) or table.get(match[2].removesuffix("_mimic"))
            if element is not None:
                return element.error(str(error)[match.end() :])
        return self.root.error(str(error))


def _by_name(elements: list[Element]) -> dict[str, Element]:
    table: dict[str, Element] = {}
    for element in elements:
        name = element.required("name")
        if name in table:
            raise element.error(f"this name is used twice, first in line {table[name].line}")
        table[name] = element
    return table
