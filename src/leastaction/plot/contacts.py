"""Contact timelines: which points touch the ground, and when."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import LeastActionError
from leastaction.mechanism import Plane
from leastaction.plot.style import Path, canvas, color, styled
from leastaction.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@styled
def contacts(
    run: Trajectory, *, path: Path | None = None, tolerance: float = 1e-3, forces: Any = None, gaps: Any = None
) -> Figure:
    """One line per contact point over time [s]: drawn where the point touches the ground.

    Args:
        run: of a robot with contact points.
        path: where to write the figure.
        tolerance: largest gap [m] that counts as touching.
        forces: normal forces [N], shape (steps + 1, contacts); lines are then as thick as they are strong.
        gaps: distances of the points from the ground [m], shape (steps + 1, contacts); default: to the planes of the
            ground, or to z = 0 if the robot has none, by the run's configurations.
    """
    if not isinstance(run, Trajectory):
        raise LeastActionError(f"plot.contacts: expected a Trajectory, got {run!r}")
    points = run.mechanism.contacts
    if not points:
        raise LeastActionError(f"plot.contacts: {run.mechanism.name!r} has no contact points")
    distance = contact_gaps(run) if gaps is None else np.asarray(gaps, float)
    if distance.shape != (len(run), len(points)):
        raise LeastActionError(f"plot.contacts: gaps must have shape ({len(run)}, {len(points)})")
    touching = distance <= tolerance
    widths = np.full(distance.shape, 0.6)
    if forces is not None:
        strength = np.asarray(forces, float)
        if strength.shape != distance.shape:
            raise LeastActionError(f"plot.contacts: forces must have shape {distance.shape}")
        widths = 0.1 + 0.7 * strength / max(float(strength.max(initial=0.0)), 1e-300)
    figure, (axis,) = canvas(path, size=(7.0, 1.2 + 0.28 * len(points)))
    for k in range(len(points)):
        axis.fill_between(
            run.t,
            k - 0.5 * widths[:, k],
            k + 0.5 * widths[:, k],
            where=touching[:, k],
            color=color(0),
            step="mid",
            lw=0,
        )
    axis.set_yticks(range(len(points)), [point.name for point in points], fontsize=8)
    axis.set_ylim(len(points) - 0.4, -0.6)
    axis.set_xlim(run.t[0], run.t[-1] if run.steps else run.t[0] + 1.0)
    axis.set_xlabel("time [s]")
    return figure


def contact_gaps(run: Trajectory) -> Any:
    """Distances of the contact points from the planes of the ground, or from z = 0 where there is no ground [m].

    Shape (steps + 1, contacts).
    """
    from leastaction.dynamics import body_poses

    m = run.mechanism
    planes = [shape for shape in m.ground or (Plane(),) if isinstance(shape, Plane)]
    if len(planes) < len(m.ground):
        raise LeastActionError("plot.contacts: the ground is not made of planes; pass gaps")
    bodies = [m.body_index(point.body) for point in m.contacts]
    local = np.array([point.point for point in m.contacts])
    radius = np.array([point.radius for point in m.contacts])
    gaps = np.full((len(run), len(bodies)), np.inf)
    for k, q in enumerate(run.q):
        X = body_poses(m, m.normalize(q))[bodies]
        x = np.einsum("cij,cj->ci", X[:, :3, :3], local) + X[:, :3, 3]
        for plane in planes:
            T = plane.pose.matrix
            gaps[k] = np.minimum(gaps[k], (x - T[:3, 3]) @ T[:3, 2] - radius)
    return gaps
