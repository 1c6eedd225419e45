"""Sine and cosine of joint angles against the library's."""

import math

import numpy as np

from leastaction._jit import entry
from leastaction.spatial.angles import FARTHEST, sine_and_cosine


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
