"""What kernels know of the integrator and of the length of its steps."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from leastaction.maximal.arrays import MaximalSettings
from leastaction.maximal.layout import carried_mass
from leastaction.maximal.model import Model
from leastaction.maximal.step.coarseness import ACCOUNT

if TYPE_CHECKING:
    from leastaction.maximal.integrators import Maximal


def settings_of(own: Maximal, model: Model, dt: float, substeps: NDArray[np.float64]) -> MaximalSettings:
    """Settings of steps of length dt [s] of an integrator that composes each of `substeps`."""
    m = model.mechanism
    g = float(np.linalg.norm(m.gravity)) or 1.0
    # Small beside the work of gravity in a step, unless the user wants it smooth.
    kappa = own.smoothing if own.smoothing > 0.0 else 1e-12 * (m.total_mass or 1.0) * (g * dt) ** 2
    return MaximalSettings(
        dt=dt,
        halves=1.0 if own.order == 1 else 0.5,
        loops=None if m.is_tree and not model.locked else True,
        tolerance=float(own.tolerance),
        max_iterations=int(own.max_iterations),
        max_work=int(own.work),
        kappa=float(kappa),
        directions=int(own.directions),
        smoothing=float(own.smoothing),
        warm_start=bool(own.warm_start and own.smoothing == 0.0),
        gravity=g,
        carried=carried_mass(model),
        whole=dt,
        account=ACCOUNT if len(substeps) == 1 else math.inf,
    )
