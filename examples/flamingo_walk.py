"""Spring Flamingo walks: a stride without a schedule of contacts, repeated, rehearsed and tracked in simulators.

The robot and the speed are those of Fan 2018, Section 6.1. The plan is a contact-implicit one
(`optimize.examples.spring_flamingo_walk`), a single stride that repeats. `Solution.repeat` makes some of it,
`optimize.rehearse` turns these into a run of a simulator by shooting, and a linear-quadratic regulator then follows
that run with rigid contacts and other steps.
"""

import argparse
import json
import time
from pathlib import Path

import matplotlib
import numpy as np

import leastaction as la
from leastaction import optimize

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SOLES = [(f"{side}_foot", (x, 0.0, -0.04)) for side in "rl" for x in (0.0575, -0.1725)]
SIMULATORS = [(kind, dt) for kind in (la.Maximal(), la.Grounded()) for dt in (0.005, 0.001)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40, help="of a stride, default 40")
    parser.add_argument("--strides", type=int, default=4, help="to walk, default 4")
    parser.add_argument("--plan", type=Path, help="a stride that was saved before, instead of a new one")
    parser.add_argument("--output", type=Path, default=Path("walk_output"), help="folder for plot, page and plan")
    parser.add_argument("--view", action="store_true", help="open the result in the browser")
    return parser.parse_args()


def paths(robot, Q, points):
    """Places of points of bodies along a motion, shape (points, knots, 3)."""
    poses = np.array([la.dynamics.body_poses(robot, q) for q in Q])
    return np.array(
        [poses[:, robot.body_index(b), :3, :3] @ x + poses[:, robot.body_index(b), :3, 3] for b, x in points]
    )


def standing(plan):
    """Whether the right and the left foot push on the ground, at the knots of a plan but the last."""
    force = {name: plan.forces[f"contact {name}"][:-1, 0] for name in ("r_heel", "r_toe", "l_heel", "l_toe")}
    return [force[f"{side}_heel"] + force[f"{side}_toe"] > 1.0 for side in "rl"]


def draw(plan, run, file):
    """Figures of the robot along its way, soles of plan and run, and forces and supports as planned."""
    robot = plan.mechanism
    figure, (way, soles, forces) = plt.subplots(3, 1, figsize=(9, 9), height_ratios=(1.6, 1, 1))
    legs = [
        [("body", (0, 0, 0.4)), ("body", (0, 0, 0))],
        *([(f"{s}_upper_leg", (0, 0, 0)), (f"{s}_lower_leg", (0, 0, 0)), (f"{s}_foot", (0, 0, 0))] for s in "rl"),
        *([(f"{s}_foot", (0, 0, 0)), *(p for p in SOLES if p[0][0] == s), (f"{s}_foot", (0, 0, 0))] for s in "rl"),
    ]
    until = min(run.steps, round(2.0 * plan.trajectory.stored["shift"][0] / run.q[-1, 0] * run.steps))
    for k in np.linspace(0, max(until, 1), 13).round().astype(int):
        for chain, color in zip(legs, ("0.25", "C0", "C1", "C0", "C1"), strict=True):
            x, _, z = paths(robot, run.q[[k]], chain)[:, 0].T
            way.plot(-x, z, color=color, lw=1.6, alpha=0.35 + 0.6 * k / max(until, 1), solid_capstyle="round")
    way.axhline(0.0, color="0.4", lw=1)
    way.set(aspect="equal", ylabel="z [m]", xlabel="way [m]", title="tracked in the simulator, two strides")
    every = round(plan.trajectory.dt / run.dt)
    again = plan.repeat(max(round(run.steps / every / plan.trajectory.steps), 1))
    for motion, style, told in ((again, "-", "planned"), (run, ":", "tracked")):
        for points, color, side in ((SOLES[:2], "C0", "right"), (SOLES[2:], "C1", "left")):
            z = paths(robot, motion.q, points)[:, :, 2].min(axis=0)
            soles.plot(motion.t, 1e3 * z, style, color=color, lw=1.4, label=f"{side}, {told}")
    soles.set(ylabel="lowest point of a sole [mm]", xlim=(0, again.duration))
    soles.legend(fontsize=8, ncols=2)
    for side, color in (("r", "C0"), ("l", "C1")):
        for end, style in (("heel", "-"), ("toe", "--")):
            normal = again.forces[f"contact {side}_{end}"][:, 0]
            forces.plot(again.t, normal, style, color=color, lw=1.4, label=f"{side}_{end}")
    right, left = standing(again)
    both = np.append(right & left, False)
    forces.fill_between(again.t, 0, 1, where=both, step="post", color="0.9", transform=forces.get_xaxis_transform())
    forces.set(ylabel="normal force, planned [N]", xlabel="t [s] (grey: both feet push)", xlim=(0, 2 * plan.duration))
    forces.legend(fontsize=8, ncols=2)
    figure.tight_layout()
    figure.savefig(file, dpi=90)


def main():
    chosen = arguments()
    chosen.output.mkdir(parents=True, exist_ok=True)
    problem = optimize.examples.spring_flamingo_walk(chosen.steps)
    began = time.process_time()
    if chosen.plan is None:
        plan = problem.solve(tolerance=1e-6, max_iterations=1500, log=True)
        plan.save(chosen.output / "stride.npz")
    else:
        plan = optimize.load(chosen.plan, problem.mechanism)
    seconds = time.process_time() - began
    right, left = standing(plan)
    print(plan)
    print(
        f"largest complementarity product {plan.complementarity:.1e} N m or W; both feet push for "
        f"{100 * (right & left).mean():.0f} % of the stride, none for {100 * (~right & ~left).mean():.0f} %"
    )
    figures = {
        "violation": plan.violation,
        "complementarity": plan.complementarity,
        "iterations": len(plan.iterations) - 1,
        "CPU seconds": seconds,
        "both feet": float((right & left).mean()),
        "no foot": float((~right & ~left).mean()),
    }
    walk, began = plan.repeat(chosen.strides), time.process_time()
    shot = optimize.rehearse(walk)
    figures["rehearsal, CPU seconds"] = time.process_time() - began
    print(f"rehearsed: {np.abs(shot.q - walk.q).max():.3f} m or rad from the plan at most")
    for integrator, dt in SIMULATORS:
        run = shot.track(integrator=integrator, dt=dt)
        off = np.abs(run.q[:: round(walk.trajectory.dt / dt)] - walk.q).max(axis=0)
        name = f"{type(integrator).__name__}, {1e3 * dt:g} ms"
        figures[name] = {"off": off.tolist(), "end": run.q[-1].tolist()}
        print(
            f"{name}: off by {off[:2].max():.3f} m, {off[2]:.3f} rad of the trunk, {off[3:].max():.3f} rad of a joint; "
            f"{-run.q[-1, 0] / run.t[-1]:.2f} m/s"
        )
    (chosen.output / "walk.json").write_text(json.dumps(figures, indent=1))
    draw(plan, run, chosen.output / "walk.png")
    page = la.view.export_html(run, chosen.output / "walk.html", title="Spring Flamingo walks")
    print(f"Page: {page.resolve()}")
    if chosen.view:
        la.view(run)


if __name__ == "__main__":
    main()
