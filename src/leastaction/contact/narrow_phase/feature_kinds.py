"""Which contacts are of features that stay fixed to their bodies, and which are found elsewhere as these move."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.records import BOX, CAPSULE, CYLINDER, FIELD, PLANE


def are_moving(kinds: Any) -> NDArray[np.bool_]:
    """Whether points of contact move over both bodies, by the kinds of their shapes, shape (2, contacts).

    A corner over a plane, two edges or the centre of a ball are fixed to their bodies. But faces touch where their
    outlines cross, which depends on the poses at which they are looked for.
    """
    kinds = np.sort(kinds, axis=0)
    boxes = ((kinds[0] == BOX) | (kinds[0] == FIELD)) & ((kinds[1] == BOX) | (kinds[1] == CAPSULE))
    convex = (kinds[0] > PLANE) & (kinds[1] > CAPSULE)
    # The points on which a cylinder stands are counted from the lowest.
    return boxes | convex | (kinds[1] == CYLINDER)
