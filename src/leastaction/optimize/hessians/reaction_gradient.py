"""The share of reactions and cuts in the Lagrangian's gradient, whose differences are their second derivatives.

Those of most reactions are known (`ImpulsesPart`); differences are for cuts, and for contacts of balls.
"""

from __future__ import annotations

import numpy as np

from leastaction.optimize.constraints.contact_implicit import ContactReaction
from leastaction.optimize.constraints.reactions import Reaction
from leastaction.optimize.transcriptions.sparsity import FloatArray, IntArray
from leastaction.optimize.transcriptions.transcription import Transcription


def by_differences(program: Transcription) -> list[Reaction]:
    """Reactions whose second derivatives are not known."""
    return [r for r in program.reactions.all if isinstance(r, ContactReaction) and r.rolls]


def pairs(program: Transcription, reactions: list[Reaction]) -> list[tuple[IntArray, IntArray]]:
    """Pairs of unknowns that meet there: forces and velocities with configurations, and these with each other."""
    layout, s, N = program.layout, program.s, program.steps
    out = program.cuts.couplings()
    read = np.zeros((program.mechanism.nv,) * 2, bool)
    program.reactions.related(read)
    i, j = np.nonzero(program.tangents.spread(program.tangents.spread(read).T))
    for r in reactions:
        out.append((layout.q[r.points][:, i], layout.q[r.points][:, j]))
        out.append((r.index[:, :, None], layout.q[r.points][:, None, :]))
        if layout.duration >= 0:
            out.append((r.index, np.array(layout.duration)))
    for knots in (program.cuts.knots, program.cuts.knots % N):
        q = layout.q[s * knots]
        out.append((q[:, :, None], q[:, None, :]))
    if layout.duration >= 0:
        out += [(layout.q[r.points], np.array(layout.duration)) for r in reactions]
    return out


def gradient(
    program: Transcription, z: FloatArray, multipliers: FloatArray, out: FloatArray, reactions: list[Reaction]
) -> None:
    """Multipliers . (impulses of reactions, momenta at cuts), differentiated by z, into out (n,)."""
    motion, layout, kept = program.motion(z), program.layout, program.kept
    y = np.append(multipliers, 0.0)  # rows that are not kept have the number -1
    out[:] = 0.0
    for r in reactions:
        Y = y[kept[program.reactions.place(r)]]
        by_q, by_f = r.slopes(motion)
        turned = by_q if motion.turns is None else by_q @ motion.turns[r.points]
        np.add.at(out, layout.q[r.points], np.einsum("pi,pij->pj", Y, turned))
        np.add.at(out, r.index, np.einsum("pi,pif->pf", Y, by_f))
        if layout.duration >= 0:
            out[layout.duration] += (Y * r.impulses(motion)).sum() / (motion.dt * program.steps)
    program.cuts.add_gradient(motion, y, kept, out)
