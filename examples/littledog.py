"""LittleDog crosses two gaps: where and when its feet touch is found with the motion, then simulators follow it.

After Fan 2018, Section 6.2; the problem is `optimize.examples.littledog`. The plan is followed by soft servos in the
joints, with the planned torques, and with feedback of the body through the feet that stand.
"""

import argparse
import json
from pathlib import Path

import matplotlib
import numpy as np

import leastaction as la
from leastaction import optimize
from leastaction.mechanism import Plane
from leastaction.optimize.examples.legged_robots import FOOT, GAPS, TROT

matplotlib.use("Agg")
import matplotlib.pyplot as plt

KP, KV = 10.0, 0.2
"""Of the servos [N m/rad, N m s/rad]."""
BODY = optimize.StanceFeedback(
    position=200.0, velocity=30.0, turn=4.0, spin=0.3, placing=(1.0, 0.0, 0.0), capture=(0.0, 0.12, 0.0)
)
"""Of the body; along x, the way across the gaps, feet in the air go where they were to go, along y where it goes."""

COLORS = dict(zip(TROT, ("C0", "C1", "C2", "C3"), strict=True))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=60, help="of the plan, default 60")
    parser.add_argument("--plan", type=Path, help="a plan that was saved before, instead of a new one")
    parser.add_argument("--output", type=Path, default=Path("littledog_output"), help="folder for plot, page and plan")
    parser.add_argument("--starts", type=int, default=0, help="also follow the plan from so many random starts")
    parser.add_argument("--view", action="store_true", help="open the result in the browser")
    return parser.parse_args()


def points(robot, Q, body, place):
    """A point of a body along a motion, shape (knots, 3)."""
    poses = np.array([la.dynamics.body_poses(robot, q)[robot.body_index(body)] for q in Q])
    return (poses @ [*place, 1.0])[:, :3]


def feet(robot, Q):
    """Middles of the feet along a motion by leg, shape (knots, 3) each."""
    return {c.name.removesuffix("_foot"): points(robot, Q, c.body, c.point) for c in robot.contacts}


def level(friction=0.8):
    """LittleDog on level ground, for simulators that know no platforms."""
    b = la.robots.littledog().edit()
    b.add_shape("world", Plane(friction=friction))
    return b.build()


def follow(plan):
    """Runs of simulators that follow a plan, by name."""
    runs = {}
    for integrator, robot in ((la.Maximal(), plan.mechanism), (la.Minimal(), level())):
        for dt in (0.005, 0.001):
            name = f"{type(integrator).__name__}, {1e3 * dt:g} ms"
            runs[name] = optimize.servo_track(plan, robot, kp=KP, kv=KV, stance=BODY, integrator=integrator, dt=dt)
    return runs


def deviations(plan, run):
    """Largest ones from the plan: of the body's place [m] and orientation [rad], and of the joints [rad]."""
    at = np.minimum(np.round(plan.t / run.dt).astype(int), run.steps)
    off = np.abs(plan.mechanism.difference(plan.q, run.q[at]))
    return {"place": off[:, 3:6].max(), "turn": off[:, :3].max(), "joints": off[:, 6:].max()}


def beyond_an_edge(run):
    """How far beyond the edge of a gap the middle of a foot is while it is down [m]; on level ground it may be."""
    x, z = (np.array([place[:, k] for place in feet(run.mechanism, run.q).values()]) for k in (0, 2))
    depth = np.max([np.minimum(x - first, last - x) for first, last in GAPS], axis=0)
    return max(float(np.where(z < FOOT + 1e-4, depth, 0.0).max()), 0.0)


def random_starts(plan, count):
    """Whether `Maximal` at 5 ms gets across from starts off by up to 5 mm and 1 degree, seed by seed."""
    across = []
    for seed in range(count):
        most = np.r_[np.full(3, np.deg2rad(1.0)), np.full(3, 5e-3), np.full(plan.mechanism.nv - 6, np.deg2rad(1.0))]
        off = most * np.random.default_rng(seed).uniform(-1.0, 1.0, plan.mechanism.nv)
        q = plan.mechanism.integrate(plan.q[0], off)
        run = optimize.servo_track(plan, q=q, kp=KP, kv=KV, stance=BODY, integrator=la.Maximal(), dt=0.005)
        last = plan.mechanism.difference(plan.q[-1], run.q[-1])
        across.append(bool(np.abs(last[:3]).max() < 0.3 and np.abs(last[3:6]).max() < 0.05))
    return across


def draw(plan, run, file):
    """The robot from the side, its feet over time as planned and tracked, and the forces that were planned."""
    robot = plan.mechanism
    figure, (way, steps, lifts, forces) = plt.subplots(4, 1, figsize=(9, 12), height_ratios=(1, 1.5, 1, 1.1))
    edges = [-0.2, *(x for gap in GAPS for x in gap), 0.7]
    for first, last in zip(edges[::2], edges[1::2], strict=True):
        way.fill_between([first, last], [-0.04] * 2, [0.0] * 2, color="0.75")
    for k in np.linspace(0, run.steps, 6).round().astype(int):
        alpha, Q = 0.3 + 0.7 * k / run.steps, run.q[[k]]
        trunk = [points(robot, Q, "body", (x, 0, 0))[0] for x in (-0.101, 0.101)]
        way.plot(*np.array(trunk)[:, [0, 2]].T, color="0.2", lw=4, alpha=alpha, solid_capstyle="round")
        for leg, tip in feet(robot, Q).items():
            joints = [points(robot, Q, f"{leg}_{part}", (0, 0, 0))[0] for part in ("upper_leg", "lower_leg")]
            way.plot(*np.array([*joints, tip[0]])[:, [0, 2]].T, color=COLORS[leg], lw=1.6, alpha=alpha)
    way.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", xlim=(-0.2, 0.7), title="tracked in the simulator")
    for first, last in GAPS:
        steps.axhspan(first, last, color="0.85")
    tracked = feet(robot, run.q)
    for leg, place in feet(robot, plan.q).items():
        name = next(c.body for c in robot.contacts if c.name.startswith(leg))
        force = plan.forces[f"contact {name}"][:, 0]
        steps.plot(plan.t, place[:, 0], color=COLORS[leg], lw=1, label=leg.replace("_", " "))
        steps.plot(plan.t, np.where(force > 0.5, place[:, 0], np.nan), color=COLORS[leg], lw=4, alpha=0.6)
        steps.plot(run.t, tracked[leg][:, 0], ":", color=COLORS[leg], lw=1.3)
        lifts.plot(plan.t, 1e3 * (place[:, 2] - FOOT), color=COLORS[leg], lw=1)
        lifts.plot(run.t, 1e3 * (tracked[leg][:, 2] - FOOT), ":", color=COLORS[leg], lw=1.3)
        forces.plot(plan.t, force, color=COLORS[leg], lw=1.3)
    steps.set(ylabel="x of the feet [m]", xlim=(0, plan.duration))
    steps.legend(fontsize=8, title="thick: it pushes, dotted: tracked", title_fontsize=8)
    lifts.set(ylabel="height of the feet [mm]", xlim=(0, plan.duration))
    forces.set(ylabel="normal force, planned [N]", xlabel="t [s]", xlim=(0, plan.duration))
    figure.tight_layout()
    figure.savefig(file, dpi=80)


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
    figures = {"violation": plan.violation, "complementarity": plan.complementarity, "seconds": plan.seconds}
    runs = follow(plan)
    for name, run in runs.items():
        off = deviations(plan, run)
        off |= {"end": run.q[-1, 0], "torque": np.abs(optimize.servo_forces(run)).max(), "beyond": beyond_an_edge(run)}
        figures[name] = {key: float(value) for key, value in off.items()}
        print(f"{name}: " + ", ".join(f"{key} {value:.3f}" for key, value in off.items()))
    if chosen.starts:
        figures["across"] = random_starts(plan, chosen.starts)
        print(f"from random starts: {sum(figures['across'])} of {chosen.starts} across, {figures['across']}")
    (chosen.output / "littledog.json").write_text(json.dumps(figures, indent=1))
    run = runs["Maximal, 5 ms"]
    draw(plan, run, chosen.output / "littledog.png")
    page = la.view.export_html(run, chosen.output / "littledog.html", title="LittleDog crosses two gaps")
    print(f"Page: {page.resolve()}")
    if chosen.view:
        la.view(run)


if __name__ == "__main__":
    main()
