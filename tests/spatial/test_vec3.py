"""Vectors against numpy."""

import numpy as np
from hypothesis import given

from leastaction import spatial
from tests.spatial.helpers import close, few, numbers, vectors


@few
@given(vectors, vectors, numbers)
def test_vector_algebra_agrees_with_numpy(a, b, k):
    x, y = np.array(a), np.array(b)
    assert close(spatial.add3(a, b), x + y)
    assert close(spatial.sub3(a, b), x - y)
    assert close(spatial.neg3(a), -x)
    assert close(spatial.scale3(k, a), k * x)
    assert close(spatial.axpy3(k, a, b), k * x + y)
    assert close(spatial.dot3(a, b), x @ y)
    assert close(spatial.cross(a, b), np.cross(x, y))
    assert close(spatial.norm3(a), np.linalg.norm(x))
    assert spatial.add3(a, spatial.ZERO3) == a
