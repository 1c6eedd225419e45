"""A run that begins at an impact: the time of the impact depends on the state.

A start with a closed, approaching contact is the end of a flight. Where the state changes such that the contact is
open, the impact comes later, at the time t with gap(q + v t) = 0, and the motion up to there is that without
contact (the saltation matrix of Aizerman and Gantmakher 1958, part before the impact):

    dt = -g dq / (g v),    dq' = dq + v dt,    dp' = dp + f dt,

with the gradient g of the gap and the rates v and f of q and p. A state change of the other sign begins with an
overlap, which no flight leads to: the derivative is the one-sided one of the open contact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.dynamics import bias_forces, passive_forces
from leastaction.errors import IntegratorError
from leastaction.minimal.contact.derivatives.block_triangle import Block
from leastaction.minimal.contact.derivatives.contact_kernels import GAP
from leastaction.minimal.contact.derivatives.impact_map import HitMap
from leastaction.minimal.contact.derivatives.smooth_equations import Placed, Smooth
from leastaction.minimal.contact.derivatives.substep_map import (
    PartMap,
    contact_rows,
    heavier,
    part_of,
    slopes_of,
    values_of,
)
from leastaction.typing import FloatArray

RESTS = 1e-6
"""Speed relative to that of the impact below which another contact rests."""


class ImpactAtStart(PartMap):
    """The flight of zero length before an impact at the start of a run.

    Args:
        hit: the impact, whose contact with the largest impulse determines the time.
    """

    def __init__(self, hit: HitMap) -> None:
        s, smooth = hit.solved, hit.smooth
        k = int(np.argmax(s.lam_end[:, 0]))
        place = int((s.cones.found[:k] >= 0).sum())
        self.first = s.cones[k : k + 1], s.contacts[place : place + int(s.cones.found[k] >= 0)]
        self.solved, self.smooth, self.timed, self.earlier, self.by_found = s, smooth, True, (), []
        self.reach, self.n = hit.reach, len(s.p)
        n, nu, m, v = self.n, len(s.u), smooth.mechanism, s.v0
        placed = smooth.at(s.q0, s.q0, s.u, s.h, False)
        part = part_of(s, self.first[0], self.first[1], [placed], self.reach)
        gap = slopes_of(smooth, part, [placed], contact_rows(smooth, part, [placed])).slopes[1, 0, :, GAP]
        others = part_of(s, s.cones, s.contacts, [placed], self.reach)
        rates = contact_rows(smooth, others, [placed])[1, :, 0] @ v
        if not (rates < RESTS * (gap @ v)).all() or not gap @ v < 0.0:
            raise IntegratorError(
                "Minimal: an impact at the start of a run on what rests on other contacts, or only grazes, has no "
                "derivative; begin a step before it"
            )
        force = passive_forces(m, s.q0, v) - bias_forces(m, s.q0, v) + heavier(smooth, s.q0, v) @ v
        force += m.generalized_forces(s.u, s.q0) if nu else 0.0
        self.F_x, self.O_x = np.zeros((1, 2 * n + 1 + nu)), np.eye(2 * n + 1, 2 * n + 1 + nu)
        self.O_z = np.ones((2 * n + 1, 1))
        self.F_x[0, :n], self.O_z[:n, 0], self.O_z[n : 2 * n, 0] = gap, v, force
        self.solver = Block(np.array([[gap @ v]]), 1)

    @property
    def closing(self) -> tuple[Any, Any]:
        """See `PartMap.closing`."""
        return self.first

    def equations(
        self, smooth: Smooth, cones: Any, stops: Any, contacts: Any, placed: Placed, closing: Any
    ) -> FloatArray:
        """See `PartMap.equations`."""
        cones, contacts = closing
        gap = values_of(part_of(self.solved, cones, contacts, [placed], self.reach))[:, GAP]
        return np.concatenate([gap, np.zeros(2 * self.n + 1)])
