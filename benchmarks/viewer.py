"""Frames of the pages and of the live viewer in a browser, and whether simulations go on in real time there."""

import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from leastaction.view.mouse_spring import Pull

SECONDS, QUICK_SECONDS = 5.0, 1.0
"""How long frames are counted [s]."""

FLAGS = ("--headless", "--no-sandbox", "--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader")
SIZE = {"width": 960, "height": 600}

NOTES = """In headless Chromium, 960 x 600 pixels, which draws WebGL in software, on the cores of the simulation: a \
graphics card is faster. Page: frames a second of an exported page while it plays, the time from opening it to the \
third frame, and its size. Live: states a second that the viewer sends to the browser (40 at most), and seconds of \
the simulation for each second of the clock; pulled: with the mouse's spring on a body."""


def runs() -> dict[str, Callable[[], Any]]:
    """What pages show."""
    return {
        "double pendulum": lambda: swing(la.robots.double_pendulum()),
        "Unitree A1": lambda: drop(0.1),
        "8 Unitree A1": lambda: [drop(0.02 * k) for k in range(8)],
        "humanoid": lambda: swing(la.robots.humanoid_tree()),
    }


def swing(robot: la.Mechanism) -> la.Trajectory:
    """A run without contact."""
    v = 0.5 * np.random.default_rng(0).normal(size=robot.nv)
    return la.simulate(robot, v=v, dt=0.01, duration=3.0, integrator=la.Galerkin(order=2), progress=False)


def drop(height: float) -> la.Trajectory:
    """A1 falls from some height above the ground."""
    robot = la.robots.unitree_a1(ground=True)
    q = la.robots.home(robot)
    q[2] += height
    return la.simulate(robot, q, dt=0.005, duration=2.0, integrator=la.Minimal(), progress=False)


def simulators() -> dict[str, la.Simulator]:
    """What goes on live."""
    return {
        "double pendulum": la.Simulator(la.robots.double_pendulum(), la.Galerkin(order=4), dt=0.01),
        "Unitree A1 on the ground": la.Simulator(la.robots.unitree_a1(ground=True), la.Maximal(), dt=0.005),
        "humanoid, falling": la.Simulator(la.robots.humanoid_tree(), la.Galerkin(order=2), dt=0.005),
    }


def run(progress, quick: bool = False) -> Report:
    """All pages, then all live simulations."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return Report("Viewer", NOTES, missing=["playwright"])
    program = shutil.which("chromium") or shutil.which("google-chrome")
    if program is None:
        return Report("Viewer", NOTES, missing=["Chromium"])
    seconds = QUICK_SECONDS if quick else SECONDS
    pages = Sheet("Pages", ["run", "frames a second", "to the third frame [s]", "size [MB]"])
    live = Sheet("Live", ["simulation", "states a second", "seconds a second", "the same, pulled"])
    progress.total(len(runs()) + len(simulators()))
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        options = {"executable_path": program, "args": list(FLAGS), "viewport": SIZE}
        browser = playwright.chromium.launch_persistent_context(f"{folder}/profile", **options)
        page = browser.new_page()
        page.set_default_timeout(120_000)
        for name, make in runs().items():
            progress.next(name)
            pages.rows.append([name, *played(page, make(), Path(folder) / "run.html", seconds)])
        for name, simulator in simulators().items():
            progress.next(name)
            live.rows.append([name, *shown_live(page, simulator, seconds)])
        browser.close()
    slowest = min(row[2] for row in live.rows)
    required = [Requirement("real time over the slowest live simulation", 1.0 / max(slowest, 1e-9), 1.1)]
    return Report("Viewer", NOTES, [pages, live], required)


def played(page: Any, what: Any, path: Path, seconds: float) -> list[float]:
    """Frames a second of a page, the time until it plays [s], its size [MB]."""
    la.view.export_html(what, path)
    began = time.perf_counter()
    page.goto(path.as_uri())
    page.wait_for_function("() => window.player && player.drawn > 2")
    loading = time.perf_counter() - began
    before, began = page.evaluate("player.drawn"), time.perf_counter()
    page.wait_for_timeout(1000.0 * seconds)
    frames = page.evaluate("player.drawn") - before
    return [frames / (time.perf_counter() - began), loading, path.stat().st_size / 1e6]


def shown_live(page: Any, simulator: la.Simulator, seconds: float) -> list[float]:
    """States a second in the browser, simulated seconds a second, and these with a body that is pulled."""
    simulator.step()  # what compiles does so here
    with la.view(simulator, block=False, open_browser=False, play=False) as viewer:
        page.goto(viewer.url)
        page.get_by_text("Simulation").first.wait_for()
        page.wait_for_timeout(2000.0)
        draws, draw = [0], viewer.stage.draw

        def counted(frame: int) -> None:
            draws[0] += 1
            draw(frame)

        viewer.stage.draw = counted
        viewer.play()
        rates = []
        for pulled in (False, True):
            sim = viewer.simulator
            if pulled:
                body = sim.mechanism.body_names[-1]
                viewer._pull = Pull(sim, body, la.dynamics.body_poses(sim.mechanism, sim.q)[-1, :3, 3])
            page.wait_for_timeout(500.0)
            began, t, states = time.perf_counter(), sim.t, draws[0]
            page.wait_for_timeout(1000.0 * seconds)
            spent = time.perf_counter() - began
            rates.append(((draws[0] - states) / spent, (sim.t - t) / spent))
    (states, free), (_, pulled) = rates
    return [states, free, pulled]
