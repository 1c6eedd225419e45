"""Checking states at the door: sizes, finite numbers, unit quaternions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.errors import MechanismError
from leastaction.mechanism._check import LARGEST, real_array, shown
from leastaction.mechanism.joints import Motion
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism


FLOAT = np.dtype(np.float64)

UNIT_NORM, EXACT_NORM = 1e-6, 1e-15
"""Quaternions whose norm is further from one than the first are refused, those beyond the second are normalised."""


def state_vector(mechanism: Mechanism, value: Any, size: int, what: str) -> FloatArray:
    """`value` as a contiguous float array of shape (size,); refuses wrong sizes, NaN and numbers beyond `LARGEST`."""
    a = real_array(value)
    if a is None:
        raise MechanismError(f"{what}: expected {size} numbers for {mechanism.name!r}, got {shown(value)}")
    if a.ndim == 0 and size == 1:
        a = a.reshape(1)
    if a.shape != (size,):
        raise MechanismError(f"{what}: expected shape ({size},) for {mechanism.name!r}, got {a.shape}")
    if not (np.abs(a) <= LARGEST).all():
        k = int(np.flatnonzero(~(np.abs(a) <= LARGEST))[0])
        names = {mechanism.nq: mechanism.coordinate_names, mechanism.nv: mechanism.velocity_names}
        name = f" ({names[size][k]!r})" if size in names else ""
        bound = f" of at most {LARGEST:g}" if np.isfinite(a[k]) else ""
        raise MechanismError(f"{what}: entry {k}{name} is {a[k]}, expected a finite number{bound}")
    return a


def robot(mechanism: Mechanism) -> Mechanism:
    """`mechanism`, which must be one."""
    from leastaction.mechanism.mechanism import Mechanism

    if not isinstance(mechanism, Mechanism):
        raise MechanismError(
            f"mechanism: expected a Mechanism, such as leastaction.robots.pendulum(), got {shown(mechanism)}"
        )
    return mechanism


def configuration(mechanism: Mechanism, q: Any) -> FloatArray:
    """q as a checked array of shape (nq,); quaternions must have unit norm within 1e-6 and come out exact."""
    robot(mechanism)
    a = state_vector(mechanism, q, mechanism.nq, "q")
    for node in mechanism.coordinate_groups if mechanism.nq != mechanism.nv else ():
        if node.kind in (Motion.SPHERICAL, Motion.FREE):
            i = int(node.iq) + (3 if node.kind == Motion.FREE else 0)
            norm = float(np.linalg.norm(a[i : i + 4]))
            if abs(norm - 1.0) > UNIT_NORM:
                name = mechanism.coordinate_names[i]
                raise MechanismError(f"q: the quaternion at {name!r} must have unit norm, got norm {norm:.9g}")
            if abs(norm - 1.0) > EXACT_NORM:
                a[i : i + 4] /= norm
    return a


def tangent(mechanism: Mechanism, v: Any, what: str = "v") -> FloatArray:
    """A velocity, acceleration or generalised force as a checked array of shape (nv,); None is zero."""
    given = v.shape if isinstance(v, np.ndarray) else (len(v),) if isinstance(v, list | tuple) else ()
    if what == "u" and given == (robot(mechanism).nu,) != (mechanism.nv,):
        expected = "as many as there are controls; mechanism.generalized_forces(controls, q) makes forces of these"
        raise MechanismError(f"u: expected {mechanism.nv} forces, one for each degree of freedom, got {expected}")
    return np.zeros(robot(mechanism).nv) if v is None else state_vector(mechanism, v, mechanism.nv, what)
