"""The law of restitution: what it gives back, and when impacts are."""

import math

import numpy as np
import pytest

from leastaction.contact.laws.restitution import closes_now, is_closed, returned_share, time_of_impact


def plastic(W, u, mu, sweeps=400):
    """Impulses (n, 3) of Signorini's and Coulomb's laws without restitution, by projected Gauss-Seidel sweeps."""
    L = np.zeros((len(mu), 3))
    for _ in range(sweeps):
        for k, bound in enumerate(mu):
            own = slice(3 * k, 3 * k + 3)
            size = np.trace(W[own, own])
            z = L[k] - (u + W @ L.ravel())[own] / size
            normal = max(z[0], 0.0)
            slide = np.linalg.norm(z[1:])
            L[k] = normal, *(z[1:] * (min(bound * normal / slide, 1.0) if slide > 0.0 else 0.0))
    return L


@pytest.mark.parametrize("seed", range(40))
def test_a_hit_gives_back_no_more_than_it_took(seed):
    """Of one to four contacts in few degrees of freedom, with any friction and restitution: the energy never rises."""
    rng = np.random.default_rng(seed)
    n, dof = int(rng.integers(1, 5)), int(rng.integers(3, 9))
    G, mu, e = rng.normal(size=(3 * n, dof)), rng.choice([0.0, 0.3, 1.0], n), rng.choice([0.3, 0.7, 1.0], n)
    W, v = G @ G.T, rng.normal(size=dof)
    L = plastic(W, G @ v, mu)
    after = v + G.T @ L.ravel()
    taken = 0.5 * (v @ v - after @ after)
    R = np.zeros((n, 3))
    R[:, 0] = e * L[:, 0]
    c = returned_share(0.5 * R.ravel() @ W @ R.ravel(), R.ravel() @ G @ after, taken)
    assert 0.0 <= c <= 1.0
    end = after + c * G.T @ R.ravel()
    assert end @ end <= v @ v * (1.0 + 1e-12)
    if c < 1.0:
        assert end @ end == pytest.approx(v @ v, rel=1e-9)  # no more would be passive


@pytest.mark.parametrize("e", [0.2, 1.0])
def test_one_contact_without_friction_obeys_newtons_law(e):
    """All of the restitution acts: e^2 of the energy that was taken."""
    assert returned_share(0.5 * e * e, 0.0, 0.5) == 1.0


def test_the_share_is_the_largest():
    rng = np.random.default_rng(0)
    for square, linear, taken in zip(*rng.uniform(0, 1, (3, 200)), strict=True):
        c = returned_share(square, linear - 0.3, taken)
        assert c * c * square + c * (linear - 0.3) <= taken + 1e-12
        more = min(c + 1e-6, 1.0)
        assert c == 1.0 or more * more * square + more * (linear - 0.3) > taken


@pytest.mark.parametrize("rate", [-3.0, 0.0, 1.0])
def test_impacts_under_constant_forces_are_found_exactly(rate):
    """A thing that falls, from rest, thrown down or thrown up: h + v t - g t^2 / 2 = 0."""
    gap, g, dt = 0.2, 9.81, 1.0
    t = time_of_impact(gap, rate, gap + rate * dt - 0.5 * g * dt * dt, dt)
    assert abs(gap + rate * t - 0.5 * g * t * t) < 1e-15
    assert 0.0 < t < dt


def test_what_never_closes_has_no_impact():
    assert time_of_impact(1.0, 1.0, 3.0, 1.0) == math.inf


def test_what_rests_is_neither_open_nor_hit():
    """Contacts that a compliance lets sink in slowly are closed, and no impact; what comes in fast is one."""
    assert is_closed(-1e-8, 9.81, 0.01)
    assert not is_closed(1e-6, 9.81, 0.01)
    assert not closes_now(-1e-8, -1e-6, 9.81, 0.01)
    assert closes_now(0.0, -0.1, 9.81, 0.01)
    assert not closes_now(1e-3, -0.1, 9.81, 0.01)
