"""Bodies that turn but hardly have a mass, such as those of files that give a link moments and some tiny mass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.maximal.compilation.joint_pieces import Piece
from leastaction.mechanism.joints import Motion
from leastaction.mechanism.pose import Pose

ROTOR = 100.0
"""Bodies in joints whose radius of gyration is larger than so many times all lengths of the mechanism, and so many
metres, have moments of inertia, but hardly a mass."""

NO_MASS = 1e-8
"""Below this part of the heaviest body's the mass of such a body counts as none: its contacts would go by it."""


def rotors(bodies: Any, pieces: list[Piece], frames: dict[str, tuple[int, Pose]]) -> NDArray[np.bool_]:
    """Which bodies are such; their joints lend them their equations, as they do to those without any mass.

    Not those that may slide with nothing but their own mass to move.
    """
    poses = [X for piece in pieces for X in (piece.Xa, piece.Xb)] + [X for _, X in frames.values()]
    reach = max(1.0, *(float(np.linalg.norm(X.position)) for X in poses))
    found = bodies.radius > ROTOR * reach
    if not found.any():
        return found
    carried, slides = np.where(found, 0.0, bodies.mass), np.zeros(len(bodies), bool)
    for piece in pieces:
        slides[piece.b] = any(x.motion not in (Motion.REVOLUTE, Motion.SPHERICAL) for x in piece.primitives)
    for i in reversed(range(len(bodies))):
        if bodies[i].parent >= 0:
            carried[bodies[i].parent] += carried[i]
    bare = slides & (carried == 0.0)
    for i, parent in enumerate(bodies.parent):
        bare[i] |= parent >= 0 and bare[parent]
    return found & ~bare
