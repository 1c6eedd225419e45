"""Chains of closed four-link legs, as Minitaur has them, through their singular configurations (Brüdigam 2020, Fig. 6).

When the links of a segment overlap, joint coordinates lose track of which way it will open. In maximal coordinates
every link has its own pose and the loops are equations like any others: chains of any length run, and no loop opens.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import matplotlib
import numpy as np
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text

import leastaction as la

matplotlib.use("Agg")
from matplotlib import pyplot as plt


def swing(segments: int, duration: float, dt: float, order: int) -> tuple[la.Trajectory, float]:
    """A chain that falls from its start, at rest; and the seconds of processor time that it took."""
    robot = la.robots.four_bar_chain(segments=segments)
    began = time.process_time()
    run = la.simulate(robot, dt=dt, duration=duration, integrator=la.Maximal(order=order), progress=False)
    return run, time.process_time() - began


def closest_overlap(run: la.Trajectory) -> float:
    """Smallest angle between two links of a segment that meet in a joint, over the run [deg]: 0 is singular."""
    robot = run.mechanism
    opened = []
    for k in range(len(robot.bodies) // 4):
        for joint, start in ((2, -1.0), (3, -1.0), (4, 1.0)):
            # At q = 0 the half angle of each rhombus is pi / 8, and the joint stands at a quarter turn.
            angle = run.q[:, robot.coordinate_index(f"joint{4 * k + joint}")] + start * 0.25 * np.pi
            opened.append(np.abs((angle + 0.5 * np.pi) % np.pi - 0.5 * np.pi).min())
    return float(np.degrees(min(opened)))


def energy_error(run: la.Trajectory) -> np.ndarray:
    """Error of the energy, relative to what goes back and forth: the energy itself may start at zero."""
    return (run.energy - run.energy[0]) / run.kinetic_energy.max()


def draw(runs: dict[int, la.Trajectory], seconds: dict[int, float], path: Path) -> None:
    """Violation of the loops, energy, and the growth of the time with the number of segments."""
    with la.plot.look():
        figure, (left, middle, right) = plt.subplots(1, 3, figsize=(13, 4), layout="constrained")
        for n, run in runs.items():
            label = f"{n} segment{'s' * (n > 1)}"
            left.semilogy(run.t[1:], np.maximum.accumulate(run.constraint_violation[1:]), label=label)
            middle.semilogy(run.t[1:], np.maximum.accumulate(np.abs(energy_error(run))[1:]), label=label)
        left.set(xlabel="time [s]", ylabel="loops open by at most, so far [m]")
        middle.set(xlabel="time [s]", ylabel="energy error, largest so far [1]")
        middle.legend()
        counts = list(runs)
        right.loglog(counts, [1e6 * seconds[n] / (len(runs[n]) - 1) for n in counts], "o-")
        right.set(xlabel="segments of four links", ylabel="CPU time per step [µs]")
        right.set_xticks(counts, [str(n) for n in counts])
        right.minorticks_off()
        figure.savefig(path)
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--segments", type=int, nargs="+", default=[1, 2, 5, 10, 20, 50], help="chains to run")
    parser.add_argument("--duration", type=float, default=10.0, help="simulated time [s], default 10")
    parser.add_argument("--dt", type=float, default=0.01, help="time step [s], default 0.01")
    parser.add_argument("--order", type=int, default=2, choices=(1, 2), help="of the integrator, default 2")
    parser.add_argument("--output", type=Path, default=Path("leg_chain_output"), help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="chains of 1 and 2 segments for 1 s, to see that it runs")
    options = parser.parse_args()
    if options.quick:
        options.segments, options.duration = [1, 2], 1.0
    console = Console()
    runs, seconds = {}, {}
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("compiling (the first time only)", total=len(options.segments) + 1)
        swing(options.segments[0], options.dt, options.dt, options.order)
        for n in options.segments:
            bar.update(task, advance=1, description=f"{n} segments")
            runs[n], seconds[n] = swing(n, options.duration, options.dt, options.order)
    title = f"Chains of closed legs, {options.duration:g} s in steps of {options.dt:g} s"
    table = Table(title=title, title_justify="left")
    headings = (
        "segments",
        "loops open by at most [m]",
        "closest to singular [deg]",
        "energy error",
        "iterations",
        "CPU time a step [µs]",
    )
    for heading in headings:
        table.add_column(Text(heading), justify="right")
    results = []
    for n, run in runs.items():
        figures = {
            "segments": n,
            "violation_m": float(run.constraint_violation.max()),
            "closest_deg": closest_overlap(run),
            "energy_error": float(np.abs(energy_error(run)).max()),
            "iterations": float(run.iterations[1:].mean()),
            "step_us": 1e6 * seconds[n] / (len(run) - 1),
        }
        results.append(figures)
        formats = ("d", ".1e", ".2f", ".1e", ".1f", ".0f")
        table.add_row(*(format(x, f) for x, f in zip(figures.values(), formats, strict=True)))
    console.print(table)
    options.output.mkdir(parents=True, exist_ok=True)
    draw(runs, seconds, options.output / "chains.png")
    shown = max(n for n in runs if n <= 10) if min(runs) <= 10 else min(runs)
    page = la.view.export_html(
        runs[shown], options.output / "chain.html", title=f"Chain of {shown} closed legs", plots=["energy", "violation"]
    )
    (options.output / "chains.json").write_text(json.dumps(results, indent=1))
    for path in (options.output / "chains.png", page, options.output / "chains.json"):
        console.print(f"Written: {path.resolve()}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
