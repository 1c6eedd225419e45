"""What the examples of optimisation share: a plot of the motion and of the progress, and a page that plays it."""

import argparse
from pathlib import Path

import matplotlib
import numpy as np
from scipy.optimize import minimize

import leastaction as la
from leastaction.mechanism import Capsule, Pose, Sphere

matplotlib.use("Agg")
import matplotlib.pyplot as plt


def options(description):
    parser = argparse.ArgumentParser(description=description.splitlines()[0])
    parser.add_argument("--iterations", type=int, default=60, help="of the optimiser, default 60")
    parser.add_argument("--output", type=Path, default=Path("optimise_output"), help="folder for plot, page and run")
    parser.add_argument("--view", action="store_true", help="open the result in the browser")
    return parser.parse_args()


def descend(objective, iterations):
    """(vector, values on the way) of L-BFGS-B with gradients by the adjoint method."""
    values = []

    def noted(x):
        try:
            value, gradient = objective(x)
        except la.ConvergenceError:  # a motion too wild for the time step: the line search turns back
            return 10.0 * max(values, default=1.0), np.zeros_like(x)
        values.append(value)
        return value, gradient

    best = minimize(noted, objective.start, jac=True, method="L-BFGS-B", options={"maxiter": iterations})
    return best.x, values


def point_paths(run, points):
    """World positions of points (body, point) along a run, shape (points, steps + 1, 3)."""
    m = run.mechanism
    poses = np.array([la.dynamics.body_poses(m, q) for q in run.q])
    return np.array([poses[:, m.body_index(b), :3, :3] @ x + poses[:, m.body_index(b), :3, 3] for b, x in points])


def with_target(run, target):
    """The run of a robot beside which a ball marks the target."""
    b = run.mechanism.edit()
    b.add_shape("world", Sphere(0.04, pose=Pose(tuple(target)), color=(0.85, 0.3, 0.2, 1.0), collision=False))
    return la.Trajectory(b.build(), run.integrator, run.dt, run.t, run.q, run.stored)


def report(name, chosen, values, before, after, tip, target, title, flight=None, scene=None):
    """Plot the motion and the objective on the way, write the page and the run; say where.

    Args:
        name: of the files.
        chosen: options of the command line.
        values: of the objective, one per evaluation.
        before, after: runs with the first and the best parameters.
        tip: (body, point) that should get to the target [m].
        target: in the world [m].
        title: of the plot.
        flight: positions of something that flies on after the run [m], shape (count, 3).
        scene: run to show in place of `after`.
    """
    chosen.output.mkdir(parents=True, exist_ok=True)
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 4.2), width_ratios=(1.15, 1))
    joints = [(body.name, np.zeros(3)) for body in after.mechanism.bodies]
    links = point_paths(after, [*joints, tip])
    shown = np.unique(np.linspace(0, after.steps, 12).round().astype(int))
    for k in shown:
        shade = 0.85 - 0.6 * k / max(after.steps, 1)
        left.plot(*links[:, k, [0, 2]].T, "-o", color=(shade,) * 3, lw=1.6, ms=2.5, zorder=1)
    first = point_paths(before, [tip])[0]
    if np.ptp(first, axis=0).max() > 1e-6:
        left.plot(first[:, 0], first[:, 2], "--", color="C0", label="tip, before")
    else:
        left.plot(first[0, 0], first[0, 2], "o", mfc="none", color="C0", label="tip, before (at rest)")
    left.plot(links[-1, :, 0], links[-1, :, 2], color="C1", lw=2, label="tip, after", zorder=2)
    if flight is not None:
        left.plot(flight[:, 0], flight[:, 2], ":", color="C2", lw=2, label="ball", zorder=2)
    left.plot(target[0], target[2], "*", color="C3", mec="k", markersize=14, label="target", zorder=3)
    left.set(xlabel="x [m]", ylabel="z [m]", aspect="equal", title=title)
    left.set_adjustable("datalim")
    left.legend(fontsize=8, loc="best")
    right.semilogy(np.maximum(values, 1e-16), ".", color="0.7", label="evaluation")
    right.semilogy(np.maximum(np.minimum.accumulate(values), 1e-16), color="C0", label="best so far")
    right.set(xlabel="evaluation (a run and its gradient)", ylabel="objective")
    right.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(chosen.output / f"{name}.png", dpi=130)
    plt.close(figure)
    saved = after.save(chosen.output / f"{name}.npz")
    print(f"objective {values[0]:.3e} -> {min(values):.3e} in {len(values)} evaluations")
    print(f"Plot: {(chosen.output / f'{name}.png').resolve()}")
    shown_run = with_target(after if scene is None else scene, target)
    page = la.view.export_html(shown_run, chosen.output / f"{name}.html", title=title, traces=[tip])
    print(f"Page: {page.resolve()}")
    print(f"Run: {saved.resolve()}")
    if chosen.view:
        la.view(shown_run, traces=[tip])


def rod(length):
    """What is seen of a link."""
    return Capsule(0.025, length - 0.05, pose=Pose((0, 0, -length / 2)), collision=False)


def arm(links, length=0.5, **joint):
    """A chain of thin rods that hang on hinges about y."""
    b = la.MechanismBuilder("arm")
    for k in range(links):
        moment = 0.5 * length**2 / 12
        b.body(f"link{k}", mass=0.5, com=(0, 0, -length / 2), inertia=(moment, moment, 1e-4), shapes=[rod(length)])
        parent, position = ("world", (0, 0, 0)) if k == 0 else (f"link{k - 1}", (0, 0, -length))
        b.revolute(f"joint{k}", parent, f"link{k}", axis="y", position=position, **joint)
    return b.build()
