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
from flamingo_figures import draw_forces, draw_robots, draw_soles

import leastaction as la
from leastaction import optimize

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SIMULATORS = [(kind, dt) for kind in (la.Maximal(), la.Minimal()) for dt in (0.005, 0.001)]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=40, help="of a stride, default 40")
    parser.add_argument("--strides", type=int, default=4, help="to walk, default 4")
    parser.add_argument("--plan", type=Path, help="a stride that was saved before, instead of a new one")
    parser.add_argument("--output", type=Path, default=Path("walk_output"), help="folder for plot, page and plan")
    parser.add_argument("--view", action="store_true", help="open the result in the browser")
    return parser.parse_args()


def standing(plan):
    """Whether the right and the left foot push on the ground, at the knots of a plan but the last."""
    force = {name: plan.forces[f"contact {name}"][:-1, 0] for name in ("r_heel", "r_toe", "l_heel", "l_toe")}
    return [force[f"{side}_heel"] + force[f"{side}_toe"] > 1.0 for side in "rl"]


def draw(plan, run, file):
    """Figures of the robot along its way, soles of plan and run, and forces and supports as planned."""
    figure, (way, soles, forces) = plt.subplots(3, 1, figsize=(9, 9), height_ratios=(1.6, 1, 1))
    until = min(run.steps, round(2.0 * plan.trajectory.stored["shift"][0] / run.q[-1, 0] * run.steps))
    draw_robots(way, plan.mechanism, run.q[np.linspace(0, max(until, 1), 13).round().astype(int)], lw=1.6)
    way.set(title="tracked in the simulator, two strides")
    every = round(plan.trajectory.dt / run.dt)
    again = plan.repeat(max(round(run.steps / every / plan.trajectory.steps), 1))
    draw_soles(soles, again, run, 1e3)
    soles.set(ylabel="lowest point of a sole [mm]", xlim=(0, again.duration))
    draw_forces(forces, again)
    right, left = standing(again)
    both = np.append(right & left, False)
    forces.fill_between(again.t, 0, 1, where=both, step="post", color="0.9", transform=forces.get_xaxis_transform())
    forces.set(xlabel="t [s] (grey: both feet push)", xlim=(0, 2 * plan.duration))
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
    parts = round(walk.trajectory.dt / 0.005)
    shot = optimize.rehearse(walk, dt=walk.trajectory.dt / parts)
    figures["rehearsal, CPU seconds"] = time.process_time() - began
    print(f"rehearsed: {np.abs(shot.q[::parts] - walk.q).max():.3f} m or rad from the plan at most")
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
