"""Sine and cosine of joint angles, and angles of two numbers, against the library's."""

import math

import numpy as np

from leastaction._jit import entry
from leastaction.spatial.angles import FARTHEST, angle_of, sine_and_cosine


@entry
def _fill(x, out):
    for k in range(x.shape[0]):
        out[k, 0], out[k, 1] = sine_and_cosine(x[k])


def test_sine_and_cosine_are_those_of_the_library():
    rng = np.random.default_rng(0)
    quarters = np.arange(-40, 41) * 0.5 * math.pi  # where one of them is all but zero
    parts = [rng.uniform(-h, h, 3000) for h in (1e-9, 0.1, 2.0, 50.0, FARTHEST, 1e9)]
    x = np.concatenate([*parts, quarters, quarters + 0.25 * math.pi, [0.0, -0.0, FARTHEST, -FARTHEST]])
    out = np.zeros((len(x), 2))
    _fill(x, out)
    assert np.abs(out[:, 0] - np.sin(x)).max() < 2.3e-16  # one unit in the last place of 1
    assert np.abs(out[:, 1] - np.cos(x)).max() < 2.3e-16
    small = np.abs(x) < 0.1
    np.testing.assert_allclose(out[small, 0], np.sin(x[small]), rtol=3e-16, atol=0.0)
    _fill(np.array([math.nan, math.inf]), out)
    assert np.isnan(out[:2]).all()


@entry
def _angles(y, x, out):
    for k in range(x.shape[0]):
        out[k] = angle_of(y[k], x[k])


def test_angles_of_two_numbers_are_those_of_the_library():
    rng = np.random.default_rng(0)
    eighths = np.arange(-8, 9) * 0.125 * math.pi  # where it goes from one way to the other
    angle = np.concatenate([rng.uniform(-math.pi, math.pi, 20000), eighths, eighths + 1e-9, eighths - 1e-9])
    size = 10.0 ** rng.uniform(-150.0, 150.0, len(angle))
    y, x = size * np.sin(angle), size * np.cos(angle)
    y, x = np.append(y, [0.0, 0.0, 1.0, -1.0, 0.0]), np.append(x, [1.0, -1.0, 0.0, 0.0, 0.0])
    out = np.zeros(len(x))
    _angles(y, x, out)
    assert np.abs(out - np.arctan2(y, x)).max() < 5e-16  # one unit in the last place of pi
    small = np.abs(out) < 0.4
    np.testing.assert_allclose(out[small], np.arctan2(y[small], x[small]), rtol=4e-16, atol=0.0)
    _angles(np.array([math.nan, 1.0, 0.0, math.nan]), np.array([1.0, math.nan, math.nan, 0.0]), out)
    assert np.isnan(out[:4]).all()
