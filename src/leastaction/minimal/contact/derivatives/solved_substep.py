"""A solved step or substep: its ends and its active contacts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.laws.restitution import NEAREST
from leastaction.contact.records import CONTACT as CONTACT_RECORD
from leastaction.contact.records import records
from leastaction.contact.solver.cone_kinds import CONTACT, DRY, LIMIT, LOOP, TURNING
from leastaction.contact.solver.cone_response import GIVING
from leastaction.contact.solver.torque_laws import SPIN
from leastaction.minimal.contact.arrays import RobotData, is_prescribed
from leastaction.minimal.contact.robot_records import ROBOT_CONE
from leastaction.typing import FloatArray

AT_IMPACT = 1e3 * NEAREST
"""Largest gap [m] at which the end of a substep counts as an impact."""


NO_CONES, NO_CONTACTS = records(0, ROBOT_CONE), records(0, CONTACT_RECORD)


@dataclass(frozen=True)
class Solved:
    """A solved substep.

    Attributes:
        h: its length [s].
        whole: length of the steps that contain it [s].
        q0, q1: configurations at its ends, shape (nq,).
        p: momentum at its start, shape (nv,).
        v0, rates: velocities at its start and its mean velocities, shape (nv,).
        u: controls, shape (nu,).
        kick: generalised constraint impulses, shape (nv,).
        cones, contacts: `ROBOT_CONE` records of the m loaded contacts, and `CONTACT` records of the detected ones among
            them.
        lam: their impulses along normal and tangents [N s], shape (m, 3).
        slides: which of them slide, shape (m,).
        turning: which of them have torsional or rolling friction, shape (m,); torques: their impulses about normal and
            tangents [N m s], shape (m, 3); spins, rolls: which of them spin and roll, shape (m,).
        soft, least: see `Touch`, shape (m,).
        stops: `ROBOT_CONE` records of loaded limits and of dry friction, with impulses `push`, shape (stops,), and
            sides and gaps as of `Touch`.
        stops_slip: which of them is dry friction that slips, shape (stops,).
        drive: for prescribed motions among stops: rate in the substep, end velocity in the limit of zero length, and
            derivative of that by the length, shape (stops, 3).
        loops: impulses of loops and couplings, shape (equations,).
        pushes_end: whether contacts are loaded in the momentum phase, shape (m,); `_end`: other modes there.
        closing, closing_contacts: as `cones` and `contacts`, of the contact whose impact ends the substep, if any.
        stops_stick: stops whose joints are at rest at the end, shape (stops,).
    """

    h: float
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
    stops: Any
    push: FloatArray
    side: FloatArray
    stop_least: FloatArray
    stops_slip: NDArray[np.bool_]
    drive: FloatArray
    loops: FloatArray
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
    closing: Any
    closing_contacts: Any

    @property
    def bounds(self) -> FloatArray:
        """Largest impulses of dry friction among the stops, zero for limits."""
        return np.where(self.stops.kind == DRY, 0.5 * self.h * self.stops.friction, 0.0)


def left_by(data: RobotData, own: Any, start: dict[str, Any]) -> Solved:
    """The `Solved` record of a step that the kernels have solved without substeps.

    Args:
        data: after it.
        own: `ROBOT_CONE` records of permanent constraints.
        start: h, whole, q0, p, v0 and u of it.
    """
    touch, q1, rates = data.touch, np.array(data.q0, float), np.array(data.v_last, float)
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
    contacts = contacts_of(found, hits)
    turning = hits.width == TURNING
    about = np.where(turning[:, None], at + SPIN, at)  # others have no torques
    phase = touch.phase
    first = _modes(hits, at, about, touch.lam, phase.w, phase.diagonal)
    total = phase.total
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
        stops=stops,
        push=lam[stopping],
        side=touch.side[stopping],
        stop_least=touch.least[stopping],
        stops_slip=(stops.kind == DRY) & (np.abs(lam[stopping]) >= 0.5 * bound),
        drive=driven(touch.joints.goals, stops, start["h"]),
        loops=lam[kind == LOOP],
        pushes_end=total[at[:, 0]] > 0.0,
        lam_end=total[at],
        slides_end=last[0],
        torques_end=np.where(turning[:, None], total[about], 0.0),
        spins_end=turning & last[1],
        rolls_end=turning & last[2],
        soft_end=touch.soft[pushing],
        push_end=end,
        stops_stick=np.where(stops.kind == DRY, np.abs(end) < bound, end > 0.0),
        loops_end=total[row[kind == LOOP]],
        closing=NO_CONES,
        closing_contacts=NO_CONTACTS,
    )


def driven(goals: Any, stops: Any, h: float) -> FloatArray:
    """`Solved.drive` of a substep of length h [s]."""
    out = np.zeros((len(stops), 3))
    if goals is None or not len(goals.dofs):
        return out
    for k in np.flatnonzero(is_prescribed(stops)):
        dof = stops.dof[k]
        faster = goals.rates[1, dof] - goals.rates[0, dof]
        out[k] = goals.shift[dof] / h, goals.rate[dof] - faster, faster / h
    return out


def contacts_of(found: Any, cones: Any) -> Any:
    """`CONTACT` records of the detected contacts among `ROBOT_CONE` records."""
    return NO_CONTACTS if found is None else found.contacts[cones.found[cones.found >= 0]].copy()


def ends_at(data: RobotData, own: Any, solved: Solved) -> Solved:
    """A solved substep completed by the contact whose impact ends it, if any."""
    touch = data.touch
    now, found = touch.impacts.now[0], touch.found
    if now.closing < 0 or abs(now.nearest) > AT_IMPACT:
        return solved
    cones = (own if found is None else found.cones)[now.closing : now.closing + 1].copy()
    contacts = contacts_of(found, cones)
    contacts.late = 0  # it may have been added after an earlier solution, which added nothing else
    return replace(solved, closing=cones, closing_contacts=contacts)


def hit_by(data: RobotData, own: Any, start: dict[str, Any]) -> Solved:
    """The `Solved` record of an impact (`joint_impacts.hit`): a momentum phase at the start of a substep, without
    impulses of the position phase or compliance, and with loops for the plastic impact.

    Args:
        data, own, start: as of `left_by`, with the length of the substep for moving surfaces as `part`.
    """
    touch, (cones, count) = data.touch, (own, len(own))
    found, phase, part = touch.found, touch.phase, start.pop("part")
    if found is not None:
        count += int(found.now[0].count)
        cones = found.cones[:count]
    kind, struck = np.asarray(cones.kind), touch.impacts.struck[:count] != 0
    stopped = (struck & (kind == LIMIT)) | is_prescribed(cones)
    hits, stops = cones[struck & (kind == CONTACT)].copy(), cones[stopped].copy()
    hits.mass, hits.drift = 0.0, hits.drift * (start["h"] / part)
    at = np.asarray(hits.row)[:, None] + np.arange(3)
    turning = hits.width == TURNING
    about = np.where(turning[:, None], at + SPIN, at)
    slides, spins, rolls = _modes(hits, at, about, phase.total, phase.w, phase.diagonal)
    total, m = phase.total, len(hits)
    push, none, loops = total[stops.row], np.zeros(len(stops)), total[np.asarray(cones.row)[kind == LOOP]]
    return Solved(
        **start,
        q1=start["q0"],
        rates=start["v0"],
        kick=np.zeros(len(start["p"])),
        cones=hits,
        contacts=contacts_of(found, hits),
        lam=np.zeros((m, 3)),
        slides=slides,
        turning=turning,
        torques=np.zeros((m, 3)),
        spins=turning & spins,
        rolls=turning & rolls,
        soft=np.zeros(m),
        least=np.zeros(m),
        stops=stops,
        push=none,
        side=touch.side[:count][stopped],
        stop_least=none,
        stops_slip=none > 0.0,
        drive=driven(touch.joints.goals, stops, part),
        loops=np.zeros(len(loops)),
        pushes_end=total[at[:, 0]] > 0.0,
        lam_end=total[at],
        slides_end=slides,
        torques_end=np.where(turning[:, None], total[about], 0.0),
        spins_end=turning & spins,
        rolls_end=turning & rolls,
        soft_end=np.zeros(m),
        push_end=push,
        stops_stick=(push > 0.0) | (stops.kind == DRY),
        loops_end=loops,
        closing=NO_CONES,
        closing_contacts=NO_CONTACTS,
    )


def _modes(
    hits: Any, at: Any, about: Any, lam: FloatArray, w: FloatArray, diagonal: FloatArray
) -> tuple[Any, Any, Any]:
    """Which contacts slide, spin and roll, by lam - w / k as in the solver.

    Args:
        hits: `ROBOT_CONE` records.
        at, about: indices of their impulses along and about normal and tangents, shape (m, 3).
        lam, w, diagonal: impulses, motions, and diagonal of the Delassus matrix.
    """
    push, k = lam[at[:, 0]], diagonal[at[:, 1:]].max(axis=1, initial=0.0, keepdims=True)
    beyond = np.linalg.norm(lam[at[:, 1:]] - w[at[:, 1:]] / np.where(k > 0.0, k, 1.0), axis=1)
    least = np.maximum(diagonal[about], GIVING * diagonal[at[:, :1]])
    least = np.where(least > 0.0, least, 1.0)
    spun = np.abs(lam[about[:, 0]] - w[about[:, 0]] / least[:, 0])
    rolled = np.linalg.norm(lam[about[:, 1:]] - w[about[:, 1:]] / least[:, 1:].max(axis=1, keepdims=True), axis=1)
    more = (1.0 + 1e-9) * push
    return beyond > hits.friction * more, spun > hits.spin * more, rolled > hits.roll * more
