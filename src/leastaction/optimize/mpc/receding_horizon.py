"""A plan moved on by one step: unknowns and multipliers of each step are those of the step after it."""

from __future__ import annotations

import numpy as np

from leastaction.optimize.solvers.primal_dual import Interior
from leastaction.optimize.transcriptions.sparsity import FloatArray, IntArray
from leastaction.optimize.transcriptions.transcription import Transcription


class Shift:
    """Where the values of a program's unknowns and of its multipliers come from; the last ones stay."""

    def __init__(self, program: Transcription, ip: Interior) -> None:
        layout, s = program.layout, program.s
        self.ip, source = ip, np.arange(program.n)
        width = max(1, len(layout.u) // program.steps)
        # What acts at the last point moves nothing within the horizon: it says nothing of the one before.
        forces = ((index[:-1], s) for index in layout.forces[:-1])
        for index, by in ((layout.q, s), (layout.u, width), (layout.p, 1), (layout.v, 1), *forces):
            if len(index) > by:
                source[index[:-by]] = index[by:]
        self.source = source
        held = {reaction.name for reaction in program.reactions.all}
        rows = np.arange(program.m)
        for group in program.rows:
            numbers = group.first + np.arange(group.count).reshape(len(group.index), -1)
            after = {int(k): e for e, k in enumerate(group.index)}
            if any(group.name.startswith(name) for name in held):
                after.pop(s * program.steps, None)
            for e, k in enumerate(group.index):
                rows[numbers[e]] = numbers[after.get(int(k) + 1, e)]
        self.of_x, self.of_y = self._in_the_system(program, rows)

    def _in_the_system(self, program: Transcription, rows: IntArray) -> tuple[IntArray, IntArray]:
        """Sources among the unknowns and slacks of the search, and among its constraints."""
        ip, system = self.ip, self.ip.system
        number, row_number = np.full(program.n, -1), np.full(program.m, -1)
        number[system.free], row_number[system.rows] = np.arange(ip.n), np.arange(ip.m)
        of_x, own = number[self.source[system.free]], np.arange(ip.n)
        of_x = np.where(of_x < 0, own, of_x)
        of_y, own = row_number[rows[system.rows]], np.arange(ip.m)
        of_y = np.where(of_y < 0, own, of_y)
        slack = np.full(ip.m, -1)
        slack[ip.loose] = np.arange(len(ip.loose))
        of_slack = slack[of_y[ip.loose]]
        of_slack = np.where(of_slack < 0, np.arange(len(ip.loose)), of_slack)
        return np.concatenate([of_x, ip.n + of_slack]), of_y

    def configurations(self, z: FloatArray) -> FloatArray:
        """Of the next tick, shape (points, nq)."""
        q = self.ip.program.motion(z).q
        s = self.ip.program.s
        return np.concatenate([q[s:], q[-s:]])

    def unknowns(self, z: FloatArray) -> FloatArray:
        """z of the next tick."""
        return z[self.source]

    def multipliers(self) -> None:
        """Move those of the search on."""
        ip = self.ip
        ip.y = (ip.y * ip.row_scale)[self.of_y] / ip.row_scale
        ip.low, ip.high = ip.low[self.of_x], ip.high[self.of_x]
