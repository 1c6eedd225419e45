"""Times the first result of each public entry point, in a process of its own: cold, from a cache, or from a wheel.

    python tools/first_results.py [--python PATH] [--cold] [--stock] [--robot FILE ...] [words of cases]

The cache of kernels is a folder of its own, empty at first. With ``--cold`` it is emptied before each case, so that
all is compiled from source; else what one case has compiled serves the next ones, too. Each runs twice. Wall time and
CPU time (user and system) of a process from its start to its end, with the import. ``--python`` is the interpreter of
an environment with a wheel; without it, the sources of this checkout are run. ``--limit`` makes it end with 1 if any
case took longer in wall time the first time it ran, ``--complete`` if any compiled a kernel.
``--into PAGE`` writes the table into a page of the documentation, between two marks.
"""

from __future__ import annotations

import argparse
import os
import platform
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

CASES = {
    "import": "",
    "Galerkin": "run(pendulum, la.Galerkin(order=4))",
    "Midpoint": "run(pendulum, la.Midpoint())",
    "Maximal": "run(pendulum, la.Maximal())",
    "Minimal": "run(pendulum, la.Minimal())",
    "BDF": "run(pendulum, la.BDF(order=2))",
    "RungeKutta": "run(pendulum, la.RungeKutta(order=4))",
    "Maximal with contact": "run(cube, la.Maximal())",
    "Minimal with contact": "run(cube, la.Minimal())",
    "gradient": "gradient(run(pendulum, la.Galerkin(order=2)))",
    "gradient through contact, Maximal": "gradient(run(cube, la.Maximal()))",
    "gradient through contact, Minimal": "gradient(run(cube, la.Minimal()))",
    "linearize": "la.linearize(pendulum, la.Galerkin(order=2), np.zeros(2), np.zeros(2))",
    "dynamics": "la.dynamics.mass_matrix(pendulum, [0.1, 0.1])",
    "optimisation": "search().solve(solver='horizon', max_iterations=3)",
    "MPC": "la.optimize.MPC(search()).step(np.zeros(2), np.zeros(2))",
    "batch": "la.batch.simulate(pendulum, np.zeros((4, 2)), dt=0.01, steps=3)",
    "Gymnasium, Hopper": "act('Hopper')",
    "Gymnasium, A1": "act('A1')",
    "one step at a time": "la.Simulator(pendulum, la.Galerkin(order=2), dt=0.01).step()",
    "la.step": "la.step(cube)",
    "SDIRK2": "run(pendulum, la.SDIRK2())",
    "LinearlyImplicitEuler": "run(pendulum, la.LinearlyImplicitEuler())",
    "HermiteSimpson": "run(pendulum, la.HermiteSimpson())",
    "DOP853": "run(pendulum, la.DOP853())",
    "ConstrainedEuler": "run(pendulum, la.ConstrainedEuler())",
    "accuracy": "la.simulate(pendulum, dt=0.01, steps=3, accuracy=1e-4)",
    "closed loop": "run(la.robots.four_bar(), la.Galerkin(order=2))",
    "closed loop, Maximal": "run(la.robots.four_bar(), la.Maximal())",
    "humanoid, gradient": "gradient(run(la.robots.get('humanoid_tree'), la.Galerkin(order=2)))",
    "Maximal, quadruped": "run(la.robots.get('unitree_a1'), la.Maximal())",
    "Minimal, quadruped": "run(la.robots.get('unitree_a1'), la.Minimal())",
    "gradient, quadruped": "gradient(run(la.robots.get('unitree_a1'), la.Minimal()))",
    "Minimal, cylinders": "run(cylinders(), la.Minimal())",
    "gradient, cylinders": "gradient(run(cylinders(), la.Minimal()))",
    "inverse kinematics": "la.kinematics.solve_ik(pendulum, la.kinematics.reach_position('link2', (0.5, 0.0, -1.0)))",
    "sensors": "sense()",
    "identification": "identify()",
    "picture": "la.view.screenshot(cube, width=32, height=32)",
}
"""What is run, by name."""

ROBOT = {
    "Maximal": "run(robot, la.Maximal())",
    "Minimal": "run(robot, la.Minimal())",
    "gradient, Minimal": "gradient(run(robot, la.Minimal()))",
}
"""What is run with each file of a robot."""

RUN = """
import sys
import numpy as np
import leastaction as la
robot = la.load(sys.argv[2]) if len(sys.argv) > 2 else None
pendulum = la.robots.pendulum(2)
cube = la.robots.cube()
def run(robot, integrator):
    out = la.simulate(robot, la.robots.home(robot), dt=0.002, steps=3, integrator=integrator, progress=False)
    assert np.isfinite(out.energy).all()
    return out
def gradient(out):
    return la.derivatives.gradient(out, out.v, out.v, ["q", "v"])
def search():
    problem = la.optimize.Problem(la.robots.get("cart_pole"), steps=8, dt=0.05).start(q=[0, 0], v=[0.1, 0.1])
    return problem.minimize(la.optimize.effort(), la.optimize.tracking([0, 0], [1, 1]))
def act(name):
    import gymnasium
    import leastaction.gym
    env = gymnasium.make(f"leastaction/{name}-v0")
    env.reset(seed=0)
    env.step(env.action_space.sample())
def cylinders():
    b = la.MechanismBuilder("cylinders")
    for k in range(2):
        b.body(f"body{k}", mass=1.0, shapes=la.mechanism.Cylinder(0.1, 0.2))
        b.free(f"body{k}")
    b.home({"body1_free.z": 0.21})
    return b.build()
def sense():
    b = cube.edit()
    b.sensor("force", "accelerometer", "cube")
    sim = la.Simulator(b.build(), dt=0.01)
    sim.step()
    sim.sensors
def identify():
    run = la.simulate(pendulum, q=[0.5, 0.0], steps=20)
    la.identification.identify(pendulum, [run], ["mass:link2"])
eval(sys.argv[1] or "None")
"""


def measure(words: list[str], settings: dict[str, str]) -> tuple[float, float, str]:
    """Wall and CPU seconds of a process, and what it said: what it compiled, or why it failed."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(words, env=settings, capture_output=True, text=True, cwd=tempfile.gettempdir())
    wall, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    lines = done.stderr.splitlines()
    if done.returncode:
        return wall, cpu, f"failed: {lines[-1] if lines else done.returncode}"
    told = [line.partition("compiled ")[2].partition(" (")[0] for line in lines if "compiled " in line]
    return wall, cpu, "; ".join(told)


MARKS = "<!-- first results: made by tools/first_results.py -->", "<!-- end of first results -->"


def publish(page: Path, lines: list[str]) -> None:
    """Put lines between the marks of a page."""
    before, first, rest = page.read_text(encoding="utf-8").partition(MARKS[0])
    _, last, after = rest.partition(MARKS[1])
    if not last:
        sys.exit(f"{page} lacks the marks {MARKS[0]} and {MARKS[1]}")
    page.write_text("\n".join([before + first, "", *lines, "", last + after]), encoding="utf-8")


def main() -> None:
    """Print a table in Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*")
    parser.add_argument("--python", help="interpreter of an environment that has the package")
    parser.add_argument("--cold", action="store_true")
    parser.add_argument("--stock", action="store_true")
    parser.add_argument("--robot", nargs="*", default=[], metavar="FILE")
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--complete", action="store_true")
    parser.add_argument("--into", type=Path, metavar="PAGE")
    asked = parser.parse_args()
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("LEASTACTION_", "NUMBA_", "PYTHONPATH"))}
    settings |= {"LEASTACTION_QUIET": "0", "LEASTACTION_STOCK_NUMBA": "1" if asked.stock else "0"}
    if asked.python is None:
        settings["PYTHONPATH"] = str(ROOT / "src")
    cases = [(name, [code]) for name, code in CASES.items()] if not asked.robot else []
    for file in map(Path, asked.robot):
        cases += [(f"{file.stem}, {name}", [code, str(file.resolve())]) for name, code in ROBOT.items()]
    late = False
    lines = [
        "| | wall [s] | CPU [s] | again: wall [s] | CPU [s] | compiled |",
        "| --- | ---: | ---: | ---: | ---: | --- |",
    ]
    print(*lines, sep="\n")
    with tempfile.TemporaryDirectory() as folder:
        settings["LEASTACTION_CACHE_DIR"] = folder
        for name, words in cases:
            if not all(word in name for word in asked.words):
                continue
            if asked.cold:
                shutil.rmtree(folder, ignore_errors=True)
            command = [asked.python or sys.executable, "-W", "ignore", "-c", RUN, *words]
            first, again = measure(command, settings), measure(command, settings)
            late = late or first[0] > asked.limit or again[2].startswith("failed") or bool(asked.complete and first[2])
            numbers = (f"{x:.2f}" for x in (*first[:2], *again[:2]))
            lines.append(f"| {name} | {' | '.join(numbers)} | {again[2] or first[2]} |")
            print(lines[-1], flush=True)
    load = "" if not hasattr(os, "getloadavg") else f"; load of the last 15 minutes {os.getloadavg()[2]:.1f}"
    print(about := f"Python {platform.python_version()}, {os.cpu_count()} cores{load}.")
    if asked.into is not None:
        publish(asked.into, [*lines, "", about])
    sys.exit(late)


if __name__ == "__main__":
    main()
