"""What a solved step, or part of one, leaves: its ends, and what touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.records import CONTACT as CONTACT_RECORD
from leastaction.contact.records import records
from leastaction.minimal.lanes.arrays import Lane
from leastaction.minimal.lanes.compliance import GIVING
from leastaction.minimal.lanes.lane_records import CONTACT, DRY, LIMIT, LOOP, TURNING
from leastaction.minimal.lanes.turns import SPIN

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Solved:
    """A solved part of a step.

    Attributes:
        h, before: lengths of it and of the part before it [s]; 0 at the start of a run.
        whole: length of the steps that it may be a part of [s].
        q0, q1: configurations at its ends, shape (nq,).
        p: momentum at its start without impulses, shape (nv,).
        near, rates: mean velocities of the part before and of this one, shape (nv,).
        u: controls, shape (nu,).
        kick: what impulses do along the joints, shape (nv,).
        cones, contacts: `LANE_CONE` records of the m contacts that push, and `CONTACT` records of those among them that
            were looked for.
        lam: their impulses along normal and tangents [N s], shape (m, 3).
        slides: which of them slide, shape (m,).
        turning: which of them resist spinning or rolling, shape (m,); torques: their impulses about normal and tangents
            [N m s], shape (m, 3); spins, rolls: which of them spin and roll, shape (m,).
        soft, least: see `Touch`, shape (m,).
        share: part of the restitution that acts.
        stops: `LANE_CONE` records of limits that push and of dry friction, with impulses `push`, shape (stops,), and
            sides and gaps as of `Touch`.
        loops: impulses of the equations of loops and couplings, shape (equations,).
        mean, pressed: see `Told`.
        holds, turns_hold, stops_hold: which directions of contacts, along and about normal and tangents, and which
            stops hold where forces press, shapes (m, 3), (m, 3) and (stops,); equations always do.
    """

    h: float
    before: float
    whole: float
    q0: FloatArray
    q1: FloatArray
    p: FloatArray
    near: FloatArray
    rates: FloatArray
    u: FloatArray
    kick: FloatArray
    cones: Any
    contacts: Any
    lam: FloatArray
    slides: NDArray[np.bool_]
    turning: NDArray[np.bool_]
    torques: FloatArray
    spins: NDArray[np.bool_]
    rolls: NDArray[np.bool_]
    soft: FloatArray
    least: FloatArray
    share: float
    stops: Any
    push: FloatArray
    side: FloatArray
    stop_least: FloatArray
    loops: FloatArray
    mean: float
    pressed: bool
    holds: NDArray[np.bool_]
    turns_hold: NDArray[np.bool_]
    stops_hold: NDArray[np.bool_]

    @property
    def bounds(self) -> FloatArray:
        """Largest impulses of dry friction among the stops, zero for limits."""
        return np.where(self.stops.kind == DRY, 0.5 * (self.before + self.h) * self.stops.friction, 0.0)


def left_by(lane: Lane, own: Any, start: dict[str, Any]) -> Solved:
    """What the kernels have left of a step that was not divided.

    Args:
        lane: after it.
        own: `LANE_CONE` records that are always there.
        start: h, before, whole, q0, p, near and u of it.
    """
    touch, end, rates = lane.touch, np.array(lane.q0, float), np.array(lane.near, float)
    found = touch.found
    cones, count = own, len(own)
    if found is not None:
        count += int(found.now[0].count)
        cones = found.cones[:count]
    row, kind = np.asarray(cones.row), np.asarray(cones.kind)
    active, lam = touch.active[:count] != 0, touch.lam[row]
    pushing = np.flatnonzero(active & (kind == CONTACT) & (lam > 0.0))
    stopping = np.flatnonzero(active & (((kind == LIMIT) & (lam > 0.0)) | (kind == DRY)))
    at = row[pushing][:, None] + np.arange(3)
    hits, impulses = cones[pushing].copy(), touch.lam[at]
    contacts = records(0, CONTACT_RECORD)
    if found is not None:
        contacts = found.contacts[hits.found[hits.found >= 0]].copy()
    # Which of them slide is told as the solver does, by lam - w / k.
    k = np.maximum(touch.W[at[:, 1], at[:, 1]], touch.W[at[:, 2], at[:, 2]])[:, None]
    beyond = np.linalg.norm(impulses[:, 1:] - touch.w[at[:, 1:]] / k, axis=1)
    turning = hits.width == TURNING
    about = np.where(turning[:, None], at + SPIN, at)  # others have no torques
    torques, turns = np.where(turning[:, None], touch.lam[about], 0.0), touch.w[about]
    give = np.maximum(touch.W[about, about], GIVING * touch.W[at[:, :1], at[:, :1]])
    spun = np.abs(torques[:, 0] - turns[:, 0] / give[:, 0])
    rolled = np.linalg.norm(torques[:, 1:] - turns[:, 1:] / give[:, 1:].max(axis=1, keepdims=True), axis=1)
    return Solved(
        **start,
        q1=end,
        rates=rates,
        kick=touch.kick.copy(),
        cones=hits,
        contacts=contacts,
        lam=impulses,
        slides=beyond > (1.0 + 1e-9) * hits.friction * impulses[:, 0],
        turning=turning,
        torques=torques,
        spins=turning & (spun > (1.0 + 1e-9) * hits.spin * impulses[:, 0]),
        rolls=turning & (rolled > (1.0 + 1e-9) * hits.roll * impulses[:, 0]),
        soft=touch.soft[pushing],
        least=touch.least[pushing],
        share=float(touch.share[0]),
        stops=cones[stopping].copy(),
        push=lam[stopping],
        side=touch.side[stopping],
        stop_least=touch.least[stopping],
        loops=lam[kind == LOOP],
        mean=float(touch.told.mean[0]),
        pressed=bool(touch.told.pressed[0]),
        holds=touch.told.held[at] != 0,
        turns_hold=turning[:, None] & (touch.told.held[about] != 0),
        stops_hold=touch.told.held[row[stopping]] != 0,
    )
