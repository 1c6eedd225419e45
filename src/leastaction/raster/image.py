"""One picture: puts triangles before a lens, and calls the compiled loops."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._tuples import plain
from leastaction.raster import rasterizer
from leastaction.raster.arrays import FloatArray, Light, Seen, Triangles


@dataclass(frozen=True)
class Lens:
    """A pinhole camera.

    Attributes:
        eye: where it is [m], 3 numbers.
        axes: unit vectors to the right, up and backwards, shape (3, 3).
        field_of_view: vertical opening [rad].
    """

    eye: Any
    axes: Any
    field_of_view: float


@dataclass(frozen=True)
class Lamp:
    """A distant lamp, and the floor that it shines on.

    Attributes:
        direction: unit vector towards it.
        floor: height of the floor [m].
        cell: width of a cell of the floor's grid [m].
        reach: distance from the camera at which the floor fades [m].
    """

    direction: Any
    floor: float
    cell: float
    reach: float


def render(
    vertices: Any,
    normals: Any,
    faces: Any,
    colors: Any,
    face_color: Any,
    lens: Lens,
    lamp: Lamp,
    width: int,
    height: int,
    *,
    smooth: int = 2,
    shadows: int = 1024,
) -> NDArray[np.uint8]:
    """Draw triangles with light and shadow over a floor.

    Args:
        vertices, normals: [m], shape (n, 3).
        faces: indices of vertices, shape (m, 3).
        colors: red, green, blue and opacity from 0 to 1, as screens show them, shape (k, 4).
        face_color: which colour each triangle has, shape (m,).
        lens: the camera.
        lamp: the light and the floor.
        width, height: of the picture [pixels].
        smooth: so many samples along each side of a pixel.
        shadows: rows and columns of the map of shadows.

    Returns:
        Red, green, blue from 0 to 255, shape (height, width, 3).
    """
    w, h = smooth * width, smooth * height
    positions = np.ascontiguousarray(vertices, float)
    normals, colors = np.ascontiguousarray(normals, float), np.array(colors, float).reshape(-1, 4)
    faces = np.ascontiguousarray(faces, np.int64).reshape(-1, 3)
    face_color = np.ascontiguousarray(face_color, np.int64)
    colors[:, :3] **= rasterizer.GAMMA
    eye, axes = np.asarray(lens.eye, float), np.asarray(lens.axes, float)
    screen, focal = _on_screen(positions, lens, w, h, 1e-3 * lamp.reach)
    solid = colors[face_color, 3] > 0.999
    near, index = np.zeros((h, w)), np.zeros((h, w), np.int64)
    glass_near, glass_index = np.zeros((h, w)), np.zeros((h, w), np.int64)
    order = np.concatenate([np.flatnonzero(solid), np.flatnonzero(~solid)])
    faces, face_color, count = faces[order], face_color[order], int(solid.sum())
    rasterizer.nearest(screen, faces[:count], near, index)
    rasterizer.nearest(screen, faces[count:], glass_near, glass_index)
    glass_index += count
    to_map, shadow, bias = _shadow_map(positions, faces[:count], np.asarray(lamp.direction, float), shadows)
    rays = np.stack([-focal * axes[2] - 0.5 * w * axes[0] + 0.5 * h * axes[1], axes[0], -axes[1]])
    image = np.empty((height, width, 3), np.uint8)
    triangles = Triangles(screen, faces, positions, normals, colors, face_color)
    seen = Seen(near, index, glass_near, glass_index)
    light = Light(
        eye=_triple(eye),
        direction=_triple(lamp.direction),
        lamp=to_map,
        shadow=shadow,
        bias=bias,
        floor=float(lamp.floor),
        cell=float(lamp.cell),
        reach=float(lamp.reach),
        pixel=1.0 / focal,
    )
    rasterizer.shade(plain(triangles), plain(seen), plain(light), rays, image)
    return image


def depth(vertices: Any, faces: Any, lens: Lens, floor: float, width: int, height: int) -> FloatArray:
    """Distance along the lens's axis to the nearest triangle, or to the floor [m], infinite where there is neither.

    Args:
        vertices: [m], shape (n, 3).
        faces: indices of vertices, shape (m, 3).
        lens: the camera.
        floor: height of the floor [m]; infinite for none.
        width, height: of the picture [pixels].

    Returns:
        Shape (height, width).
    """
    positions = np.ascontiguousarray(vertices, float)
    eye, axes = np.asarray(lens.eye, float), np.asarray(lens.axes, float)
    reach = float(np.abs(positions - eye).max(initial=1.0))
    screen, focal = _on_screen(positions, lens, width, height, 1e-4 * reach)
    near, index = np.zeros((height, width)), np.zeros((height, width), np.int64)
    rasterizer.nearest(screen, np.ascontiguousarray(faces, np.int64).reshape(-1, 3), near, index)
    right = (np.arange(width) + 0.5 - 0.5 * width) / focal
    up = (0.5 * height - np.arange(height) - 0.5) / focal
    sinking = -axes[2, 2] + right * axes[0, 2] + up[:, None] * axes[1, 2]  # of rays per metre along the axis
    with np.errstate(divide="ignore", invalid="ignore"):
        if math.isfinite(floor):
            near = np.maximum(near, np.nan_to_num(sinking / (floor - eye[2]), nan=0.0, posinf=0.0, neginf=0.0))
        return 1.0 / np.abs(near)


def _on_screen(positions: FloatArray, lens: Lens, width: int, height: int, closest: float) -> tuple[FloatArray, float]:
    """x and y [pixels] and nearness of points, shape (n, 3), and the focal length [pixels].

    What is behind the camera, or closer than `closest` [m], gets a nearness of zero, which hides it.
    """
    focal = 0.5 * height / math.tan(0.5 * lens.field_of_view)
    seen = (positions - np.asarray(lens.eye, float)) @ np.asarray(lens.axes, float).T
    away = -seen[:, 2]
    nearness = np.where(away > closest, 1.0 / np.where(away > 0.0, away, 1.0), 0.0)
    x, y = 0.5 * width + focal * seen[:, 0] * nearness, 0.5 * height - focal * seen[:, 1] * nearness
    return np.stack([x, y, nearness], 1), focal


def _triple(vector: Any) -> tuple[float, float, float]:
    x, y, z = map(float, vector)
    return x, y, z


def _shadow_map(
    positions: FloatArray, faces: NDArray[np.int64], light: FloatArray, size: int
) -> tuple[FloatArray, FloatArray, float]:
    """From the world to the map (3, 4), nearness to the lamp (size, size), and the bias that avoids self-shadows."""
    used = positions[np.unique(faces)] if len(faces) else np.zeros((1, 3))
    side = np.cross(light, (0.0, 0.0, 1.0) if abs(light[2]) < 0.95 else (1.0, 0.0, 0.0))
    side /= np.linalg.norm(side)
    frame = np.stack([side, np.cross(light, side), light])
    along = used @ frame.T
    low, extent = along.min(axis=0), float(max(np.ptp(along, axis=0).max(), 1e-6))
    scale = (size - 8) / extent
    # The nearness starts at one, since zero means that nothing is there.
    to_map = np.concatenate([frame * scale, (-scale * low + np.array([4.0, 4.0, 1.0]))[:, None]], axis=1)
    shadow, index = np.zeros((size, size)), np.zeros((size, size), np.int64)
    points = np.ascontiguousarray(positions @ to_map[:, :3].T + to_map[:, 3])
    rasterizer.nearest(points, faces, shadow, index)
    return to_map, shadow, 3.0
