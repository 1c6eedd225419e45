"""A1 learns to walk on all cores of a computer, or of a cluster: the gait of `quadruped.py`, sampled by Ray.

Each generation of gaits is a sweep; stopped and started again, the search goes on where it was. Contact is rigid.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np
from quadruped import NAMES, STANDING, distance, gait_controls, quadruped, standing

import leastaction as la

SPREAD = np.array([0.05, 0.1, 0.1, 0.1, 0.1])
"""Of the first gaits, in the order of `quadruped.NAMES`."""


def walked(parameters: np.ndarray, duration: float, dt: float) -> float:
    """How far a gait comes [m]; -inf where the robot falls."""
    robot = quadruped()
    run = la.simulate(
        robot,
        q=standing(robot, parameters),
        dt=dt,
        duration=duration,
        integrator=la.Minimal(),
        controls=gait_controls(dt * np.arange(round(duration / dt)), parameters),
        progress=False,
    )
    return distance(run)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--method", choices=("cem", "random"), default="cem", help="default cem")
    parser.add_argument("--generations", type=int, default=12, help="default 12")
    parser.add_argument("--population", type=int, default=32, help="gaits of a generation, default 32")
    parser.add_argument("--duration", type=float, default=4.0, help="length of an episode [s], default 4")
    parser.add_argument("--dt", type=float, default=0.005, help="time step [s], default 0.005")
    parser.add_argument("--seed", type=int, default=0, help="default 0")
    parser.add_argument("--output", type=Path, default=Path("walk_output"), help="folder for all that was tried")
    options = parser.parse_args()

    def score(parameters: np.ndarray) -> float:
        return walked(parameters, options.duration, options.dt)

    found = la.cluster.search(
        score,
        STANDING,
        SPREAD,
        options.output,
        method=options.method,
        population=options.population,
        generations=options.generations,
        seed=options.seed,
    )
    for g, (record, scores) in enumerate(zip(found.records, found.scores, strict=True)):
        fell = int(np.isneginf(scores).sum())
        print(f"generation {g:2d}: best {record:6.2f} m, {fell} of {len(scores)} fell")
    if not math.isfinite(found.score):
        print("no gait stayed up")
        return
    print(f"Walks {found.score:.2f} m in {options.duration:g} s.")
    print("Gait: " + ", ".join(f"{name} = {x:.4f}" for name, x in zip(NAMES, found.best, strict=True)))


if __name__ == "__main__":
    main()
