"""Gains of an arm exoskeleton, tuned for a healthy and a spastic patient (Brüdigam 2023, Sect. 5.4).

Exoskeleton and arm make two loops, closed by cuffs with springs and dampers. PD controllers track a sinusoidal exercise
of shoulder and elbow; the elbow's drive must not press with more than 5 N m. What suits a healthy arm does not suit a
spastic one: the gains are tuned in simulation until both are within the limit.
"""

from __future__ import annotations

import argparse
import json
import math
import time
from dataclasses import dataclass, replace
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

LIMIT = 5.0
"""Comfortable torque of the elbow's drive [N m]."""

TRACKED = {"sFE": (100.0, 10.0, 0.25 * math.pi), "eFE": (50.0, 5.0, -0.25 * math.pi)}
"""Stiffness [N m/rad], damping [N m s/rad] and centre [rad] of the tracked joints at scale 1 (Algorithm 8)."""

SWING = 0.25 * math.pi
"""Amplitude [rad] of the exercise, which has a period of 2 pi seconds."""

LOCKED = ("sAA", "sIE")
"""Abduction and rotation of the shoulder, which do not take part in the exercise."""


@dataclass(frozen=True)
class Patient:
    """What the muscles of an elbow do on their own.

    A spastic muscle answers to stretch with tone: torque against the motion and against leaving a cramped posture. The
    paper gives no figures; these are ours, of the size reported for elbows with marked spasticity.

    Attributes:
        name: for tables.
        stiffness: [N m/rad].
        damping: [N m s/rad].
        posture: angle at which the muscles are relaxed [rad].
    """

    name: str
    stiffness: float
    damping: float
    posture: float


HEALTHY = Patient("healthy", 0.5, 0.1, -0.25 * math.pi)
SPASTIC = Patient("spastic", 8.0, 2.0, -0.35 * math.pi)


def exoskeleton(patient: Patient, scale: float) -> la.Mechanism:
    """The robot on a patient's arm; the controllers' springs and dampers are part of the joints.

    A PD controller is a spring and a damper whose rest position moves (see `exercise`), so the run needs no Python.
    """
    builder = la.robots.arm_exoskeleton().edit()
    for joint in builder.build().joints:
        if joint.name in LOCKED:
            builder.remove(joint.name, kind="all")  # with its drive, which has the same name
            ends = {"placement": joint.pose, "child_placement": joint.child_pose}
            builder.fixed(joint.name, joint.parent, joint.child, **ends)
    robot = builder.build()
    joints = []
    for joint in robot.joints:
        if joint.name in TRACKED:
            kp, kd, _ = TRACKED[joint.name]
            joint = replace(joint, stiffness=(scale * kp,), damping=(scale * kd,), rest=(0.0,))
        elif joint.name == "elbow":
            joint = replace(joint, stiffness=(patient.stiffness,), damping=(patient.damping,), rest=(patient.posture,))
        joints.append(joint)
    return robot.replace(joints=tuple(joints))


def exercise(t: np.ndarray, centre: float) -> tuple[np.ndarray, np.ndarray]:
    """Angle [rad] and rate [rad/s] to track at times t [s] (Algorithm 8)."""
    return centre + SWING * np.sin(t), SWING * np.cos(t)


def rehabilitate(patient: Patient, scale: float, duration: float, dt: float) -> la.Trajectory:
    """Simulate the exercise, from the middle of it."""
    robot = exoskeleton(patient, scale)
    t = dt * np.arange(round(duration / dt))
    u = np.zeros((len(t), robot.nu))
    q, v = robot.neutral(), np.zeros(robot.nv)
    for k, (name, (kp, kd, centre)) in enumerate(TRACKED.items()):
        angle, rate = exercise(t, centre)
        u[:, k] = scale * (kp * angle + kd * rate)
        q[robot.coordinate_index(name)], v[robot.velocity_index(name)] = angle[0], rate[0]
    # The arm starts aligned with the exoskeleton: the shoulder turns about -y of its own frame, the elbow as eFE.
    half = 0.5 * q[robot.coordinate_index("sFE")]
    at = robot.coordinate_index("shoulder.qw")
    q[at : at + 4] = math.cos(half), 0.0, -math.sin(half), 0.0
    q[robot.coordinate_index("elbow")] = q[robot.coordinate_index("eFE")]
    v[robot.velocity_index("shoulder.wy")] = -v[robot.velocity_index("sFE")]
    v[robot.velocity_index("elbow")] = v[robot.velocity_index("eFE")]
    # Order 1 damps what is too fast for the step; the trapezoidal rule of order 2 would let the light drives ring.
    return la.simulate(
        robot, q, v, dt=dt, steps=len(t), integrator=la.Maximal(order=1), controls=u, project=True, progress=False
    )


def drive_torque(run: la.Trajectory, scale: float, name: str = "eFE") -> np.ndarray:
    """Torque of a tracked joint's drive at all times [N m]."""
    kp, kd, centre = TRACKED[name]
    angle, rate = exercise(run.t, centre)
    q = run.q[:, run.mechanism.coordinate_index(name)]
    v = run.v[:, run.mechanism.velocity_index(name)]
    return scale * (kp * (angle - q) + kd * (rate - v))


def peak(patient: Patient, scale: float, duration: float, dt: float) -> float:
    """Largest torque of the elbow's drive [N m]."""
    return float(np.abs(drive_torque(rehabilitate(patient, scale, duration, dt), scale)).max())


def tune(duration: float, dt: float, bisections: int, report) -> float:
    """The largest scale in (0, 1] at which both patients stay within the limit, less a reserve of 5 %, by bisection."""
    low, high = 0.0, 1.0
    for _ in range(bisections):
        scale = 0.5 * (low + high)
        worst = max(peak(p, scale, duration, dt) for p in (SPASTIC, HEALTHY))
        report(scale, worst)
        low, high = (scale, high) if worst <= 0.95 * LIMIT else (low, scale)
    return low


def draw(runs: dict, path: Path) -> None:
    """Torque and angle of the elbow's drive, before and after tuning."""
    with la.plot.look():
        figure, axes = plt.subplots(2, 2, figsize=(10, 6), sharex=True, sharey="row", layout="constrained")
        for column, (title, scale) in enumerate(dict.fromkeys((k[0], k[2]) for k in runs)):
            upper, lower = axes[:, column]
            upper.axhspan(-LIMIT, LIMIT, color="0.92")
            for (when, name, _), run in runs.items():
                if when == title:
                    upper.plot(run.t, drive_torque(run, scale), label=name)
                    lower.plot(run.t, np.degrees(run.q[:, run.mechanism.coordinate_index("eFE")]), label=name)
            wanted = np.degrees(exercise(run.t, TRACKED["eFE"][2])[0])
            lower.plot(run.t, wanted, ":", color="black", lw=1, label="wanted")
            upper.set_title(f"{title} (scale {scale:.3g})")
            lower.set_xlabel("time [s]")
        axes[0, 0].set_ylabel("elbow torque [N m]")
        axes[1, 0].set_ylabel("elbow angle [deg]")
        axes[1, 0].legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3)
        figure.savefig(path)
        plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--duration", type=float, default=4.0 * math.pi, help="of the exercise [s], default 4 pi")
    parser.add_argument("--dt", type=float, default=0.001, help="time step [s], default 0.001")
    parser.add_argument("--bisections", type=int, default=8, help="of the scale of the gains, default 8")
    parser.add_argument("--output", type=Path, default=Path("exoskeleton_output"), help="folder for the results")
    parser.add_argument("--quick", action="store_true", help="1 s and two bisections, to see that it runs")
    options = parser.parse_args()
    if options.quick:
        options.duration, options.bisections = 1.0, 2
    console = Console()
    began = time.perf_counter()
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("tuning", total=options.bisections)

        def report(scale: float, worst: float) -> None:
            bar.update(task, advance=1, description=f"scale {scale:.3f}: {worst:.2f} N m")

        tuned = tune(options.duration, options.dt, options.bisections, report)
    runs = {
        (title, patient.name, scale): rehabilitate(patient, scale, options.duration, options.dt)
        for title, scale in (("original gains", 1.0), ("tuned gains", tuned))
        for patient in (HEALTHY, SPASTIC)
    }
    table = Table(title="Exercise in the exoskeleton", title_justify="left")
    headings = (
        "gains",
        "scale",
        "patient",
        "peak torque [N m]",
        "largest error of the elbow [deg]",
        "loops open by [m]",
    )
    for heading in headings:
        table.add_column(Text(heading))
    results = []
    for (title, name, scale), run in runs.items():
        torque = np.abs(drive_torque(run, scale)).max()
        lag = run.q[:, run.mechanism.coordinate_index("eFE")] - exercise(run.t, TRACKED["eFE"][2])[0]
        violation = run.constraint_violation.max()
        verdict = "" if torque <= LIMIT else " (too much)"
        error = math.degrees(np.abs(lag).max())
        table.add_row(title, f"{scale:.4g}", name, f"{torque:.2f}{verdict}", f"{error:.1f}", f"{violation:.1e}")
        results.append({"gains": title, "scale": scale, "patient": name, "peak_Nm": torque, "error_deg": error})
    console.print(table)
    console.print(f"{time.perf_counter() - began:.1f} s in all.", highlight=False)
    options.output.mkdir(parents=True, exist_ok=True)
    draw(runs, options.output / "torques.png")
    spastic = [run for (_, name, _), run in runs.items() if name == SPASTIC.name]
    page = la.view.export_html(
        spastic,
        options.output / "exercise.html",
        title="Spastic arm in the exoskeleton",
        labels=["original gains", "tuned gains"],
        layout="side",
        plots=["violation"],
    )
    (options.output / "torques.json").write_text(json.dumps(results, indent=1))
    for path in (options.output / "torques.png", page, options.output / "torques.json"):
        console.print(f"Written: {path.resolve()}", highlight=False, soft_wrap=True)


if __name__ == "__main__":
    main()
