"""Kinon, Betsch, Schneider 2023: variational integration with constraints on positions and on momenta (GGL).

The action of Livens with the stabilisation of Gear, Gupta and Leimkuhler, rectangle rule in time,

    sum of  p₁·((q₁ - q₀)/h - v₀) + v₀·M v₀ / 2 - V(q₀) - λ₀·g(q₀) - γ₁·G(q̄) M⁻¹ p₁,  q̄ = q₀ + h v₀,

is stationary where, with T = Σ γⱼ gⱼ''(q̄),

    q₁ = q₀ + h v₀ + h M⁻¹ G(q̄)' γ₁,            M v₀ = p₁ + h T M⁻¹ p₁,
    p₁ = p₀ - h (V' + G(q₀)' λ₀ + T M⁻¹ p₁),     g(q₁) = 0,  G(q̄) M⁻¹ p₁ = 0.

For links in a plane with coordinates (x, z, angle) each, the masses are constant and g'' is diagonal.
"""

import numpy as np

GRAVITY, ROD = 9.81, 1.0
ITERATIONS, TOLERANCE = 60, 1e-9


class Windows:
    """A row of square windows of rods of 1 m and 1 kg: cranks, then couplers; angles from upright, about y."""

    def __init__(self, windows):
        cranks = windows + 1
        self.links = cranks + windows
        self.mass = np.tile([1.0, 1.0, ROD**2 / 12.0], self.links)
        # A row: link and end (-1, 1) of one side, of the other one, or a fixed point; an end lies along the link.
        self.pins = [(k, -1, None, (float(k), 0.0)) for k in range(cranks)]
        for k in range(windows):
            self.pins += [(k, 1, cranks + k, -1), (k + 1, 1, cranks + k, 1)]

    def start(self, speed):
        """(q, v): cranks upright, their ends moving at `speed` along x."""
        cranks = (self.links + 1) // 2
        q, v = np.zeros((2, self.links, 3))
        q[:cranks, 0], q[:cranks, 1] = np.arange(cranks), ROD / 2
        q[cranks:, 0], q[cranks:, 1], q[cranks:, 2] = np.arange(cranks - 1) + ROD / 2, ROD, np.pi / 2
        v[:cranks, 0], v[:cranks, 2], v[cranks:, 0] = speed / 2, speed / ROD, speed
        return q.ravel(), v.ravel()

    def constraints(self, q):
        """g (2 pins,), G (2 pins, 3 links) and the diagonals of g'' of the same shape."""
        g, G, curved = np.zeros(2 * len(self.pins)), *np.zeros((2, 2 * len(self.pins), len(q)))
        for row, (a, side, b, other) in enumerate(self.pins):
            parts = [(1.0, a, side)] + ([] if b is None else [(-1.0, b, other)])
            rows = slice(2 * row, 2 * row + 2)
            if b is None:
                g[rows] -= other
            for sign, link, end in parts:
                x, z, angle = q[3 * link : 3 * link + 3]
                arm = 0.5 * ROD * end * np.array([np.sin(angle), np.cos(angle)])
                g[rows] += sign * (np.array([x, z]) + arm)
                G[2 * row, 3 * link] = G[2 * row + 1, 3 * link + 1] = sign
                G[rows, 3 * link + 2] = sign * np.array([arm[1], -arm[0]])
                curved[rows, 3 * link + 2] = -sign * arm
        return g, G, curved

    def energy(self, q, p):
        """(kinetic, potential) [J]."""
        return float(0.5 * (p * p / self.mass).sum()), float(GRAVITY * q[1::3].sum())


def step(system, q0, p0, h):
    """(q₁, p₁) after a step, by Newton without third derivatives of g; None where it does not converge."""
    m, M, n = 2 * len(system.pins), system.mass, len(q0)
    pull = np.tile([0.0, GRAVITY, 0.0], system.links)
    G0, eye = system.constraints(q0)[1], np.eye(n)
    q, p, v = q0 + h * p0 / M, p0.copy(), p0 / M
    forces, stabilisers = np.zeros(m), np.zeros(m)
    for _ in range(ITERATIONS):
        g, G, _ = system.constraints(q)
        _, middle, curved = system.constraints(q0 + h * v)
        T, moved = stabilisers @ curved, curved * (p / M)
        residual = np.concatenate(
            [
                q - q0 - h * v - h * (middle.T @ stabilisers) / M,
                p - p0 + h * (pull + G0.T @ forces + T * p / M),
                M * v - p - h * T * p / M,
                g,
                middle @ (p / M),
            ]
        )
        if np.abs(residual).max() < TOLERANCE:
            return q, p
        empty, none = np.zeros((n, n)), np.zeros((n, m))
        nothing = np.zeros((m, m))
        matrix = np.block(
            [
                [eye, empty, -h * eye - h * h * np.diag(T / M), none, -h * middle.T / M[:, None]],
                [empty, eye + h * np.diag(T / M), empty, h * G0.T, h * moved.T],
                [empty, -eye - h * np.diag(T / M), np.diag(M), none, -h * moved.T],
                [G, none.T, none.T, nothing, nothing],
                [none.T, middle / M, h * moved, nothing, nothing],
            ]
        )
        change = np.linalg.lstsq(matrix, residual, rcond=1e-13)[0]
        q, p, v = q - change[:n], p - change[n : 2 * n], v - change[2 * n : 3 * n]
        forces, stabilisers = forces - change[3 * n : 3 * n + m], stabilisers - change[3 * n + m :]
    return None


def motion(system, speed, h, steps):
    """Positions (done + 1, 3 links) and momenta; fewer rows where a step fails."""
    q, v = system.start(speed)
    way = [(q, system.mass * v)]
    for _ in range(steps):
        found = step(system, *way[-1], h)
        if found is None:
            break
        way.append(found)
    return tuple(np.array(x) for x in zip(*way, strict=True))
