"""Spring Flamingo jumps over an obstacle: planned without a schedule of contacts, rehearsed and tracked in a simulator.

After Fan 2018, Section 6.1. The plan is a contact-implicit one (`optimize.examples.spring_flamingo`), which knows the
simulator as little as the simulator knows it. `optimize.rehearse` turns it into a run of the simulator by shooting;
a linear-quadratic regulator then follows that run with rigid contacts and other steps.
"""

import argparse
import json
from pathlib import Path

import matplotlib
import numpy as np
from flamingo_figures import SOLES, draw_forces, draw_robots, draw_soles, paths

import leastaction as la
from leastaction import optimize
from leastaction.mechanism import Cylinder, Pose

matplotlib.use("Agg")
import matplotlib.pyplot as plt

OBSTACLE, RADIUS = -0.77, 0.16


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=80, help="of the plan, default 80")
    parser.add_argument("--plan", type=Path, help="a plan that was saved before, instead of a new one")
    parser.add_argument("--output", type=Path, default=Path("flamingo_output"), help="folder for plot, page and plan")
    parser.add_argument("--view", action="store_true", help="open the result in the browser")
    return parser.parse_args()


def draw(plan, run, file):
    """Figures of the robot along its way, soles of plan and run, and the forces that were planned."""
    figure, (way, soles, forces) = plt.subplots(3, 1, figsize=(9, 9.5), height_ratios=(1.7, 1, 1))
    draw_robots(way, plan.mechanism, run.q[np.linspace(0, run.steps, 9).round().astype(int)], lw=1.8)
    angle = np.linspace(0.0, np.pi, 50)
    way.fill(-OBSTACLE + RADIUS * np.cos(angle), RADIUS * np.sin(angle), color="0.75", zorder=0)
    way.set(title="tracked in the simulator")
    draw_soles(soles, plan, run)
    soles.set(ylabel="lowest point of a sole [m]", xlim=(0, plan.duration))
    draw_forces(forces, plan)
    forces.set(xlabel="t [s]", xlim=(0, plan.duration))
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def main():
    chosen = arguments()
    chosen.output.mkdir(parents=True, exist_ok=True)
    problem = optimize.examples.spring_flamingo(chosen.steps)
    if chosen.plan is None:
        plan = problem.solve(tolerance=1e-6, max_iterations=1500, log=True)
        plan.save(chosen.output / "plan.npz")
    else:
        plan = optimize.load(chosen.plan, problem.mechanism)
    print(plan)
    print(f"largest complementarity product {plan.complementarity:.1e} N m or W")
    parts = round(plan.trajectory.dt / 0.005)
    shot = optimize.rehearse(plan, dt=plan.trajectory.dt / parts, log=True)
    print(
        f"rehearsed: {np.abs(shot.q[::parts] - plan.q).max():.3f} m or rad from the plan at most, {shot.seconds:.0f} s"
    )
    figures = {"violation": plan.violation, "complementarity": plan.complementarity, "seconds": plan.seconds}
    for integrator, dt in (
        (la.Maximal(), 0.005),
        (la.Maximal(), 0.001),
        (la.Minimal(), 0.005),
        (la.Minimal(), 0.001),
    ):
        run = shot.track(integrator=integrator, dt=dt)
        every = round(plan.trajectory.dt / dt)
        off = np.abs(run.q[::every] - plan.q).max(axis=0)
        low = paths(run.mechanism, run.q, SOLES)[:, :, 2].min()
        name = f"{type(integrator).__name__}, {1e3 * dt:g} ms"
        figures[name] = {"off": off.tolist(), "end": run.q[-1].tolist(), "lowest": float(low)}
        print(
            f"{name}: off by {off[:2].max():.3f} m, {off[2]:.3f} rad of the trunk, {off[3:].max():.3f} rad of a joint"
        )
    (chosen.output / "flamingo.json").write_text(json.dumps(figures, indent=1))
    draw(plan, run, chosen.output / "flamingo.png")
    b = run.mechanism.edit()
    lying = Pose.from_axis_angle("x", np.pi / 2, (OBSTACLE, 0.0, 0.0))
    b.add_shape("world", Cylinder(RADIUS, 0.5, pose=lying, color=(0.7, 0.5, 0.4, 1.0), collision=False))
    shown = la.Trajectory(b.build(), run.integrator, run.dt, run.t, run.q, run.stored)
    page = la.view.export_html(shown, chosen.output / "flamingo.html", title="Spring Flamingo jumps")
    print(f"Page: {page.resolve()}")
    if chosen.view:
        la.view(shown)


if __name__ == "__main__":
    main()
