"""The sweeps of `ilqr` beside the whole problem, solved at once."""

import numpy as np
import pytest
from scipy.optimize import minimize

from leastaction.optimize.shooting.riccati_sweep import Steps, Sweeps
from leastaction.optimize.shooting.stage_costs import Quadratic

N, n, m = 5, 4, 3


def square(rng, size, least):
    """A positive definite matrix."""
    X = rng.normal(size=(size, size))
    return X @ X.T + least * np.eye(size)


def task(seed, width):
    """A model, and steps whose controls have so much room."""
    rng = np.random.default_rng(seed)
    both = [square(rng, n + m, 0.1) for _ in range(N)]
    model = Quadratic(
        rng.normal(size=(N + 1, n)),
        rng.normal(size=(N, m)),
        np.array([*(X[:n, :n] for X in both), square(rng, n, 0.1)]),
        np.array([X[n:, :n] for X in both]),
        np.array([X[n:, n:] for X in both]),
    )
    A, B, gaps = rng.normal(size=(N, n, n)), rng.normal(size=(N, n, m)), rng.normal(size=(N, n))
    low, high = -width * rng.uniform(0.1, 1.0, (N, m)), width * rng.uniform(0.1, 1.0, (N, m))
    return model, Steps(A, B, gaps, low, high)


def states(steps, u, x):
    """Of the linear motion from x under controls u, shape (N + 1, n)."""
    A, B, gaps = steps[:3]
    out = [x]
    for i in range(N):
        out.append(A[i] @ out[-1] + B[i] @ u[i] + gaps[i])
    return np.array(out)


def cost(model, steps, u, x):
    """Of the linear motion from x under controls u."""
    X = states(steps, u, x)
    total = model.x[N] @ X[N] + 0.5 * X[N] @ model.xx[N] @ X[N]
    for i in range(N):
        total += model.x[i] @ X[i] + 0.5 * X[i] @ model.xx[i] @ X[i] + model.u[i] @ u[i]
        total += 0.5 * u[i] @ model.uu[i] @ u[i] + u[i] @ model.ux[i] @ X[i]
    return float(total)


def followed(steps, found, x):
    """Controls of changes and feedback along the linear motion from x, not cut off."""
    (A, B, gaps), (k, K, _) = steps[:3], found
    u = np.zeros((N, m))
    for i in range(N):
        u[i] = k[i] + K[i] @ x
        x = A[i] @ x + B[i] @ u[i] + gaps[i]
    return u


@pytest.mark.parametrize("seed", range(4))
def test_without_bounds_it_is_the_minimum_of_the_whole_problem(seed):
    """From any first state: so feedback and cost to go are right, too."""
    model, steps = task(seed, np.inf)
    sweeps = Sweeps(N, n, m)
    found, steepest = sweeps(model, steps, 0.0)
    rng, values = np.random.default_rng(seed), []
    for x in (np.zeros(n), rng.normal(size=n)):
        u = followed(steps, found, x)
        least = cost(model, steps, u, x)
        values.append(least)
        for _ in range(10):
            du = 1e-2 * rng.normal(size=u.shape)
            ahead, back = (cost(model, steps, u + s * du, x) for s in (1.0, -1.0))
            assert abs(ahead - back) < 1e-9 * max(1.0, abs(least))
            assert min(ahead, back) > least
    slope, half = sweeps.along(model, steps, found)
    assert slope + half == pytest.approx(values[0], rel=1e-9, abs=1e-9)
    S = found[2][0]
    assert np.array_equal(S, S.T)
    e = np.eye(n)[0]

    def least_from(x):
        return cost(model, steps, followed(steps, found, x), x)

    by_e = 0.5 * (least_from(e) - least_from(-e))
    assert least_from(e) + least_from(-e) - 2.0 * values[0] == pytest.approx(S[0, 0], rel=1e-7)
    assert steepest >= abs(by_e) * (1.0 - 1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_bounds_of_the_last_step(seed):
    """The minimum within them, by SciPy; entries at their bounds have no feedback."""
    model, steps = task(seed, 0.3)
    (k, K, _), _ = Sweeps(N, n, m)(model, steps, 0.0)
    B, gaps, low, high = (each[-1] for each in steps[1:])
    H = model.uu[-1] + B.T @ model.xx[N] @ B
    g = model.u[-1] + B.T @ (model.x[N] + model.xx[N] @ gaps)
    exact = minimize(
        lambda u: 0.5 * u @ H @ u + g @ u,
        np.zeros(m),
        jac=lambda u: H @ u + g,
        bounds=list(zip(low, high, strict=True)),
        options={"ftol": 1e-15, "gtol": 1e-12},
    ).x
    assert np.abs(k[-1] - exact).max() < 1e-6
    at_bound = (k[-1] <= low) | (k[-1] >= high)
    assert at_bound.any() or seed > 0
    assert not K[-1][at_bound].any()


def test_what_is_not_convex_is_said():
    model, steps = task(0, 1.0)
    model.uu[2] -= 100.0 * np.eye(m)
    assert Sweeps(N, n, m)(model, steps, 0.0) is None
