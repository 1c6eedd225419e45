"""What the loops of the renderer read, by name; from Python they come as plain tuples in this order."""

from __future__ import annotations

from typing import Any, NamedTuple

from leastaction.typing import FloatArray


class Triangles(NamedTuple):
    """What there is to see.

    Attributes:
        points: vertices on the screen, as `kernels.nearest` takes them, shape (n, 3).
        faces: indices of vertices, shape (m, 3).
        positions, normals: of the vertices in the world, shape (n, 3).
        colors: linear red, green, blue, and opacity, shape (k, 4).
        face_color: which colour each triangle has, shape (m,).
    """

    points: FloatArray
    faces: Any
    positions: FloatArray
    normals: FloatArray
    colors: FloatArray
    face_color: Any


class Seen(NamedTuple):
    """What `kernels.nearest` found for each sample, shape (rows, columns).

    Attributes:
        near, index: nearness and number of the solid triangle; a nearness of zero is none.
        glass_near, glass_index: the same of the transparent ones.
    """

    near: FloatArray
    index: Any
    glass_near: FloatArray
    glass_index: Any


class Light(NamedTuple):
    """Where eye, lamp and floor are.

    Attributes:
        eye: of the camera [m].
        direction: unit vector to the lamp.
        lamp: from the world to the map of shadows, shape (3, 4).
        shadow: nearness to the lamp, shape (rows, columns).
        bias: by which a surface must be further than the map says, to be in the shadow.
        floor: its height [m].
        cell: of the grid on it [m].
        reach: distance at which it fades [m].
        pixel: angle of a sample [rad].
    """

    eye: tuple[float, float, float]
    direction: tuple[float, float, float]
    lamp: FloatArray
    shadow: FloatArray
    bias: float
    floor: float
    cell: float
    reach: float
    pixel: float
