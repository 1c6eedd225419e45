"""A hopper hops on the spot and is pushed sideways: where it puts its toe is found at every tick, contacts included.

The controller (`optimize.MPC`) solves a problem whose contacts are unknowns, three iterations each 20 ms, and drives a
simulator with rigid contact. Pushes come at random times of the hop, in random directions, and turn the trunk too.
"""

import argparse
import gc
import json
import time
from pathlib import Path

import matplotlib
import numpy as np

import leastaction as la
from leastaction import optimize
from leastaction.optimize.examples.planar_hopper import hops

matplotlib.use("Agg")
import matplotlib.pyplot as plt

DT = 0.02
STARTS = (50, 125, 200)
"""Ticks from which on, within the 25 of a hop, there is a push."""


def pushes(seed, size):
    """Jumps of the velocity by tick: sideways [m/s], and up to 0.3 of that in rad/s for the trunk."""
    rng = np.random.default_rng(seed)
    out = {}
    for start in STARTS:
        jump = np.zeros(5)
        jump[0], jump[2] = size * rng.choice([-1.0, 1.0]), size * rng.uniform(-0.3, 0.3)
        out[start + int(rng.integers(0, 25))] = jump
    return out


def run(seed, size, ticks=300, steps=30):
    """(positions, CPU seconds of the ticks) of a hopper that is pushed; positions end where it falls."""
    problem = optimize.examples.pushed_hopper(steps)
    mpc = optimize.MPC(problem, iterations=3, barrier=0.1)
    mpc.reset()
    simulator = la.Simulator(problem.mechanism, la.Minimal(), dt=DT)
    simulator.reset(q=problem.start_position, v=problem.start_velocity)
    q, seconds, jumps = [], [], pushes(seed, size)
    for k in range(ticks):
        if k in jumps:
            simulator.reset(q=simulator.q, v=simulator.v + jumps[k], t=simulator.t)
        mpc.target(hops(DT * (k + np.arange(steps + 1))))
        began = time.process_time()
        u = mpc.step(simulator.q, simulator.v)
        seconds.append(time.process_time() - began)
        simulator.step(u)
        q.append(simulator.q)
        if abs(q[-1][2]) > 1.2 or q[-1][1] < 0.35:
            break
    return np.array(q), seconds


def draw(runs, file):
    """Ways of the trunk of several runs, and one of them as figures of the robot."""
    figure, (way, over, robot) = plt.subplots(3, 1, figsize=(9, 8.5), height_ratios=(1, 1, 1.2))
    for number, (seed, (q, jumps)) in enumerate(runs.items()):
        t = DT * np.arange(1, len(q) + 1)
        way.plot(t, q[:, 0], lw=1.2, color=f"C{number}", label=f"seed {seed}")
        over.plot(t, q[:, 1], lw=1.0, color=f"C{number}")
        for tick in jumps:
            way.plot(DT * tick, q[min(tick, len(q)) - 1, 0], "o", ms=4, color=f"C{number}")
    way.set(ylabel="x of the trunk [m]")
    way.legend(fontsize=8, ncols=3, title="dots: pushes", title_fontsize=8)
    over.set(ylabel="z of the trunk [m]", xlabel="t [s]")
    q, jumps = next(iter(runs.values()))
    first = min(jumps)
    for k in range(first - 6, min(first + 45, len(q)), 5):
        x, z, pitch, hip, slide = q[k]
        angle, length = pitch + hip, 0.75 - slide
        alpha = 0.25 + 0.75 * (k - first + 6) / 51
        toe = x - length * np.sin(angle), z - length * np.cos(angle)
        robot.plot([x, toe[0]], [z, toe[1]], color="C0", lw=1.8, alpha=alpha)
        along = 0.12 * np.array([np.cos(pitch), -np.sin(pitch)])
        robot.plot([x - along[0], x + along[0]], [z - along[1], z + along[1]], color="0.2", lw=4, alpha=alpha)
    robot.axhline(0.0, color="0.5", lw=1)
    robot.set(aspect="equal", xlabel="x [m]", ylabel="z [m]", title="before and after the first push, every 0.1 s")
    figure.tight_layout()
    figure.savefig(file, dpi=110)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two short runs to see that it works")
    parser.add_argument("--sizes", type=float, nargs="+", default=[1.0, 1.5, 2.0], help="of the pushes [m/s]")
    parser.add_argument("--seeds", type=int, default=12, help="runs of each size, three pushes each, default 12")
    parser.add_argument("--output", type=Path, default=Path("hopper_output"), help="folder for plot and figures")
    chosen = parser.parse_args()
    sizes, seeds, ticks = (chosen.sizes[:1], 2, 100) if chosen.quick else (chosen.sizes, chosen.seeds, 300)
    chosen.output.mkdir(parents=True, exist_ok=True)
    gc.disable()  # as a loop in real time would
    told, shown = {}, {}
    for size in sizes:
        runs = [run(seed, size, ticks) for seed in range(seeds)]
        seconds = np.concatenate([spent[1:] for _, spent in runs])
        told[f"{size:g} m/s"] = {
            "runs": seeds,
            "fell": [seed for seed, (q, _) in enumerate(runs) if len(q) < ticks],
            "furthest_m": max(float(np.abs(q[:, 0]).max()) for q, _ in runs),
            "most_pitch_rad": max(float(np.abs(q[:, 2]).max()) for q, _ in runs),
            "rate_Hz": 1.0 / float(np.median(seconds)),
            "longest_tick_ms": 1e3 * float(seconds.max()),
        }
        if not shown:
            shown = {seed: (q, pushes(seed, size)) for seed, (q, _) in enumerate(runs[:3])}
        gc.collect()
    (chosen.output / "hopper.json").write_text(json.dumps(told, indent=1))
    print(json.dumps(told, indent=1))
    draw(shown, chosen.output / "hopper.png")


if __name__ == "__main__":
    main()
