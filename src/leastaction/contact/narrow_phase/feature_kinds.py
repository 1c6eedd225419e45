"""Which contact features are fixed to their bodies, and which depend on the poses of both bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.records import BOX, CAPSULE, CYLINDER, FIELD, PLANE


def are_moving(kinds: Any) -> NDArray[np.bool_]:
    """Whether contact points move over both bodies, by the kinds of the shapes, shape (2, contacts).

    A corner over a plane, two edges or the centre of a ball are fixed to their bodies. The contact points of two faces
    are intersections of their outlines, which depend on the poses at detection.
    """
    kinds = np.sort(kinds, axis=0)
    boxes = ((kinds[0] == BOX) | (kinds[0] == FIELD)) & ((kinds[1] == BOX) | (kinds[1] == CAPSULE))
    convex = (kinds[0] > PLANE) & (kinds[1] > CAPSULE)
    # The support points of a cylinder are counted from its lowest point.
    return boxes | convex | (kinds[1] == CYLINDER)
