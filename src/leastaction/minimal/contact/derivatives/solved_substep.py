"""What a solved step, or part of one, leaves: its ends, and what touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.records import CONTACT as CONTACT_RECORD
from leastaction.contact.records import records
from leastaction.minimal.contact.arrays import RobotData
from leastaction.minimal.contact.compliance import GIVING
from leastaction.minimal.contact.robot_records import CONTACT, DRY, LIMIT, LOOP, TURNING
from leastaction.minimal.contact.torsional_rolling import SPIN

FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Solved:
    """A solved part of a step.

    Attributes:
        h, before: lengths of it and of the part before it [s]; 0 at the start of a run.
        whole: length of the steps that it may be a part of [s].
        q0, q1: configurations at its ends, shape (nq,).
        p: momentum at its start, shape (nv,).
        v0, rates: velocities at its start and mean velocities of it, shape (nv,).
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
        closed: contacts that take part in the momentum phase, shape (m,). Of these, with `_end`, what they do there:
            `pushes_end`, and as above.
        stops_stick: stops whose joints do not move at the end, shape (stops,).
    """

    h: float
    before: float
    whole: float
    q0: FloatArray
    q1: FloatArray
    p: FloatArray
    v0: FloatArray
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
    closed: NDArray[np.bool_]
    pushes_end: NDArray[np.bool_]
    lam_end: FloatArray
    slides_end: NDArray[np.bool_]
    torques_end: FloatArray
    spins_end: NDArray[np.bool_]
    rolls_end: NDArray[np.bool_]
    soft_end: FloatArray
    push_end: FloatArray
    stops_stick: NDArray[np.bool_]
    loops_end: FloatArray

    @property
    def bounds(self) -> FloatArray:
        """Largest impulses of dry friction among the stops, zero for limits."""
        return np.where(self.stops.kind == DRY, 0.5 * self.h * self.stops.friction, 0.0)


def left_by(data: RobotData, own: Any, start: dict[str, Any]) -> Solved:
    """What the kernels have left of a step that was not divided.

    Args:
        data: after it.
        own: `LANE_CONE` records that are always there.
        start: h, before, whole, q0, p, v0 and u of it.
    """
    touch, q1, rates = data.touch, np.array(data.q0, float), np.array(data.near, float)
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
    turning = hits.width == TURNING
    about = np.where(turning[:, None], at + SPIN, at)  # others have no torques
    phase = touch.phase
    first = _modes(hits, at, about, touch.lam, phase.w, phase.give)
    total, closed = phase.total, touch.least[pushing] <= 0.0
    last = _modes(hits, at, about, total, touch.w, np.diag(touch.W))
    stops, end = cones[stopping].copy(), total[row[stopping]]
    bound = start["h"] * stops.friction
    return Solved(
        **start,
        q1=q1,
        rates=rates,
        kick=touch.kick.copy(),
        cones=hits,
        contacts=contacts,
        lam=impulses,
        slides=first[0],
        turning=turning,
        torques=np.where(turning[:, None], touch.lam[about], 0.0),
        spins=turning & first[1],
        rolls=turning & first[2],
        soft=phase.soft[pushing],
        least=touch.least[pushing],
        share=float(touch.share[0]),
        stops=stops,
        push=lam[stopping],
        side=touch.side[stopping],
        stop_least=touch.least[stopping],
        loops=lam[kind == LOOP],
        closed=closed,
        pushes_end=closed & (total[at[:, 0]] > 0.0),
        lam_end=total[at],
        slides_end=last[0],
        torques_end=np.where(turning[:, None], total[about], 0.0),
        spins_end=turning & last[1],
        rolls_end=turning & last[2],
        soft_end=touch.soft[pushing],
        push_end=end,
        stops_stick=np.where(stops.kind == DRY, np.abs(end) < bound, end > 0.0),
        loops_end=total[row[kind == LOOP]],
    )


def _modes(hits: Any, at: Any, about: Any, lam: FloatArray, w: FloatArray, give: FloatArray) -> tuple[Any, Any, Any]:
    """Which contacts slide, spin and roll, by lam - w / k, as the solver has it.

    Args:
        hits: `LANE_CONE` records.
        at, about: where their impulses along and about normal and tangents are in the others, shape (m, 3).
        lam, w, give: impulses, motions, and how far each is moved by its own.
    """
    push, k = lam[at[:, 0]], give[at[:, 1:]].max(axis=1, initial=0.0, keepdims=True)
    beyond = np.linalg.norm(lam[at[:, 1:]] - w[at[:, 1:]] / np.where(k > 0.0, k, 1.0), axis=1)
    least = np.maximum(give[about], GIVING * give[at[:, :1]])
    least = np.where(least > 0.0, least, 1.0)
    spun = np.abs(lam[about[:, 0]] - w[about[:, 0]] / least[:, 0])
    rolled = np.linalg.norm(lam[about[:, 1:]] - w[about[:, 1:]] / least[:, 1:].max(axis=1, keepdims=True), axis=1)
    more = (1.0 + 1e-9) * push
    return beyond > hits.friction * more, spun > hits.spin * more, rolled > hits.roll * more
