"""Derivatives by central differences along the tangent of the configuration manifold."""

import numpy as np

STEP = 1e-3


def central(f, step=STEP):
    """f'(0) by central differences of order 4, so that the error is about step**4 + 1e-16 / step."""
    near, far = np.asarray(f(step)) - f(-step), np.asarray(f(2 * step)) - f(-2 * step)
    return (8.0 * near - far) / (12.0 * step)


def by_q(robot, f, q, step=STEP, along=None):
    """Derivative of f(q) along the tangent, last axis nv, or along the rows of `along`."""
    unit = np.eye(robot.nv) if along is None else along
    return np.stack([central(lambda h, e=e: f(robot.integrate(q, h * e)), step) for e in unit], axis=-1)


def by_vector(f, x, step=STEP, along=None):
    """Derivative of f(x) with respect to a plain vector, last axis len(x), or along the rows of `along`."""
    unit = np.eye(len(x)) if along is None else along
    return np.stack([central(lambda h, e=e: f(x + h * e), step) for e in unit], axis=-1)


def directions(n, count=3):
    """A few rows of length n for gradients that are dear to take differences of.

    All entries are of one size, so that an entry of the gradient that is wrong shows in every row.
    """
    return np.eye(n) if n <= count else np.random.default_rng(n).choice([-1.0, 1.0], size=(count, n)) / np.sqrt(n)


def assert_close(actual, expected, tolerance=1e-10):
    """Largest difference within `tolerance` of the largest entry (or of one, if all are smaller)."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    if actual.size:
        error = np.abs(actual - expected).max()
        assert error <= tolerance * max(1.0, np.abs(expected).max()), error
