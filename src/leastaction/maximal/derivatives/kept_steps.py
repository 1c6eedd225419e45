"""Gradients by parameters from what the compiled way back has kept of its steps, see `weighing`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from leastaction._jit.bound import Bound
from leastaction.contact.cones import CONE
from leastaction.contact.records import CONTACT
from leastaction.integrators import FloatArray
from leastaction.maximal.arrays import contact_data, plain
from leastaction.maximal.derivatives.arrays import Kept
from leastaction.maximal.derivatives.parameters import Derivative, Variant
from leastaction.maximal.derivatives.point_weights import weigh_points
from leastaction.maximal.derivatives.weighing import read_slots, weigh_projections, weigh_steps
from leastaction.maximal.records import records

ROOM = 16e6
"""Bytes that kept steps may take."""

LONGEST = 256
"""Most steps that are kept at once."""


class KeptSteps:
    """Room for kept steps of a `MaximalStepper`, and what parameters change in them.

    Args:
        stepper: that solves the steps again.
        lengths: of the parts of a step [s].
        derivatives: by entries of parameters; without any, nothing is kept.
    """

    def __init__(self, stepper: Any, lengths: Sequence[float], derivatives: Sequence[Derivative]) -> None:
        self.stepper, self.lengths, self.derivatives = stepper, lengths, derivatives
        self.size, self.steps = (-1, -1), 0
        self.bound: dict[int, tuple[Bound, ...]] = {}

    def room(self) -> Kept:
        """Arrays for as many steps as are kept at once."""
        s, contact = self.stepper, self.stepper.contact
        size = (0, 0) if contact is None else (len(contact.cones), len(contact.contacts))
        if size != self.size:
            self.size, self.bound = size, {}
            n, m, nq, N = len(s.model.bodies), len(s.model.rows), s.mechanism.nq, len(s.data.fixed)
            bytes_each = size[0] * CONE.itemsize + size[1] * CONTACT.itemsize + 8 * (3 * N + 70 * n + 2 * nq + m)
            self.steps = 0
            if self.derivatives:
                self.steps = int(np.clip(ROOM / (bytes_each * len(self.lengths)), 1, LONGEST))
            slots = self.steps * len(self.lengths)
            arrays: dict[str, Any] = {name: np.zeros((slots, n, 6)) for name in Kept._fields}
            arrays |= {name: np.zeros(slots, np.int64) for name in ("step", "count")}
            arrays |= {name: np.zeros((slots, N)) for name in ("y", "twists", "by_projection")}
            arrays |= {name: np.zeros((slots, n, 7)) for name in ("poses", "end_poses")}
            arrays |= {name: np.zeros((slots, nq)) for name in ("q", "end_q")}
            arrays["impulses"] = np.zeros((slots, m))
            arrays["goals"] = np.zeros((slots, *s.data.goals.shape))
            arrays["cones"] = np.zeros((slots, size[0]), CONE).view(np.recarray)
            arrays["contacts"] = np.zeros((slots, size[1]), CONTACT).view(np.recarray)
            self.kept = Kept(**arrays)
            self._scratch(n, m, nq, N)
        return self.kept

    def _scratch(self, n: int, m: int, nq: int, N: int) -> None:
        s = self.stepper
        near, q = np.zeros(len(s.model.coordinates)), np.zeros(nq)
        self.contact = contact_data(0, 0, 0, 0, 0)._replace(
            cones=records(self.size[0], CONE), contacts=records(self.size[1], CONTACT)
        )
        self.scratch = near, q, np.zeros(N + 3 * self.size[0] + 12 * n)
        self.projected = near, q, np.zeros(N + s.mechanism.nv), np.zeros((2, m)), np.zeros((2, n, 6))
        slots = self.steps * len(self.lengths)
        self.read = np.zeros((slots, nq)), np.zeros((slots, s.mechanism.nv))

    def add(self, out: FloatArray, u: FloatArray, last: int, left: int, bq: FloatArray, bp: FloatArray) -> None:
        """Add to the gradients by all entries, shape (entries,), what the steps left + 1 ... last say.

        Args:
            u: controls at the nodes of all steps.
            bq, bp: gradients by positions and momenta of the rows where they are read, zero for others.
        """
        steps, parts = last - left, len(self.lengths)
        if steps == 0 or not self.derivatives:
            return
        nodes = np.arange(parts)
        loose = nodes + 1 if self.stepper.halves < 1.0 else nodes
        own = u[left + 1 : last + 1][::-1]
        ends = np.ascontiguousarray(np.stack([own[:, nodes], own[:, loose]], axis=2).reshape(-1, 2, u.shape[2]))
        rows = np.arange(last, left, -1)
        sums: dict[int, float] = {}
        slots, of_points = steps * parts, any(derivative.of_points for derivative in self.derivatives)
        inertial, points = self._inertial(slots), self._points(slots, bp[rows]) if of_points else ()
        for k, derivative in enumerate(self.derivatives):
            if derivative.inertial or derivative.of_points:
                for weight, variant in derivative:
                    out[k] += weight * _product(inertial, variant.inertias)
                    if not derivative.inertial:
                        out[k] += weight * _product(points, variant.points)
                continue
            for weight, variant in derivative:
                key = id(variant.model)  # the robot as it is belongs to many derivatives
                if variant.rubs or key not in sums:
                    sums[key] = self._sum(variant, key, ends, slots)
                out[k] += weight * sums[key]
            if derivative.moved and (bq[rows].any() or bp[rows].any()):
                out[k] += self._reads(derivative, slots, bq[rows], bp[rows])

    def _points(self, slots: int, bp: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Gradients of the weighed sum, and of p with gradients bp, by the points of joints, see `Variant.points`."""
        s, parts = self.stepper, len(self.lengths)
        by_rows, by_coordinates = np.zeros((len(s.model.rows), 2, 3)), np.zeros((len(s.model.coordinates), 2, 3))
        tables = s.model.bodies, s.model.rows, s.model.coordinates, s.ldu.rows
        scratch = np.zeros((len(s.model.bodies), 3)), by_rows, by_coordinates
        for j, dt in enumerate(self.lengths):
            weigh_points(tables, tuple(self.kept), np.ascontiguousarray(bp), scratch, dt, j, slots, parts)
        return by_rows, by_coordinates

    def _inertial(self, slots: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Gradients of the weighed sum by masses (bodies,), inertias (bodies, 3, 3) and gravity (3,).

        They stand in the momenta at both ends of a step (`bodies.momenta`), in what gravity gives there, and in the
        projection of momenta on closed loops, linearly.
        """
        s, kept, parts, halves = self.stepper, self.kept, len(self.lengths), self.stepper.halves
        mass, g, n = s.model.bodies.mass, s.mechanism.tree.gravity, len(s.model.bodies)
        first = s.ldu.rows[:n, None] + np.arange(6)
        by_mass, by_inertia, by_gravity = np.zeros(n), np.zeros((n, 3, 3)), np.zeros(3)
        for j, dt in enumerate(self.lengths):
            own = slice(j, slots, parts)
            y, ended, V, h = kept.y[own][:, first], kept.ended[own], kept.velocities[own], 0.5 * dt
            w, v = V[..., :3], V[..., 3:]
            c = np.sqrt(np.maximum(1.0 - h * h * (w * w).sum(axis=-1, keepdims=True), 0.0))
            left, right = (
                c * y[..., :3] + h * np.cross(y[..., :3], w),
                c * ended[..., :3] - h * np.cross(ended[..., :3], w),
            )
            by_inertia += np.einsum("kni,knj->nij", right - left, w)
            fall = halves * dt * y[..., 3:] + (1.0 - halves) * dt * ended[..., 3:]
            by_mass += ((ended[..., 3:] - y[..., 3:]) * v).sum(axis=(0, 2)) + (fall @ g).sum(axis=0)
            by_gravity += np.einsum("n,kni->i", mass, fall)
        if s.loops:
            own = slice(parts - 1, slots, parts)
            T, y = kept.twists[own][:, first], kept.by_projection[own][:, first]
            by_mass -= (y[..., 3:] * T[..., 3:]).sum(axis=(0, 2))
            by_inertia -= np.einsum("kni,knj->nij", y[..., :3], T[..., :3])
        return by_mass, by_inertia, by_gravity

    def _sum(self, variant: Variant, key: int, u: FloatArray, slots: int) -> float:
        """Weighed sum of what all equations of the kept steps are with a variant of the model."""
        total, parts, s = 0.0, len(self.lengths), self.stepper
        if key not in self.bound:
            model, data = variant.arrays(s.arrays.graph), variant.scratch(s.data)
            settings = s.settings._replace(loops=None)
            touching = tuple(self.contact)
            self.bound[key] = (
                *(Bound(weigh_steps, model, tuple(settings._replace(dt=h)), data, touching) for h in self.lengths),
                Bound(weigh_projections, model, data),
            )
        kept = tuple(self._touching(variant))
        for j in range(parts):
            total += self.bound[key][j](kept, (*self.scratch, u), j, slots, parts)
        if s.loops:
            total += self.bound[key][parts](kept, self.projected, self.lengths[-1], parts - 1, slots, parts)
        return total

    def _touching(self, variant: Variant) -> Kept:
        """The kept steps with the coefficients of friction and restitution of a variant."""
        if not variant.rubs:
            return self.kept
        return self.kept._replace(contacts=variant.rubbing(self.kept.contacts))

    def _reads(self, derivative: Derivative, slots: int, bq: FloatArray, bp: FloatArray) -> float:
        """What follows for q and p at the starts of the kept steps, with gradients bq and bp, newest first."""
        s, parts, total = self.stepper, len(self.lengths), 0.0
        kept, (q, p) = tuple(self.kept), self.read
        for weight, variant in derivative:
            arrays = variant.arrays(s.arrays.graph), plain(s.data), kept
            read_slots(*arrays, (self.scratch[0], q, p), s.dt, 0, slots, parts)
            moved = s.mechanism.difference(self.kept.q[:slots:parts], q[:slots:parts])
            total += weight * float((bq * moved).sum() + (bp * p[:slots:parts]).sum())
        return total


def _product(gradients: Sequence[FloatArray], values: Sequence[FloatArray]) -> float:
    """Sum of the products of all entries."""
    return sum(float(np.vdot(a, b)) for a, b in zip(gradients, values, strict=True))
