"""Derivatives by parameters as weighted sums over mechanisms with other values of them."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from weakref import WeakKeyDictionary

import numpy as np

from leastaction.errors import MechanismError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.parameters.parameters import parameter, with_parameters

Stencil = list[tuple[float, Mechanism]]
"""Weights, and mechanisms: the weighted sum of what they give is a derivative by one entry of a parameter."""

CENTRAL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
"""Offsets and weights of a central difference of order 4."""

ONE_SIDED = ((0.0, -25.0 / 12.0), (1.0, 4.0), (2.0, -3.0), (3.0, 4.0 / 3.0), (4.0, -0.25))
"""The same where a parameter must not become smaller, such as a stiffness of zero."""

SHARE = 1e-4
"""Changes for differences, as shares of the value."""

LENGTHS = {"position": 0.01, "rotation": 0.001, "com": 0.01, "point": 0.01}
"""Parameters whose value gives no scale, and the scale of their steps, times SHARE [m or rad]. They move shapes, and
contacts have kinks where other features begin: rotations stay below the tolerance for parallel faces."""

SIZES, NARROW = ("size", "radius", "length"), 0.1
"""Parameters that also move features of shapes, and the factor on their SHARE. For a grasping hand the gradient by the
place of a shape errs by 1.2e-2 with steps of 1e-4 of its range, by 2.9e-4 with 1e-5 and with 1e-6."""


_KNOWN: WeakKeyDictionary[Mechanism, dict[str, list[Stencil]]] = WeakKeyDictionary()
"""Stencils made so far: several parts of a gradient ask for the same, and what each of them makes of a mechanism stays
with it."""


def stencils(mechanism: Mechanism, name: str) -> list[Stencil]:
    """For each entry of a parameter the stencil of the derivative by it."""
    known = _KNOWN.setdefault(mechanism, {})
    if name not in known:
        known[name] = _stencils(mechanism, name)
    return known[name]


def _stencils(mechanism: Mechanism, name: str) -> list[Stencil]:
    kind, value = name.partition(":")[0], parameter(mechanism, name)
    if not np.isfinite(value).all():
        raise MechanismError(f"parameter {name!r} is infinite, so nothing can be differentiated by it")
    with warnings.catch_warnings():
        # Inertias at the edge of what real bodies have, such as those of thin rods, may cross it here.
        warnings.simplefilter("ignore")
        loose = mechanism.replace(strict=False)
        out = []
        for k in range(value.size):
            size = LENGTHS.get(kind) or abs(float(value.flat[k])) or float(np.abs(value).max()) or 1.0
            h = SHARE * size * (NARROW if kind in SIZES else 1.0)

            def at(offset: float, k: int = k, h: float = h) -> Mechanism:
                other = value.copy()
                other.flat[k] += offset * h
                return with_parameters(loose, {name: other})

            try:
                out.append([(weight / h, at(offset)) for offset, weight in CENTRAL])
            except MechanismError:
                out.append([(weight / h, at(offset)) for offset, weight in ONE_SIDED])
    return out


def by_name(mechanism: Mechanism, names: Sequence[str], entries: FloatArray) -> dict[str, FloatArray]:
    """Entries of parameters, one after the other, as arrays of their own shapes."""
    out, at = {}, 0
    for name in names:
        value = parameter(mechanism, name)
        out[name] = entries[at : at + value.size].reshape(value.shape)
        at += value.size
    return out
