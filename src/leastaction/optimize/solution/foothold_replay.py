"""Playing a solution with phases back: the feet that stand become joints with the world where they landed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.dynamics import body_poses
from leastaction.mechanism import Joint, Mechanism, Pose, joints
from leastaction.optimize.constraints.feet import Foot, Phase
from leastaction.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from leastaction.optimize.mpc.tvlqr import Tracker
    from leastaction.optimize.solution.solution import Solution


def held(mechanism: Mechanism, feet: tuple[Foot, ...], q: ArrayLike) -> Mechanism:
    """The robot with these feet tied to the world where they are at q: a ball joint for a point, a weld for a sole."""
    ties = []
    for number, foot in enumerate(feet):
        X = Pose.from_matrix(body_poses(mechanism, q)[mechanism.body_index(foot.body)])
        point = Pose(foot.point)
        name = f"foothold {number} of {foot.body}"
        kind, motions = ("spherical", (joints.spherical(),)) if foot.size is None else ("fixed", ())
        ties.append(Joint(name, kind, "world", foot.body, motions, pose=X * point, child_pose=point.inverse()))
    return mechanism.replace(loops=(*mechanism.loops, *ties), contacts=())


def replay(
    solution: Solution,
    integrator: Any = None,
    dt: float | None = None,
    *,
    tracker: Tracker | None = None,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
) -> Trajectory:
    """Simulate phase after phase, each from where the one before ended; see `Solution.replay`.

    A foot that lands stops at once: the velocity after it is the nearest one that all feet allow. With a tracker the
    controls are its.
    """
    from leastaction.simulation.simulate import simulate

    run, m = solution.trajectory, solution.mechanism
    integrator = run.integrator if integrator is None else integrator
    ratio = 1 if dt is None else max(round(run.dt / float(dt)), 1)
    step, first, parts = run.dt / ratio, 0, []
    drive: dict[str, Any]
    state = run.q[0] if q is None else q, run.v[0] if v is None else v
    for phase in solution.phases or (Phase(run.steps, ()),):
        begun = first * run.dt
        if tracker is None:
            drive = {"controls": lambda t, begun=begun: solution.control(begun + t)}
        else:
            drive = {"controller": lambda t, q, v, begun=begun: tracker.controls(begun + t, q, v, dt=step)}
        part = simulate(
            held(m, phase.feet, state[0]) if phase.feet else m.replace(contacts=()) if solution.phases else m,
            q=state[0],
            v=state[1],
            dt=step,
            steps=ratio * phase.steps,
            integrator=integrator,
            project=True,
            progress=False,
            **drive,
        )
        parts.append(part)
        state, first = (part.q[-1], part.v[-1]), first + phase.steps
    momentum = "p" if "p" in parts[-1].stored else "v"
    stored: dict[str, Any] = {}
    for name in (momentum, "u"):
        values = [part.stored[name] for part in parts]
        stored[name] = _joined(values) if name != "u" else np.concatenate(values)
    q_all = _joined([part.q for part in parts])
    return Trajectory(m, integrator, step, np.asarray(step * np.arange(len(q_all)), float), q_all, stored)


def _joined(parts: list[Any]) -> Any:
    """Rows of all parts; each begins with the row that ends the one before, after the impulses of landing feet."""
    return np.concatenate([*(part[:-1] for part in parts), parts[-1][-1:]])
