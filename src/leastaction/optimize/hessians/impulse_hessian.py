"""Second derivatives of the impulses of feet, loops and contacts in the rows of the dynamics."""

from __future__ import annotations

import numpy as np

from leastaction.optimize.constraints.reaction_hessians import impulse_bends
from leastaction.optimize.constraints.reactions import Reaction
from leastaction.optimize.hessians.lagrangian_hessian import Part
from leastaction.optimize.transcriptions.sparsity import FloatArray, Pattern
from leastaction.optimize.transcriptions.transcription import Transcription


class ImpulsesPart(Part):
    """Multipliers . impulses of one reaction in the rows of the dynamics; see `reaction_hessians`."""

    def __init__(self, program: Transcription, reaction: Reaction, pattern: Pattern) -> None:
        self.program, self.reaction = program, reaction
        q, f, drives = program.layout.q[reaction.points], reaction.index, np.abs(reaction.drives) > 0.0
        reads = program.tangents.spread(np.asarray(reaction.reads.any(axis=0, keepdims=True)))[0]
        self.moved = np.flatnonzero(reads)
        self.pushes = np.flatnonzero(drives.any(axis=0))
        q, f = q[:, self.moved], f[:, self.pushes]
        together = np.asarray(reaction.curvature.any(axis=0))
        twice = program.tangents.joined(together)[np.ix_(self.moved, self.moved)]
        bent = program.tangents.spread(np.asarray(reaction.curvature.any(axis=1)))[
            :, self.moved
        ]  # which change which equation's row
        with_force = (bent.T.astype(int) @ drives[:, self.pushes].astype(int)) > 0
        a, b = np.broadcast_arrays(q[:, :, None], q[:, None, :])
        c, d = np.broadcast_arrays(q[:, :, None], f[:, None, :])
        self.tickets = [
            pattern.add(np.where(twice & (a <= b), a, -1), b),
            pattern.add(np.where(with_force, np.minimum(c, d), -1), np.maximum(c, d)),
        ]
        self.timed, time = program.layout.duration >= 0, np.array(program.layout.duration)
        if self.timed:  # which is the last of all unknowns
            self.tickets += [pattern.add(q, time), pattern.add(f, time)]

    def close(self, pattern: Pattern) -> None:
        """See `Part.close`."""
        self.slots = [pattern.slots(ticket) for ticket in self.tickets]

    def add(self, z: FloatArray, weight: float, multipliers: FloatArray, values: FloatArray) -> None:
        """See `Part.add`."""
        program, r = self.program, self.reaction
        Y = np.append(multipliers, 0.0)[program.kept[program.reactions.place(r)]]
        if not Y.any():
            return
        second, by_forces = impulse_bends(r, program.motion(z), Y)
        np.add.at(values, self.slots[0], second[:, self.moved[:, None], self.moved])
        np.add.at(values, self.slots[1], by_forces[:, self.moved[:, None], self.pushes])
        if self.timed:  # impulses go with the time
            motion = program.motion(z)
            by_q, by_f = r.slopes(motion)
            turned = by_q if motion.turns is None else by_q @ motion.turns[r.points]
            for slots, J, chosen in ((self.slots[2], turned, self.moved), (self.slots[3], by_f, self.pushes)):
                share = np.einsum("pi,pij->pj", Y, J) / (motion.dt * program.steps)
                np.add.at(values, slots, share[:, chosen])
