"""Reading SDF (SDFormat 1.4 to 1.12, http://sdformat.org/spec).

Poses follow the specification's "Pose Frame Semantics": `<pose relative_to>` of models, links, joints, frames and what
hangs on links; `<frame attached_to>`, `placement_frame`, `expressed_in` of axes; joints are placed relative to their
child unless they say otherwise. At q = 0 links are where the file puts them.

- Links that no joint carries fly; those of a model with `<static>` are fixed to the world.
- Joints: revolute, continuous, prismatic, fixed, ball, universal, revolute2 (two hinges in a row), screw; with limits,
  springs, damping, dry friction, `<mimic>`. Joints that close a loop do so.
- Inertias as written; `<inertial auto="true">` fills the collisions with their `<density>`.
- Collisions: box, sphere, cylinder, capsule, ellipsoid, plane, mesh, with ODE's or Bullet's friction; links of one
  model touch each other only with `<self_collide>`, as the specification has it.
- Nested models and `<include>`d ones; their parts are called `model::part`. In a world with several models, all are.
- Not read, and said so in one warning: gearboxes, height maps, polylines, plugins, sensors, actors, grippers.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.formats._files import Folder, Notes, checked_options
from leastaction.formats._meshes import MeshFiles
from leastaction.formats._repair_inertia import repair_inertias
from leastaction.formats._rounded_loops import closed_to_digits
from leastaction.formats._xml import MAX_BYTES, Element, read_xml
from leastaction.formats.merge import merge_fixed_bodies
from leastaction.formats.sdf._sdf_elements import (
    Frame,
    Scope,
    moved,
    number_of,
    pitch_of,
    pose_of,
    properties_of,
    surface_of,
    text_of,
    upright,
    vector_of,
    version_of,
)
from leastaction.mechanism import (
    Box,
    Capsule,
    Cylinder,
    Ellipsoid,
    Inertia,
    Mechanism,
    MechanismBuilder,
    Mesh,
    Plane,
    Pose,
    Shape,
    Sphere,
)
from leastaction.mechanism._check import suggestion
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.joints import revolute

KINDS = {
    "revolute": "revolute",
    "continuous": "revolute",
    "prismatic": "prismatic",
    "fixed": "fixed",
    "ball": "spherical",
    "universal": "universal",
    "revolute2": "composite",
    "screw": "screw",
}
"""Joint types of SDF and our kinds."""

LEFT_OUT = ("gearbox", "heightmap", "polyline", "plugin", "sensor", "actor", "gripper", "light")
"""Elements that are named in one warning."""

WATER = 1000.0
"""Default of `<density>` [kg/m^3]."""


def load_sdf(
    path: str | PathLike[str],
    *,
    merge_fixed: bool = False,
    strict: bool = False,
    meshes: bool = True,
    allow_outside: bool = False,
    max_bytes: int = MAX_BYTES,
) -> Mechanism:
    """Read an SDF file: its model, or all models of its world.

    Args:
        path: of the file.
        merge_fixed: make one body of each group of bodies that fixed joints hold together.
        strict: refuse inertias that no real body has, instead of keeping them with a warning.
        meshes: read mesh files; those that are missing or cannot be read are omitted with one warning.
        allow_outside: let the file name others by absolute paths.
        max_bytes: limit of the size of each file.

    Raises:
        FormatError: naming the file, the line and the element.
    """
    path = checked_options(
        path, max_bytes, allow_outside=allow_outside, merge_fixed=merge_fixed, strict=strict, meshes=meshes
    )
    notes = Notes(path)
    root = read_xml(path, max_bytes)
    if root.tag != "sdf":
        raise root.error("an SDF file has the root element <sdf>")
    folder = Folder.of(path, allow_outside, max_bytes)
    reader = _Reader(root, folder, MeshFiles(folder, notes) if meshes else None, notes, strict)
    robot = reader.read()
    notes.warn()
    return merge_fixed_bodies(robot) if merge_fixed else robot


class _Reader:
    def __init__(self, root: Element, folder: Folder, meshes: MeshFiles | None, notes: Notes, strict: bool) -> None:
        self.root, self.folder, self.meshes, self.notes = root, folder, meshes, notes
        world = root.find("world")
        models = (world or root).all("model") + (world or root).all("include")
        if not models:
            raise root.error("has no <model>")
        name = models[0].get("name") if len(models) == 1 else (world or root).get("name")
        gravity = None if world is None else world.find("gravity")
        options = {} if gravity is None else {"gravity": vector_of(gravity, 3)}
        self.builder = MechanismBuilder(name or notes.file.stem, strict=strict, **options)
        self.top, self.several = world or root, len(models) > 1
        self.links: dict[str, Pose] = {}  # poses of links in the world, by their names in the mechanism
        self.carried: set[str] = set()
        self.mimics: list[tuple[str, Element, Scope]] = []
        self.fixed: set[str] = set()

    def read(self) -> Mechanism:
        version = version_of(self.root)
        scope = Scope(self.top, version)
        self._collect(scope, "" if not self.several else None)
        for name in self.links:
            if name not in self.carried and name not in self.fixed:
                X = self.links[name]
                self.builder.joint(f"{name}_free", "free", WORLD, name, home=(*X.position, *X.quaternion))
        for follower, mimic, within in self.mimics:
            self._mimic(follower, mimic, within)
        for element in self.top.walk():
            if element.tag in LEFT_OUT:
                self.notes.left_out(element.tag, element.get("name") or f"line {element.line}")
        try:
            if not self.builder.strict:
                repair_inertias(self.builder, self.notes.file)
            return closed_to_digits(self.builder.build(), self.notes.file)
        except MechanismError as error:
            raise self.root.error(str(error)) from None

    # ------------------------------------------------------------------ scopes and frames

    def _collect(self, scope: Scope, only: str | None) -> None:
        """Read the models below a world or the root; `only` is the prefix of a single one."""
        scope.frames["world"] = Frame(scope.element, "", Pose(), "")
        for element in (*scope.element.all("model"), *scope.element.all("include")):
            model, pose, version = (
                self._included(element, scope.version)
                if element.tag == "include"
                else (element, pose_of(element), scope.version)
            )
            name = (element.find("name") or Element("name")).text.strip() or model.required("name")
            prefix = f"{name}::" if only is None else only
            self._model(model, version, prefix, self._placed(scope, element, pose), False)
        for joint in scope.element.all("joint"):
            self._joint(joint, scope)

    def _placed(self, scope: Scope, element: Element, pose: Pose) -> Pose:
        """Pose of a model in the world, from one in a frame of the scope around it."""
        own = element.find("pose")
        base = (own.get("relative_to") or "") if own is not None else ""
        return self._resolve(scope, base, element) * pose if base else pose

    def _included(self, include: Element, version: tuple[int, ...]) -> tuple[Element, Pose, tuple[int, ...]]:
        """(The model of an included file, its pose, the version of the file)."""
        uri = include.find("uri")
        if uri is None:
            raise include.error("has no <uri>")
        name = uri.text.strip()
        _, separator, rest = name.partition("://")
        within = rest if separator else name
        place = within if within.endswith(".sdf") else f"{within}/model.sdf"
        found = self.folder.package(place, uri) if separator else self.folder.find(place, uri)
        if found is None:
            raise uri.error(f"the model {name!r} was not found beside the file or in the folders above it")
        root = read_xml(found, self.folder.max_bytes)
        model = root.find("model")
        if model is None:
            raise uri.error(f"{name!r} has no <model>")
        pose = pose_of(include) if include.find("pose") is not None else pose_of(model)
        static = include.find("static")
        if static is not None:
            model.children = [child for child in model.children if child.tag != "static"] + [static]
        return model, pose, version_of(root)

    def _model(self, model: Element, version: tuple[int, ...], prefix: str, X: Pose, static: bool) -> None:
        """Add the links and joints of a model whose frame has the pose X in the world, before its placement frame."""
        own = model.find("static")
        static = static or (own is not None and own.text.strip() in ("true", "1"))
        scope = Scope(model, version, prefix, static)
        scope.frames["__model__"] = Frame(model, "", Pose(), "")
        model.children = [child for child in model.children if not _is_world(child)]
        for link in model.all("link"):
            self._frame(scope, link, "__model__", link.required("name"))
        for joint in model.all("joint"):
            self._frame(scope, joint, text_of(joint, "child"), text_of(joint, "child"))
        for frame in model.all("frame"):
            attached = frame.get("attached_to") or "__model__"
            self._frame(scope, frame, attached, attached)
        nested = []
        for element in (*model.all("model"), *model.all("include")):
            inner, pose, inner_version = (
                self._included(element, version) if element.tag == "include" else (element, pose_of(element), version)
            )
            name = (element.find("name") or Element("name")).text.strip() or inner.required("name")
            place = element.find("pose")
            scope.frames[name] = Frame(
                element, (place.get("relative_to") if place is not None else None) or "__model__", pose, name
            )
            nested.append((name, inner, inner_version))
        placement = model.get("placement_frame")
        if placement is not None:
            X = X * self._resolve(scope, placement, model).inverse()
        scope.frames["__model__"].pose = X
        before = set(self.links)
        for link in model.all("link"):
            self._link(link, scope)
        for name, inner, inner_version in nested:
            pose = self._resolve(scope, name, inner)
            self._model(inner, inner_version, f"{prefix}{name}::", pose, static)
        for joint in model.all("joint"):
            self._joint(joint, scope)
        self._exclude(model, [name for name in self.links if name not in before])

    def _frame(self, scope: Scope, element: Element, base: str, attached: str) -> None:
        """Note a frame of a scope, which stands relative to `base` unless its pose says otherwise."""
        name = element.required("name")
        if name in scope.frames:
            raise element.error("this name is used twice")
        place = element.find("pose")
        given = place.get("relative_to") or place.get("frame") if place is not None else None
        scope.frames[name] = Frame(element, given or base, pose_of(element), attached)

    def _resolve(self, scope: Scope, name: str, element: Element, depth: int = 0) -> Pose:
        """Pose of a frame in the world."""
        if name in ("world", ""):
            return Pose()
        if name not in scope.frames:
            link = f"{scope.prefix}{name}"
            if link in self.links:
                return self.links[link]
            raise element.error(f"there is no frame {name!r}{suggestion(name, scope.frames)}")
        frame = scope.frames[name]
        if depth > len(scope.frames):
            raise frame.element.error("its pose is relative to itself, through others")
        return self._resolve(scope, frame.base, frame.element, depth + 1) * frame.pose

    def _body_of(self, scope: Scope, name: str, element: Element, depth: int = 0) -> str:
        """The link that a frame moves with, by its name in the mechanism."""
        if name == WORLD:
            return WORLD
        link = f"{scope.prefix}{name}"
        if link in self.links:
            return WORLD if link in self.fixed else link
        if name not in scope.frames or depth > len(scope.frames):
            raise element.error(f"there is no link or frame {name!r}{suggestion(name, scope.frames)}")
        frame = scope.frames[name]
        if name == "__model__" or frame.element.tag in ("model", "include"):
            model = scope.element if name == "__model__" else frame.element
            first = model.get("canonical_link") or next((x.required("name") for x in model.all("link")), "")
            inner = "" if name == "__model__" else f"{name}::"
            return self._body_of(scope, f"{inner}{first}", element, depth + 1)
        return self._body_of(scope, frame.attached, element, depth + 1)

    # ------------------------------------------------------------------ parts

    def _link(self, link: Element, scope: Scope) -> None:
        own = link.required("name")
        name = f"{scope.prefix}{own}"
        X = self._resolve(scope, own, link)
        shapes = [
            shape for x in link.children if x.tag in ("visual", "collision") for shape in self._shape(x, scope, X)
        ]
        self.links[name] = X
        try:
            if scope.static:
                self.fixed.add(name)
                for shape in shapes:
                    self.builder.add_shape(WORLD, moved(shape, X))
            else:
                self.builder.body(name, inertia=self._inertia(link, scope, X), shapes=shapes)
        except MechanismError as error:
            raise link.error(str(error)) from None

    def _local(self, element: Element, scope: Scope, X: Pose) -> Pose:
        """Pose of something on a link, whose own is X in the world, in the link's frame."""
        place = element.find("pose")
        base = place.get("relative_to") if place is not None else None
        pose = pose_of(element)
        return X.inverse() * self._resolve(scope, base, element) * pose if base else pose

    def _inertia(self, link: Element, scope: Scope, X: Pose) -> Inertia:
        """Mass and inertia of a link; those of 1 kg and 1 kg m^2 where the file says nothing, as specified."""
        inertial = link.find("inertial")
        if inertial is not None and inertial.get("auto") in ("true", "1"):
            density = number_of(inertial, "density", WATER)
            parts = []
            for collision in link.all("collision"):
                own = number_of(collision, "density", density)
                parts += [(shape.inertia(density=own), Pose()) for shape in self._shape(collision, scope, X)]
            if not parts:
                raise inertial.error("there is no <collision> that its density could fill")
            return Inertia.from_parts(parts)
        if inertial is None:
            return Inertia(1.0, (0, 0, 0), (1, 0, 0, 1, 0, 1))
        moments = inertial.find("inertia") or Element("inertia")
        names = ("ixx", "ixy", "ixz", "iyy", "iyz", "izz")
        values = tuple(number_of(moments, name, 1.0 if name[1] == name[2] else 0.0) for name in names)
        return Inertia(number_of(inertial, "mass", 1.0), (0, 0, 0), values).moved(self._local(inertial, scope, X))

    def _shape(self, element: Element, scope: Scope, X: Pose) -> Sequence[Shape]:
        """The shape of a visual or a collision, or none."""
        geometry = element.find("geometry")
        if geometry is None:
            raise element.error("has no <geometry>")
        visual = element.tag == "visual"
        common: dict[str, Any] = {"pose": self._local(element, scope, X), "name": element.get("name") or ""}
        common |= {"visual": visual, "collision": not visual} | ({} if visual else surface_of(element))
        for solid in geometry.children:
            try:
                if solid.tag == "box":
                    return [Box(vector_of(solid.find("size") or Element("size", text="1 1 1"), 3), **common)]
                if solid.tag == "sphere":
                    return [Sphere(number_of(solid, "radius", 1.0), **common)]
                if solid.tag in ("cylinder", "capsule"):
                    size = number_of(solid, "radius", 1.0), number_of(solid, "length", 1.0)
                    return [Cylinder(*size, **common) if solid.tag == "cylinder" else Capsule(*size, **common)]
                if solid.tag == "ellipsoid":
                    radii = solid.find("radii") or Element("radii", text="1 1 1")
                    return [Ellipsoid(vector_of(radii, 3), **common)]
                if solid.tag == "plane":
                    normal = vector_of(solid.find("normal") or Element("normal", text="0 0 1"), 3)
                    return [Plane(**(common | {"pose": common["pose"] * upright(normal)}))]
                if solid.tag == "mesh":
                    return self._mesh(solid, common)
            except MechanismError as error:
                raise solid.error(str(error)) from None
        return []

    def _mesh(self, mesh: Element, common: dict[str, Any]) -> Sequence[Shape]:
        uri = mesh.find("uri")
        if uri is None:
            raise mesh.error("has no <uri>")
        name = uri.text.strip()
        found = None if self.meshes is None else self.meshes.load(name, uri)
        if found is None:
            return []
        scale = np.array(vector_of(mesh.find("scale") or Element("scale", text="1 1 1"), 3))
        vertices, faces = found
        return [Mesh(vertices * scale, faces[:, ::-1] if np.prod(scale) < 0.0 else faces, name, **common)]

    def _joint(self, joint: Element, scope: Scope) -> None:
        name, type_ = joint.required("name"), joint.required("type")
        if type_ not in KINDS:
            if type_ == "gearbox":
                self.notes.left_out("gearbox", name)
                return
            raise joint.error(f"unknown joint type {type_!r}; known types: {', '.join(KINDS)}")
        parent, child = (self._body_of(scope, text_of(joint, end), joint) for end in ("parent", "child"))
        if child == WORLD:
            if parent == WORLD:
                return  # both are fixed to it
            raise joint.error("the child must not be the world, nor fixed to it; swap parent and child")
        if name not in scope.frames:
            self._frame(scope, joint, text_of(joint, "child"), text_of(joint, "child"))
        X = self._resolve(scope, name, joint)
        ends = [Pose() if body == WORLD else self.links[body] for body in (parent, child)]
        options: dict[str, Any] = {"kind": KINDS[type_]}
        axes = [axis for axis in (joint.find("axis"), joint.find("axis2")) if axis is not None]
        vectors = [self._axis(axis, scope, X, joint) for axis in axes]
        if type_ in ("universal", "revolute2"):
            vectors = (vectors + [(0.0, 0.0, 1.0), (0.0, 0.0, 1.0)])[:2]
            if type_ == "universal":
                options["axis"] = vectors
            else:
                options["parts"] = tuple(revolute(v) for v in vectors)
        elif type_ not in ("fixed", "ball"):
            options["axis"] = vectors[0] if vectors else (0.0, 0.0, 1.0)
        if type_ == "screw":
            options["pitch"] = pitch_of(joint)
        if type_ not in ("fixed", "ball"):
            options |= properties_of(axes, 2 if len(vectors) == 2 else 1, type_)
        full = f"{scope.prefix}{name}"
        try:
            pose, child_pose = ends[0].inverse() * X, X.inverse() * ends[1]
            self.builder.joint(full, parent=parent, child=child, pose=pose, child_pose=child_pose, **options)
        except MechanismError as error:
            raise joint.error(str(error)) from None
        self.carried.add(child)
        for axis in axes[:1]:
            if (mimic := axis.find("mimic")) is not None:
                self.mimics.append((full, mimic, scope))

    def _axis(self, axis: Element, scope: Scope, X: Pose, joint: Element) -> tuple[float, ...]:
        """A joint's axis in the joint's frame, whose pose is X."""
        xyz = axis.find("xyz")
        v = np.array([0.0, 0.0, 1.0] if xyz is None else vector_of(xyz, 3))
        if not v.any():
            raise axis.error("the axis must not be zero")
        of_model = axis.find("use_parent_model_frame")
        old = scope.version < (1, 5) if of_model is None else of_model.text.strip() in ("true", "1")
        frame = "__model__" if old and "__model__" in scope.frames else (xyz.get("expressed_in") if xyz else None)
        if frame:
            v = X.rotation.T @ self._resolve(scope, frame, joint).rotation @ v
        return tuple((v / np.linalg.norm(v)).tolist())

    def _mimic(self, follower: str, mimic: Element, scope: Scope) -> None:
        """follower = multiplier (leader - reference) + offset."""
        leader, ratio = f"{scope.prefix}{mimic.required('joint')}", number_of(mimic, "multiplier", 1.0)
        offset = number_of(mimic, "offset", 0.0) - ratio * number_of(mimic, "reference", 0.0)
        try:
            self.builder.coupling(f"{follower}_mimic", follower, leader, ratio=ratio, offset=offset)
        except MechanismError as error:
            raise mimic.error(str(error)) from None

    def _exclude(self, model: Element, names: list[str]) -> None:
        """Links of a model pass through each other unless it, or one of the two, says `<self_collide>`."""

        def collides(element: Element) -> bool:
            own = element.find("self_collide")
            return own is not None and own.text.strip() in ("true", "1")

        if collides(model):
            return
        open_ = {link.required("name") for link in model.all("link") if collides(link)}
        moving = [name for name in names if name not in self.fixed]
        for a, b in combinations(moving, 2):
            if not {a.rpartition("::")[2], b.rpartition("::")[2]} <= open_:
                self.builder.exclude_contact(a, b)


def _is_world(element: Element) -> bool:
    """Whether an element is a link without anything that older files call the world, to hang joints on."""
    parts = ("inertial", "collision", "visual", "pose")
    return element.tag == "link" and element.get("name") == WORLD and not any(element.find(x) for x in parts)
