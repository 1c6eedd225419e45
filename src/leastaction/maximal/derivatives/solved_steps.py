"""Solved steps of `Maximal`, with all that their derivatives take, and the states between them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.maximal.arrays import MaximalData, MaximalModel, contact_data, plain
from leastaction.maximal.derivatives.arrays import Colours, SolvedStep, StepOutputs
from leastaction.maximal.derivatives.clipping import clipped, drive_forces, frozen
from leastaction.maximal.derivatives.sensitivity_kernels import differentiate_step

FloatArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class BodyState:
    """State between two steps.

    Attributes:
        Z, P: poses (bodies, 7) and momenta (bodies, 6).
        q: joint positions, shape (nq,).
        near: coordinates of the model, which tell full turns.
        V: velocities (bodies, 6) of the step before: approach velocities, and the guess of the next step.
        fresh: whether a run starts here.
        goals: where prescribed motions are then, a row of `MaximalRecord.goals`.
        before: length of the step, or part of one, before it [s]; 0 where a run starts.
        slope: change of V per time, for the guess of a part of a step; None where that is V.
    """

    Z: FloatArray
    P: FloatArray
    q: FloatArray
    near: FloatArray
    V: FloatArray
    fresh: bool = False
    goals: FloatArray | None = None
    before: float = 0.0
    slope: FloatArray | None = None


@dataclass(frozen=True, eq=False)
class Solved:
    """One solved step, or part of a composed one.

    Attributes:
        stepper: holds the unknowns in its arrays, until it solves another step.
        start, end: states.
        V: velocities (bodies, 6) within the step.
        nodes: of the whole step's controls, which of them are those at both ends.
        u: controls there, shape (2, nu).
        model, data: what it was solved with; another plan has others.
        cones, contacts: the cones as they were solved (see `sensitivity_kernels.renew_cones` for `side`), and the
            contacts they belong to.
        impulses: of the rows.
        places: coordinate of each degree of freedom, and its number there, shape (nv, 2).
        goals: prescribed motions at both ends, as in `MaximalData.goals`.
        earlier: its solutions before this one, each with the contacts found so far, if any contact moves over both
            bodies: where it is then depends on the solution in which it was found.
        scale: load and energy of its contacts, see `CONTACT_STATE`.
    """

    stepper: Any
    start: BodyState
    V: FloatArray
    nodes: tuple[int, int]
    u: FloatArray
    model: MaximalModel
    data: MaximalData
    cones: Any
    contacts: Any
    impulses: FloatArray
    end: BodyState
    places: NDArray[np.int64]
    goals: FloatArray
    earlier: tuple[Solved, ...] = ()
    scale: tuple[float, float] = (1.0, 0.0)

    @property
    def count(self) -> int:
        """Number of cones."""
        return len(self.cones)

    @property
    def found(self) -> list[tuple[int, int, FloatArray]]:
        """Which contacts, from one number up to another, were found at which poses."""
        poses = [self.start.Z, *(solved.end.Z for solved in self.earlier)]
        begins = [0, *(len(solved.contacts) for solved in self.earlier), len(self.contacts)]
        return list(zip(begins[:-1], begins[1:], poses, strict=True))

    @property
    def hits(self) -> NDArray[np.bool_]:
        """Whether each contact closes so fast that restitution would act, see `detection.contact_cone`."""
        out, cones = np.zeros(len(self.contacts), bool), self.cones[self.cones.source >= 0]
        bodies, wrenches = pairs_of(cones)
        V = np.where(bodies[:, :, None] >= 0, self.start.V[bodies], 0.0)
        closing = -np.einsum("psi,psi->p", wrenches[:, :, 0], V)
        settings = self.stepper.settings
        out[cones.source[closing > settings.gravity * settings.dt]] = True
        return out

    @cached_property
    def _own(self) -> tuple[Any, ...]:
        """Plain tuples of model, settings and data, and arrays of contacts that only know how many cones there are."""
        contact = contact_data(0, 0, 0, 0, 0)
        contact.now.count = self.count
        return *plain((self.model, self.stepper.settings._replace(loops=None), self.data)), contact

    @cached_property
    def _clipped(self) -> NDArray[np.int64] | None:
        """How drives with force ranges are, see `clipping`; None without any."""
        tendons = self.model.forces.tendons
        if not (tendons.weakest.max(initial=-np.inf) > -np.inf or tendons.strongest.min(initial=np.inf) < np.inf):
            return None
        forces, half = np.zeros((2, len(tendons))), 0.5 * self.stepper.dt
        model, _, data, _ = self._own
        for state, u, time, out in ((self.start, self.u, half, forces[0]), (self.end, self.u[::-1], -half, forces[1])):
            at = (state.Z, state.P, self.V, state.near, state.q, np.ascontiguousarray(u))
            drive_forces(model, data, at, time, out)
        return clipped(tendons, forces)

    def outputs(
        self, colours: Colours, J: FloatArray, model: Any, contacts: Any, other: Any = None
    ) -> tuple[StepOutputs, Any]:
        """Run `differentiate_step` with the arrays of a model on the same graph; what it gives, and the cones.

        Args:
            model: `self.model`, or the plain tuple of another one.
            other: that of its data, which shares all that is set here.
        """
        n, nu = len(self.V), self.u.shape[1]
        own, settings, data, contact = self._own
        data = data if other is None else other
        model = own if model is self.model else model
        if self._clipped is not None:
            model = frozen(model, self._clipped)
        out = np.zeros(len(self.data.fixed) + 3 * self.count + 12 * n)
        most = max([2, *(2 * int(t.count) for t in self.model.forces.tendons)])
        bodies, columns = np.zeros((2, nu, most), np.int64), np.zeros((2, nu, most, 6))
        result = StepOutputs(out, J, bodies[0], columns[0], bodies[1], columns[1])
        at = (self.start.Z, self.start.P, self.V, self.start.near, self.start.q.copy(), self.u)
        self.data.rows.lam, self.data.bodies.x = self.impulses, self.start.V
        self.data.goals[:] = self.goals
        contact = contact._replace(cones=self.cones.copy(), contacts=contacts)
        problem = (model, settings, data, tuple(contact), tuple(SolvedStep(*at)), tuple(colours))
        differentiate_step(*problem, self.places, tuple(result))
        return result, contact.cones


def pairs_of(cones: Any) -> tuple[NDArray[np.int64], FloatArray]:
    """Bodies (cones, 2) and unit wrenches (cones, 2, 3, 6) of cones."""
    wrenches = np.stack([cones["da"], cones["db"]], axis=1).reshape(-1, 2, 3, 6)
    return np.stack([cones["a"], cones["b"]], axis=1), wrenches
