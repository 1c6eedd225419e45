"""Kinon, Betsch, Schneider 2023: variational integration with constraints on positions and on momenta (GGL).

The action of Livens with the stabilisation of Gear, Gupta and Leimkuhler, rectangle rule in time,

    sum of  p₁·((q₁ - q₀)/h - v₀) + v₀·M v₀ / 2 - V(q₀) - λ₀·g(q₀) - γ₁·G(q̄) M⁻¹ p₁,  q̄ = q₀ + h v₀,

is stationary where, with T = Σ γⱼ gⱼ'',

    q₁ = q₀ + h v₀ + h M⁻¹ G(q̄)' γ₁,            M v₀ = p₁ + h T M⁻¹ p₁,
    p₁ = p₀ - h (V' + G(q₀)' λ₀ + T M⁻¹ p₁),     g(q₁) = 0,  G(q̄) M⁻¹ p₁ = 0.

As in that paper a link in the plane has six coordinates, the place of its centre and two directors, which three
constraints keep orthonormal; so g is quadratic, g'' constant and the mass matrix diagonal. Newton's method as its
authors use it: from the last state and multipliers, by LU, at most 40 iterations, and the step is taken as it then is.
"""

from typing import NamedTuple

import numpy as np

GRAVITY, ROD = 9.81, 1.0
ITERATIONS, TOLERANCE = 40, 1e-9
LOST = 1e3
"""A coordinate beyond this [m] is no motion of a linkage of a few metres."""


class State(NamedTuple):
    """Coordinates, momenta, velocities of the step before, multipliers of positions and of momenta."""

    q: np.ndarray
    p: np.ndarray
    v: np.ndarray
    forces: np.ndarray
    stabilisers: np.ndarray


class Windows:
    """A row of square windows of rods of 1 m and 1 kg: cranks upright, then couplers; the first director is along."""

    def __init__(self, windows: int) -> None:
        self.cranks, self.links = windows + 1, 2 * windows + 1
        self.n = 6 * self.links
        # Directors carry the moment about the centre, m l²/12, by halves.
        self.mass = np.tile([1.0, 1.0, *[ROD**2 / 24.0] * 4], self.links)
        self.pull = np.tile([0.0, GRAVITY, 0.0, 0.0, 0.0, 0.0], self.links)
        pairs = (0, 0), (1, 1), (0, 1)
        self.curved = np.array([bent(self.n, link, pair) for link in range(self.links) for pair in pairs])
        self.lengths = np.tile([0.5, 0.5, 0.0], self.links)
        pins = [[(1.0, k, -0.5)] for k in range(self.cranks)]
        for k in range(windows):
            pins += [[(1.0, k, 0.5), (-1.0, self.cranks + k, -0.5)], [(1.0, k + 1, 0.5), (-1.0, self.cranks + k, 0.5)]]
        self.pins = np.concatenate([pinned(self.n, parts) for parts in pins])
        self.places = np.zeros(len(self.pins))
        self.places[: 2 * self.cranks : 2] = np.arange(self.cranks)
        self.m = len(self.curved) + len(self.pins)

    def start(self, speed: float) -> State:
        """Cranks upright, their ends moving at `speed` [m/s] along x."""
        q, v = np.zeros((2, self.links, 6))
        q[: self.cranks] = [[k, ROD / 2, 0.0, 1.0, 1.0, 0.0] for k in range(self.cranks)]
        q[self.cranks :] = [[k + ROD / 2, ROD, 1.0, 0.0, 0.0, 1.0] for k in range(self.links - self.cranks)]
        v[: self.cranks] = speed * np.array([0.5, 0.0, 1.0, 0.0, 0.0, -1.0])
        v[self.cranks :, 0] = speed
        return State(q.ravel(), self.mass * v.ravel(), v.ravel(), np.zeros(self.m), np.zeros(self.m))

    def constraints(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(g (m,), G (m, n)): directors, then pins."""
        along = self.curved @ q
        return (
            np.concatenate([0.5 * along @ q - self.lengths, self.pins @ q - self.places]),
            np.concatenate([along, self.pins]),
        )

    def turned(self, v: np.ndarray) -> np.ndarray:
        """Rows g'' v (m, n)."""
        return np.concatenate([self.curved @ v, np.zeros_like(self.pins)])

    def energies(self, states: list[State]) -> tuple[np.ndarray, np.ndarray]:
        """(kinetic, potential) [J], each (states,)."""
        q, p = (np.array([state[k] for state in states]) for k in (0, 1))
        return 0.5 * (p * p / self.mass).sum(1), q @ self.pull


def bent(n: int, link: int, pair: tuple[int, int]) -> np.ndarray:
    """Second derivative of half the product of a link's directors; of their product where they are two."""
    matrix = np.zeros((n, n))
    for axis in range(2):
        a, b = (6 * link + 2 + 2 * director + axis for director in pair)
        matrix[a, b] = matrix[b, a] = 1.0
    return matrix


def pinned(n: int, parts: list[tuple[float, int, float]]) -> np.ndarray:
    """Rows (2, n) of a sum of points: sign, link and place along its rod."""
    rows = np.zeros((2, n))
    for sign, link, place in parts:
        for axis in range(2):
            rows[axis, 6 * link + axis], rows[axis, 6 * link + 2 + axis] = sign, sign * place * ROD
    return rows


def step(system: Windows, state: State, h: float) -> tuple[State, bool]:
    """The state after a step, and whether Newton's method converged."""
    M, n, m = system.mass, system.n, system.m
    q0, p0 = state.q, state.p
    G0, eye = system.constraints(q0)[1], np.eye(n)
    z = np.concatenate(state)
    places = np.cumsum([n, n, n, m])
    size = np.inf
    for _ in range(ITERATIONS):
        q, p, v, forces, stabilisers = np.split(z, places)
        g, G = system.constraints(q)
        middle = system.constraints(q0 + h * v)[1]
        T, turned = np.tensordot(stabilisers[: len(system.curved)], system.curved, 1), system.turned(p / M)
        residual = np.concatenate(
            [
                q - q0 - h * v - h * (middle.T @ stabilisers) / M,
                p - p0 + h * (system.pull + G0.T @ forces + T @ (p / M)),
                M * v - p - h * T @ (p / M),
                g,
                middle @ (p / M),
            ]
        )
        empty, none, nothing = np.zeros((n, n)), np.zeros((n, m)), np.zeros((m, m))
        matrix = np.block(
            [
                [eye, empty, -h * eye - h * h * T / M[:, None], none, -h * middle.T / M[:, None]],
                [empty, eye + h * T / M, empty, h * G0.T, h * turned.T],
                [empty, -eye - h * T / M, np.diag(M), none, -h * turned.T],
                [G, none.T, none.T, nothing, nothing],
                [none.T, middle / M, h * turned, nothing, nothing],
            ]
        )
        try:
            change = np.linalg.solve(matrix, residual)
        except np.linalg.LinAlgError:  # singular to the last digit
            change = np.linalg.lstsq(matrix, residual, rcond=1e-13)[0]
        z = z - change
        size = max(np.abs(residual).max(), np.abs(change).max())
        if size < TOLERANCE:
            break
    return State(*np.split(z, places)), bool(size < TOLERANCE)


def motion(system: Windows, speed: float, h: float, steps: int) -> tuple[list[State], int]:
    """States (done + 1), fewer where the linkage falls apart, and how many steps did not converge."""
    states, missed = [system.start(speed)], 0
    for _ in range(steps):
        with np.errstate(all="ignore"):
            state, converged = step(system, states[-1], h)
        if not np.abs(state.q).max() < LOST:
            break
        states.append(state)
        missed += not converged
    return states, missed
