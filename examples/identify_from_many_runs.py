"""Find a robot's masses and damping from many measured motions at once, by gradients through all of them.

Run: python examples/identify_from_many_runs.py
A double pendulum with unknown masses and joint damping swings from eight starts; its angles are measured with noise.
All runs are one batch of tensors of PyTorch, so that one backward pass gives the gradient of the misfit. It needs the
extra `torch`.
"""

import numpy as np
import torch

import leastaction as la
from leastaction.derivatives.torch import simulate

DT, STEPS, RUNS = 0.02, 60, 8
NOISE = 0.002
"""Of a measured angle [rad]."""

TRUTH = {"mass:link1": 1.3, "mass:link2": 0.7, "damping:joint1": 0.08, "damping:joint2": 0.03}
GUESS = {"mass:link1": 1.0, "mass:link2": 1.0, "damping:joint1": 0.05, "damping:joint2": 0.05}


def angles(robot: la.Mechanism, starts: torch.Tensor, values: dict[str, torch.Tensor]) -> torch.Tensor:
    """Angles of all runs [rad], shape (runs, steps + 1, 2)."""
    own = {name: x.reshape(la.derivatives.parameter(robot, name).shape) for name, x in values.items()}
    rest = torch.zeros(2, dtype=torch.float64)
    rule = la.Galerkin(order=2)
    return simulate(robot, starts, rest, dt=DT, steps=STEPS, integrator=rule, parameters=own)[0]


def identify(seed: int = 0, most: int = 40) -> tuple[dict[str, float], float]:
    """The parameters found, and the root mean square of what is left of the misfit [rad]."""
    robot = la.robots.pendulum(2)
    generator = np.random.default_rng(seed)
    starts = torch.tensor(generator.uniform(-1.0, 1.0, (RUNS, 2)))
    with torch.no_grad():
        truth = {name: torch.tensor(x, dtype=torch.float64) for name, x in TRUTH.items()}
        measured = angles(robot, starts, truth)
        measured += NOISE * torch.tensor(generator.normal(size=measured.shape))
    # Logarithms, so that masses and dampers stay positive.
    logs = {name: torch.tensor(np.log(x), requires_grad=True) for name, x in GUESS.items()}
    search = torch.optim.LBFGS(
        list(logs.values()), max_iter=most, line_search_fn="strong_wolfe", tolerance_change=1e-12
    )

    def misfit() -> torch.Tensor:
        search.zero_grad()
        found = angles(robot, starts, {name: x.exp() for name, x in logs.items()})
        loss = ((found - measured) ** 2).mean() / NOISE**2
        loss.backward()
        return loss

    search.step(misfit)
    return {name: float(x.detach().exp()) for name, x in logs.items()}, NOISE * float(misfit().detach()) ** 0.5


def main() -> None:
    """Identify, and show what was found beside the truth."""
    found, left = identify()
    for name, value in found.items():
        print(f"{name}: {value:.4f} (true {TRUTH[name]:g}, first guess {GUESS[name]:g})")
    print(f"misfit left: {1000 * left:.2f} mrad, noise {1000 * NOISE:g} mrad")


if __name__ == "__main__":
    main()
