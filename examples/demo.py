"""A double pendulum falls from horizontal rest: four integrators, and what becomes of its energy.

Nothing takes energy from the pendulum, so every joule that is gained or lost is the integrator's doing.
"""

import argparse
import math
import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

import leastaction as la

METHODS = {
    "semi-implicit Euler": la.SemiImplicitEuler(),
    "Runge-Kutta, order 4": la.RungeKutta(order=4),
    "Galerkin, order 2": la.Galerkin(order=2),
    "Galerkin, order 4": la.Galerkin(order=4),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=60.0, help="simulated time [s], default 60")
    parser.add_argument("--dt", type=float, default=0.01, help="time step [s], default 0.01")
    parser.add_argument("--output", type=Path, default=Path("demo_output"), help="folder for the plots")
    options = parser.parse_args()
    console = Console()

    robot = la.robots.double_pendulum()
    start = [0.5 * math.pi, 0.0]
    runs, seconds = {}, {}
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=2 * len(METHODS))
        for name, integrator in METHODS.items():
            bar.update(task, description=f"{name}: compiling (the first time only)")
            la.simulate(robot, q=start, dt=options.dt, steps=1, integrator=integrator)
            bar.update(task, description=f"{name}: simulating {options.duration:g} s", advance=1)
            began = time.perf_counter()
            runs[name] = la.simulate(
                robot,
                q=start,
                dt=options.dt,
                duration=options.duration,
                integrator=integrator,
                progress=False,
            )
            seconds[name] = time.perf_counter() - began
            bar.advance(task)

    lowest = robot.total_mass * 9.81 * -la.dynamics.center_of_mass(robot, [0.0, 0.0])[2]
    title = f"Double pendulum, {options.duration:g} s in steps of {options.dt:g} s"
    table = Table(title=title, title_justify="left")
    table.add_column("integrator", no_wrap=True)
    for heading in (
        "largest energy error [J]",
        "mean of first tenth [J]",
        "mean of last tenth [J]",
        "time [s]",
    ):
        table.add_column(Text(heading), justify="right")  # as Text, or [s] would be taken for markup
    for name, run in runs.items():
        error = np.abs(run.energy - run.energy[0])
        tenth = max(1, len(error) // 10)
        figures = (error.max(), error[:tenth].mean(), error[-tenth:].mean())
        table.add_row(name, *(f"{x:.2e}" for x in figures), f"{seconds[name]:.3f}")
    console.print(table)
    console.print(f"For scale: the pendulum falls {lowest:.1f} J deep.", highlight=False)

    options.output.mkdir(parents=True, exist_ok=True)
    for file, error in (("energy.png", False), ("energy_error.png", True)):
        path = options.output / file
        la.plot.energy(list(runs.values()), labels=list(runs), path=path, error=error)
        console.print(f"Plot: {path.resolve()}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
