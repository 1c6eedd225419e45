"""Replay of the steps of a run of `Minimal` with the same substeps, to differentiate them.

A step continues from its state and the memory of the step before: mean velocities and warm-start impulses. A step
that fails is bisected (`steps.step`); its halves are steps of a stepper of half the length. Substeps that end at
impacts are steps of their lengths, after the impacts before them. The derivative is that at fixed substeps, but with
variable times of impact.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.solver.cone_kinds import LOOP
from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.errors import IntegratorError
from leastaction.minimal.contact.arrays import bounces
from leastaction.minimal.contact.derivatives.impact_at_start import ImpactAtStart
from leastaction.minimal.contact.derivatives.impact_map import HitMap
from leastaction.minimal.contact.derivatives.smooth_equations import Smooth
from leastaction.minimal.contact.derivatives.solved_substep import Solved, ends_at, hit_by, left_by
from leastaction.minimal.contact.derivatives.substep_map import PartMap
from leastaction.step_control.substeps import UNKNOWN, ends_of
from leastaction.typing import FloatArray

SAME = 1e-4
"""Largest difference of joint positions to those of the run [rad or m]."""


@dataclass(frozen=True)
class At:
    """State and memory from which a step continues.

    Attributes:
        q, p: configuration and momentum.
        v: velocities of the momentum.
        memory: of a stepper; None at the start of a run.
    """

    q: FloatArray
    p: FloatArray
    v: FloatArray
    memory: Any


class Replay:
    """Repeated solution of the steps of a `GroundStepper`, with derivatives."""

    def __init__(self, stepper: Any) -> None:
        self.stepper, self.smooth = stepper, Smooth(stepper.mechanism, stepper.model)
        self.steppers: dict[float, Any] = {}
        drives = stepper.model.drives[: stepper.mechanism.nu]
        self.lower, self.upper = np.array(drives.lower), np.array(drives.upper)

    def start(self, q: FloatArray, p: FloatArray) -> At:
        """`At` of the start of a run."""
        return At(q, p, self._velocity(q, p), None)

    def _velocity(self, q: FloatArray, p: FloatArray) -> FloatArray:
        """Velocities M^-1 p."""
        return velocity_of_momentum(self.stepper.mechanism, q[None], p[None])[0] if p.any() else np.zeros_like(p)

    def stepper_of(self, h: float) -> Any:
        """A stepper for steps of length h."""
        if h not in self.steppers:
            self.steppers[h] = self.stepper.part(h)
        return self.steppers[h]

    def _solve(self, s: Any, at: At, u: FloatArray, h: float, goals: Any, until: int = 0) -> tuple[Solved, At] | None:
        """One step of length h with the controls u (nu,); None where it has substeps or impacts.

        Args:
            s: a stepper.
            goals: of prescribed motions, see `step`.
            until: which of its solutions is taken, see `robot_records.FOUND`.
        """
        record = s.record(2)
        if s.carries:
            first = 0 if at.memory is None else 1
            s.goals_given, record["goals"][first : first + 2] = True, self._goals(at, goals)
        if until:
            s.data.touch.found.now[0].until = until
        first = 0 if at.memory is None else 1
        record["q"][first], record["p"][first] = at.q, at.p
        if at.memory is not None:
            s.restore_memory(at.memory)
        done = s.advance(record, first, first + 1, u[None, None])
        if until:
            s.data.touch.found.now[0].until = 0
        if done == first:
            raise s.failure(0, record)
        impacts = s.data.touch.impacts
        if record["divided"][first + 1] or (impacts is not None and impacts.now[0].hits):
            return None
        start = {"h": h, "whole": s.settings.whole, "q0": at.q, "p": at.p, "v0": at.v}
        start["u"] = np.clip(u, self.lower, self.upper)
        solved = left_by(s.data, s.cones, start)
        return solved, At(solved.q1, record["p"][first + 1].copy(), s.data.touch.v.copy(), s.memory())

    def _goals(self, at: At, goals: FloatArray | None) -> FloatArray:
        """Rows of goals at both ends of a substep, shape (2, nq + nv): at rest where there are none."""
        return np.tile(np.concatenate([at.q, np.zeros(len(at.p))]), (2, 1)) if goals is None else goals

    def _between(self, at: At, goals: FloatArray | None, start: float, end: float) -> FloatArray | None:
        """Interpolated `_goals` of a substep between two shares of the step."""
        if not self.stepper.carries:
            return None
        (first, last), m = self._goals(at, goals), self.stepper.mechanism
        way = m.difference(first[: m.nq], last[: m.nq])
        rows = [
            np.concatenate([m.integrate(first[: m.nq], s * way), ((1.0 - s) * first + s * last)[m.nq :]])
            for s in (start, end)
        ]
        return np.array(rows)

    def map(self, s: Any, at: At, u: FloatArray, goals: Any, solved: Solved, timed: bool = False) -> PartMap:
        """Derivatives of a substep that a stepper has solved, with its earlier solutions where these added contacts."""
        shapes, earlier = self.stepper.model.shapes, []
        for until in range(1, int(solved.contacts.late.max(initial=0)) + 1):
            if timed:
                s.data.touch.impacts.now[0].forced = 1
            found = self._solve(s, at, u, s.dt, goals, until)
            if found is None:
                raise IntegratorError("Minimal: a part of a step was solved again with another result; take another dt")
            earlier.append(PartMap(found[0], self.smooth, shapes, self._free(u), False, tuple(earlier)))
        return PartMap(solved, self.smooth, shapes, self._free(u), timed, earlier)

    def _free(self, u: FloatArray) -> NDArray[np.bool_]:
        """Mask of the controls within their limits."""
        return (u >= self.lower) & (u <= self.upper)

    def step(self, at: At, u: FloatArray, h: float, goals: FloatArray | None = None) -> tuple[list[PartMap], At]:
        """Solve and differentiate all substeps of a step of length h; returns (their maps, `At` of the next step).

        Args:
            at: its start; u: controls, shape (nu,).
            goals: rows of the record at its ends, of prescribed motions; None: these rest.
        """
        found = self._solve(self.stepper_of(h), at, u, h, goals)
        if found is not None:
            return [self.map(self.stepper_of(h), at, u, goals, found[0])], found[1]
        if bounces(self.stepper.model):
            return self._parts(at, u, h, goals)
        first, middle = self.step(at, u, 0.5 * h, self._between(at, goals, 0.0, 0.5))
        second, end = self.step(middle, u, 0.5 * h, self._between(at, goals, 0.5, 1.0))
        return first + second, end

    def _parts(self, at: At, u: FloatArray, h: float, goals: FloatArray | None) -> tuple[list[PartMap], At]:
        """`step` of one that the same stepper has just solved with impacts or substeps."""
        s = self.stepper_of(h)
        noted = s.data.touch.impacts.ends.copy()
        if noted[0] == UNKNOWN:
            raise IntegratorError("Minimal: a step was divided so finely that the run has no record of its substeps")
        (ends, plastic), whole = ends_of(noted), at
        maps: list[PartMap] = []
        for start, end, still in zip(np.append(0.0, ends[:-1]), ends, plastic, strict=True):
            part = s.part((end - start) * h)
            now = part.data.touch.impacts.now[0]
            now.forced, now.plastic = 1, still
            rows = self._between(whole, goals, start, end)
            if rows is not None:
                part.data.touch.joints.goals.rates[:] = rows[:, len(at.q) :]
            hits, at = self._hits(part, at, u)
            found = self._solve(part, at, u, part.dt, rows)
            if found is None:
                raise IntegratorError("Minimal: a part of a step was solved again with another result; take another dt")
            solved = found[0] if end == 1.0 else ends_at(part.data, part.cones, found[0])
            now.plastic = still
            maps += [*hits, self.map(part, at, u, rows, solved, True)]
            at = found[1]
        return maps, at

    def _hits(self, s: Any, at: At, u: FloatArray) -> tuple[list[PartMap], At]:
        """Maps of the impacts at the start of a substep, and `At` after them."""
        maps: list[Any] = []
        q, p, touch = at.q.copy(), at.p.copy(), s.data.touch
        s.data.v_last[:] = at.v
        if at.memory is not None:
            s.restore_memory(at.memory)
        while True:
            start = {"h": s.dt, "part": s.dt, "whole": s.settings.whole, "q0": q}
            start |= {"p": p.copy(), "v0": at.v, "u": np.clip(u, self.lower, self.upper)}
            if not s.hit(q, p, len(maps)):
                break
            loops = touch.lam[np.asarray(s.cones.row)[np.asarray(s.cones.kind) == LOOP]].copy()
            if (driven := touch.joints.goals) is not None and len(driven.dofs):
                loops = np.concatenate([loops, driven.back[driven.dofs]])
            solved, share = hit_by(s.data, s.cones, start), float(touch.impacts.now[0].share)
            maps.append(HitMap(solved, self.smooth, self.stepper.model.shapes, share, loops))
        if not maps:
            return maps, at
        if at.memory is None:
            maps.insert(0, ImpactAtStart(maps[0]))
        return maps, At(q, p, touch.v.copy(), at.memory)

    def piece(self, record: Any, row: int, first: int, u: FloatArray) -> tuple[list[list[PartMap]], At]:
        """Maps of all steps of a record that follow its row `row`, and `At` of the step after them.

        Args:
            record, row, first: see `Reversal.piece`.
            u: controls, shape (steps, 1, nu).
        """
        maps: list[list[PartMap]] = []
        at = self.start(record["q"][0], record["p"][0]) if row == 0 else self._continued(record, row)
        for k in range(len(u)):
            goals = record["goals"][row + k : row + k + 2] if self.stepper.carries else None
            parts, at = self.step(at, u[k, 0], self.stepper.dt, goals)
            if k > 0 and isinstance(parts[0], HitMap):
                maps[-1][-1] = self.ending_at(parts[0], maps[-1][-1], u[k - 1, 0])
            maps.append(parts)
            self._check(record, row + k, first + k, at)
            at = At(record["q"][row + k + 1].copy(), record["p"][row + k + 1].copy(), at.v, at.memory)
        return maps, at

    def single(self, record: Any, row: int, first: int, u: FloatArray) -> list[PartMap]:
        """Maps of the step that follows one row of a record, solved from its state alone.

        Args:
            record, first: see `Reversal.piece`; row: of the start of the step.
            u: controls, shape (nu,).
        """
        at = self.start(record["q"][0], record["p"][0]) if row == 0 else self._continued(record, row)
        parts, at = self.step(at, u, self.stepper.dt)
        self._check(record, row, first, at)
        return parts

    def _check(self, record: Any, row: int, first: int, at: At) -> None:
        """Raise where the repeated step after a row ends elsewhere than in the record."""
        m, q = self.stepper.mechanism, record["q"][row + 1]
        if np.abs(m.difference(q, at.q)).max(initial=0.0) > SAME * (1.0 + np.abs(q).max(initial=0.0)):
            raise IntegratorError(
                f"Minimal: step {first} of the run was solved again with another result: it has several "
                "solutions, so no derivative; take a smaller dt"
            )

    def ending_at(self, hit: HitMap, last: PartMap, u: FloatArray) -> PartMap:
        """Map of the last substep of a step as one that ends at the impact with which the next step begins.

        The time of that impact depends on the state, whichever step it is assigned to. Of several contacts, that with
        the largest impulse determines it.
        """
        s = hit.solved
        if isinstance(last, HitMap) or len(last.solved.closing) or not len(s.cones):
            return last
        k = int(np.argmax(s.lam_end[:, 0]))
        place = int((s.cones.found[:k] >= 0).sum())
        contacts = s.contacts[place : place + int(s.cones.found[k] >= 0)]
        solved = replace(last.solved, closing=s.cones[k : k + 1], closing_contacts=contacts)
        return PartMap(solved, self.smooth, self.stepper.model.shapes, self._free(u), True, last.earlier)

    def _continued(self, record: Any, row: int) -> At:
        """`At` of the step after a row, in a run that began earlier."""
        s, q = self.stepper, record["q"][row]
        near = s.mechanism.difference(record["q"][row - 1], q) / s.dt
        memory = s.memory_after(near, record["impulses"][row])
        return At(q.copy(), record["p"][row].copy(), self._velocity(q, record["p"][row]), memory)
