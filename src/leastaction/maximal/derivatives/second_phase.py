"""Derivative of the second phase of a solved step, one step at a time; see `velocity_cotangents`."""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry
from leastaction.maximal.arrays import ContactData, MaximalSettings, contact_data, named_data, named_model, plain
from leastaction.maximal.derivatives.arrays import Kept
from leastaction.maximal.derivatives.sensitivity_kernels import read_start
from leastaction.maximal.derivatives.velocity_cotangents import factor_second_phase, second_phase_cotangents
from leastaction.maximal.derivatives.weighing import weigh_projections
from leastaction.maximal.step.body_states import load_state
from leastaction.maximal.step.velocity_projection import SOLVED, project_velocities, renew_wrenches

FloatArray = NDArray[np.float64]

Moved = list[tuple[int, int, float, Any]]
"""Contacts found again at displaced poses: body, axis, weight of the difference, all contacts; see `moved_features`."""


class Scratch(NamedTuple):
    """Gradients, and scratch of `second_phase_cotangents`: as in `BackData`."""

    bars: FloatArray
    E0: FloatArray
    E1: FloatArray
    G0: FloatArray
    twists: FloatArray
    moved: FloatArray
    y: FloatArray
    original: FloatArray
    residual: FloatArray
    qa: FloatArray
    qb: FloatArray
    by_points: FloatArray


@entry
def solve_second_phase(model, settings, data, contact, at, scratch, rows, out):
    """Solve the second phase of a step and bring gradients by its momenta back; whether contacts are closed in it.

    Args:
        model, settings, data, contact, scratch: plain tuples of `MaximalModel`, `MaximalSettings`, `MaximalData`,
            `ContactData` with the cones of the first phase, and `Scratch`.
        at: poses (bodies, 7) and momenta (bodies, 6) at the end of the step, velocities (bodies, 6) within it,
            coordinates nearby, joint positions, and prescribed motions there.
        rows: gradients by poses and momenta, in and out, shape (rows, 2, bodies, 6).
        out: momenta after it (bodies, 6), velocities (bodies, 6), impulses of the rows of joints (rows,), and
            gradients by the equations (rows, unknowns), by momenta before it (rows, bodies, 6).
    """
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    contact, back, states = ContactData(*contact), Scratch(*scratch), data.bodies
    Z, P, V, near, q, goals = at
    momenta, velocities, impulses, by_equations, by_momenta = out
    load_state(states, Z, P)
    for i in range(states.shape[0]):
        for c in range(3):
            states[i].w[c], states[i].vc[c] = V[i, c], V[i, 3 + c]
    for c in range(goals.shape[0]):
        data.goals[0, c] = goals[c]
    read_start(model, data, near, q, settings.dt)
    if project_velocities(model, settings, data, contact, settings.dt) != SOLVED:
        return False
    for i in range(states.shape[0]):
        for c in range(6):
            momenta[i, c], velocities[i, c] = states[i].P[c], data.dV[i, c]
    for k in range(data.rows.shape[0]):
        impulses[k] = data.rows[k].mu
    if not factor_second_phase(model, settings, data, contact, back, settings.dt):
        return False
    for m in range(rows.shape[0]):
        for a in range(2):
            for i in range(states.shape[0]):
                for c in range(6):
                    back.bars[a, i, c] = rows[m, a, i, c]
        second_phase_cotangents(model, settings, data, contact, back, settings.dt)
        for a in range(2):
            for i in range(states.shape[0]):
                for c in range(6):
                    rows[m, a, i, c] = back.bars[a, i, c]
        for i in range(states.shape[0]):
            for c in range(6):
                by_momenta[m, i, c] = back.bars[1, i, c]
        for j in range(by_equations.shape[1]):
            by_equations[m, j] = back.y[j]
    return True


@entry
def first_wrenches(model, settings, data, contact, at):
    """Unit wrenches of the cones of a solved step at its start again: its second phase has left those of its end.

    Args:
        model, settings, data, contact: plain tuples of `MaximalModel`, `MaximalSettings`, `MaximalData`, `ContactData`.
        at: poses (bodies, 7) and momenta (bodies, 6) at the start, coordinates nearby, and joint positions, which are
            read off the poses.
    """
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    contact, (Z, P, near, q) = ContactData(*contact), at
    load_state(data.bodies, Z, P)
    read_start(model, data, near, q, settings.dt)
    renew_wrenches(data, contact)


class SecondPhase:
    """Momenta at the end of a solved step, with the contacts that are closed there, and their derivative.

    Args:
        solved: the step.
        P: momenta at its end before the second phase, shape (bodies, 6).

    Attributes:
        closed: whether contacts are closed there; else it changes nothing.
        P: momenta after it.
    """

    def __init__(self, solved: Any, P: FloatArray) -> None:
        self.solved, self.start = solved, P
        self.closed, self.P = False, P
        if solved.count and solved.stepper.halves < 1.0:
            self.closed, (momenta, *_), _, _ = self._run(np.zeros((0, 2, *P.shape)))
            self.P = momenta if self.closed else P

    def _run(self, rows: FloatArray) -> tuple[bool, tuple[FloatArray, ...], FloatArray, Any]:
        solved, (n, _), N = self.solved, self.start.shape, len(self.solved.data.fixed)
        s, end = solved.stepper, solved.end
        contact = contact_data(n, 0, 0, 0, 0)
        count = solved.count
        empty: Any = {
            "cones": solved.cones.copy(),
            "contacts": solved.contacts.copy(),
            "impulses": np.zeros((count, 3)),
            "saved": np.zeros(count, contact.saved.dtype).view(np.recarray),
            "second": np.zeros(count, contact.saved.dtype).view(np.recarray),
            "first": solved.cones.copy(),
        }
        contact = contact._replace(**empty)
        contact.now.count, contact.now.load, contact.now.energy = count, *solved.scale
        goals = np.ascontiguousarray(solved.goals[1])
        values, six = np.zeros(len(solved.data.factors.values)), [np.zeros((n, 6)) for _ in range(5)]
        scratch = Scratch(
            bars=np.zeros((3, n, 6)),
            **dict(zip(("E0", "E1", "G0", "twists", "moved"), six, strict=True)),
            **{name: np.zeros(N) for name in ("y", "residual")},
            **{name: np.zeros(18) for name in ("qa", "qb")},
            original=values,
            by_points=np.zeros((len(solved.contacts), 3)),
        )
        m = len(rows)
        out = (
            np.zeros((n, 6)),
            np.zeros((n, 6)),
            np.zeros(len(solved.model.rows)),
            np.zeros((m, N)),
            np.zeros((m, n, 6)),
        )
        at = (end.Z, self.start, solved.V, end.near.copy(), end.q.copy(), goals)
        problem = plain((solved.model, s.settings, solved.data))
        rows = rows.copy()
        closed = solve_second_phase(*problem, tuple(contact), at, tuple(scratch), rows, out)
        return bool(closed), out, rows, contact

    @cached_property
    def _maps(self) -> tuple[FloatArray, FloatArray]:
        """Derivatives of the momenta (bodies, 6) after it by poses and by momenta before it, (6 n, n, 6) each."""
        n = len(self.start)
        rows = np.zeros((6 * n, 2, n, 6))
        rows[:, 1] = np.eye(6 * n).reshape(6 * n, n, 6)
        rows = self._run(rows)[2]
        return rows[:, 0], rows[:, 1]

    def forward(self, dz: FloatArray, dP: FloatArray) -> FloatArray:
        """Change of the momenta after it, shape (bodies, 6, m)."""
        if not self.closed:
            return dP
        by_poses, by_momenta = self._maps
        out = np.einsum("rbi,bim->rm", by_poses, dz) + np.einsum("rbi,bim->rm", by_momenta, dP)
        return out.reshape(dP.shape)

    def backward(self, bz: FloatArray, bP: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients by poses and by momenta before it, shape (bodies, 6) each."""
        if not self.closed:
            return bz, bP
        rows = self._run(np.stack([bz, bP])[None])[2]
        return rows[0, 0], rows[0, 1]

    def weigh(self, variant: Any, bP: FloatArray) -> float:
        """Gradient bP by the momenta after it, times what a variant of the model makes of it at the same unknowns."""
        solved = self.solved
        arrays = variant.arrays(solved.model.graph), variant.scratch(solved.data)
        return self._weigh(arrays, variant.contacts(solved), self._kept(bP))

    def by_found(self, moved: Moved, bP: FloatArray) -> FloatArray:
        """Gradient (bodies, 6) by the poses at which contacts were found whose points move over both bodies."""
        out = np.zeros_like(bP)
        if self.closed and bP.any():
            arrays, kept = plain((self.solved.model, self.solved.data)), self._kept(bP)
            for body, c, weight, contacts in moved:
                out[body, c] += weight * self._weigh(arrays, contacts, kept)
        return out

    def found_forward(self, moved: Moved, dz: FloatArray) -> FloatArray:
        """Change of the momenta (bodies, 6, m) with those poses."""
        n = len(self.start)
        if not self.closed or not moved:
            return np.zeros_like(dz)
        rows = np.stack([self.by_found(moved, bP) for bP in np.eye(6 * n).reshape(6 * n, n, 6)])
        return np.einsum("rbi,bim->rm", rows, dz).reshape(dz.shape)

    def _kept(self, bP: FloatArray) -> tuple[Any, Any]:
        """Unknowns and gradients by the equations for a gradient by momenta, as `weigh_projections` takes them."""
        solved, (n, _), N = self.solved, self.start.shape, len(self.solved.data.fixed)
        _, (_, T, mu, y, z), _, contact = self._run(np.stack([np.zeros_like(bP), bP])[None])
        first, rows = solved.model.graph.first, solved.model.rows
        twists = np.zeros((1, N))
        for i in range(n):
            twists[0, first[i] : first[i] + 6] = T[i]
        for k in range(len(rows)):
            twists[0, first[n + rows[k].node] + rows[k].local] = mu[k]
        kept: Any = dict.fromkeys(Kept._fields, np.zeros((1, n, 6)))
        kept |= {"twists": twists, "by_projection": y, "by_held": z}
        kept |= {"end_poses": solved.end.Z[None], "end_q": solved.end.q[None], "goals": solved.goals[None]}
        kept |= {"end_count": np.array([solved.count]), "end_cones": contact.cones[None].copy()}
        return tuple(Kept(**kept)), tuple(contact)

    def _weigh(self, arrays: tuple[Any, Any], contacts: Any, kept: tuple[Any, Any]) -> float:
        """`weigh_projections` of the one step, with the arrays of a model and contacts."""
        solved, n = self.solved, len(self.start)
        s, (model, data) = solved.stepper, arrays
        scratch = (
            *(np.zeros(len(solved.model.coordinates)), solved.end.q.copy()),
            *(np.zeros(len(solved.data.fixed) + s.mechanism.nv), np.zeros((2, len(solved.model.rows)))),
            np.zeros((2, n, 6)),
        )
        there = contacts, np.arange(max(len(contacts), 1))[None]
        slots = np.zeros(1, np.int64)
        return weigh_projections(model, tuple(s.settings), data, kept[1], kept[0], there, scratch, s.dt, slots)
