"""Random vectors, rotations, poses and inertias for the tests, and plain numpy forms of the tuples."""

import math

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from leastaction import spatial

few = settings(max_examples=40, deadline=None)

numbers = st.floats(-3.0, 3.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers)
twists = st.tuples(vectors, vectors)
matrices = st.tuples(*[numbers] * 9)
directions = vectors.filter(lambda a: np.linalg.norm(a) > 1e-3).map(lambda a: tuple(a / np.linalg.norm(a)))

# Rotation angles [rad] of every size, with the hard ones: nothing, tiny, near each switch of series, near pi.
angles = st.one_of(
    st.floats(0.0, math.pi - 1e-9),
    st.sampled_from([0.0, 1e-200, 1e-15, 1e-8, 1e-4, 1.0 - 1e-9, 1.0, 3.0 - 1e-9, 3.0, 3.14, math.pi - 1e-9]),
)
rotation_vectors = st.tuples(directions, angles).map(lambda d: tuple(float(d[1] * x) for x in d[0]))
rotations = rotation_vectors.map(spatial.rot_exp)
poses = st.tuples(rotations, vectors)
screws = st.tuples(rotation_vectors, vectors)

masses = st.floats(0.1, 5.0)
# Inertia about the centre of mass [kg m^2] of three rods along the axes of a random frame.
com_inertias = st.tuples(rotations, st.floats(0.01, 1.0), st.floats(0.01, 1.0), st.floats(0.01, 1.0)).map(
    lambda d: spatial.rotate_sym(d[0], (d[2] + d[3], 0.0, 0.0, d[1] + d[3], 0.0, d[1] + d[2]))
)
inertias = st.tuples(masses, vectors, com_inertias).map(lambda d: spatial.inertia_from_com(*d))


def matrix(R: tuple[float, ...]) -> NDArray[np.float64]:
    """A 9-tuple as an array (3, 3)."""
    return np.array(R).reshape(3, 3)


def symmetric(S: tuple[float, ...]) -> NDArray[np.float64]:
    """A 6-tuple as a symmetric array (3, 3)."""
    return np.array(S)[[0, 1, 2, 1, 3, 4, 2, 4, 5]].reshape(3, 3)


def six(V: tuple[tuple[float, ...], tuple[float, ...]]) -> NDArray[np.float64]:
    """A twist or wrench as an array (6,)."""
    return np.concatenate(V)


def pair(a: NDArray[np.float64]) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """An array (6,) as a twist or wrench."""
    return tuple(map(float, a[:3])), tuple(map(float, a[3:]))


def block(B: tuple[tuple[float, ...], tuple[float, ...]]) -> NDArray[np.float64]:
    """The matrix (6, 6) held as blocks (J, Q)."""
    J, Q = matrix(B[0]), matrix(B[1])
    return np.block([[J, np.zeros((3, 3))], [Q, J]])


def close(actual: object, expected: object, tolerance: float = 1e-12) -> bool:
    """Whether two arrays or nested tuples agree to an absolute tolerance."""
    a, b = np.array(flat(actual)), np.array(flat(expected))
    return a.shape == b.shape and bool(np.all(np.abs(a - b) <= tolerance))


def flat(a: object) -> list[float]:
    """All numbers of an array or of nested tuples, in order."""
    if isinstance(a, tuple | list):
        return [x for part in a for x in flat(part)]
    return list(np.ravel(np.asarray(a, dtype=float)))
