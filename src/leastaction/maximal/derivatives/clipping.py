"""Servos with force ranges while a step is differentiated: those that are clipped stay so, the others are not.

Partial derivatives of a step are taken by differences, whose displacements may take a stiff servo from one end of its
range to the other. So the records of tendons are replaced by those of drives that are free, or push with what they are
clipped to.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry
from leastaction.forces import total
from leastaction.forces.arrays import ForceModel
from leastaction.forces.tendon_lengths import length_and_rate
from leastaction.forces.tendons import drive_law
from leastaction.maximal.arrays import named_data, named_model
from leastaction.maximal.derivatives.arrays import SolvedStep
from leastaction.maximal.derivatives.sensitivity_kernels import load_all
from leastaction.spatial import ZERO6, add3, cross, load3, load9, matvec, store6

TENDONS = ForceModel._fields.index("tendons")

FREE, WEAKEST, STRONGEST, UNDECIDED = range(4)
"""How drives of a tendon are over a step; undecided where its two ends differ."""


@entry
def drive_forces(model, data, at, time, out):
    """Forces of the drives of tendons at the poses and mean twists of a step, whatever their limits: out (tendons,).

    Args:
        model, data, at: plain tuples of `MaximalModel`, `MaximalData` and `SolvedStep`, whose first controls count.
        time: from these poses to the middle of the step, where their feedback looks at lengths [s].
        out: filled in.
    """
    model, data, at = named_model(model), named_data(data), SolvedStep(*at)
    states, tendons, modes = data.bodies, model.forces.tendons, data.modes
    load_all(data, at)
    total.look_near(model.forces, modes, at.q)
    total.set_pulls(model.forces, modes, at.u[0])
    for i in range(states.shape[0]):
        s = states[i]
        omega = matvec(load9(s.R), load3(s.w))
        store6(s.v, (omega, add3(load3(s.vc), cross(load3(s.p), omega))))
    for i in range(tendons.shape[0]):
        length, rate = length_and_rate(tendons[i], modes.items, states)
        modes.pull[i, 1] = time
        out[i] = drive_law(tendons[i], modes.pull[i], length, rate)[0]
        modes.pull[i, 1] = 0.0
    for i in range(states.shape[0]):
        store6(states[i].v, ZERO6)


def clipped(tendons: Any, forces: NDArray[np.float64]) -> NDArray[np.int64]:
    """How drives are with forces at the start and the end of a step, shape (2, tendons): shape (tendons,)."""
    each = np.where(forces < tendons.weakest, WEAKEST, np.where(forces > tendons.strongest, STRONGEST, FREE))
    return np.where(each[0] == each[1], each[0], UNDECIDED)


def frozen(model: tuple[Any, ...], how: NDArray[np.int64]) -> tuple[Any, ...]:
    """The plain tuple of a `MaximalModel` whose drives of tendons stay as they are; see `clipped`."""
    tendons = model[-2][TENDONS].copy()
    for record, kind in zip(tendons, how, strict=True):
        if kind == FREE:
            record.weakest, record.strongest = -np.inf, np.inf
        elif kind != UNDECIDED:
            value = record.weakest if kind == WEAKEST else record.strongest
            record.held = record.brake = record.muscle = 0
            # All forces are below the one or above the other.
            record.weakest, record.strongest = np.nextafter(value, np.inf), value

    def changed(forces: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
        return forces and (*forces[:TENDONS], tendons, *forces[TENDONS + 1 :])

    return (*model[:-3], changed(model[-3]), changed(model[-2]), model[-1])
