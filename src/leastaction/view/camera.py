"""Where a scene is seen from."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import LeastActionError
from leastaction.mechanism._check import number, positive, vector
from leastaction.typing import FloatArray


@dataclass(frozen=True)
class Camera:
    """A camera that looks at a point; z is up.

    Attributes:
        target: what it looks at [m], 3 numbers.
        azimuth: angle of the line from target to camera about z, from x [rad].
        elevation: of that line over the horizon [rad].
        distance: from the target [m].
        field_of_view: vertical opening [rad].
    """

    target: tuple[float, float, float] = (0.0, 0.0, 0.0)
    azimuth: float = -0.9
    elevation: float = 0.35
    distance: float = 3.0
    field_of_view: float = 0.6

    def __post_init__(self) -> None:
        object.__setattr__(self, "target", vector(self.target, 3, "camera: target"))
        for name in ("azimuth", "elevation"):
            object.__setattr__(self, name, number(getattr(self, name), f"camera: {name}"))
        for name in ("distance", "field_of_view"):
            object.__setattr__(self, name, positive(getattr(self, name), f"camera: {name}"))
        if self.field_of_view >= math.pi:
            raise LeastActionError(f"camera: field_of_view must be below pi, got {self.field_of_view}")

    def axes(self) -> FloatArray:
        """Unit vectors to the right, up, and towards the camera, shape (3, 3)."""
        ca, sa, ce, se = (f(x) for x in (self.azimuth, self.elevation) for f in (math.cos, math.sin))
        return np.array([[-sa, ca, 0.0], [-se * ca, -se * sa, ce], [ce * ca, ce * sa, se]])

    @property
    def eye(self) -> FloatArray:
        """Position of the camera [m], shape (3,)."""
        return np.array(self.target) + self.distance * self.axes()[2]

    def moved(self, shift: ArrayLike) -> Camera:
        """The camera carried along by a vector [m]."""
        return replace(self, target=tuple((np.array(self.target) + vector(shift, 3, "shift")).tolist()))


def choose_camera(points: FloatArray, angles: Any = None, aspect: float = 1.4) -> Camera:
    """A camera that sees all points [m], shape (k, 3).

    Flat motions are seen nearly along the direction in which they are flat, others from ahead and above.

    Args:
        points: what must be seen.
        angles: (azimuth, elevation) [rad], where they are given.
        aspect: width over height of the picture.
    """
    camera = Camera()
    if angles is None:
        azimuth, elevation = _angles(points)
    else:
        azimuth, elevation = vector(angles, 2, "camera: (azimuth, elevation) [rad]")
    camera = replace(camera, azimuth=azimuth, elevation=elevation)
    axes = camera.axes()
    along = points @ axes.T
    middle = 0.5 * (along.min(axis=0) + along.max(axis=0))
    x, y, z = np.abs(along[:, 0] - middle[0]), np.abs(along[:, 1] - middle[1]), along[:, 2] - middle[2]
    tangent = math.tan(0.5 * camera.field_of_view)
    distance = float(np.max(z + np.maximum(x / (tangent * aspect), y / tangent)))
    distance = 1.18 * distance if distance > 1e-9 else 1.0
    return replace(camera, target=tuple((middle @ axes).tolist()), distance=distance)


def _angles(points: FloatArray) -> tuple[float, float]:
    flat = points[:, :2] - points[:, :2].mean(axis=0)
    values, vectors = np.linalg.eigh(flat.T @ flat)
    thin, wide = (float(np.ptp(flat @ vectors[:, k])) for k in (0, 1))
    high = float(np.ptp(points[:, 2]))
    if high < 0.2 * thin:
        return -0.5 * math.pi + 0.35, 0.95  # flat on the ground: look down
    if thin < 0.3 * max(wide, high) and values[1] > 0.0:
        normal = vectors[:, 0] if wide > 0.35 * high else np.array([0.0, -1.0])
        normal = normal if (normal[1], normal[0]) < (0.0, 0.0) else -normal
        return math.atan2(normal[1], normal[0]) + 0.38, 0.2
    return -0.75, 0.32
