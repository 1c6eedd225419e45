"""The software renderer against what geometry and optics say."""

import math

import numpy as np
import pytest

from leastaction.raster import Lamp, Lens, rasterizer, render
from leastaction.view import geometry

ABOVE = Lens((0.0, 0.0, 10.0), np.array([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0]]), 0.4)


def picture(mesh, color=(1.0, 0.0, 0.0, 1.0), lens=ABOVE, floor=-1.0, light=(0.0, 0.0, 1.0), **options):
    lamp = Lamp(light, floor, 100.0, 1000.0)
    faces = np.zeros(len(mesh.faces), int)
    return render(mesh.vertices, mesh.normals, mesh.faces, [color], faces, lens, lamp, 96, 64, **options).astype(int)


def test_a_ball_covers_the_disc_that_perspective_says():
    """The outline of a ball of radius r at distance d is a cone of half angle asin(r/d)."""
    image = picture(geometry.capsule(1.0, 0.0, 64))
    red = (image[..., 0] > image[..., 1] + 40).sum()
    focal = 32.0 / math.tan(0.2)
    expected = math.pi * (focal * math.tan(math.asin(1.0 / 10.0))) ** 2
    assert red == pytest.approx(expected, rel=0.03)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_the_nearer_triangle_hides_the_farther(order):
    near, index = np.zeros((20, 20)), np.full((20, 20), -1)
    square = np.array([[0.0, 0], [20, 0], [20, 20], [0, 20]])
    points = np.concatenate([np.c_[square, np.full(4, w)] for w in (0.5, 0.2)])
    faces = np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]]).reshape(2, 2, 3)[list(order)].reshape(-1, 3)
    rasterizer.nearest(points, faces, near, index)
    assert np.allclose(near, 0.5)
    assert (faces[index] < 4).all()


def test_two_triangles_of_a_square_leave_no_gap_and_do_not_bleed():
    near, index = np.zeros((16, 16)), np.full((16, 16), -1)
    points = np.array([[2.0, 3.0, 1.0], [13.0, 3.0, 1.0], [13.0, 12.0, 1.0], [2.0, 12.0, 1.0]])
    rasterizer.nearest(points, np.array([[0, 1, 2], [0, 2, 3]]), near, index)
    assert (index >= 0).sum() == 11 * 9
    assert (index[3:12, 2:13] >= 0).all()


def test_what_is_behind_the_camera_is_not_drawn():
    mesh = geometry.capsule(1.0, 0.0)
    behind = geometry.Triangles(mesh.vertices + [0, 0, 20.0], mesh.normals, mesh.faces)
    image = picture(behind)
    assert (image[..., 0] <= image[..., 2]).all()


def test_a_box_throws_its_shadow_away_from_the_lamp():
    light = np.array([-1.0, 0.0, 1.0]) / math.sqrt(2.0)
    image = picture(geometry.box((1.0, 1.0, 0.5)), (0.5, 0.5, 0.5, 1.0), floor=-0.25, light=light)
    brightness = image.sum(axis=2)
    shaded, sunny = brightness[32, 48 + 10], brightness[32, 48 - 14]
    # The box reaches 7.8 pixels from the middle, its shadow 45 degrees further: 0.5 m, 7.9 pixels.
    assert shaded < 0.85 * sunny


def test_half_transparent_is_half_way():
    """In linear light: the mean of what is behind and of the surface itself."""
    mesh = geometry.slab(20.0, 0.1)
    solid, glass, bare = (
        (picture(m, (0.2, 0.5, 0.4, a), floor=-50.0)[32, 48] / 255.0) ** 2.2
        for m, a in ((mesh, 1.0), (mesh, 0.5), (geometry.tubes([[0, 0, 90.0]], [[0, 0, 91.0]], 1.0, 1.0), 1.0))
    )
    # The floor lies in the sun under glass, which throws no shadow.
    assert glass == pytest.approx(0.5 * (solid + bare), abs=0.02)


def test_light_follows_lambert():
    """A plate that is turned away from the lamp loses the lamp's share with the cosine."""
    plate = geometry.slab(3.0, 0.1)
    ambient, straight, slanted = (
        (picture(plate, (0.6, 0.6, 0.6, 1.0), light=(math.sin(a), 0.0, math.cos(a)))[30, 30, 1] / 255.0) ** 2.2
        for a in (math.pi / 2 - 1e-6, 0.9, 1.2)
    )
    assert (slanted - ambient) / (straight - ambient) == pytest.approx(math.cos(1.2) / math.cos(0.9), rel=0.06)
