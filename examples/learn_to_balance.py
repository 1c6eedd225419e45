"""Learn to balance a pole on a cart: a linear policy by the cross-entropy method, on all cores.

Run: python examples/learn_to_balance.py
Every generation draws policies about the mean of the best of the last one and lets each of them act in one of many
environments of Gymnasium that are stepped side by side. It needs the extra `gym`.
"""

import numpy as np

from leastaction.gym import RobotVectorEnv

POLICIES, BEST = 32, 6


def returns(envs: RobotVectorEnv, weights: np.ndarray, seed: int) -> np.ndarray:
    """Sum of the rewards of an episode of each policy, shape (policies,)."""
    seen, _ = envs.reset(seed=seed)
    total, alive = np.zeros(len(weights)), np.ones(len(weights), bool)
    while alive.any():
        seen, rewards, over, cut, _ = envs.step(np.einsum("ki,ki->k", weights, seen)[:, None])
        total += np.where(alive, rewards, 0.0)
        alive &= ~(over | cut)
    return total


def learn(generations: int = 10, seed: int = 0, episode: int = 500) -> tuple[np.ndarray, list[float]]:
    """The mean policy, shape (observations,), and the mean return of each generation."""
    envs = RobotVectorEnv(POLICIES, "CartPole", max_episode_steps=episode)
    rng = np.random.default_rng(seed)
    mean = np.zeros(envs.single_observation_space.shape)
    spread, history = np.full(mean.shape, 3.0), []
    for generation in range(generations):
        weights = mean + spread * rng.normal(size=(POLICIES, len(mean)))
        total = returns(envs, weights, seed=1000 * generation)
        best = weights[np.argsort(-total)[:BEST]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.05
        history.append(float(total.mean()))
    envs.close()
    return mean, history


def main() -> None:
    """Learn, then test the policy on starts that it has not seen."""
    policy, history = learn()
    for generation, value in enumerate(history):
        print(f"generation {generation}: mean return {value:.0f}")
    envs = RobotVectorEnv(POLICIES, "CartPole")
    test = returns(envs, np.tile(policy, (POLICIES, 1)), seed=10**6)
    envs.close()
    print(f"mean policy, {POLICIES} new starts: {test.mean():.0f} of 500")


if __name__ == "__main__":
    main()
