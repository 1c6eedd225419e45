"""Springs and cables that the Newton matrix knows: those with dampers, and those that are stiff for the step."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics.mobility import STIFF, path_mobilities
from leastaction.maximal.records import TIE, records
from leastaction.mechanism import Mechanism


def spring_ties(mechanism: Mechanism, paths: Any, dt: float) -> tuple[Any, float]:
    """(`TIE` records, largest (frequency x step)^2 of the stiff ones) of `PATH` records, for steps of dt [s]."""
    out, swings = records(len(paths), TIE), np.zeros(len(paths))
    for name in paths.dtype.names:
        out[name] = paths[name]
    out.damping[paths.isotropic != 0] = 0.0  # across the line, too: among the forces of `resistance`
    if (paths.stiffness > 0.0).any():
        swings = paths.stiffness * path_mobilities(mechanism) * dt**2
        out.held = np.where(swings > STIFF, paths.stiffness, 0.0)
    return out[(out.damping > 0.0) | (out.held > 0.0)], float(swings[swings > STIFF].max(initial=0.0))
