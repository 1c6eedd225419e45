"""What may be wrong with a start or a step of `Maximal`, in words that name the bodies."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.contact_entries import detect_all, measure_all
from leastaction.contact.contact_table import ContactTable
from leastaction.contact.records import CONTACT, records
from leastaction.maximal.model import Model

FloatArray = NDArray[np.float64]


def spinning_without_inertia(model: Model) -> str:
    """The name of a body that may spin freely without moments of inertia; empty if there is none."""
    for body, joint in zip(model.mechanism.bodies, model.mechanism.joints, strict=True):
        if joint.kind in ("free", "spherical") and not model.bodies[model.frames[body.name][0]].J.any():
            return body.name
    return ""


def deepest_overlap(table: ContactTable, X: Any) -> str:
    """The shapes that overlap most at the poses X (n, 12), and by how much, in words; empty if none do."""
    pairs = np.concatenate([table.ground, table.body_pairs()]).view(np.recarray)
    found: Any = records(1 << 12, CONTACT)
    found = found[: detect_all(table.shapes, pairs, X, table.data, found, 0.0)]
    if len(found) == 0:
        return ""
    phi, other = np.zeros(len(found)), np.zeros((2, len(found), 3))
    measure_all(found, X, phi, other[0], other[1])
    k = int(phi.argmin())
    a, b = ("/".join(table.names[shape]) for shape in (pairs.a[found.pair[k]], pairs.b[found.pair[k]]))
    return f"{a!r} and {b!r} overlap by {-phi[k]:.2g} m"
