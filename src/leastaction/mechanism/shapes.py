"""Shapes of bodies, for pictures, for masses from densities and for contact."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.inertia import (
    Inertia,
    solid_box,
    solid_capsule,
    solid_cylinder,
    solid_ellipsoid,
    solid_sphere,
)
from leastaction.mechanism.pose import Pose

COEFFICIENTS = (
    "friction",
    "restitution",
    "spinning",
    "rolling",
    "static_friction",
    "compliance",
    "relaxation_time",
)
"""What shapes, contact points and pairs say of a contact."""


def _bits(value: Any, what: str) -> int:
    """A number of up to 32 bits."""
    number = _check.nonnegative(value, what)
    if number != int(number) or number >= 2**32:
        raise MechanismError(f"{what}: expected a whole number below 2^32, the sum of bits, got {_check.shown(value)}")
    return int(number)


def check_surface(surface: Any, what: str) -> None:
    """Refuse a static friction below the kinetic one, and a restitution beside a compliance or above 1."""
    static, kinetic = surface.static_friction, surface.friction
    if static is not None and kinetic is not None and static < kinetic:
        raise MechanismError(f"{what}: static_friction must not be below friction, got {static} and {kinetic}")
    if surface.restitution is not None and surface.restitution > 1.0:
        raise MechanismError(f"{what}: restitution must not exceed 1, got {surface.restitution}")
    if surface.restitution and surface.compliance:
        raise MechanismError(
            f"{what}: restitution is of rigid contacts; with a compliance, how high things bounce follows from "
            "relaxation_time"
        )


@dataclass(frozen=True)
class Shape:
    """A shape fixed to a body.

    Attributes:
        pose: pose of the shape's own frame in the body frame: a `Pose`, or just its position [m].
        name: for messages and the viewer; may be empty.
        color: red, green, blue, alpha, each from 0 to 1.
        collision: whether contact may use it.
        visual: whether pictures show it.
        friction: Coulomb coefficient; None leaves it to what the shape touches. Where both say one, the larger
            counts (as in MuJoCo), where neither does 0.5.
        static_friction: Coulomb coefficient of contacts that stick, at least `friction`, which is the kinetic one where
            it is given; None leaves it to what the shape touches. Of two the larger counts; where neither says one, or
            one below their friction, it is their friction. `Maximal` and `Minimal` alone know it.
        restitution: Newton's coefficient, 0 (plastic) to 1 (elastic); None leaves it to what the shape touches. Where
            both say one, the larger counts, where neither does 0.
        compliance: how far a contact gives way under a force along its normal [m/N]; those of two shapes add, as of
            springs in series. None or 0: rigid, with the restitution of the contact; with a compliance, that is 0.
        relaxation_time: of such a contact [s]: a force f, a depth d and its rate obey compliance f = d +
            relaxation_time d'. 0 bounces back, long ones creep. Of two shapes their mean, weighted by the compliances;
            None: 0.01 s. `Minimal` alone knows these two.
        spinning: friction against spinning about the normal of a contact: torque per normal force [m]; None leaves it
            to what the shape touches, as with friction; where neither says one, 0.
        rolling: friction against rolling, about the tangents: torque per normal force [m]; likewise.
        groups: bits of the groups of shapes that it belongs to.
        touches: bits of the groups that it touches. Two shapes touch if one of them touches a group of the other
            (contype and conaffinity of MuJoCo).
        surface_velocity: of a conveyor belt: how its surface moves along the shape, in the shape's own frame [m/s];
            friction acts relative to it. What of it points along the normal of a contact counts for nothing.
        condim: which frictions may act: 1 none, 3 sliding, 4 and spinning, 6 and rolling; None for those that have
            coefficients. Of two shapes the larger counts (as in MuJoCo).
        priority: where two shapes differ in it, friction and condim are those of the one with the higher.
    """

    pose: Pose = field(default=Pose(), kw_only=True)
    name: str = field(default="", kw_only=True)
    color: tuple[float, float, float, float] = field(default=(0.55, 0.6, 0.68, 1.0), kw_only=True)
    collision: bool = field(default=True, kw_only=True)
    visual: bool = field(default=True, kw_only=True)
    friction: float | None = field(default=None, kw_only=True)
    restitution: float | None = field(default=None, kw_only=True)
    spinning: float | None = field(default=None, kw_only=True)
    rolling: float | None = field(default=None, kw_only=True)
    groups: int = field(default=1, kw_only=True)
    touches: int = field(default=1, kw_only=True)
    surface_velocity: tuple[float, float, float] | None = field(default=None, kw_only=True)
    condim: int | None = field(default=None, kw_only=True)
    priority: int = field(default=0, kw_only=True)
    static_friction: float | None = field(default=None, kw_only=True)
    compliance: float | None = field(default=None, kw_only=True)
    relaxation_time: float | None = field(default=None, kw_only=True)

    kind: ClassVar[str] = "shape"

    def __post_init__(self) -> None:
        what = f"{self.kind} {_check.text(self.name, f'name of a {self.kind}')!r}"
        object.__setattr__(self, "pose", Pose.of(self.pose, f"{what}: pose"))
        for name in ("collision", "visual"):
            object.__setattr__(self, name, _check.flag(getattr(self, name), f"{what}: {name}"))
        object.__setattr__(self, "color", _check.vector(self.color, 4, f"color of {what}"))
        for name in COEFFICIENTS:
            if getattr(self, name) is not None:
                object.__setattr__(self, name, _check.nonnegative(getattr(self, name), f"{what}: {name}"))
        check_surface(self, what)
        for name in ("groups", "touches"):
            object.__setattr__(self, name, _bits(getattr(self, name), f"{what}: {name}"))
        if self.surface_velocity is not None:
            velocity = _check.vector(self.surface_velocity, 3, f"{what}: surface_velocity")
            object.__setattr__(self, "surface_velocity", velocity)
        if isinstance(self.condim, np.ndarray) or self.condim not in (None, 1, 3, 4, 6):
            raise MechanismError(f"{what}: condim must be 1, 3, 4 or 6, got {_check.shown(self.condim)}")
        if isinstance(self.priority, bool) or not isinstance(self.priority, int):
            raise MechanismError(f"{what}: priority must be a whole number, got {_check.shown(self.priority)}")

    def _positive(self, *names: str) -> None:
        for name in names:
            value = _check.positive(getattr(self, name), f"{self.kind} {self.name!r}: {name}")
            object.__setattr__(self, name, value)

    def volume(self) -> float:
        """Volume [m^3]; raises `MechanismError` for shapes that enclose none."""
        raise MechanismError(f"a {self.kind} has no volume, so it cannot give a body its mass")

    def _solid(self, mass: float) -> Inertia:
        raise MechanismError(f"a {self.kind} has no volume, so it cannot give a body its mass")

    def inertia(self, *, density: float | None = None, mass: float | None = None) -> Inertia:
        """Inertia in the body frame of the shape filled uniformly, by `density` [kg/m^3] or total `mass` [kg]."""
        if (density is None) == (mass is None):
            raise MechanismError(f"{self.kind} {self.name!r}: give either density or mass")
        m = self.volume() * _check.positive(density, "density") if mass is None else _check.nonnegative(mass, "mass")
        return self._solid(m).moved(self.pose)


FLAT = 1e-12
"""Volume of a mesh, relative to the cube of its extent, that is none."""


@dataclass(frozen=True)
class Sphere(Shape):
    """A ball of `radius` [m] about the origin of its frame."""

    radius: float
    kind: ClassVar[str] = "sphere"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive("radius")

    def volume(self) -> float:
        """Volume [m^3]."""
        return 4.0 / 3.0 * math.pi * self.radius**3

    def _solid(self, mass: float) -> Inertia:
        return solid_sphere(mass, self.radius)


@dataclass(frozen=True)
class Capsule(Shape):
    """All points within `radius` [m] of a segment of `length` [m] along z, centred at the origin."""

    radius: float
    length: float
    kind: ClassVar[str] = "capsule"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive("radius", "length")

    def volume(self) -> float:
        """Volume [m^3]."""
        return math.pi * self.radius**2 * (self.length + 4.0 / 3.0 * self.radius)

    def _solid(self, mass: float) -> Inertia:
        return solid_capsule(mass, self.radius, self.length)


@dataclass(frozen=True)
class Cylinder(Shape):
    """A cylinder of `radius` and `length` [m] along z, centred at the origin."""

    radius: float
    length: float
    kind: ClassVar[str] = "cylinder"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive("radius", "length")

    def volume(self) -> float:
        """Volume [m^3]."""
        return math.pi * self.radius**2 * self.length

    def _solid(self, mass: float) -> Inertia:
        return solid_cylinder(mass, self.radius, self.length)


@dataclass(frozen=True)
class Box(Shape):
    """A box with edge lengths `size` = (x, y, z) [m], centred at the origin."""

    size: tuple[float, float, float]
    kind: ClassVar[str] = "box"

    def __post_init__(self) -> None:
        super().__post_init__()
        size = _check.vector(self.size, 3, f"box {self.name!r}: size")
        object.__setattr__(self, "size", tuple(_check.positive(x, f"box {self.name!r}: size") for x in size))

    def volume(self) -> float:
        """Volume [m^3]."""
        return self.size[0] * self.size[1] * self.size[2]

    def _solid(self, mass: float) -> Inertia:
        return solid_box(mass, self.size)


@dataclass(frozen=True)
class Ellipsoid(Shape):
    """An ellipsoid with `radii` = (x, y, z) [m] along its axes, centred at the origin."""

    radii: tuple[float, float, float]
    kind: ClassVar[str] = "ellipsoid"

    def __post_init__(self) -> None:
        super().__post_init__()
        radii = _check.vector(self.radii, 3, f"ellipsoid {self.name!r}: radii")
        object.__setattr__(self, "radii", tuple(_check.positive(x, f"ellipsoid {self.name!r}: radii") for x in radii))

    def volume(self) -> float:
        """Volume [m^3]."""
        return 4.0 / 3.0 * math.pi * self.radii[0] * self.radii[1] * self.radii[2]

    def _solid(self, mass: float) -> Inertia:
        return solid_ellipsoid(mass, self.radii)


@dataclass(frozen=True)
class Plane(Shape):
    """The half space below the plane z = 0 of its frame; its normal is +z."""

    kind: ClassVar[str] = "plane"


def _numbers(value: Any, dtype: type, what: str) -> NDArray[Any]:
    a = _check.real_array(value)
    if a is None:
        raise MechanismError(f"{what}: expected an array of numbers, got {_check.shown(value)}")
    whole = np.nan_to_num(a).astype(dtype)
    if dtype is np.int64 and not (whole == a).all():
        raise MechanismError(f"{what}: expected whole numbers")
    return a.astype(dtype) if dtype is not np.int64 else whole


def _frozen(value: Any, dtype: type, columns: int, what: str) -> NDArray[Any]:
    a = _numbers(value, dtype, what)
    if a.ndim != 2 or a.shape[1] != columns or len(a) == 0:
        raise MechanismError(f"{what}: expected an array of shape (n, {columns}), got {a.shape}")
    if not (np.abs(a) <= _check.LARGEST).all():
        raise MechanismError(f"{what}: expected finite numbers")
    a.flags.writeable = False
    return a


class _ByContent:
    """Equality and hash by value for shapes that hold arrays."""

    def _key(self) -> tuple[Any, ...]:
        items = (getattr(self, name) for name in self.__dataclass_fields__)  # type: ignore[attr-defined]
        return tuple((x.shape, x.tobytes()) if isinstance(x, np.ndarray) else x for x in items)

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._key() == other._key()  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash(self._key())

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Pickles do not carry the flag that makes arrays read-only.
        for value in state.values():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
        self.__dict__.update(state)


@dataclass(frozen=True, eq=False)
class Mesh(_ByContent, Shape):
    """A triangle mesh; for contact its convex hull counts.

    Attributes:
        vertices: [m], shape (n, 3).
        faces: vertex indices, counter-clockwise seen from outside, shape (m, 3); empty means the convex hull.
        file: where it came from, so that a writer can name it; may be empty.
    """

    vertices: NDArray[np.float64]
    faces: NDArray[np.int64] = field(default_factory=lambda: np.zeros((0, 3), np.int64))
    file: str = ""
    kind: ClassVar[str] = "mesh"

    def __post_init__(self) -> None:
        super().__post_init__()
        what = f"mesh {self.name!r}"
        _check.text(self.file, f"{what}: file")
        vertices = _frozen(self.vertices, np.float64, 3, f"{what}: vertices")
        faces = _numbers(self.faces, np.int64, f"{what}: faces")
        if faces.size == 0:
            faces = _hull_faces(vertices, what)
        faces = _frozen(faces, np.int64, 3, f"{what}: faces")
        if faces.min() < 0 or faces.max() >= len(vertices):
            raise MechanismError(f"{what}: a face names a vertex that does not exist")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)

    def volume(self) -> float:
        """Enclosed volume [m^3] (divergence theorem over the faces); `MechanismError` if there is none."""
        corners = np.asarray(self.vertices)
        volume = float(_tetrahedra(corners - corners[0], self.faces)[0].sum())  # faces in one plane then have none
        if volume <= FLAT * float(np.ptp(self.vertices, axis=0).max(initial=0.0)) ** 3:
            raise MechanismError(
                f"mesh {self.name!r}: encloses no volume, or its faces point inwards, so it cannot give a body its mass"
            )
        return volume

    def _solid(self, mass: float) -> Inertia:
        volume = self.volume()
        volumes, corners = _tetrahedra(self.vertices, self.faces)
        com = (volumes[:, None] * corners.sum(axis=1) / 4.0).sum(axis=0) / volume
        # Second moments of a tetrahedron with one corner at the origin: V/20 (sum_i x_i x_i' + s s'), s = sum x_i.
        sums = corners.sum(axis=1)
        second = np.einsum("t,tij,tik->jk", volumes, corners, corners)
        second = (second + np.einsum("t,tj,tk->jk", volumes, sums, sums)) / 20.0
        second = second / volume - np.outer(com, com)
        return Inertia(mass, tuple(com.tolist()), mass * (np.trace(second) * np.eye(3) - second))


def _hull_faces(vertices: NDArray[np.float64], what: str) -> NDArray[np.int64]:
    from scipy.spatial import ConvexHull, QhullError

    try:
        hull = ConvexHull(vertices)
    except (QhullError, ValueError) as error:
        raise MechanismError(f"{what}: its points have no convex hull ({str(error).splitlines()[0]})") from None
    faces = hull.simplices.astype(np.int64)
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), hull.equations[:, :3]) < 0
    faces[inward] = faces[inward][:, ::-1]
    return faces


def _tetrahedra(vertices: NDArray[np.float64], faces: NDArray[np.int64]) -> tuple[NDArray[Any], NDArray[Any]]:
    corners = vertices[faces]
    return np.linalg.det(corners) / 6.0, corners


@dataclass(frozen=True, eq=False)
class HeightField(_ByContent, Shape):
    """Ground whose height over a regular grid in x and y is given; flat beyond the edge of the grid.

    Attributes:
        heights: [m], shape (nx, ny), heights[i, j] at x = (i - (nx-1)/2) spacing, y = (j - (ny-1)/2) spacing.
        spacing: distance of neighbouring grid points [m].
    """

    heights: NDArray[np.float64]
    spacing: float
    kind: ClassVar[str] = "height field"

    def __post_init__(self) -> None:
        super().__post_init__()
        self._positive("spacing")
        heights = _numbers(self.heights, float, f"height field {self.name!r}: heights")
        if heights.ndim != 2 or min(heights.shape) < 2 or not (np.abs(heights) <= _check.LARGEST).all():
            raise MechanismError(f"height field {self.name!r}: heights must be a finite array of at least 2 x 2")
        heights.flags.writeable = False
        object.__setattr__(self, "heights", heights)
