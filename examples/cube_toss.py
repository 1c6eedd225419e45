"""A real cube, thrown on a real board: friction, restitution and edge are found by gradients through contact.

Forty tosses of an acrylic cube on wood were tracked by cameras (ContactNets, Pfrommer, Halm, Posa 2020). Each is
simulated from the last state before the first touch. The contact's parameters are fitted to one half of the tosses and
tried on the other.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import numpy as np
from rich.console import Console
from rich.table import Table
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import leastaction as la
from leastaction.mechanism import Box, Plane

matplotlib.use("Agg")
from matplotlib import pyplot as plt

DATA = Path(__file__).parent / "data" / "cube_tosses.json"
GRAVITY = 9.61
"""Of free flight in the data's units [m/s²]: lengths or the clock are two per cent off."""
BOARD = -0.0012
"""Height of the board's surface [m]: the cube comes to rest with its centre 0.0512 m high."""
INERTIA = 8.1e-4
"""About each axis, as published [kg m²]."""
PER = 2
"""Steps of the simulation for each picture: an impact is over within a step."""
CLEAR = 0.0015
"""A corner lower than this above the board may touch it [m]; the noise of the cameras is 0.3 mm."""


@dataclass
class Toss:
    """A measured motion from the last time before the first touch, positions above the board."""

    name: int
    start: np.ndarray
    """(q, v) of the cube, see `leastaction.robots.cube`: 7 and 6 numbers."""
    position: np.ndarray
    rotation: Rotation

    @property
    def steps(self) -> int:
        return len(self.position) - 1


def read() -> tuple[list[Toss], float, float, float]:
    """(tosses, time between pictures [s], edge [m], mass [kg])."""
    data = json.loads(DATA.read_text())
    dt, edge = 1.0 / data["rate_hz"], data["edge_m"]
    return [_toss(toss, dt, edge) for toss in data["tosses"]], dt, edge, data["mass_kg"]


def _toss(data: dict, dt: float, edge: float) -> Toss:
    position = np.array(data["position"]) - [0.0, 0.0, BOARD]
    rotation = Rotation.from_quat(np.array(data["quaternion"])[:, [1, 2, 3, 0]])
    lowest = position[:, 2] - 0.5 * edge * np.abs(rotation.as_matrix()[:, 2]).sum(axis=1)
    touch = int(np.argmax(lowest < CLEAR))
    last = max(touch - 1, 1)
    x, v = flight(position[: last + 1], dt)
    turn, w = spin(rotation[: last + 1], dt)
    local = turn.inv()
    quaternion = turn.as_quat()[[3, 0, 1, 2]]
    start = np.concatenate([x, quaternion, local.apply(w), local.apply(v)])
    return Toss(data["id"], start, position[last:], rotation[last:])


def flight(position: np.ndarray, dt: float) -> tuple[np.ndarray, np.ndarray]:
    """Position and velocity at the last of the times, by a parabola through all of them."""
    t = dt * (np.arange(len(position)) - len(position) + 1.0)
    fallen = position + 0.5 * GRAVITY * np.outer(t**2, [0.0, 0.0, 1.0])
    A = np.stack([np.ones_like(t), t], axis=1)
    x, v = np.linalg.lstsq(A, fallen, rcond=None)[0]
    return x, v


def spin(rotation: Rotation, dt: float) -> tuple[Rotation, np.ndarray]:
    """Orientation and angular velocity in the world at the last of the times: a cube in flight spins evenly."""
    t = dt * (np.arange(len(rotation)) - len(rotation) + 1.0)
    turn, w = rotation[-1], np.zeros(3)
    if len(t) > 1:
        w = (rotation[-1] * rotation[-2].inv()).as_rotvec() / dt
    A = np.stack([np.ones_like(t), t], axis=1)
    for _ in range(5):
        off = (rotation * (Rotation.from_rotvec(np.outer(t, w)) * turn).inv()).as_rotvec()
        change, faster = np.linalg.lstsq(A, off, rcond=None)[0]
        turn, w = Rotation.from_rotvec(change) * turn, w + faster
    return turn, w


def cube(edge: float, mass: float, friction: float, restitution: float) -> la.Mechanism:
    """The cube over the plane z = 0. Coordinates: (x, y, z, qw, qx, qy, qz) of its centre."""
    b = la.MechanismBuilder("cube", gravity=(0.0, 0.0, -GRAVITY))
    skin = Box((edge, edge, edge), name="skin", friction=friction, restitution=restitution)
    b.body("cube", mass=mass, inertia=(INERTIA, INERTIA, INERTIA), shapes=skin)
    b.free("cube")
    b.add_shape("world", Plane(name="board"))
    return b.build()


def errors(toss: Toss, q: np.ndarray, edge: float) -> tuple[float, float]:
    """Mean distance of centres [edges] and mean angle [deg] between a motion q (steps + 1, 7) and the measured one."""
    turn = Rotation.from_quat(q[:, [4, 5, 6, 3]])
    away = np.linalg.norm(q[1:, :3] - toss.position[1:], axis=1).mean() / edge
    return float(away), float(np.degrees((turn[1:] * toss.rotation[1:].inv()).magnitude().mean()))


def simulated(toss: Toss, robot: la.Mechanism, dt: float) -> la.Trajectory:
    """The toss from its last state before the first touch; `PER` steps for each picture, dt is between pictures [s]."""
    q, v, steps = toss.start[:7], toss.start[7:], PER * toss.steps
    return la.simulate(robot, q, v, dt=dt / PER, steps=steps, integrator=la.Maximal(), progress=False)


def scored(tosses: list[Toss], values: np.ndarray, dt: float, edge: float, mass: float) -> np.ndarray:
    """Errors of all tosses with (friction, restitution, edge [m]), shape (tosses, 2): see `errors`."""
    robot = cube(values[2], mass, values[0], values[1])
    return np.array([errors(toss, simulated(toss, robot, dt).q[::PER], edge) for toss in tosses])


# ---------------------------------------------------------------------- identification

FIRST = np.array([0.3, 0.02, 0.1048])
"""Friction, restitution and edge [m] to start with: an acrylic box out of a table of materials."""
STRIDE = np.array([0.03, 0.06, 0.0008])
BOUNDS = np.array([(0.02, 1.0), (0.001, 0.8), (0.098, 0.1055)])
NAMES = ("friction:cube/skin", "restitution:cube/skin", "size:cube/skin")
HORIZON = 40
"""Pictures from the first touch that gradients look at: later ones say more about chance."""
SMOOTHING = (1e-4, 1e-6)
"""Of contact [J], one after the other: far from the answer a smoother landscape leads the way."""
POLISH = 40
"""Simulations of all tosses that the last search may take."""
NEAR = 1e-3
"""Distances [edges] below this count as squares, so that their gradient has no kink."""


def misfit(toss: Toss, values: np.ndarray, smoothing: float, dt: float, edge: float, mass: float):
    """(mean distance from the measured centre [edges], gradient by the three values): the adjoint through contact."""
    pictures = min(toss.steps, HORIZON)
    measured, steps = toss.position[: pictures + 1], PER * pictures

    def objective(run):
        off = (run.q[::PER, :3] - measured) / edge
        distance = np.sqrt((off**2).sum(axis=1) + NEAR**2)
        by_centre = off / distance[:, None] / (pictures * edge)
        by_centre[0] = 0.0
        by_q = np.zeros((steps + 1, 6))  # a twist in the cube's frame: turn, then way
        by_q[::PER, 3:] = Rotation.from_quat(run.q[::PER, [4, 5, 6, 3]]).inv().apply(by_centre)
        return float(distance[1:].mean()), by_q, None

    robot = cube(values[2], mass, values[0], values[1])
    start = {"q": toss.start[:7], "v": toss.start[7:]}
    value, by = la.adjoint(robot, la.Maximal(smoothing=smoothing), objective, NAMES, dt=dt / PER, steps=steps, **start)
    return value, np.array([float(by[NAMES[0]]), float(by[NAMES[1]]), float(np.sum(by[NAMES[2]]))])


def identify(tosses: list[Toss], dt: float, edge: float, mass: float, steps: int = 16, tell=print) -> np.ndarray:
    """(friction, restitution, edge [m]) that fit the tosses best: gradients through contact, followed by Rprop.

    A thrown cube is chaotic, so the misfit is rough. Rprop (Riedmiller, Braun 1993) takes the signs of the gradient
    alone: a value's stride grows while its sign stays and halves when it turns. Of the values met those are `polished`
    whose tosses, simulated to their ends with rigid contact, are nearest to the measured ones.
    """
    values, stride, before = FIRST.copy(), STRIDE.copy(), np.zeros(3)
    best, least = values, np.inf
    for k in range(steps):
        smoothing = SMOOTHING[min(len(SMOOTHING) - 1, k * len(SMOOTHING) // steps)]
        found = [misfit(toss, values, smoothing, dt, edge, mass) for toss in tosses]
        slope = np.sign(np.mean([f[1] for f in found], axis=0))
        value = scored(tosses, values, dt, edge, mass)[:, 0].mean()
        tell(k, smoothing, value, values)
        if value < least:
            best, least = values, value
        turned = slope * before < 0.0
        stride = np.where(turned, 0.5 * stride, np.where(slope * before > 0.0, 1.2 * stride, stride))
        before = np.where(turned, 0.0, slope)
        values = np.clip(values - stride * before, *BOUNDS.T)
    return polished(tosses, best, dt, edge, mass)


def polished(tosses: list[Toss], values: np.ndarray, dt: float, edge: float, mass: float) -> np.ndarray:
    """The values after a short search by Nelder and Mead around them, which sees the chaos of the last pictures too."""
    scale = np.array([0.1, 0.2, 0.01])

    def mean(x):
        kept = np.clip(x * scale, *BOUNDS.T)
        return scored(tosses, kept, dt, edge, mass)[:, 0].mean() + 10.0 * np.abs(x * scale - kept).sum()

    first, inwards = values / scale, np.array([-0.1, 0.3 if values[1] < 0.1 else -0.3, -0.1])
    simplex = np.vstack([first, *(first + step for step in np.diag(inwards))])
    found = minimize(mean, first, method="Nelder-Mead", options={"maxfev": POLISH, "initial_simplex": simplex})
    return np.clip(found.x * scale, *BOUNDS.T)


# ---------------------------------------------------------------------- pictures

EDGES = [(a, b) for a in range(8) for b in range(a) if (a ^ b) in (1, 2, 4)]


def corners(position: np.ndarray, turn: Rotation, edge: float) -> np.ndarray:
    """Of a cube, shape (8, 3)."""
    signs = np.array([[k & 1, (k >> 1) & 1, k >> 2] for k in range(8)]) - 0.5
    return position + turn.apply(edge * signs)


def draw(toss: Toss, q: np.ndarray, before: np.ndarray, after: np.ndarray, edge: float, path: Path) -> None:
    """The measured and the simulated cube side by side at some times, and how far all tosses are off."""
    times = np.linspace(0, len(q) - 1, 7).astype(int)
    with la.plot.look():
        figure = plt.figure(figsize=(11, 7.5), layout="constrained")
        rows = figure.subfigures(2, 1, height_ratios=(1.5, 1.0))
        panels = rows[0].subplots(2, 1, sharex=True, subplot_kw={"aspect": "equal"})
        turns = Rotation.from_quat(q[:, [4, 5, 6, 3]])
        # Seen from the side, along the horizontal way of the centre.
        way = toss.position[-1, :2] - toss.position[0, :2]
        along = np.append(way / np.linalg.norm(way), 0.0)
        for ax, name, where, how, color in (
            (panels[0], "measured", toss.position, toss.rotation, "black"),
            (panels[1], "simulated", q[:, :3], turns, "tab:blue"),
        ):
            for k in times:
                points = corners(where[k], how[k], edge)
                x, z = points @ along, points[:, 2]
                for a, b in EDGES:
                    ax.plot(x[[a, b]], z[[a, b]], "-", color=color, lw=0.9)
            ax.axhline(0.0, color="0.5", lw=2.0)
            ax.set(ylabel="z [m]", title=f"{name}: toss {toss.name} from the last state before the first touch")
        panels[1].set_xlabel("along its way [m]")
        left, right = rows[1].subplots(1, 2)
        for ax, column, unit in ((left, 0, "distance of the centre [edges]"), (right, 1, "angle [deg]")):
            for name, errors_of in (("first values", before), ("identified values", after)):
                x = np.sort(errors_of[:, column])
                ax.step(x, np.arange(1, len(x) + 1), where="post", label=f"{name}, mean {x.mean():.3g}")
            ax.set(xlabel=f"mean {unit}", ylabel="tosses not fitted, within it")
            ax.legend()
        figure.savefig(path, dpi=110)
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--steps", type=int, default=16, help="of the search, default 16; each takes some 16 CPU seconds"
    )
    parser.add_argument("--half", type=int, choices=(1, 2), default=1, help="of the tosses that is fitted, default 1")
    parser.add_argument("--output", type=Path, default=Path("cube_toss_output"), help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="two tosses and two steps, to see that it runs")
    options = parser.parse_args()
    tosses, dt, edge, mass = read()
    train, test = tosses[options.half - 1 :: 2], tosses[2 - options.half :: 2]
    if options.quick:
        train, test, options.steps = train[:2], test[:2], 2
    console = Console()

    def tell(k, smoothing, value, values):
        told = f"friction {values[0]:.4f}, restitution {values[1]:.3f}, edge {1e3 * values[2]:.2f} mm"
        console.print(f"step {k + 1:2d}: {value:.4f} edges at {told}; smoothing {smoothing:g} J", highlight=False)

    found = identify(train, dt, edge, mass, options.steps, tell)
    table = Table("values", "friction", "restitution", "edge [mm]", "fitted [edges]", "others [edges]", "others [deg]")
    results = {}
    for name, values in (("first", FIRST), ("identified", found)):
        there, other = (scored(part, values, dt, edge, mass) for part in (train, test))
        results[name] = {"values": values.tolist(), "fitted": there.mean(axis=0).tolist(), "others": other.tolist()}
        figures = there[:, 0].mean(), *other.mean(axis=0)
        cells = f"{values[0]:.4f}", f"{values[1]:.3f}", f"{1e3 * values[2]:.2f}", *(f"{x:.3f}" for x in figures)
        table.add_row(name, *cells)
    console.print(table)
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "cube_toss.json").write_text(json.dumps(results, indent=1))
    before, after = (np.array(results[name]["others"]) for name in ("first", "identified"))
    typical = int(np.argsort(after[:, 0])[len(after) // 2])
    motion = simulated(test[typical], cube(found[2], mass, found[0], found[1]), dt)
    draw(test[typical], motion.q[::PER], before, after, edge, options.output / "cube_toss.png")
    la.view.export_html(motion, options.output / "cube_toss.html")
    for name in ("cube_toss.json", "cube_toss.png", "cube_toss.html"):
        console.print(f"wrote {options.output / name}", soft_wrap=True)


if __name__ == "__main__":
    main()
