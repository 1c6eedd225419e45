"""Energy balance of the steps of `BDF` and `SDIRK2`: they damp, so one that gains energy has left the motion."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import routine
from leastaction._tuples import plain
from leastaction.dynamics.legendre import quantities_rows
from leastaction.dynamics.workspace import Workspace
from leastaction.kinematics.reduced.native import to_public
from leastaction.mechanism import Mechanism, MechanismBuilder
from leastaction.step_control.energy_balance import SHARE, is_balanced
from leastaction.typing import FloatArray


class Energies(NamedTuple):
    """Scratch for the energies of one state; see `dynamics.legendre.quantities_rows`.

    Attributes:
        space: scratch of the recursions.
        r, rd: reduced coordinates and rates, shape (1, nr); without rows where steps are not judged.
        charts: of the balls, shape (1, balls).
        q, v: of the mechanism, shapes (1, nq) and (1, nv).
        kinetic, potential: of the state [J], shape (1,).
        momentum: shape (1, 6).
        before: kinetic and potential energy of the state before, shape (2,).
        noise: share of the energy that is round-off, shape (1,).
    """

    space: Any
    r: FloatArray
    rd: FloatArray
    charts: NDArray[np.int64]
    q: FloatArray
    v: FloatArray
    kinetic: FloatArray
    potential: FloatArray
    momentum: FloatArray
    before: FloatArray
    noise: FloatArray


def energies_of(stepper: Any, single: bool = False) -> tuple[Any, Energies]:
    """What the balance of a stepper's steps reads and writes; without rows where energy may come from anywhere.

    `single`: whether numbers have 32 bits.
    """
    m, c = stepper.mechanism if stepper.passive else _resting(), stepper.reduced.coordinates
    w = Workspace(m)
    t, balls = w.tree, c.model.balls
    model = (plain(w.forces), t.gravity, t.closure.rows, t.closure.count)
    sizes = (c.nr, c.nr, m.nq, m.nv)
    r, rd, q, v = (np.zeros((1 if stepper.passive else 0, n)) for n in sizes)
    own = (r, rd, np.zeros((1, len(balls)), np.int64), q, v, np.zeros(1), np.zeros(1), np.zeros((1, 6)), np.zeros(2))
    own += (np.array([1e-5 if single else 1e-9]),)
    return (model, balls, c.model.index_q, c.model.index_v), Energies((plain(w.modes), w.links, w.screws, w.tau), *own)


@cache
def _resting() -> Mechanism:
    """One body on a hinge: gives steps that are not judged arrays of the same types, also where a joint is a spline."""
    builder = MechanismBuilder("resting")
    builder.body("link", mass=1.0, inertia=1.0)
    builder.revolute("joint", "world", "link")
    return builder.build()


@routine
def named_energies(energies):
    """`Energies` of a plain tuple, or None."""
    if energies is None:
        return None
    return Energies(*energies)


@routine
def _look(reads, energies, R, RD, charts):
    """Energies of a state, in `kinetic` and `potential`."""
    model, balls, index_q, index_v = reads
    for k in range(R.shape[0]):
        energies.r[0, k], energies.rd[0, k] = R[k], RD[k]
    for k in range(charts.shape[0]):
        energies.charts[0, k] = charts[k]
    to_public(balls, index_q, index_v, energies.r, energies.rd, energies.charts, energies.q, energies.v)
    out = (energies.kinetic, energies.potential, energies.momentum)
    quantities_rows(model, energies.space, energies.q, energies.v, out)


@routine
def begin_balance(reads, energies, R, RD, charts):
    """Energies of the state that the next step starts from."""
    if energies is not None and energies.r.shape[0] > 0:
        _look(reads, energies, R, RD, charts)
        energies.before[0], energies.before[1] = energies.kinetic[0], energies.potential[0]


@routine
def keeps_balance(reads, energies, R, RD, charts, u):
    """Whether a step ends in a state whose energy is not too large; without controls, whose work is not known.

    If so, it is the state that the next step starts from.
    """
    if energies is None or energies.r.shape[0] == 0:
        return True
    _look(reads, energies, R, RD, charts)
    kinetic, potential, before = energies.kinetic[0], energies.potential[0], energies.before
    driven = False
    for c in range(u.shape[0]):
        driven = driven or u[c] != 0.0
    noise = energies.noise[0] * (kinetic + abs(potential)) + 1e-12
    most = SHARE * (kinetic + before[0] + abs(potential - before[1])) + noise
    if not (driven or is_balanced(kinetic + potential - before[0] - before[1], most, False)):
        return False
    before[0], before[1] = kinetic, potential
    return True
