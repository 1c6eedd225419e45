"""Gradients by parameters from the stored data of the compiled backward pass, see `vjp.parameter_vjp`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit.bound import Bound
from leastaction.contact.laws.cones import CONE
from leastaction.contact.records import CONTACT
from leastaction.integration.integrators import FloatArray
from leastaction.maximal.arrays import contact_data, plain
from leastaction.maximal.derivatives.arrays import IMPACT, ImpactTape, ParameterTape
from leastaction.maximal.derivatives.parameter_gradients import Derivative, Variant
from leastaction.maximal.derivatives.renewed_contacts import Touching, renewed, touching
from leastaction.maximal.derivatives.substep_schedule import PartedSteps
from leastaction.maximal.derivatives.vjp.impact_vjp import weigh_impacts
from leastaction.maximal.derivatives.vjp.joint_point_vjp import weigh_points
from leastaction.maximal.derivatives.vjp.parameter_vjp import read_slots, read_state, weigh_projections, weigh_steps
from leastaction.maximal.kernel_variants import flag
from leastaction.maximal.maximal_records import records

ROOM = 64e6
"""Most bytes of stored steps; those for contacts are mostly not touched."""

LONGEST = 256
"""Most steps that are stored at once."""


class Slots(NamedTuple):
    """The filled slots, the last step first.

    Attributes:
        lengths: of their substeps [s].
        first, last: indices of the slots of first and of last substeps of steps.
    """

    lengths: FloatArray
    first: NDArray[np.int64]
    last: NDArray[np.int64]


class StepTape:
    """Storage for steps of a `MaximalStepper`, and their derivatives by parameters.

    Args:
        stepper: the one that solves the steps again.
        parted: substeps of all steps.
        derivatives: one per entry of the parameters; without any, nothing is stored.

    Attributes:
        slots: number of substeps that are stored at once.
    """

    def __init__(self, stepper: Any, parted: PartedSteps, derivatives: Sequence[Derivative]) -> None:
        self.stepper, self.parted, self.derivatives = stepper, parted, derivatives
        self.size, self.slots = (-1, -1), 0
        self.bound: dict[tuple[int, float, bool], Bound] = {}
        self.touching: Touching | None = None
        self.known: dict[int, dict[bytes, Any]] = {}

    def room(self) -> ParameterTape:
        """Arrays with a slot for each substep that is stored at once."""
        s, contact = self.stepper, self.stepper.contact
        size = (0, 0) if contact is None else (len(contact.cones), len(contact.contacts))
        if size != self.size:
            self.size, self.bound = size, {}
            n, m, nq, N = len(s.model.bodies), len(s.model.rows), s.mechanism.nq, len(s.data.fixed)
            bytes_each = 2 * size[0] * CONE.itemsize + size[1] * CONTACT.itemsize + 8 * (3 * N + 70 * n + 2 * nq + m)
            if self.derivatives:
                most = self.parted.most
                self.slots = int(np.clip(ROOM / bytes_each, most, LONGEST * most))
            slots = self.slots
            arrays: dict[str, Any] = {name: np.zeros((slots, n, 6)) for name in ParameterTape._fields}
            arrays |= {name: np.zeros(slots, np.int64) for name in ("step", "count", "end_count")}
            arrays |= {name: np.zeros((slots, N)) for name in ("y", "twists", "by_projection")}
            arrays |= {name: np.zeros((slots, n, 7)) for name in ("poses", "end_poses")}
            arrays |= {name: np.zeros((slots, nq)) for name in ("q", "end_q")}
            arrays["impulses"] = np.zeros((slots, m))
            arrays["goals"] = np.zeros((slots, *s.data.goals.shape))
            for name in ("cones", "end_cones"):
                arrays[name] = np.zeros((slots, size[0]), CONE).view(np.recarray)
            arrays["contacts"] = np.zeros((slots, size[1]), CONTACT).view(np.recarray)
            self.kept = ParameterTape(**arrays)
            self.every = self.kept.contacts.reshape(-1), np.arange(slots * size[1]).reshape(slots, size[1])
            self._scratch(n, m, nq, N)
            most = 2 * slots if contact is not None else 0
            sizes = ((n, 7), (n, 6), (n, 6), (nq,), s.data.goals.shape[1:], (n, 6))
            states = (np.zeros((most, *shape)) for shape in sizes)
            self.impacts = ImpactTape(np.zeros(1, np.int64), records(most, IMPACT), *states)
        self.impacts.count[0] = 0
        return self.kept

    def _scratch(self, n: int, m: int, nq: int, N: int) -> None:
        s = self.stepper
        near, q = np.zeros(len(s.model.coordinates)), np.zeros(nq)
        self.contact = contact_data(np.zeros(0, np.int64), 0, 0, 0, 0, 0, s.near.turning)._replace(
            cones=records(self.size[0], CONE), contacts=records(self.size[1], CONTACT)
        )
        self.scratch = near, q, np.zeros(N + 3 * self.size[0] + 12 * n)
        self.projected = near, q, np.zeros(N + s.mechanism.nv), np.zeros((2, m)), np.zeros((2, n, 6))
        self.read = np.zeros((self.slots, nq)), np.zeros((self.slots, s.mechanism.nv))

    def add(self, out: FloatArray, u: FloatArray, last: int, left: int, bq: FloatArray, bp: FloatArray) -> None:
        """Add the contributions of the steps left + 1 ... last to the gradients by all entries, shape (entries,).

        Args:
            u: controls at the nodes of all steps.
            bq, bp: gradients by positions and momenta of the rows where they are computed, zero for others.
        """
        if last == left or not self.derivatives:
            return
        steps, parts = np.arange(last, left, -1), self.parted.newest_first(left + 1, last)
        lengths, nodes, of = self.parted.lengths[parts], self.parted.nodes[parts], self.kept.step[: len(parts)]
        slots = Slots(lengths, np.flatnonzero(of >= 0), np.flatnonzero(np.append(of[1:], last) >= 0))
        loose = nodes + 1 if self.stepper.halves < 1.0 else nodes
        step = np.repeat(steps, np.diff(np.append(slots.first, len(parts))))
        ends = np.ascontiguousarray(np.stack([u[step, nodes], u[step, loose]], axis=1))
        sums: dict[int, float] = {}
        self.touching = None
        of_points = any(derivative.of_points for derivative in self.derivatives)
        inertial, points = self._inertial(slots), self._points(slots, bp) if of_points else ()
        for k, derivative in enumerate(self.derivatives):
            if derivative.inertial or derivative.of_points:
                for weight, variant in derivative:
                    out[k] += weight * _product(inertial, variant.inertias)
                    if not derivative.inertial:
                        out[k] += weight * _product(points, variant.points)
                continue
            for weight, variant in derivative:
                key = id(variant.model)  # the original robot is part of many derivatives
                if variant.rubs or key not in sums:
                    sums[key] = self._sum(variant, key, ends, slots)
                out[k] += weight * sums[key]
            if derivative.moved and (bq[steps].any() or bp[steps].any()):
                out[k] += self._reads(derivative, slots, bq[steps], bp[steps])

    def add_impacts(self, out: FloatArray, left: int) -> None:
        """Add the contributions of impacts in the steps after `left`, by differences of impacts."""
        s, kept = self.stepper, self.impacts
        if not kept.count[0]:
            return
        nq, m = s.mechanism.nq, len(s.model.coordinates)
        scratch = np.zeros(m), np.zeros(nq), np.zeros(self.size[0], np.int64), np.zeros(self.size[0])
        settings, own = tuple(s.settings._replace(loops=flag(False, s.whole))), plain(s.near)
        for k, derivative in enumerate(self.derivatives):
            for weight, variant in derivative.central:
                near = own
                if variant.rubs:
                    order = np.argsort(variant.pairs.key)
                    at = order[np.searchsorted(variant.pairs.key[order], s.near.pairs.key)]
                    near = plain(
                        s.near._replace(shapes=variant.table.shapes, table=variant.table.data, pairs=variant.pairs[at])
                    )
                arrays = variant.arrays(s.arrays.graph), settings, variant.scratch(s.data)
                out[k] += weight * weigh_impacts(*arrays, near, own, plain(s.contact), tuple(kept), scratch, left)

    def add_read(self, out: FloatArray, at: tuple[FloatArray, ...], bq: FloatArray, bp: FloatArray) -> None:
        """Add the contribution of q and p, with gradients bq and bp, at poses, momenta and positions `at`."""
        for k, derivative in enumerate(self.derivatives):
            if derivative.moved and (bq.any() or bp.any()):
                dq, dp = self._read(derivative, *at)
                out[k] += bq @ dq + bp @ dp

    def add_start(self, out: FloatArray, at: tuple[FloatArray, ...], bars: FloatArray, start: FloatArray) -> None:
        """Add the contribution of the start of a run.

        Args:
            at: its poses, momenta and joint positions.
            bars: gradients, of which those by its poses at constant p are used, shape (3, bodies, 6).
            start: gradients by its q and p, shape (2, nv).
        """
        for k, derivative in enumerate(self.derivatives):
            out[k] += np.vdot(bars[0], derivative.placed(at[2], at[0]))
            if derivative.moved:
                out[k] -= start[1] @ self._read(derivative, *at)[1]

    def _read(self, derivative: Derivative, Z: Any, P: Any, q: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Derivatives of joint positions and momenta at fixed poses and momenta of bodies."""
        s, m = self.stepper, self.stepper.mechanism
        dq, dp, near = np.zeros(m.nv), np.zeros(m.nv), self.scratch[0]
        for weight, variant in derivative:
            found, p = q.copy(), np.zeros(m.nv)
            read_state(variant.arrays(s.arrays.graph), plain(s.data), (Z, P, near), found, p, s.dt)
            dq, dp = dq + weight * m.difference(q, found), dp + weight * p
        return dq, dp

    def _points(self, slots: Slots, bp: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients of the weighted sum, and of p with gradients bp, by the points of joints, see `Variant.points`."""
        s = self.stepper
        by_rows, by_coordinates = np.zeros((len(s.model.rows), 2, 3)), np.zeros((len(s.model.coordinates), 2, 3))
        tables = s.model.bodies, s.model.rows, s.model.coordinates, s.ldu.rows
        scratch = np.zeros((len(s.model.bodies), 3)), by_rows, by_coordinates
        weigh_points(tables, tuple(self.kept), np.ascontiguousarray(bp), scratch, slots.lengths)
        return by_rows, by_coordinates

    def _inertial(self, slots: Slots) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradients of the weighted sum by masses (bodies,), inertias (bodies, 3, 3) and gravity (3,).

        They enter the momenta at both ends of a step (`bodies.momenta`), gravity's impulses there, and the projection
        of momenta on closed loops, linearly.
        """
        s, kept, halves, dt = self.stepper, self.kept, self.stepper.halves, slots.lengths[:, None, None]
        mass, g, n = s.model.bodies.mass, s.mechanism.tree.gravity, len(s.model.bodies)
        first = s.ldu.rows[:n, None] + np.arange(6)
        own = slice(0, len(dt))
        y, ended, V, h = kept.y[own][:, first], kept.ended[own], kept.velocities[own], 0.5 * dt
        w, v = V[..., :3], V[..., 3:]
        c = np.sqrt(np.maximum(1.0 - h * h * (w * w).sum(axis=-1, keepdims=True), 0.0))
        left, right = (
            c * y[..., :3] + h * np.cross(y[..., :3], w),
            c * ended[..., :3] - h * np.cross(ended[..., :3], w),
        )
        by_inertia = np.einsum("kni,knj->nij", right - left, w)
        fall = halves * dt * y[..., 3:] + (1.0 - halves) * dt * ended[..., 3:]
        by_mass = ((ended[..., 3:] - y[..., 3:]) * v).sum(axis=(0, 2)) + (fall @ g).sum(axis=0)
        by_gravity = np.einsum("n,kni->i", mass, fall)
        T, y = kept.twists[own][:, first], kept.by_projection[own][:, first]
        by_mass -= (y[..., 3:] * T[..., 3:]).sum(axis=(0, 2))
        by_inertia -= np.einsum("kni,knj->nij", y[..., :3], T[..., :3])
        return by_mass, by_inertia, by_gravity

    def _sum(self, variant: Variant, key: int, u: FloatArray, slots: Slots) -> float:
        """Weighted sum of all residuals of the stored steps with a variant of the model."""
        total, kept, there = 0.0, tuple(self.kept), self._touching(variant, slots)
        held = np.abs(self.kept.by_held[: len(slots.lengths)]).max(axis=(1, 2), initial=0.0) > 0.0
        for h in np.unique(slots.lengths).tolist():
            own = np.flatnonzero(slots.lengths == h)
            total += self._weighing(variant, key, h, True)(kept, there, (*self.scratch, u), own)
            own = np.flatnonzero((slots.lengths == h) & held)
            if len(own):
                total += self._weighing(variant, key, h, False)(kept, there, self.projected, h, own)
        return total

    def _weighing(self, variant: Variant, key: int, h: float, first: bool) -> Bound:
        """`weigh_steps` of the `first` phase of substeps of length h, else `weigh_projections`, of a variant."""
        if (key, h, first) not in self.bound:
            s = self.stepper
            model, data = variant.arrays(s.arrays.graph), variant.scratch(s.data)
            settings = tuple(s.settings._replace(loops=flag(False, s.whole), dt=h))
            entry = weigh_steps if first else weigh_projections
            self.bound[key, h, first] = Bound(entry, model, settings, data, tuple(self.contact))
        return self.bound[key, h, first]

    def _touching(self, variant: Variant, slots: Slots) -> tuple[Any, Any]:
        """Distinct contacts with a variant's shapes and coefficients; and the index of each contact of the slots."""
        if not variant.rubs or not self.kept.contacts.size:
            return self.every
        if self.touching is None:
            n, dt, kept = len(slots.lengths), slots.lengths, self.kept
            poses, V = kept.poses[:n], kept.velocities[:n]
            ends, speeds = (poses, moved_poses(poses, V, dt)), np.abs(V).max(axis=(1, 2), initial=0.0)
            own = kept.contacts[:n], kept.cones[:n], kept.count[:n]
            self.touching = touching(self.stepper.table, *own, ends, speeds, dt)
        at = self.touching
        if variant.fresh:
            self._refuse_fresh(variant, len(slots.lengths))
        if variant.same_places:
            return variant.rubbing(at.contacts), at.which
        found = renewed(variant.table, variant.pairs, at, self.known.setdefault(id(variant), {}))
        found.sticks = at.contacts.sticks
        return variant.rubbing(found), at.which

    def _refuse_fresh(self, variant: Variant, n: int) -> None:
        """See `Variant.refuse_fresh`; n: number of filled slots."""
        kept, settings = self.kept, self.stepper.settings
        for slot in range(n):
            cones = kept.cones[slot][: kept.count[slot]]
            cones, contacts = cones[cones.source >= 0], kept.contacts[slot]
            before = np.concatenate([kept.before[slot], np.zeros((1, 6))])  # last row: the world
            closing = -(cones.da[:, :6] * before[cones.a] + cones.db[:, :6] * before[cones.b]).sum(axis=1)
            variant.refuse_fresh(contacts[cones.source], closing > settings.gravity * settings.dt)

    def _reads(self, derivative: Derivative, slots: Slots, bq: FloatArray, bp: FloatArray) -> float:
        """Contribution of q and p at the starts of the stored steps, with gradients bq and bp, newest first."""
        s, total, first = self.stepper, 0.0, slots.first
        kept, (q, p) = tuple(self.kept), self.read
        for weight, variant in derivative:
            arrays = variant.arrays(s.arrays.graph), plain(s.data), kept
            read_slots(*arrays, (self.scratch[0], q, p), s.dt, first)
            moved = s.mechanism.difference(self.kept.q[first], q[first])
            total += weight * float((bq * moved).sum() + (bp * p[first]).sum())
        return total


def moved_poses(Z: FloatArray, V: FloatArray, dt: FloatArray) -> FloatArray:
    """Poses (steps, bodies, 7) after steps of dt (steps,) with velocities V (steps, bodies, 6), see `bodies.move`."""
    h = 0.5 * dt[:, None, None]
    u = h * V[..., :3]
    s, w, v = np.sqrt(np.maximum(1.0 - (u * u).sum(axis=-1, keepdims=True), 0.0)), Z[..., 3:4], Z[..., 4:]
    turned = s * w - (u * v).sum(axis=-1, keepdims=True), s * v + w * u + np.cross(v, u)
    return np.concatenate([Z[..., :3] + 2.0 * h * V[..., 3:], *turned], axis=-1)


def _product(gradients: Sequence[FloatArray], values: Sequence[FloatArray]) -> float:
    """Sum of the products of all entries."""
    return sum(float(np.vdot(a, b)) for a, b in zip(gradients, values, strict=True))
