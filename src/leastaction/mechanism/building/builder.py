"""`MechanismBuilder`: putting a robot together in Python."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Unpack

from numpy.typing import ArrayLike

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism._check import suggestion
from leastaction.mechanism.body import Body
from leastaction.mechanism.building.element_builder import Element, ElementBuilder
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.inertia import Inertia
from leastaction.mechanism.joints import ALIASES, Joint, primitives_of
from leastaction.mechanism.mechanism import Mechanism
from leastaction.mechanism.motions import Primitive
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.shapes import Shape
from leastaction.typing import Axis, JointOptions, PoseLike


class MechanismBuilder(ElementBuilder):
    """Collects bodies, joints and elements; `build()` checks them and gives the immutable `Mechanism`.

    Example:
        >>> b = MechanismBuilder("pendulum")
        >>> b.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(1 / 12, 1 / 12, 1e-4))
        >>> b.revolute("pivot", "world", "rod", axis="y")
        >>> robot = b.build()

    Args:
        name: of the robot.
        gravity: [m/s^2], 3 numbers.
        strict: refuse inertias that no real body has (True) or keep them with a warning (False).
    """

    def __init__(self, name: str = "robot", *, gravity: ArrayLike = (0.0, 0.0, -9.81), strict: bool = True) -> None:
        super().__init__()
        self.name = _check.text(name, "name of a mechanism")
        self.gravity = gravity
        self.strict = _check.flag(strict, "strict")
        self._bodies: dict[str, Body] = {}
        self._added: dict[str, list[Shape]] = {}  # shapes that bodies get when they are built
        self._joints: dict[str, Joint] = {}
        self._ground: list[Shape] = []

    @classmethod
    def from_mechanism(cls, mechanism: Mechanism) -> MechanismBuilder:
        """A builder that holds all of `mechanism`."""
        _check.instance(mechanism, Mechanism, "mechanism")
        b = cls(mechanism.name, gravity=mechanism.gravity, strict=mechanism.strict)
        b._bodies = {body.name: body for body in mechanism.bodies}
        b._joints = {joint.name: joint for joint in (*mechanism.joints, *mechanism.loops)}
        b._elements = {field: list(getattr(mechanism, field)) for field in b._elements}
        b._ground = list(mechanism.ground)
        b._excluded = list(mechanism.excluded_contacts)
        b._prescribed = list(mechanism.prescribed)
        return b

    # ------------------------------------------------------------------ bodies

    def body(
        self,
        name: str,
        *,
        mass: float | None = None,
        com: ArrayLike | None = None,
        inertia: Inertia | ArrayLike | None = None,
        shapes: Shape | Iterable[Shape] = (),
        density: float | None = None,
    ) -> str:
        """Add a body; returns its name.

        Args:
            name: unique.
            mass: [kg]. With shapes and no `inertia`, the mass is spread evenly over the shapes' volumes.
            com: centre of mass in the body frame [m]; default the origin.
            inertia: an `Inertia` (then no mass, com), or moments about the COM [kg m^2] as a number, three principal
                moments, (xx, xy, xz, yy, yz, zz) or a (3, 3) matrix.
            shapes: one shape or several, in the body frame.
            density: [kg/m^3]; mass, COM and inertia then follow from the shapes.
        """
        what = f"body {_check.label(name, 'body')!r}"
        if name == WORLD:
            raise MechanismError(f"{what}: this name is taken by the fixed world")
        if name in self._bodies:
            raise MechanismError(f"{what}: this name is used twice")
        several: tuple[Any, ...] = (shapes,) if not isinstance(shapes, Iterable) else tuple(shapes)
        if not all(isinstance(shape, Shape) for shape in several):
            raise MechanismError(f"{what}: shapes must be one Shape or several")
        self._bodies[name] = Body(name, _inertia(what, mass, com, inertia, several, density), several)
        return name

    def add_shape(self, body: str, shape: Shape) -> None:
        """Fix a shape to a body, or to the world (ground); it does not change the body's mass."""
        _check.instance(shape, Shape, f"body {_check.label(body, 'body')!r}: shape")
        if body == WORLD:
            self._ground.append(shape)
            return
        if body not in self._bodies:
            raise MechanismError(f"shape {shape.name!r}: unknown body {body!r}{suggestion(body, self._bodies)}")
        self._added.setdefault(body, []).append(shape)

    # ------------------------------------------------------------------ joints

    def joint(
        self,
        name: str,
        kind: str,
        parent: str,
        child: str,
        *,
        axis: Axis | None = None,
        pitch: float = 0.0,
        parts: Iterable[Primitive] = (),
        frames: Iterable[Pose | ArrayLike] = (),
        controls: ArrayLike = (),
        position: ArrayLike | None = None,
        rotation: ArrayLike | None = None,
        pose: PoseLike | None = None,
        child_pose: PoseLike | None = None,
        limits: ArrayLike | None = None,
        **properties: Any,
    ) -> str:
        """Add a joint of any kind; returns its name.

        A body is carried by the first joint that reaches it; every further joint to it closes a loop, and so does one
        with `loop=True`.

        Args:
            name: unique.
            kind: see `Joint`; common names of others (hinge, ball, slide, floating, continuous) are understood.
            parent, child: names of the bodies; the parent may be "world".
            axis: "x", "-y", ... or a unit vector in the joint frame, default "z": axis of a revolute, prismatic, screw
                or cylindrical joint, normal of a plane, pair of axes of a universal joint.
            pitch: of a screw [m/rad].
            parts: primitives of a composite joint, from `leastaction.mechanism.joints`.
            frames: control frames of a spline curve, see `joints.spline_curve`.
            controls: control values of a spline surface, see `joints.spline_surface`.
            position, rotation: origin [m] and quaternion (w, x, y, z) of the joint frame in the parent's frame.
            pose: the same as a `Pose`, or as whatever `Pose.of` takes.
            child_pose: pose of the child's body frame in the moved joint frame.
            limits: (lower, upper) of a joint with one axis, or a pair of sequences.
            **properties: lower, upper, velocity_limit, effort_limit, stiffness, rest, damping, friction, armature,
                loop, limit_stiffness, limit_damping, home, motions (see `Joint`).
        """
        what = f"joint {_check.label(name, 'joint')!r}"
        if name in self._joints:
            raise MechanismError(f"{what}: this name is used twice")
        kind = ALIASES.get(_check.label(kind, f"{what}: kind"), kind)
        for older, poses in (("placement", pose), ("child_placement", child_pose)):
            if older in properties and poses is None:
                word = older.replace("placement", "pose")
                warnings.warn(f"{what}: {older} is called {word} now", DeprecationWarning, stacklevel=3)
        pose = properties.pop("placement", None) if pose is None else pose
        child_pose = properties.pop("child_placement", None) if child_pose is None else child_pose
        if pose is not None and (position is not None or rotation is not None):
            raise MechanismError(f"{what}: give either a pose or position and rotation")
        try:
            if pose is None:
                origin = (0, 0, 0) if position is None else position
                pose = Pose(origin, (1, 0, 0, 0) if rotation is None else rotation)
            primitives = primitives_of(kind, axis, pitch, parts, frames, controls)
        except MechanismError as error:
            raise MechanismError(f"{what}: {error}") from None
        if limits is not None:
            properties["lower"], properties["upper"] = _check.pair(limits, f"{what}: limits")
        unknown = sorted(set(properties) - JointOptions.__annotations__.keys())
        if unknown:
            known = (*JointOptions.__annotations__, "axis", "pitch")
            raise MechanismError(f"{what}: a joint has no property {unknown[0]!r}{suggestion(unknown[0], known)}")
        poses = pose, Pose() if child_pose is None else child_pose
        self._joints[name] = _check.made(Joint, name, kind, parent, child, primitives, *poses, **properties)
        return name

    def fixed(self, name: str, parent: str, child: str, **options: Unpack[JointOptions]) -> str:
        """Weld `child` to `parent`; options as of `joint`, such as `position` [m]."""
        return self.joint(name, "fixed", parent, child, **options)

    def revolute(self, name: str, parent: str, child: str, *, axis: Axis = "z", **options: Unpack[JointOptions]) -> str:
        """A hinge about `axis`, "x", "y", "z" or 3 numbers in the joint's frame; q is an angle [rad].

        Options as of `joint`: `position` [m] in the parent, `limits` [rad], `damping` [N m s/rad], `stiffness`
        [N m/rad] with `rest` [rad], `armature` [kg m²], dry `friction` [N m], ...
        """
        return self.joint(name, "revolute", parent, child, axis=axis, **options)

    def prismatic(
        self, name: str, parent: str, child: str, *, axis: Axis = "z", **options: Unpack[JointOptions]
    ) -> str:
        """A slider along `axis`, "x", "y", "z" or 3 numbers in the joint's frame; q is a length [m].

        Options as of `joint`: `position` [m] in the parent, `limits` [m], `damping` [N s/m], `stiffness` [N/m] with
        `rest` [m], `armature` [kg], dry `friction` [N], ...
        """
        return self.joint(name, "prismatic", parent, child, axis=axis, **options)

    def spherical(self, name: str, parent: str, child: str, **options: Unpack[JointOptions]) -> str:
        """A ball joint; q is a unit quaternion (w, x, y, z), v the angular velocity in the child's frame [rad/s]."""
        return self.joint(name, "spherical", parent, child, **options)

    def free(self, child: str, *, name: str = "", parent: str = WORLD, **options: Unpack[JointOptions]) -> str:
        """Let `child` move freely; q is (x, y, z, qw, qx, qy, qz) [m, 1].

        v is the twist (angular, linear) in the child's frame [rad/s, m/s].
        """
        return self.joint(
            f"{child}_free" if isinstance(name, str) and not name else name, "free", parent, child, **options
        )

    def home(self, q: Mapping[str, float]) -> None:
        """Say where the robot starts unless stated otherwise; see `Mechanism.home`.

        Args:
            q: positions [rad or m] by names of coordinates, see `Mechanism.coordinate_names`; the others stay.
        """
        left = dict(_check.instance(q, Mapping, "home: q"))
        for name, joint in self._joints.items():
            values = [left.pop(label, x) for label, x in zip(joint.coordinate_names(), joint.home, strict=True)]
            self._joints[name] = replace(joint, home=tuple(values))
        if left:
            known = [label for joint in self._joints.values() for label in joint.coordinate_names()]
            name = next(iter(left))
            raise MechanismError(f"home: unknown coordinate {name!r}{suggestion(name, known)}")

    def add(self, *elements: Body | Joint | Element) -> None:
        """Add ready-made elements: `Body`, `Joint`, `Spring`, `Cable`, `Coupling`, actuators, contacts, forces."""
        for element in elements:
            if isinstance(element, Body | Joint):
                table: dict[str, Any] = self._bodies if isinstance(element, Body) else self._joints
                if element.name in table:
                    what = type(element).__name__.lower()
                    raise MechanismError(f"{what} {element.name!r}: this name is used twice")
                table[element.name] = element
            else:
                self._add_element(element)

    def attach(
        self,
        robot: Mechanism,
        *,
        prefix: str = "",
        parent: str = WORLD,
        pose: PoseLike | None = None,
        ground: bool = True,
    ) -> None:
        """Add all of another robot: a second one to a scene, a gripper to a hand.

        The parent takes the place of its world: what hangs on that, is tied to it or lies there as ground belongs to
        the parent then. A body that is free in the world stays so, in the same coordinates, and starts elsewhere.
        Ground that is there already is not added again. Constant wrenches keep their directions in the world. A robot
        without actuators is driven by nothing where others in the scene have some.

        Args:
            robot: such as what `leastaction.load` gives.
            prefix: of all its names, such as "left/"; needed where names are taken.
            parent: name of a body, or "world".
            pose: of the robot's world in the parent: a `Pose`, a position [m], position and quaternion, or a matrix.
            ground: whether to take the shapes of the robot's world, too.

        Raises:
            MechanismError: names are used twice, gravity differs, or something cannot be moved there. The builder then
                is as it was.
        """
        from leastaction.mechanism.building.attach import Part, same_place

        _check.instance(robot, Mechanism, "attach: robot")
        _check.text(prefix, "attach: prefix")
        if not isinstance(parent, str) or (parent != WORLD and parent not in self._bodies):
            raise MechanismError(f"attach: unknown body {_check.shown(parent)}{suggestion(str(parent), self._bodies)}")
        gravity = _check.vector(self.gravity, 3, "gravity")
        if gravity != robot.gravity:
            raise MechanismError(f"attach: gravity is {gravity} here and {robot.gravity} for {robot.name!r}")
        part = Part(robot, prefix, parent, Pose() if pose is None else Pose.of(pose, "attach: pose"))
        bodies = {part.name(body.name): replace(body, name=part.name(body.name)) for body in robot.bodies}
        joints = {part.name(joint.name): part.joint(joint) for joint in (*robot.joints, *robot.loops)}
        elements = {field: part.elements(field) for field in self._elements}
        for what, new, own in (("body", bodies, self._bodies), ("joint", joints, self._joints)):
            if twice := [name for name in new if name in own]:
                raise MechanismError(f"attach: {what} {twice[0]!r}: this name is used twice; give a prefix")
        for field, items in elements.items():
            own = {getattr(item, "name", None) for item in self._elements[field]} - {None}
            if twice := [item.name for item in items if getattr(item, "name", None) in own]:
                raise MechanismError(f"attach: {_singular(field)} {twice[0]!r}: this name is used twice; give a prefix")
        self._bodies |= bodies
        self._joints |= joints
        for field, items in elements.items():
            self._elements[field] += items
        for shape in part.ground() if _check.flag(ground, "attach: ground") else ():
            if parent != WORLD or not any(same_place(shape, own) for own in self._ground):
                self.add_shape(parent, shape)
        self._excluded += part.excluded()
        self._prescribed += [part.name(name) for name in robot.prescribed]
        self.strict = self.strict and robot.strict

    @property
    def bodies(self) -> tuple[Body, ...]:
        """The bodies so far."""
        return tuple(self._bodies.values())

    @property
    def joints(self) -> tuple[Joint, ...]:
        """The joints so far, those that close loops among them."""
        return tuple(self._joints.values())

    def set_inertia(self, body: str, inertia: Inertia) -> None:
        """Replace the mass distribution of a body.

        Args:
            body: its name.
            inertia: in its frame.
        """
        if not isinstance(body, str) or body not in self._bodies:
            raise MechanismError(f"set_inertia: unknown body {_check.shown(body)}{suggestion(str(body), self._bodies)}")
        own = _check.instance(inertia, Inertia, f"body {body!r}: inertia")
        self._bodies[body] = replace(self._bodies[body], inertia=own)

    def remove(self, name: str, kind: str | None = None) -> None:
        """Remove a body, a joint or an element; what refers to it must be removed as well.

        Args:
            name: of it.
            kind: what it is where a name is used twice, as by motors that are called like their joints: "body",
                "joint", "actuator", "spring", "sensor", ..., or "all" for everything of that name.

        Raises:
            MechanismError: nothing has that name, or things of several kinds have it and `kind` does not say which.
        """
        _check.label(name, "remove: name")
        kinds = ("all", "body", "joint", *(_singular(field) for field in self._elements))
        if kind is not None:
            _check.choice(kind, kinds, "remove: kind")
        found = [_singular(field) for field, items in self._elements.items() if any(x.name == name for x in items)]
        found = ["body"] * (name in self._bodies) + ["joint"] * (name in self._joints) + found
        chosen = [x for x in found if kind in (None, "all", x)]
        if not chosen:
            what = "nothing" if kind in (None, "all") else f"no {kind}"
            known = f" ({' and '.join(found)} are)" if len(found) > 1 else f" (a {found[0]} is)" if found else ""
            raise MechanismError(f"{what} is called {name!r}{known}, so it cannot be removed")
        if len(chosen) > 1 and kind is None:
            ways = " or ".join(f"kind={x!r}" for x in chosen)
            raise MechanismError(f"remove: {' and '.join(chosen)} are called {name!r}; say {ways}, or kind='all'")
        self._remove(name, chosen)

    def _remove(self, name: str, kinds: list[str]) -> None:
        """Remove those of a name, and what belongs to them alone."""
        if "body" in kinds:
            del self._bodies[name]
            self._added.pop(name, None)
            self._excluded = [pair for pair in self._excluded if name not in pair]
            pairs = self._elements["contact_pairs"]
            self._elements["contact_pairs"] = [pair for pair in pairs if name not in (pair.first, pair.second)]
        if "joint" in kinds:
            del self._joints[name]
        if "body" in kinds or "joint" in kinds:
            self._prescribed = [x for x in self._prescribed if x != name]
        for field, items in self._elements.items():
            if _singular(field) in kinds:
                items[:] = [item for item in items if item.name != name]

    def build(self) -> Mechanism:
        """Check everything and make the mechanism."""
        return _check.made(
            Mechanism,
            name=self.name,
            bodies=tuple(self._with_added(body) for body in self._bodies.values()),
            joints=tuple(self._joints.values()),
            ground=tuple(self._ground),
            excluded_contacts=tuple(dict.fromkeys(self._excluded)),
            prescribed=tuple(self._prescribed),
            gravity=self.gravity,
            strict=self.strict,
            **{field: tuple(items) for field, items in self._elements.items()},
        )

    def _with_added(self, body: Body) -> Body:
        added = self._added.get(body.name)
        return body if added is None else Body(body.name, body.inertia, (*body.shapes, *added))


def _singular(field: str) -> str:
    """What one of the elements in a field of `Mechanism` is called."""
    return {"wrenches": "wrench", "penalties": "penalty"}.get(field, field.removesuffix("s"))


def _inertia(
    what: str, mass: float | None, com: Any, inertia: Any, shapes: tuple[Shape, ...], density: float | None
) -> Inertia:
    try:
        if isinstance(inertia, Inertia):
            if mass is not None or com is not None or density is not None:
                raise MechanismError("an Inertia already says mass and centre of mass")
            return inertia
        if density is not None:
            if mass is not None or com is not None or inertia is not None or not shapes:
                raise MechanismError("a density needs shapes, and no mass, com or inertia beside it")
            return Inertia.from_parts([(shape.inertia(density=density), Pose()) for shape in shapes])
        if mass is not None and inertia is None and com is None and shapes:
            mass = _check.positive(mass, "mass")
            volume = sum(shape.volume() for shape in shapes)
            return Inertia.from_parts([(shape.inertia(density=mass / volume), Pose()) for shape in shapes])
        return Inertia(
            0.0 if mass is None else mass, (0, 0, 0) if com is None else com, 0.0 if inertia is None else inertia
        )
    except MechanismError as error:
        raise MechanismError(f"{what}: {error}") from None
