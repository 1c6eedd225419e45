"""The chapters of `leastaction demo`: each runs something, prints what it found and writes pages and plots."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import leastaction as la
from leastaction.cli._show import console
from leastaction.errors import MissingExtraError

DT = 0.01
"""Time step of the pendulum and of the cube [s]."""


class Story:
    """Where chapters print to and write to.

    Args:
        folder: for plots and pages; made where it is missing.
        duration: simulated time of the longest run [s].
    """

    def __init__(self, folder: Path, duration: float) -> None:
        self.console = console()
        self.folder, self.duration = folder, duration
        self.files: list[tuple[Path, str]] = []
        self.missing: str = ""
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, name: str, what: str, make: Callable[[Path], Any]) -> None:
        """Write a file; a plot is skipped where its library is not installed, and the end says how to get it."""
        try:
            make(self.folder / name)
        except MissingExtraError as error:
            self.missing = str(error)
        else:
            self.files.append((self.folder / name, what))

    def title(self, text: str) -> None:
        """Begin a chapter."""
        self.console.print(f"\n{text}", style="bold")

    def table(self, headings: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
        """Print a table; all of it as Text, or [m] would be taken for markup."""
        from rich.table import Table
        from rich.text import Text

        table = Table()
        for k, heading in enumerate(headings):
            table.add_column(Text(heading), justify="left" if k == 0 else "right", no_wrap=k == 0)
        for row in rows:
            table.add_row(*(Text(cell) for cell in row))
        self.console.print(table)


def energy(story: Story) -> None:
    """A double pendulum falls from horizontal rest. Nothing takes energy from it but the integrator."""
    story.title("1. Energy: a double pendulum without friction")
    robot = la.robots.double_pendulum()
    methods = {"semi-implicit Euler": la.SemiImplicitEuler(), "Galerkin, order 4": la.Galerkin(order=4)}
    runs, seconds = {}, {}
    options = {"q": [0.5 * math.pi, 0.0], "dt": DT, "progress": False}
    for name, integrator in methods.items():
        la.simulate(robot, steps=1, integrator=integrator, **options)
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", la.EnergyWarning)  # that Euler's method gains energy is what is shown
            runs[name] = la.simulate(robot, duration=story.duration, integrator=integrator, **options)
        seconds[name] = time.perf_counter() - began
        assert len(runs[name].energy) == len(runs[name])
    rows = []
    for name, run in runs.items():
        error = np.abs(run.energy - run.energy[0])
        rows.append((name, f"{error.max():.1e}", f"{error[-1]:.1e}", f"{seconds[name]:.3f}"))
    story.table(("integrator", "largest energy error [J]", "error at the end [J]", "time to compute [s]"), rows)
    steps = round(story.duration / DT)
    story.console.print(f"{steps} steps of {DT} s; hanging still it would have {2 * 9.81 * 2.0 / 2:.1f} J less.")
    story.write(
        "energy.png",
        "plot of the energies",
        lambda path: la.plot.energy(list(runs.values()), labels=list(runs), path=path),
    )
    short = [run[: round(10.0 / DT) + 1] for run in runs.values()]
    story.write(
        "pendulum.html",
        "both pendulums side by side, 10 s",
        lambda path: la.view.export_html(
            short[::-1], path, labels=list(methods)[::-1], layout="side", traces=["link2"]
        ),
    )


def reach(story: Story) -> None:
    """Torques of an arm by gradients through the whole simulation."""
    from scipy.optimize import minimize

    story.title("2. Gradients: a 7-joint arm learns torques that bring its hand to a target")
    arm, steps, dt = la.robots.serial_arm(), 40, 0.02
    arm = arm.replace(joints=tuple(replace(joint, damping=(2.0,)) for joint in arm.joints))
    target, hand = np.array([0.5, 0.4, 0.6]), (0.0, 0.0, 0.2)
    effort = 1e-6

    def penalty(values):
        u = values["controls"]
        return effort * float((u * u).sum()), {"controls": 2.0 * effort * u}

    goal = la.derivatives.reach("link7", hand, target)
    options = {"dt": dt, "steps": steps, "progress": False}
    objective = la.derivatives.SimulationObjective(
        arm, la.BDF(order=2), goal, ["controls"], penalty=penalty, scale={"controls": 10.0}, **options
    )
    objective(objective.start)
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", la.LeastActionWarning)  # a trial on the way may go beyond a joint's limits
        found = minimize(objective, objective.start, jac=True, method="L-BFGS-B", options={"maxiter": 60})
    seconds = time.perf_counter() - began
    direction = np.random.default_rng(0).normal(size=len(objective.start))
    ahead, behind = (objective(objective.start + s * 1e-5 * direction)[0] for s in (1.0, -1.0))
    slope, exact = (ahead - behind) / 2e-5, objective(objective.start)[1] @ direction
    misses = [math.sqrt(2.0 * goal(objective.run(x))[0]) for x in (objective.start, found.x)]
    story.table(("", "before", "after"), [("from hand to target [m]", *(f"{x:.4f}" for x in misses))])
    story.console.print(
        f"{len(objective.start)} torques, {found.nfev} runs with gradients in {seconds:.1f} s. At the start, along a "
        f"random direction, the gradient is {exact:.6e}, finite differences say {slope:.6e}."
    )
    run = objective.run(found.x)
    story.write("arm.html", "the arm, reaching", lambda path: la.view.export_html(run, path, traces=[("link7", hand)]))


def loop(story: Story) -> None:
    """Minitaur, with a closed loop in every leg, is dropped and stands; springs at the hips stand for a controller."""
    story.title("3. Closed loops: Minitaur, a closed chain in each leg, lands on its feet")
    robot = la.robots.minitaur(ground=True, friction=0.4)
    motors = {a.coordinate for a in robot.actuators if isinstance(a, la.mechanism.JointActuator)}
    hold = {"stiffness": (25.0,), "damping": (0.4,)}
    joints = [replace(joint, **hold) if joint.name in motors else joint for joint in robot.joints]
    robot = robot.replace(joints=tuple(joints))
    q = la.robots.home(robot)
    q[2] += 0.12
    run = la.simulate(robot, q, dt=0.005, duration=min(2.0, story.duration), integrator=la.Minimal(), progress=False)
    rows = [
        ("gap of a joint, loops included [m]", f"{run.constraint_violation.max():.1e}"),
        ("depth of a foot in the ground [m]", f"{max(0.0, -lowest(run).min()):.1e}"),
    ]
    story.table(("", "largest, whole run"), rows)
    story.console.print(f"{run.steps} steps of 0.005 s with {len(robot.loops)} loops, nothing stabilised or projected.")
    story.write("minitaur.html", "Minitaur, with its contact forces", lambda path: la.view.export_html(run, path))


def lowest(run: la.Trajectory) -> np.ndarray:
    """Height of the lowest contact point at all times [m]."""
    robot = run.mechanism
    bodies = [robot.body_index(c.body) for c in robot.contacts]
    points, radii = np.array([c.point for c in robot.contacts]), np.array([c.radius for c in robot.contacts])
    heights = []
    for q in run.q:
        X = la.dynamics.body_poses(robot, q)[bodies]
        heights.append((np.einsum("cj,cj->c", X[:, 2, :3], points) + X[:, 2, 3] - radii).min())
    return np.array(heights)


def contact(story: Story) -> None:
    """A cube falls on a corner, tumbles, and comes to rest on the ground, not in it."""
    story.title("4. Contact: a cube lands on the ground and does not sink")
    robot = la.robots.cube(friction=0.5)
    turn = np.array([math.cos(0.4), 0.8 * math.sin(0.4), 0.6 * math.sin(0.4), 0.0])
    run = la.simulate(
        robot,
        q=[0.0, 0.0, 1.0, *turn],
        v=[1.0, 3.0, 0.0, 1.0, 0.0, 0.0],
        dt=DT,
        duration=min(3.0, story.duration),
        integrator=la.Minimal(),
        progress=False,
    )
    heights = lowest(run)
    rows = [
        ("deepest corner, whole run [m]", f"{max(0.0, -heights.min()):.1e}"),
        ("lowest corner at the end [m]", f"{heights[-1]:.1e}"),
        ("kinetic energy at the end [J]", f"{run.kinetic_energy[-1]:.1e}"),
    ]
    story.table(("", ""), rows)
    story.console.print("No springs, no penalties: impulses solve for a gap that is never negative.")
    story.write("cube.html", "the cube, with its contact forces", lambda path: la.view.export_html(run, path))


def swing_up(story: Story) -> None:
    """The motion that costs least: a cart-pole swings up, by the package's own solver."""
    story.title("5. Trajectory optimisation: a cart-pole swings up with the least effort")
    solution = la.optimize.examples.cart_pole().solve(solver="horizon", hessian="exact")
    replayed = abs(solution.replay().q - solution.q).max()
    rows = [
        ("largest force [N], of 20 allowed", f"{abs(solution.u).max():.1f}"),
        ("largest violation of a constraint", f"{solution.violation:.1e}"),
        ("simulated with these forces, off by at most [m, rad]", f"{replayed:.1e}"),
    ]
    story.table(("", ""), rows)
    story.console.print(
        f"{len(solution.z)} unknowns, {len(solution.iterations) - 1} iterations in {solution.seconds:.1f} s; the "
        "dynamics are the equations that the simulator steps."
    )
    story.write(
        "swing_up.png",
        "positions, velocities and force of the swing-up",
        lambda path: solution.plot().savefig(path, dpi=120),
    )
    story.write("swing_up.html", "the swing-up", lambda path: la.view.export_html(solution.trajectory, path))


CHAPTERS = (energy, reach, loop, contact, swing_up)
"""In the order in which they are shown."""
