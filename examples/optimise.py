"""What the examples of optimisation share: a plot of the progress and of the motion, and the scene for the viewer."""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import leastaction as la

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def options(description):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=60, help="of the optimiser, default 60")
    parser.add_argument("--output", type=Path, default=Path("optimise_output"), help="folder for plot and run")
    parser.add_argument("--view", action="store_true", help="open the result in the browser")
    return parser.parse_args()


def descend(objective, iterations):
    """(vector, values on the way) of L-BFGS-B with gradients by the adjoint method."""
    values = []

    def noted(x):
        value, gradient = objective(x)
        values.append(value)
        return value, gradient

    best = minimize(noted, objective.start, jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    return best.x, values


def tip_path(run, body, point):
    """World positions of a point of a body along a run, shape (steps + 1, 3)."""
    k = run.mechanism.body_index(body)
    poses = [la.dynamics.body_poses(run.mechanism, q)[k] for q in run.q]
    return np.array([X[:3, :3] @ point + X[:3, 3] for X in poses])


def report(name, chosen, values, before, after, body, point, target, title):
    """Plot the paths before and after and the objective on the way; save the run; say where."""
    chosen.output.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4))
    for run, label in ((before, "before"), (after, "after")):
        path = tip_path(run, body, np.asarray(point, float))
        left.plot(path[:, 0], path[:, 2], label=label)
    left.plot(target[0], target[2], "k*", markersize=12, label="target")
    left.set(xlabel="x [m]", ylabel="z [m]", aspect="equal", title=title)
    left.legend()
    right.semilogy(np.maximum(values, 1e-16))
    right.set(xlabel="evaluation", ylabel="objective")
    figure.tight_layout()
    figure.savefig(chosen.output / f"{name}.png", dpi=130)
    plt.close(figure)
    saved = after.save(chosen.output / f"{name}.npz")
    print(f"objective {values[0]:.3e} -> {min(values):.3e} in {len(values)} evaluations")
    print(f"Plot: {(chosen.output / f'{name}.png').resolve()}")
    print(f"Scene: {saved.resolve()}")
    if chosen.view and hasattr(la, "view"):
        la.view(after)


def arm(links, length=0.5, **joint):
    """A chain of thin rods that hang on hinges about y."""
    b = la.MechanismBuilder("arm")
    for k in range(links):
        b.body(
            f"link{k}", mass=0.5, com=(0, 0, -length / 2), inertia=(0.5 * length**2 / 12, 0.5 * length**2 / 12, 1e-4)
        )
        parent, position = ("world", (0, 0, 0)) if k == 0 else (f"link{k - 1}", (0, 0, -length))
        b.revolute(f"joint{k}", parent, f"link{k}", axis="y", position=position, **joint)
    return b.build()
