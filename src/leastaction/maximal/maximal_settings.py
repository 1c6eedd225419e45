"""Settings of the kernels, from the integrator and the step length."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.laws.compliance import default_compliance
from leastaction.maximal.arrays import MaximalSettings
from leastaction.maximal.contact.contact_update import LAST_ROUND
from leastaction.maximal.contact_graph import carried_mass
from leastaction.maximal.maximal_records import BALL, HINGE
from leastaction.maximal.model import Model

if TYPE_CHECKING:
    from leastaction.maximal.integrators import Maximal


ROUND_OFF = 1e-15
"""Round-off of an angle [rad] or a position [m] for joint coordinates of the order of 1."""

OPEN = 5e-10
"""Bound on the joint violation for which the tolerance is raised [m or rad], as for light links with large armature."""


def round_off(model: Model, dt: float) -> float:
    """Round-off of residuals, as a velocity of the bodies [m/s].

    Armature and dampers that are large for their links act on the rate of a coordinate, a difference over a step.
    """
    worst, bodies = 0.0, model.bodies
    for c in model.coordinates[model.coordinates.kind < BALL]:
        gain = c.armature + 0.5 * dt * (c.damping[0] + 0.5 * dt * c.stiffness)
        for i in (int(c.a), int(c.b)):
            if i >= 0 and bodies[i].mass > 0.0:
                own = bodies[i].mass * (bodies[i].radius if c.kind == HINGE else 1.0)
                worst = max(worst, ROUND_OFF / dt * float(gain / own))
    return worst


def settings_of(own: Maximal, model: Model, dt: float, substeps: NDArray[np.float64]) -> MaximalSettings:
    """Settings of an integrator for steps of length dt [s]; it applies them to each of its `substeps`."""
    m = model.mechanism
    g = float(np.linalg.norm(m.gravity)) or 1.0
    # Small compared with the work of gravity in a step, unless the user requests smoothing.
    kappa = own.smoothing if own.smoothing > 0.0 else 1e-12 * (m.total_mass or 1.0) * (g * dt) ** 2
    compliance = default_compliance(float(model.bodies.mass.sum()), dt)
    return MaximalSettings(
        dt=dt,
        halves=1.0 if own.order == 1 else 0.5,
        loops=not m.is_tree or model.locked,
        tolerance=max(float(own.tolerance), min(round_off(model, dt), OPEN / dt)),
        max_iterations=int(own.max_iterations),
        max_work=int(own.work),
        kappa=float(kappa),
        directions=int(own.directions),
        smoothing=float(own.smoothing),
        response_smoothing=0.0,
        warm_start=bool(own.warm_start and own.smoothing == 0.0),
        gravity=g,
        carried=carried_mass(model),
        whole=dt,
        compliance=compliance,
        angular_compliance=compliance / max(float(model.bodies.radius.max(initial=0.0)), 1e-9) ** 2,
        balanced=own.order == 2,
        floating=not ((model.rows.a < 0) | (model.rows.b < 0)).any(),
        rounds=LAST_ROUND,
    )
