"""Learn to balance a pole on a cart with the policies inside the simulation: on a GPU, thousands in one kernel.

Run: python examples/learn_many_policies.py [cuda]
Every robot of a batch acts by a linear policy of its own, from a start of its own; the cross-entropy method draws the
next policies about the mean of the best. With `cuda` (and the extra of that name) the policy is compiled into the
kernel that moves the robots, and nothing goes between the GPU and the computer within an episode.
"""

import math
import sys

import numpy as np

import leastaction as la

DT, STEPS = 0.02, 250
FORCE = 20.0
"""Most that pushes the cart [N]."""


def linear(t: float, q: np.ndarray, v: np.ndarray, own: np.ndarray, u: np.ndarray) -> None:
    """A force that grows with the cart's place and speed and the pole's tilt from upright and its rate."""
    tilt = math.sin(q[1] - math.pi)
    force = own[0] * q[0] + own[1] * tilt + own[2] * v[0] + own[3] * v[1]
    u[0] = FORCE * min(1.0, max(-1.0, force))


def times(weights: np.ndarray, rng: np.random.Generator, device: str) -> np.ndarray:
    """How long each policy keeps the pole within 0.3 rad and the cart within 2.4 m [s], shape (policies,)."""
    robot = la.robots.cart_pole()
    q = np.array([0.0, math.pi]) + rng.uniform(-0.05, 0.05, (len(weights), 2))
    batch = la.batch.simulate(
        robot, q, dt=DT, steps=STEPS, every=5, policy=linear, policy_parameters=weights, device=device
    )
    fallen = (np.abs(batch.q[:, :, 1] - math.pi) > 0.3) | (np.abs(batch.q[:, :, 0]) > 2.4)
    first = np.where(fallen.any(axis=1), fallen.argmax(axis=1), len(batch.t) - 1)
    return batch.t[first]


def learn(policies: int, generations: int = 8, seed: int = 0, device: str = "cpu") -> tuple[np.ndarray, list[float]]:
    """The mean policy, shape (4,), and the mean time of each generation [s]."""
    rng = np.random.default_rng(seed)
    mean, spread, history = np.zeros(4), np.full(4, 3.0), []
    for _ in range(generations):
        weights = mean + spread * rng.normal(size=(policies, 4))
        held = times(weights, rng, device)
        best = weights[np.argsort(-held)[: policies // 6]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.05
        history.append(float(held.mean()))
    return mean, history


def main() -> None:
    """Learn, then test the policy on starts that it has not seen."""
    device = sys.argv[1] if len(sys.argv) > 1 else "cpu"
    policies = 16384 if device == "cuda" else 48
    policy, history = learn(policies, device=device)
    for generation, value in enumerate(history):
        print(f"generation {generation}: {policies} policies hold the pole for {value:.2f} s in the mean")
    test = times(np.tile(policy, (policies, 1)), np.random.default_rng(1), device)
    print(f"mean policy, {policies} new starts: {test.mean():.2f} of {STEPS * DT:g} s")


if __name__ == "__main__":
    main()
