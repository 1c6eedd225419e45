"""What a robot looks like: triangles of its bodies, hubs of its joints, sticks where it has no shapes."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from leastaction.mechanism import Mechanism
from leastaction.mechanism.body import Body
from leastaction.mechanism.building.graph import WORLD
from leastaction.mechanism.drives.tendons import Wrap, pieces
from leastaction.mechanism.elements import Attachment, ContactPoint
from leastaction.mechanism.joints import Motion, perpendicular
from leastaction.mechanism.pose import Pose, quaternion_of_matrix
from leastaction.mechanism.shapes import Box, Capsule, Cylinder, Mesh, Plane, Shape, Sphere
from leastaction.spatial.wrapping import CYLINDER, SPHERE, string
from leastaction.view import body_colours, geometry
from leastaction.view.geometry import Triangles
from leastaction.view.poses import body_frames, rotate, transform

ARC = 25
"""Points of a path on what it goes around."""

AXES = (Motion.REVOLUTE, Motion.SCREW, Motion.PRISMATIC)


@dataclass(frozen=True, eq=False)
class Part:
    """One solid of one colour, fixed to a body.

    Attributes:
        body: index of the body; -1 is the world.
        mesh: its triangles in the body's frame [m].
        color: red, green, blue, alpha, each from 0 to 1.
        role: "body"; "axis" and "contact" are shown on demand, "ground" and "rail" belong to the world.
    """

    body: int
    mesh: Triangles
    color: body_colours.Color
    role: str = "body"


Point = tuple[int, tuple[float, float, float]]
"""Index of a body or -1, and a point or vector in its frame [m]."""


@dataclass(frozen=True, eq=False)
class Bend:
    """What a path goes around between two of its points.

    Attributes:
        centre: its middle.
        axis: unit vector along the axis of a cylinder; None for a sphere.
        radius: [m].
        side: point on the side where it passes, or None.
    """

    centre: Point
    axis: Point | None
    radius: float
    side: Point | None


@dataclass(frozen=True, eq=False)
class Path:
    """A line through points of bodies: a spring, a cable, or the gap of a loop.

    Attributes:
        kind: "spring", "cable" or "loop".
        points: from end to end.
        color: as of parts.
        radius: half of its thickness [m].
        bends: for each point but the last what lies between it and the next, None for nothing; empty for no bends.
    """

    kind: str
    points: tuple[Point, ...]
    color: body_colours.Color
    radius: float
    bends: tuple[Bend | None, ...] = ()


def figure(mechanism: Mechanism, size: float, color: body_colours.Color | None = None) -> tuple[list[Part], list[Path]]:
    """The parts and lines of a robot.

    Args:
        mechanism: the robot.
        size: its `reach` [m], which decides about the thickness of sticks and lines.
        color: for all that has no colour of its own; default by the depth of the body.
    """
    parts: list[Part] = []
    for i, body in enumerate(mechanism.bodies):
        shapes = visible(body.shapes)
        plain = not shapes or all(s.color == body_colours.PLAIN and not isinstance(s, Mesh) for s in shapes)
        drawn = shapes or stand_in(mechanism, i, size)
        depth = len(mechanism.ancestors[i])
        own = body_colours.ROBOT[depth % len(body_colours.ROBOT)] if color is None else body_colours.shade(color, depth)
        for shape in drawn:
            mesh = geometry.of_shape(shape)
            if mesh is not None:
                parts.append(Part(i, mesh, own if shape.color == body_colours.PLAIN else shape.color))
        if plain:
            parts += _hubs(mechanism, i, drawn)
    parts += _axes(mechanism, size) + _rails(mechanism, size)
    for contact in mechanism.contacts:
        if _is_drawn(mechanism, contact):
            continue
        i, dot = mechanism.body_index(contact.body), geometry.capsule(max(1.04 * contact.radius, 0.008 * size), 0.0)
        visible_ball = contact.radius > 0.0
        tone, role = (body_colours.RUBBER, "body") if visible_ball else (body_colours.CONTACT, "contact")
        parts.append(Part(i, dot.moved(Pose(contact.point)), tone, role))
    return parts, _paths(mechanism, size)


def _is_drawn(mechanism: Mechanism, contact: ContactPoint) -> bool:
    """Whether a shape of the body is the ball of a contact point already: a ball, or an end of a capsule."""
    i = mechanism.body_index(contact.body)
    for shape in visible(mechanism.bodies[i].shapes) if i >= 0 else []:
        if isinstance(shape, Sphere | Capsule) and shape.radius > 0.95 * contact.radius:
            half = 0.5 * shape.length if isinstance(shape, Capsule) else 0.0
            ends = (shape.pose.apply((0.0, 0.0, z)) for z in (-half, half))
            if any(math.dist(end, contact.point) < 0.05 * shape.radius for end in ends):
                return True
    return False


def ground(mechanism: Mechanism, size: float) -> tuple[list[Part], list[float]]:
    """Shapes of the world as parts, and the heights [m] of its level planes, which are drawn as floors."""
    parts, floors = [], []
    for shape in visible(mechanism.ground):
        mesh = geometry.of_shape(shape)
        if isinstance(shape, Plane):
            if shape.pose.rotation[2, 2] > 1.0 - 1e-9:
                floors.append(float(shape.pose.position[2]))
                continue
            mesh = geometry.slab(1.5 * size, 0.01 * size).moved(shape.pose)
        if mesh is not None:
            parts.append(
                Part(-1, mesh, body_colours.GROUND if shape.color == body_colours.PLAIN else shape.color, "ground")
            )
    return parts, floors


def visible(shapes: tuple[Shape, ...]) -> list[Shape]:
    """The shapes that pictures show: the visual ones, else those for contact."""
    return [shape for shape in shapes if shape.visual] or list(shapes)


def reach(mechanism: Mechanism) -> float:
    """A typical size of the robot [m]: the diagonal of its joints, centres of mass and shapes at its home."""
    if not mechanism.bodies:
        return 1.0
    frames = body_frames(mechanism, mechanism.home()[None])[0]
    points = [frames[:, :3], transform(frames, np.array([body.inertia.com for body in mechanism.bodies]))]
    points += [transform(frame, ends(mechanism, i)) for i, frame in enumerate(frames)]
    for frame, body, joint in zip(frames, mechanism.bodies, mechanism.joints, strict=True):
        shapes = visible(body.shapes)
        if not shapes:  # the far end of a rod that starts at the joint, and the box of the inertia
            start, com = np.array(joint.child_pose.inverse().position), np.array(body.inertia.com)
            points.append(transform(frame, np.stack([start, 2.0 * com - start])))
            shapes = [box for box in (inertia_box(body),) if box is not None]
        for shape in shapes:
            mesh = None if isinstance(shape, Mesh) else geometry.of_shape(shape)
            own = shape.vertices if isinstance(shape, Mesh) else mesh.vertices if mesh is not None else np.zeros((0, 3))
            if len(own):
                points.append(transform(frame, np.stack([own.min(axis=0), own.max(axis=0)])))
    size = float(np.linalg.norm(np.ptp(np.concatenate(points), axis=0)))
    return size if size > 1e-6 else 1.0


def ends(mechanism: Mechanism, i: int) -> np.ndarray:
    """Points of a body where other bodies are jointed to it, loops too, in its frame [m], shape (k, 3)."""
    name = mechanism.bodies[i].name
    points = [joint.pose.position for joint in (*mechanism.joints, *mechanism.loops) if joint.parent == name]
    points += [joint.child_pose.inverse().position for joint in mechanism.loops if joint.child == name]
    return np.array(points, float).reshape(-1, 3)


def stand_in(mechanism: Mechanism, i: int, size: float) -> list[Shape]:
    """Shapes of a body that has none: sticks from its joint to the next ones, or the box that its inertia suggests."""
    body, joint = mechanism.bodies[i], mechanism.joints[i]
    for rolling in mechanism.rollings:
        if rolling.body == body.name:
            return [_wheel(rolling)]
    start = np.array(joint.child_pose.inverse().position)
    tips = [tip for tip in ends(mechanism, i) if np.linalg.norm(tip - start) > 0.01 * size]
    com = np.array(body.inertia.com)
    floating = any(p.motion == Motion.FREE for p in joint.primitives)
    feet = [np.array(contact.point) for contact in mechanism.contacts if contact.body == body.name]
    if not tips and not floating and any(np.linalg.norm(foot - start) > 0.01 * size for foot in feet):
        tips = [foot for foot in feet if np.linalg.norm(foot - start) > 0.01 * size]
    if not tips and not floating and np.linalg.norm(com - start) > 0.01 * size:
        tips = [start + 2.0 * (com - start)]
    solid = inertia_box(body)
    shapes: list[Shape] = [_stick(start, tip, size) for tip in tips] if not floating else []
    if floating and len(tips) > 1 and solid is None:
        shapes = [_stick(com, tip, size) for tip in tips]
    if not shapes and solid is not None:
        shapes = [solid]
    return shapes or [Sphere(0.012 * size, pose=Pose(tuple(com.tolist())))]


def inertia_box(body: Body) -> Box | None:
    """The uniform box with the body's mass and principal moments; None where there is none (rods, point masses)."""
    m = body.inertia.mass
    xx, xy, xz, yy, yz, zz = body.inertia.moments
    if m <= 0.0:
        return None
    moments, R = np.linalg.eigh(np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]))
    squares = 6.0 * (0.5 * moments.sum() - moments) / m * 2.0
    if squares.max() <= 1e-12:
        return None
    edges = np.sqrt(np.maximum(squares, 0.01 * squares.max()))
    R = R * np.sign(np.linalg.det(R))
    return Box(tuple(edges.tolist()), pose=Pose(body.inertia.com, quaternion_of_matrix(R)))


def _stick(start: Any, end: Any, size: float) -> Shape:
    length = float(np.linalg.norm(end - start))
    radius = min(max(0.07 * length, 0.008 * size), 0.03 * size)
    middle = tuple((0.5 * (start + end)).tolist())
    return Capsule(radius, length, pose=Pose(middle, _along((end - start) / length)))


def _wheel(rolling: Any) -> Shape:
    if rolling.axis is None:
        return Sphere(rolling.radius, pose=Pose(rolling.center))
    return Cylinder(rolling.radius, 0.15 * rolling.radius, pose=Pose(rolling.center, _along(rolling.axis)))


def _along(axis: Any) -> Any:
    """Quaternion of a frame whose z points along a unit vector."""
    first, second = perpendicular(tuple(float(x) for x in axis))
    return quaternion_of_matrix(np.column_stack([first, second, axis]))


def _thickness(shapes: list[Shape]) -> float | None:
    """Half thickness of a link [m], from the thinnest of its rods."""
    radii = [s.radius for s in shapes if isinstance(s, Capsule)]
    radii += [min(s.radius, 0.5 * s.length) for s in shapes if isinstance(s, Cylinder)]  # a disc is flat
    radii += [0.5 * min(s.size) for s in shapes if isinstance(s, Box) and max(s.size) > 4.0 * min(s.size)]
    return min(radii) if radii else None


def _hubs(mechanism: Mechanism, i: int, shapes: list[Shape]) -> list[Part]:
    """A drum for each hinge and a ball for each ball joint of a body, loops too, a little thicker than the link."""
    radius, name = _thickness(shapes), mechanism.bodies[i].name
    if radius is None:
        return []
    parts = []
    closing = [joint for joint in mechanism.loops if joint.child == name]
    for joint in (mechanism.joints[i], *closing):
        # The axis about which a closed loop turns may be that of its first motion: a slide along the hinge.
        turning = [p for p in joint.primitives if p.motion in (Motion.REVOLUTE, Motion.SCREW)]
        turning = turning[-1:] or [p for p in joint.primitives[:1] if joint in closing and p.motion in AXES]
        back, color = joint.child_pose.inverse(), body_colours.LOOP if joint in closing else body_colours.HUB
        if turning:
            drum = geometry.cylinder(1.18 * radius, 2.5 * radius)
            parts.append(Part(i, drum.moved(back * Pose((0.0, 0.0, 0.0), _along(turning[0].axis))), color))
        elif any(p.motion == Motion.SPHERICAL for p in joint.primitives):
            parts.append(Part(i, geometry.capsule(1.25 * radius, 0.0).moved(back), color))
    return parts


def _axes(mechanism: Mechanism, size: float) -> list[Part]:
    """The axes of hinges and slides, as rods that are shown on demand."""
    parts = []
    rod = geometry.capsule(0.004 * size, 0.2 * size, 8)
    for joint in (*mechanism.joints, *mechanism.loops):
        parent, child = mechanism.body_index(joint.parent), mechanism.body_index(joint.child)
        for k, primitive in enumerate(joint.primitives):
            if primitive.motion in AXES:
                turned = Pose((0.0, 0.0, 0.0), _along(primitive.axis))
                # The last motion's axis is fixed to the child, the others follow the parent nearly enough.
                last = k == len(joint.primitives) - 1
                body, place = (child, joint.child_pose.inverse()) if last else (parent, joint.pose)
                parts.append(Part(body, rod.moved(place * turned), body_colours.AXIS, "axis"))
    return parts


def _rails(mechanism: Mechanism, size: float) -> list[Part]:
    """The rails of slides on the world, as long as their limits or the robot's size say."""
    parts = []
    for joint in mechanism.joints:
        if joint.kind == "prismatic" and joint.parent == WORLD:
            low, high = max(joint.lower[0], -1.5 * size), min(joint.upper[0], 1.5 * size)
            middle = tuple(0.5 * (low + high) * x for x in joint.primitives[0].axis)
            place = joint.pose * Pose(middle, _along(joint.primitives[0].axis))
            parts.append(
                Part(-1, geometry.capsule(0.008 * size, high - low, 12).moved(place), body_colours.RAIL, "rail")
            )
    return parts


def _paths(mechanism: Mechanism, size: float) -> list[Path]:
    index, paths = mechanism.body_index, []
    for spring in mechanism.springs:
        points = tuple((index(end.body), end.point) for end in (spring.start, spring.end))
        paths.append(Path("spring", points, body_colours.SPRING, 0.004 * size))
    for cable in mechanism.cables:
        points = tuple((index(end.body), end.point) for end in cable.via)
        paths.append(Path("cable", points, body_colours.CABLE, 0.004 * size))
    for tendon in mechanism.tendons:
        for stretch in tendon.stretches:
            points = tuple((index(a.body), a.point) for a in stretch[1] if isinstance(a, Attachment))
            between = [around for _, _, around, _ in pieces((stretch,))]
            bends = tuple(around and _bend(index(around.body), around) for around in between)
            paths.append(Path("cable", points, body_colours.CABLE, 0.004 * size, bends if any(bends) else ()))
    for joint in mechanism.loops:
        points = (
            (index(joint.parent), joint.pose.position),
            (index(joint.child), joint.child_pose.inverse().position),
        )
        paths.append(Path("loop", points, body_colours.LOOP, 0.006 * size))
    return paths


def _bend(body: int, around: Wrap) -> Bend:
    axis = (body, tuple(around.pose.rotation[:, 2].tolist())) if around.kind == "cylinder" else None
    side = None if around.side is None else (body, around.side)
    return Bend((body, around.pose.position), axis, around.radius, side)


def path_points(path: Path, poses: np.ndarray) -> np.ndarray:
    """Points of a path in the world [m], shape (k, 3); poses: of the bodies and of the world, shape (bodies + 1, 7)."""

    def world(at: Point) -> np.ndarray:
        return transform(poses[at[0]], np.array(at[1]))

    points = np.stack([world(at) for at in path.points])
    if not path.bends:
        return points
    out = [points[:1]]
    for k, bend in enumerate(path.bends):
        if bend is not None:
            centre = world(bend.centre)
            axis = np.zeros(3) if bend.axis is None else rotate(poses[bend.axis[0], 3:], bend.axis[1])
            side = None if bend.side is None else world(bend.side) - centre
            around = SPHERE if bend.axis is None else CYLINDER
            out.append(string(points[k : k + 2] - centre, axis, around, bend.radius, side, ARC)[2] + centre)
        out.append(points[k + 1 : k + 2])
    return np.concatenate(out)


def coil(start: Any, end: Any, radius: float, turns: int = 8) -> np.ndarray:
    """Points of a spring between two points [m]: straight ends and a helix of `radius` between, shape (k, 3)."""
    a, b = np.asarray(start, float), np.asarray(end, float)
    length = float(np.linalg.norm(b - a))
    if length < 1e-9:
        return np.stack([a, b])
    d = (b - a) / length
    u, w = (np.array(x) for x in perpendicular(tuple(d.tolist())))
    s = np.linspace(0.0, 1.0, 12 * turns + 1)[:, None]
    swell = np.clip(np.minimum(s, 1.0 - s) * 4.0 * turns, 0.0, 1.0)
    helix = u * np.cos(2.0 * math.pi * turns * s) + w * np.sin(2.0 * math.pi * turns * s)
    middle = a + d * length * (0.12 + 0.76 * s) + radius * swell * helix
    return np.concatenate([a[None], middle, b[None]])
