"""`leastaction demo`."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from leastaction.cli._app import fail, verb
from leastaction.cli._show import compiling


@verb("demo", "demo --output tour --duration 10")
def demo(
    duration: Annotated[float, typer.Option(help="Simulated time of the pendulum [s].")] = 60.0,
    output: Annotated[Path, typer.Option(help="Folder for plots and pages.")] = Path("demo_output"),
) -> None:
    """Show what the package does, in a minute.

    Energy that stays, an arm that learns to reach, loops that stay closed, a cube that lands, a pole that swings up:
    figures in the terminal, plots and pages in a folder. The first run compiles the kernels that it needs, those for
    contact in a process beside it; later ones find them on disk.
    """
    import multiprocessing

    from leastaction.cli import demonstration

    if not duration > 0.0:
        fail(f"--duration must be positive, got {duration}")
    began = time.perf_counter()
    story = demonstration.Story(output, duration)
    helper = multiprocessing.get_context("spawn").Process(target=_compile_contact, daemon=True)
    helper.start()
    with compiling():
        for chapter in demonstration.CHAPTERS:
            if chapter is demonstration.loop:
                _wait(story.console, helper)
            chapter(story)
    story.title(f"Done in {time.perf_counter() - began:.0f} s. Open in a browser or an image viewer:")
    for path, what in story.files:
        story.console.print(f"  {path.resolve()}  {what}", soft_wrap=True)
    if story.missing:
        story.console.print(f"Plots were skipped: {story.missing}", soft_wrap=True)


def _compile_contact() -> None:
    """Compile the kernel of contact: that of the cube is that of all robots (in a process of its own)."""
    import leastaction as la
    from leastaction import _jit

    _jit.LISTENERS.append(lambda name, seconds: None)  # say nothing
    la.simulate(la.robots.cube(), steps=1, integrator=la.Minimal())


def _wait(console: Any, helper: Any) -> None:
    if helper.is_alive():
        with console.status("compiling contact beside the chapters before, which happens once"):
            helper.join()
