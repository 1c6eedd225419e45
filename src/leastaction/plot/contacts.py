"""Contact timelines: what touches, when, and how hard."""

from __future__ import annotations

from itertools import compress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import LeastActionError
from leastaction.mechanism import Plane
from leastaction.mechanism._check import positive, real_array, shown
from leastaction.plot.style import Path, canvas, color, styled
from leastaction.trajectory.contact_log import LOGGING, missing_log
from leastaction.trajectory.trajectory import Trajectory

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WEAKEST = 1e-6
"""A logged force below this part of the largest one belongs to a contact that is open."""

ON_A_POINT = 1e-4
"""A logged force this near to a contact point's surface is that point's [m]."""


@styled
def contacts(
    run: Trajectory,
    *,
    path: Path | None = None,
    tolerance: float = 1e-3,
    forces: ArrayLike | None = None,
    gaps: ArrayLike | None = None,
) -> Figure:
    """One line per contact over time [s]: drawn where it touches, as thick as it is strong where forces are known.

    A run of `Maximal` or `Minimal` knows its contacts and their forces; there is a line for each contact point, and
    one for each body or pair of bodies that touches with its shapes. Of other runs contact points are drawn by their
    gaps. Robots of a batch have lost their contacts: give `gaps`, or run them alone.

    Args:
        run: of a robot with contact points, or one that has logged its contacts (`run.stored["contacts"]`).
        path: where to write the figure.
        tolerance: largest gap [m] that counts as touching, where no forces are logged.
        forces: normal forces [N], shape (steps + 1, contacts), instead of logged ones.
        gaps: distances of the points from the ground [m], shape (steps + 1, contacts); default: to the planes of the
            ground, or to z = 0 if the robot has none, by the run's configurations.
    """
    if not isinstance(run, Trajectory):
        raise LeastActionError(f"plot.contacts: expected a Trajectory, got {run!r}")
    tolerance = positive(tolerance, "plot.contacts: tolerance")
    given = forces is not None or gaps is not None
    if not given and "contacts" not in run.stored and type(run.integrator).__name__ in LOGGING:
        raise LeastActionError(f"plot.contacts: {missing_log(run.integrator)}")
    if not given and len(run.stored.get("contacts", ())):
        names, strength = logged_contacts(run)
        touching = strength > WEAKEST * strength.max()
        # Bodies are logged when they come near, points have a line in any case.
        kept = touching.any(axis=0) | (np.arange(len(names)) < len(run.mechanism.contacts))
        names, strength, touching = list(compress(names, kept)), strength[:, kept], touching[:, kept]
    else:
        names, touching, strength = _by_gaps(run, tolerance, forces, gaps)
    figure, (axis,) = canvas(path, size=(7.0, 1.2 + 0.28 * len(names)))
    widths = np.full(touching.shape, 0.6)
    if strength is not None and touching.any():
        full = float(np.percentile(strength[touching], 95))  # impacts would make all else a hair's breadth
        widths = 0.1 + 0.7 * np.clip(strength / max(full, 1e-300), 0.0, 1.0)
        axis.set_title(f"full height: {full:.3g} N or more", loc="right", fontsize=8)
    t = np.stack([run.t[:-1], run.t[1:]], axis=1).ravel()  # a state stands for the step that ends in it
    half, drawn = 0.5 * np.repeat(widths[1:], 2, axis=0), np.repeat(touching[1:], 2, axis=0)
    for k in range(len(names)):
        axis.fill_between(t, k - half[:, k], k + half[:, k], where=drawn[:, k], color=color(0), lw=0)
    axis.set_yticks(range(len(names)), names, fontsize=8)
    axis.set_ylim(len(names) - 0.4, -0.6)
    axis.set_xlim(run.t[0], run.t[-1] if run.steps else run.t[0] + 1.0)
    axis.set_xlabel("time [s]")
    return figure


def logged_contacts(run: Trajectory) -> tuple[list[str], Any]:
    """(names, sizes of the forces [N], shape (steps + 1, names)) by the log of a run; a step's are in its last state.

    Forces on a contact point go under its name, all others under those of both bodies, of which one may be the world.
    """
    from leastaction.dynamics import body_poses

    m = run.mechanism
    log = np.asarray(run.stored["contacts"], float)
    bodies = [m.body_index(point.body) for point in m.contacts]
    local = np.array([point.point for point in m.contacts]).reshape(-1, 3)
    radius = np.array([point.radius for point in m.contacts])
    names = [point.name for point in m.contacts]
    strength: dict[str, Any] = {name: np.zeros(len(run)) for name in names}
    for step in np.unique(log[:, 0]).astype(int):
        X = body_poses(m, m.normalize(run.q[step]))[bodies]  # logged points are where they were when the step began
        x = np.einsum("cij,cj->ci", X[:, :3, :3], local) + X[:, :3, 3]
        for row in log[log[:, 0] == step]:
            pair = [int(i) for i in row[1:3] if i >= 0]
            off = np.linalg.norm(x - row[3:6], axis=1) - radius
            near = [k for k in np.argsort(off)[:1] if off[k] < ON_A_POINT and pair == [bodies[k]]]
            touching = [m.bodies[i].name for i in pair] + ["world"] * (len(pair) == 1)
            name = names[near[0]] if near else " – ".join(touching)
            strength.setdefault(name, np.zeros(len(run)))[step + 1] += np.linalg.norm(row[6:9])
    return list(strength), np.stack(list(strength.values()), axis=1)


def _by_gaps(run: Trajectory, tolerance: float, forces: Any, gaps: Any) -> tuple[list[str], Any, Any]:
    """(names, where they touch, forces or None) of the contact points."""
    points = run.mechanism.contacts
    if not points:
        if "contacts" in run.stored:
            raise LeastActionError("plot.contacts: nothing touched anything in this run")
        raise LeastActionError(f"plot.contacts: {run.mechanism.name!r} has no contact points")
    shape = (len(run), len(points))
    distance = contact_gaps(run) if gaps is None else _table(gaps, shape, "gaps")
    strength = None if forces is None else _table(forces, shape, "forces")
    return [point.name for point in points], distance <= tolerance, strength


def _table(given: Any, shape: tuple[int, int], name: str) -> Any:
    values = real_array(given)
    if values is None or values.shape != shape or not np.isfinite(values).all():
        raise LeastActionError(f"plot.contacts: {name} must be finite numbers of shape {shape}, got {shown(given)}")
    return values


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
