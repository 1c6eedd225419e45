"""Step times of two source trees of this package, in turns on the same machine.

    python tools/compare_sources.py OLD NEW [words of cases]

OLD and NEW are checkouts (``git worktree add``). CPU time per step of one robot for each family of integrators, least
of several runs; rounds alternate between the trees, so that both meet the machine in the same state. With ``--cold``
the CPU time of a first run with an empty cache of kernels instead.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

CASES = {
    "Galerkin(order=2), 32 links": ("Galerkin(order=2)", "pendulum(32)", 0.01),
    "Galerkin(order=4), 32 links": ("Galerkin(order=4)", "pendulum(32)", 0.01),
    "Galerkin(order=4), humanoid": ("Galerkin(order=4)", "humanoid_tree()", 0.005),
    "Galerkin(order=4, solver='recursive'), 32 links": ("Galerkin(order=4, solver='recursive')", "pendulum(32)", 0.01),
    "Galerkin(order=2), four-bar linkage": ("Galerkin(order=2)", "four_bar()", 0.005),
    "Midpoint, 32 links": ("Midpoint()", "pendulum(32)", 0.01),
    "Maximal, 16 links": ("Maximal()", "pendulum(16)", 0.005),
    "Maximal, cube that falls and lies": ("Maximal()", "cube()", 0.005),
    "BDF(order=2), 8 links": ("BDF(order=2)", "pendulum(8)", 0.005),
    "BDF(order=2), 32 links": ("BDF(order=2)", "pendulum(32)", 0.005),
    "SDIRK2, 32 links": ("SDIRK2()", "pendulum(32)", 0.005),
    "LinearlyImplicitEuler, 32 links": ("LinearlyImplicitEuler()", "pendulum(32)", 0.002),
    "ConstrainedEuler, four-bar linkage": ("ConstrainedEuler()", "four_bar()", 0.002),
    "MaximalEuler, 4 links": ("MaximalEuler()", "pendulum(4)", 0.002),
    "HermiteSimpson, 4 links": ("HermiteSimpson()", "pendulum(4)", 0.005),
    "RungeKutta(order=4), 8 links": ("RungeKutta(order=4)", "pendulum(8)", 0.002),
}
"""Integrator, robot and time step [s]."""

RUN = """
import sys, time
import numpy as np
import leastaction as la
robot, integrator = eval("la.robots." + sys.argv[2]), eval("la." + sys.argv[1])
q = None
if robot.is_tree and robot.nq == robot.nv:
    q = 0.3 * np.cos(np.arange(robot.nv))
elif not robot.is_tree:
    q = la.robots.home(robot)
elif robot.nq == 7:
    q = np.array([0.0, 0.0, 0.3, 1.0, 0.0, 0.0, 0.0])
def run(steps):
    before = time.process_time()
    la.simulate(robot, q, dt=float(sys.argv[3]), steps=steps, integrator=integrator)
    return time.process_time() - before
if sys.argv[4] == "cold":
    run(1)
    print(time.process_time())
else:
    run(2)
    steps = int(sys.argv[4])
    print(min(run(steps) for _ in range(4)) / steps)
"""
"""What one round of a case does."""


def measure(tree: str, case: tuple[str, str, float], cold: bool) -> float:
    """CPU seconds of one case in one tree, NaN if it cannot run there."""
    integrator, robot, dt = case
    with tempfile.TemporaryDirectory() as empty:
        settings = os.environ | {"PYTHONPATH": os.path.join(tree, "src"), "LEASTACTION_QUIET": "1"}
        settings |= {"LEASTACTION_CACHE_DIR": empty} if cold else {}
        steps = 100 if "Euler()" in integrator and "Linearly" not in integrator else 3000  # a call costs about 1 ms
        words = [sys.executable, "-W", "ignore", "-c", RUN, integrator, robot, str(dt), "cold" if cold else str(steps)]
        done = subprocess.run(words, env=settings, capture_output=True, text=True)
    return float(done.stdout) if done.returncode == 0 else float("nan")


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trees", nargs=2)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    unit, scale = ("s", 1.0) if asked.cold else ("µs", 1e6)
    print(f"| | before [{unit}] | now [{unit}] | ratio |\n| --- | ---: | ---: | ---: |")
    for name, case in CASES.items():
        if all(word in name for word in asked.words):
            rounds = [[measure(tree, case, asked.cold) for tree in asked.trees] for _ in range(asked.rounds)]
            old, new = (min(times) * scale for times in zip(*rounds, strict=True))
            print(f"| {name} | {old:.3g} | {new:.3g} | {new / old:.2f} |", flush=True)


if __name__ == "__main__":
    main()
