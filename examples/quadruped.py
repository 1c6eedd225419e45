"""A quadruped learns to walk: Unitree's A1, a gait of five parameters and random sampling (Brüdigam 2023, Sect. 5.4).

Contact is rigid: feet neither sink in nor bounce. Each episode walks for 10 s; what walks further is kept.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path

import matplotlib
import numpy as np
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import leastaction as la

matplotlib.use("Agg")
from matplotlib import pyplot as plt

LEGS = ("FR", "FL", "RR", "RL")
GAINS = {"hip": (100.0, 5.0), "thigh": (80.0, 4.0), "calf": (60.0, 3.0)}
"""Stiffness [N m/rad] and damping [N m s/rad] of the joints' controllers (Algorithm 6)."""

NAMES = ("b", "a1", "d1", "a2", "d2")
STANDING = np.array([0.1, 0.0, 1.0, 0.0, -1.5])
"""Frequency / 10 Hz, then amplitude and centre [rad] of the thighs' and of the calves' swing. The paper's Algorithm 6
reads them in the order b, a1, a2, d1, d2, which cannot stand: a2 = 1, d1 = 0."""

FALLEN = 0.1
"""A trunk below this height [m] counts as a fall."""


def quadruped(friction: float = 0.8) -> la.Mechanism:
    """A1 on level ground with a PD controller in each joint.

    A PD controller is a spring and a damper whose rest position moves: u = kp target - kp angle - kd rate. Spring and
    damper belong to the joints, kp target is a table of controls, so a whole episode runs in one compiled loop. That
    table is no torque of a motor, so limits of motors are taken off.
    """
    robot = la.robots.unitree_a1(ground=True, friction=friction)
    joints = []
    for joint in robot.joints:
        if joint.name != "base":
            kp, kd = GAINS[joint.name.split("_")[1]]
            joint = replace(joint, stiffness=(kp,), damping=(kd,), rest=(0.0,))
        joints.append(joint)
    motors = tuple(replace(motor, lower=-math.inf, upper=math.inf) for motor in robot.actuators)
    return robot.replace(joints=tuple(joints), actuators=motors)


def targets(t: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """Joint angles to track at times t [s]: Algorithm 6, shape (len(t), 12). Diagonal legs move together."""
    b, a1, d1, a2, d2 = parameters
    angles = np.zeros((len(t), 12))
    for leg, shift in enumerate((0.0, math.pi, math.pi, 0.0)):
        phase = 20.0 * math.pi * b * t + shift
        angles[:, 3 * leg + 1] = a1 * np.cos(phase) + d1
        angles[:, 3 * leg + 2] = a2 * np.cos(phase - 0.5 * math.pi) + d2
    return angles


def standing(robot: la.Mechanism, parameters: np.ndarray) -> np.ndarray:
    """The configuration in which the gait starts, with the lowest foot on the ground."""
    q = robot.neutral()
    q[7:] = targets(np.zeros(1), parameters)[0]
    poses = la.dynamics.body_poses(robot, q)
    feet = [poses[robot.body_index(f"{leg}_calf")] @ (0.0, 0.0, -0.2, 1.0) for leg in LEGS]
    q[2] = 0.02 - min(foot[2] for foot in feet)
    return q


def gait_controls(t: np.ndarray, parameters: np.ndarray) -> np.ndarray:
    """kp target of all joints at times t [s], shape (len(t), 12); see `quadruped`."""
    kp = np.array([GAINS[part][0] for _ in LEGS for part in ("hip", "thigh", "calf")])
    return kp * targets(t, parameters)


def walk(robot: la.Mechanism, parameters: np.ndarray, duration: float, dt: float) -> la.Trajectory:
    """Simulate one episode."""
    times = dt * np.arange(round(duration / dt))
    return la.simulate(
        robot,
        q=standing(robot, parameters),
        dt=dt,
        steps=len(times),
        integrator=la.Maximal(order=1, self_collision=False),
        controls=gait_controls(times, parameters),
        progress=False,
    )


def peak_torque(run: la.Trajectory, parameters: np.ndarray) -> float:
    """Largest torque that a joint's controller asked for [N m]; the makers' limit of 33.5 N m is not enforced."""
    gains = np.array([GAINS[part] for _ in LEGS for part in ("hip", "thigh", "calf")])
    torques = gains[:, 0] * (targets(run.t, parameters) - run.q[:, 7:]) - gains[:, 1] * run.v[:, 6:]
    return float(np.abs(torques).max())


def distance(run: la.Trajectory) -> float:
    """How far the trunk has come along x [m]; -inf after a fall."""
    q = run.q
    upright = 1.0 - 2.0 * (q[:, 4] ** 2 + q[:, 5] ** 2)  # z of the trunk's own z axis
    if q[:, 2].min() < FALLEN or upright.min() < 0.5:
        return -math.inf
    return float(q[-1, 0] - q[0, 0])


@dataclass
class Learning:
    """The sampling of Algorithm 7, step by step. A sample that fails is dropped: the next starts from the best one."""

    rng: np.random.Generator
    best: np.ndarray = field(default_factory=STANDING.copy)
    record: float = 0.0
    bias: np.ndarray = field(default_factory=lambda: np.zeros(5))
    explore: float = 0.1

    def sample(self) -> np.ndarray:
        """Parameters to try next."""
        noise = self.rng.standard_normal(5)
        if self.bias.any():
            return self.best + 0.002 * noise + 0.01 * self.bias
        return self.best + self.explore * noise

    def judge(self, parameters: np.ndarray, walked: float) -> bool:
        """Learn from a trial; whether it was the best so far."""
        if walked > self.record:
            step = parameters - self.best
            self.bias = step / np.linalg.norm(step)
            self.best, self.record, self.explore = parameters, walked, 0.1
            return True
        self.bias = np.zeros(5)
        self.explore *= 0.9
        return False


def draw(history: list[dict], path: Path) -> None:
    """Distance and parameters by episode."""
    episodes = np.arange(1, len(history) + 1)
    walked = np.array([h["walked"] for h in history])
    stood = np.isfinite(walked)
    with la.plot.look():
        figure, (upper, lower) = plt.subplots(2, 1, figsize=(8, 7), sharex=True, layout="constrained")
        upper.step(episodes, [h["record"] for h in history], where="post", label="best so far")
        upper.plot(episodes[stood], walked[stood], "o", ms=3.5, color="0.6", label="this episode")
        upper.plot(episodes[~stood], np.zeros((~stood).sum()), "x", ms=5, color="black", label="fell")
        upper.set(ylabel="distance [m]", title="Learning to walk: A1, rigid contact")
        upper.legend()
        for k, name in enumerate(NAMES):
            lower.plot(episodes, [h["best"][k] - STANDING[k] for h in history], label=name)
        lower.set(xlabel="episode", ylabel="best parameters, change from standing")
        lower.legend(loc="lower left", ncols=5)
        figure.savefig(path)
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--episodes", type=int, default=100, help="trials, default 100")
    parser.add_argument("--duration", type=float, default=10.0, help="length of an episode [s], default 10")
    parser.add_argument("--dt", type=float, default=0.001, help="time step [s], default 0.001")
    parser.add_argument("--friction", type=float, default=0.8, help="Coulomb coefficient of the feet, default 0.8")
    parser.add_argument("--seed", type=int, default=1, help="of the random samples, default 1")
    parser.add_argument("--output", type=Path, default=Path("quadruped_output"), help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="three episodes of 0.2 s, to see that it runs")
    options = parser.parse_args()
    if options.quick:
        options.episodes, options.duration = 3, 0.2
    console = Console()
    robot, learning = quadruped(options.friction), Learning(np.random.default_rng(options.seed))
    history: list[dict] = []
    iterations = steps = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    began, busy = time.perf_counter(), 0.0
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("learning to walk", total=options.episodes)
        for _ in range(options.episodes):
            parameters = learning.sample()
            busy -= time.process_time()
            try:
                run = walk(robot, parameters, options.duration, options.dt)
                walked = distance(run)
            except la.ConvergenceError as error:
                console.print(f"[red]episode {len(history) + 1}: {error}[/]")
                run, walked = error.trajectory, -math.inf
            busy += time.process_time()
            if learning.judge(parameters, walked):
                console.print(f"episode {len(history) + 1:3d}: {walked:6.2f} m", highlight=False)
            iterations, steps = iterations + int(run.iterations.sum()), steps + len(run) - 1
            history.append({"walked": walked, "record": learning.record, "best": learning.best.tolist()})
            bar.update(task, advance=1, description=f"best {learning.record:.2f} m")
    seconds = time.perf_counter() - began

    fell = sum(not math.isfinite(h["walked"]) for h in history)
    console.print(
        f"Walks {learning.record:.2f} m in {options.duration:g} s after {options.episodes} episodes "
        f"({fell} of them fell); seed {options.seed}.",
        highlight=False,
    )
    console.print("Gait: " + ", ".join(f"{n} = {x:.4f}" for n, x in zip(NAMES, learning.best, strict=True)))
    console.print(
        f"{seconds:.0f} s in all; {1e6 * busy / steps:.0f} µs of CPU and {iterations / steps:.1f} iterations a step.",
        highlight=False,
    )
    options.output.mkdir(parents=True, exist_ok=True)
    best = walk(robot, learning.best, options.duration, options.dt)
    contacts = best.stored["contacts"]
    console.print(
        f"Best episode: joints open by at most {best.constraint_violation.max():.1e} m, "
        f"feet sink in by at most {max(0.0, -contacts[:, 9].min()):.1e} m, "
        f"motors give up to {peak_torque(best, learning.best):.0f} N m.",
        highlight=False,
    )
    draw(history, options.output / "learning.png")
    page = la.view.export_html(best, options.output / "walk.html", title="A1 walks", traces=["trunk"], plots=[])
    result = {"seed": options.seed, "parameters": dict(zip(NAMES, learning.best.tolist(), strict=True))}
    result |= {"distance_m": learning.record, "episodes": options.episodes, "history": history}
    (options.output / "gait.json").write_text(json.dumps(result, indent=1).replace("-Infinity", "null"))
    for path in (options.output / "learning.png", page, options.output / "gait.json"):
        console.print(f"Written: {path.resolve()}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
