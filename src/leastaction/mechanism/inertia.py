"""`Inertia`: mass, centre of mass and rotational inertia of one rigid body."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leastaction.errors import LeastActionWarning, MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.pose import Pose, quaternion_of_matrix
from leastaction.typing import Axis

TRIANGLE_TOLERANCE = 1e-9
"""Relative slack of the triangle inequality of the principal moments (thin rods meet it with equality)."""

ROUND_OFF = 1e-4
"""Share of the largest moment of a robot below which a violation comes from the few digits of a file: frames without a
body of their own, to which files give some tiny number. No motion shows it."""


def symmetric(value: Any, what: str) -> tuple[float, ...]:
    """A symmetric 3x3 matrix as (xx, xy, xz, yy, yz, zz) from a scalar, 3 principal moments, those 6, or 3x3."""
    a = _check.real_array(value)
    if a is None:
        raise MechanismError(f"{what}: expected a number, 3, 6 or 3 x 3 numbers, got {_check.shown(value)}")
    if a.shape == ():
        a = np.full(3, float(a))
    if a.shape == (3,):
        a = np.diag(a)
    if a.shape == (3, 3):
        if not np.allclose(a, a.T, rtol=1e-9, atol=1e-12 * np.nan_to_num(np.abs(a)).max(), equal_nan=True):
            raise MechanismError(f"{what}: the inertia matrix is not symmetric")
        a = np.array([a[0, 0], a[0, 1], a[0, 2], a[1, 1], a[1, 2], a[2, 2]])
    return _check.vector(a, 6, what)


@dataclass(frozen=True, slots=True)
class Inertia:
    """Mass distribution of a rigid body in its body frame.

    Attributes:
        mass: [kg].
        com: centre of mass in the body frame [m], 3 numbers.
        moments: rotational inertia about the centre of mass, axes parallel to the body frame [kg m^2]:
            (xx, xy, xz, yy, yz, zz). The constructor also takes one number (a sphere), three principal
            moments, or a symmetric (3, 3) matrix.
    """

    mass: float = 0.0
    com: tuple[float, float, float] = (0.0, 0.0, 0.0)
    moments: Any = (0.0,) * 6

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", _check.nonnegative(self.mass, "mass"))
        object.__setattr__(self, "com", _check.vector(self.com, 3, "centre of mass"))
        object.__setattr__(self, "moments", symmetric(self.moments, "inertia"))

    @classmethod
    def from_parts(cls, parts: Sequence[tuple[Inertia, Pose]]) -> Inertia:
        """The composite of rigidly joined parts, each with the pose of its frame in the common frame."""
        parts = [_part(pair) for pair in _check.instances(parts, tuple, "parts")]
        mass = sum(part.mass for part, _ in parts)
        if mass <= 0.0:
            return cls(0.0, (0, 0, 0), sum((p.matrix_in(X) for p, X in parts), np.zeros((3, 3))))
        com = sum((part.mass * np.array(X.apply(part.com)) for part, X in parts), np.zeros(3)) / mass
        total = np.zeros((3, 3))
        for part, X in parts:
            d = np.array(X.apply(part.com)) - com
            total += part.matrix_in(X) + part.mass * (d @ d * np.eye(3) - np.outer(d, d))
        return cls(mass, tuple(com.tolist()), 0.5 * (total + total.T))

    @property
    def matrix(self) -> NDArray[np.float64]:
        """Rotational inertia about the centre of mass [kg m^2], shape (3, 3)."""
        xx, xy, xz, yy, yz, zz = self.moments
        return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])

    def matrix_in(self, X: Pose) -> NDArray[np.float64]:
        """The same, with axes parallel to the parent frame of `X`."""
        R = _check.instance(X, Pose, "X").rotation
        return R @ self.matrix @ R.T

    def moved(self, X: Pose) -> Inertia:
        """This inertia expressed in the parent frame of `X`."""
        if _check.instance(X, Pose, "X").is_identity:
            return self
        m = self.matrix_in(X)
        return Inertia(self.mass, X.apply(self.com), 0.5 * (m + m.T))

    def principal(self) -> tuple[NDArray[np.float64], Pose]:
        """Principal moments [kg m^2] in rising order and the pose of the principal frame (at the COM)."""
        values, R = np.linalg.eigh(self.matrix)
        if np.linalg.det(R) < 0:
            R[:, 2] = -R[:, 2]
        return values, Pose(self.com, quaternion_of_matrix(R))

    def complaint(self, largest: float = 0.0) -> str:
        """What makes this a mass distribution that no real body has; empty for a real one.

        A real one has positive semidefinite inertia whose principal moments obey the triangle inequality.

        Args:
            largest: largest principal moment in the whole robot [kg m^2]; what is missing by less than `ROUND_OFF` of
                it does not count.
        """
        largest = _check.nonnegative(largest, "largest")
        a, b, c = np.linalg.eigvalsh(self.matrix)
        slack = max(TRIANGLE_TOLERANCE * max(abs(a), c), ROUND_OFF * largest, 1e-300)
        if a < -slack:
            return f"inertia has a negative principal moment ({a:.6g} kg m^2)"
        if a + b < c - slack:
            return (
                f"inertia breaks the triangle inequality: principal moments {a:.6g}, {b:.6g}, {c:.6g} kg m^2, "
                f"{a:.6g} + {b:.6g} < {c:.6g}"
            )
        return ""

    def check(self, owner: str, *, strict: bool = True) -> None:
        """Refuse a mass distribution that no real body has, or with `strict=False` warn of it; see `complaint`."""
        _check.text(owner, "owner")
        _check.flag(strict, "strict")
        if not (complaint := self.complaint()):
            return
        if strict:
            raise MechanismError(f"{owner}: {complaint}; pass strict=False to keep it with a warning")
        warnings.warn(f"{owner}: {complaint}; kept as given", LeastActionWarning, stacklevel=2)


def _part(pair: tuple[Any, ...]) -> tuple[Inertia, Pose]:
    part, X = _check.pair(pair, "parts")
    return _check.instance(part, Inertia, "parts"), _check.instance(X, Pose, "parts")


def rod(mass: float, length: float, *, axis: Axis = "z", com: ArrayLike = (0, 0, 0)) -> Inertia:
    """A thin uniform rod of `mass` [kg] and `length` [m] along `axis`, centred at `com` [m]."""
    mass, length = _check.nonnegative(mass, "mass"), _check.nonnegative(length, "length")
    a = np.array(_check.axis(axis, "axis"))
    return _check.made(Inertia, mass, com, mass * length**2 / 12.0 * (np.eye(3) - np.outer(a, a)))


def solid_box(mass: float, size: ArrayLike, *, com: ArrayLike = (0, 0, 0)) -> Inertia:
    """A uniform box of `mass` [kg] and edge lengths `size` [m], centred at `com` [m]."""
    mass = _check.nonnegative(mass, "mass")
    x, y, z = (_check.nonnegative(x, "size") for x in _check.vector(size, 3, "size"))
    return _check.made(Inertia, mass, com, (mass / 12.0) * np.array([y * y + z * z, x * x + z * z, x * x + y * y]))


def solid_sphere(mass: float, radius: float, *, com: ArrayLike = (0, 0, 0)) -> Inertia:
    """A uniform ball of `mass` [kg] and `radius` [m], centred at `com` [m]."""
    mass, radius = _check.nonnegative(mass, "mass"), _check.nonnegative(radius, "radius")
    return _check.made(Inertia, mass, com, 0.4 * mass * radius**2)


def solid_ellipsoid(mass: float, radii: ArrayLike, *, com: ArrayLike = (0, 0, 0)) -> Inertia:
    """A uniform ellipsoid of `mass` [kg] and `radii` [m] along x, y and z, centred at `com` [m]."""
    mass = _check.nonnegative(mass, "mass")
    x, y, z = (_check.nonnegative(x, "radii") for x in _check.vector(radii, 3, "radii"))
    return _check.made(Inertia, mass, com, 0.2 * mass * np.array([y * y + z * z, x * x + z * z, x * x + y * y]))


def solid_cylinder(mass: float, radius: float, length: float, *, com: ArrayLike = (0, 0, 0)) -> Inertia:
    """A uniform cylinder along z of `mass` [kg], `radius` and `length` [m], centred at `com` [m]."""
    mass, radius = _check.nonnegative(mass, "mass"), _check.nonnegative(radius, "radius")
    length = _check.nonnegative(length, "length")
    side = mass * (3 * radius**2 + length**2) / 12.0
    return _check.made(Inertia, mass, com, np.array([side, side, 0.5 * mass * radius**2]))


def solid_capsule(mass: float, radius: float, length: float, *, com: ArrayLike = (0, 0, 0)) -> Inertia:
    """A uniform capsule along z: cylinder of `length` [m] (without caps) with half balls of `radius` [m]."""
    mass, radius = _check.nonnegative(mass, "mass"), _check.positive(radius, "radius")
    length = _check.nonnegative(length, "length")
    volume_cylinder = math.pi * radius**2 * length
    volume_ball = 4.0 / 3.0 * math.pi * radius**3
    mc = mass * volume_cylinder / (volume_cylinder + volume_ball)
    mb = mass - mc
    axial = 0.5 * mc * radius**2 + 0.4 * mb * radius**2
    side = mc * (3 * radius**2 + length**2) / 12.0
    # Two half balls, each 3/8 r beyond the end of the cylinder (parallel-axis theorem).
    side += mb * (0.4 * radius**2 + 0.25 * length**2 + 0.375 * length * radius)
    return _check.made(Inertia, mass, com, np.array([side, side, axial]))
