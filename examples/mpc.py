"""A cart-pole and an arm with seven joints keep their posture against pushes, by looking ahead at every tick."""

import argparse
import json
from pathlib import Path

import matplotlib
import numpy as np

import leastaction as la
from leastaction.optimize import examples

matplotlib.use("Agg")
import matplotlib.pyplot as plt

PUSHES = {0.8: 1.5, 2.4: -2.5, 4.0: 3.0}
"""Jumps of velocities by time [s]: of the pole's [rad/s], and of those of all joints of the arm."""


def closed_loop(problem, directions, seconds, iterations=1):
    """Times, states, controls and the controller of a robot that is pushed."""
    mpc = la.optimize.MPC(problem, iterations=iterations)
    mpc.reset()
    dt = problem.fixed_duration / problem.steps
    simulator = la.Simulator(problem.mechanism, la.Midpoint(), dt=dt)
    simulator.reset(q=problem.start_position, v=problem.start_velocity)
    pushes = {round(t / dt): size for t, size in PUSHES.items()}
    t, q, u = [], [], []
    for k in range(round(seconds / dt)):
        if k in pushes:
            simulator.reset(q=simulator.q, v=simulator.v + pushes[k] * directions, t=simulator.t)
        u.append(mpc.step(simulator.q, simulator.v))
        simulator.step(u[-1])
        t.append(simulator.t)
        q.append(simulator.q)
    return np.array(t), np.array(q), np.array(u), mpc


def picture(runs):
    """Deviations from the posture above, controls beside their limits below, one column for each robot."""
    figure, axes = plt.subplots(2, 2, figsize=(9, 5), sharex=True, layout="constrained")
    for column, (title, (t, q, u, mpc)) in zip(axes.T, runs.items(), strict=True):
        problem = mpc.problem
        column[0].set_title(title)
        column[0].plot(t, q - problem.start_position, label=problem.mechanism.coordinate_names)
        column[1].step(t, u / problem.u_bounds[1], where="pre")
        for limit in (-1.0, 1.0):
            column[1].axhline(limit, color="0.6", lw=0.8, ls="--")
        for axis in column:
            for push in PUSHES:
                axis.axvline(push, color="0.85", zorder=0)
        column[0].legend(fontsize=7, ncols=2)
        column[1].set_xlabel("time [s]")
    axes[0, 0].set_ylabel("deviation [m, rad]")
    axes[1, 0].set_ylabel("controls / limits")
    return figure


def figures(runs):
    """What to show of the runs."""
    return {
        title: {
            "rate_Hz": round(mpc.rate),
            "worst_tick_ms": round(1e3 * mpc.worst, 2),
            "largest_deviation": float(np.abs(q - mpc.problem.start_position).max()),
            "last_deviation": float(np.abs(q[-1] - mpc.problem.start_position).max()),
            "largest_control": float(np.abs(u / mpc.problem.u_bounds[1]).max()),
        }
        for title, (_, q, u, mpc) in runs.items()
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a short run to see that it works")
    parser.add_argument("--output", type=Path, default=Path("mpc_output"), help="folder for plot and figures")
    chosen = parser.parse_args()
    seconds = 1.2 if chosen.quick else 6.0
    directions = np.random.default_rng(0).normal(size=7)
    runs = {
        "cart-pole, N = 50": closed_loop(examples.balance(50), np.array([0.0, 1.0]), seconds),
        "arm with 7 joints, N = 30": closed_loop(examples.steady_arm(30), directions, seconds),
    }
    chosen.output.mkdir(parents=True, exist_ok=True)
    picture(runs).savefig(chosen.output / "mpc.png", dpi=120)
    told = figures(runs)
    (chosen.output / "mpc.json").write_text(json.dumps(told, indent=1))
    print(json.dumps(told, indent=1))


if __name__ == "__main__":
    main()
