"""LittleDog crosses two gaps: where and when its feet touch is found with the motion.

After Fan 2018, Section 6.2; the problem is `optimize.examples.littledog`.
"""

import argparse
from pathlib import Path

import matplotlib
import numpy as np

import leastaction as la
from leastaction import optimize
from leastaction.optimize.legged import GAPS, TROT

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLORS = dict(zip(TROT, ("C0", "C1", "C2", "C3"), strict=True))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=50, help="of the plan, default 50")
    parser.add_argument("--plan", type=Path, help="a plan that was saved before, instead of a new one")
    parser.add_argument("--output", type=Path, default=Path("littledog_output"), help="folder for plot, page and plan")
    parser.add_argument("--view", action="store_true", help="open the result in the browser")
    return parser.parse_args()


def points(robot, Q, body, place):
    """A point of a body along a motion, shape (knots, 3)."""
    poses = np.array([la.dynamics.body_poses(robot, q)[robot.body_index(body)] for q in Q])
    return (poses @ [*place, 1.0])[:, :3]


def feet(robot, Q):
    """Middles of the feet along a motion by leg, shape (knots, 3) each."""
    return {c.name.removesuffix("_foot"): points(robot, Q, c.body, c.point) for c in robot.contacts}


def draw(plan, file):
    """The robot from the side, where its feet are over time, and the forces on them."""
    robot = plan.mechanism
    figure, (way, steps, forces) = plt.subplots(3, 1, figsize=(9, 10), height_ratios=(1, 1.5, 1.2))
    edges = [-0.2, *(x for gap in GAPS for x in gap), 0.7]
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        way.fill_between([first, last], [-0.04] * 2, [0.0] * 2, color="0.75")
    N = len(plan.u)
    for k in np.linspace(0, N, 6).round().astype(int):
        alpha, Q = 0.3 + 0.7 * k / N, plan.q[[k]]
        trunk = [points(robot, Q, "body", (x, 0, 0))[0] for x in (-0.101, 0.101)]
        way.plot(*np.array(trunk)[:, [0, 2]].T, color="0.2", lw=4, alpha=alpha, solid_capstyle="round")
        for leg, tip in feet(robot, Q).items():
            joints = [points(robot, Q, f"{leg}_{part}", (0, 0, 0))[0] for part in ("upper_leg", "lower_leg")]
            way.plot(*np.array([*joints, tip[0]])[:, [0, 2]].T, color=COLORS[leg], lw=1.6, alpha=alpha)
    way.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", xlim=(-0.2, 0.7))
    for first, last in GAPS:
        steps.axhspan(first, last, color="0.85")
    for leg, place in feet(robot, plan.q).items():
        name = next(c.body for c in robot.contacts if c.name.startswith(leg))
        force = plan.forces[f"contact {name}"][:, 0]
        steps.plot(plan.t, place[:, 0], color=COLORS[leg], lw=1, label=leg.replace("_", " "))
        steps.plot(plan.t, np.where(force > 0.5, place[:, 0], np.nan), color=COLORS[leg], lw=4, alpha=0.6)
        forces.plot(plan.t, force, color=COLORS[leg], lw=1.3)
    steps.set(ylabel="x of the feet [m]; thick: they push", xlim=(0, plan.duration))
    steps.legend(fontsize=8)
    forces.set(ylabel="normal force [N]", xlabel="t [s]", xlim=(0, plan.duration))
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def main():
    chosen = arguments()
    chosen.output.mkdir(parents=True, exist_ok=True)
    problem = optimize.examples.littledog(chosen.steps)
    if chosen.plan is None:
        plan = problem.solve(tolerance=1e-6, max_iterations=1500, log=True)
        plan.save(chosen.output / "plan.npz")
    else:
        plan = optimize.load(chosen.plan, problem.mechanism)
    print(plan)
    print(f"largest complementarity product {plan.complementarity:.1e} N m or W")
    draw(plan, chosen.output / "littledog.png")
    page = la.view.export_html(plan.trajectory, chosen.output / "littledog.html", title="LittleDog crosses two gaps")
    print(f"Page: {page.resolve()}")
    if chosen.view:
        la.view(plan.trajectory)


if __name__ == "__main__":
    main()
