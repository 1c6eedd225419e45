"""Bodies with moments of inertia but almost no mass, as in files that give a link inertia and a tiny mass."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.maximal.compilation.joint_pieces import Piece
from leastaction.mechanism.joints import Motion
from leastaction.mechanism.pose import Pose

ROTOR = 100.0
"""Bodies in joints count as rotors where their radius of gyration exceeds so many times all lengths of the mechanism
and so many metres: they have moments of inertia, but almost no mass."""

NO_MASS = 1e-8
"""The mass of a rotor below this fraction of the heaviest body's counts as zero: its contacts would be scaled by it."""


def rotors(bodies: Any, pieces: list[Piece], frames: dict[str, tuple[int, Pose]]) -> NDArray[np.bool_]:
    """Mask of the rotors; their joints augment their equations (`MaximalModel.augment`), as for bodies without mass.

    Excludes bodies that may slide with no other mass to move.
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
