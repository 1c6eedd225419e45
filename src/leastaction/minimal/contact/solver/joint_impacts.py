"""Impacts of contacts with restitution in joint coordinates, with the law of `contact.laws.restitution`.

Where closed contacts approach at the start of a substep, momenta jump (`jump`). The plastic impulses of such an impact
are those of the momentum phase at the start of the substep, of the impacting contacts only and without compliance,
because an impact is instantaneous. Open contacts with restitution are inactive in the solve of the substep ("waiting"),
after which `find_impact` finds when the first of them closes.
"""

import math

from leastaction._jit import routine
from leastaction.contact.laws.restitution import (
    ACCEPT,
    GIVE_UP,
    HITS,
    NEAREST,
    closes_now,
    has_too_many_impacts,
    is_closed,
    next_end,
    returned_share,
    time_of_impact,
)
from leastaction.contact.solver.cone_kinds import CONTACT, LIMIT, LOOP
from leastaction.contact.solver.islands import impulses
from leastaction.contact.solver.ncp_solver import solve_all_cones
from leastaction.minimal.contact.acceptance import kinetic_energy
from leastaction.minimal.contact.elastic_contacts import cones_of, end_gap
from leastaction.minimal.contact.joint_momenta import solve
from leastaction.minimal.contact.momentum_phase import relate_momenta
from leastaction.minimal.contact.paths import rate_along
from leastaction.minimal.contact.row_vec6 import wrench
from leastaction.minimal.contact.solver.locked_joints import unlock_joints
from leastaction.minimal.contact.solver.prescribed_joints import (
    add_hit_of_drives,
    add_prescribed,
    carry_impact,
    count_again,
    count_from,
    goals_of,
    move_drive_impulses,
    touches_prescribed,
)
from leastaction.minimal.contact.solver.waiting_contacts import gravity_strength
from leastaction.spatial import add3, axpy3, load3, load9, matvec, scale3
from leastaction.step_control.bisection import substep_length
from leastaction.step_control.substeps import record_substep


@routine
def normal_rate(model, data, cone, side, v):
    """Gap rate [m/s or rad/s] of a contact or a limit at the start of a substep, for velocities v."""
    if cone.kind == LIMIT:
        return side * v[cone.dof]
    x = load3(cone.arm)
    if cone.found < 0:
        i, n = cone.node, load3(cone.normal)
        x = axpy3(-cone.radius, n, add3(load3(data.x[data.now[0]][i]), matvec(load9(data.R[data.now[0]][i]), x)))
    return rate_along(model, data, v, cone.node, wrench(load3(cone.normal), x), cone.other)


@routine
def may_have_impact(model, data, touch, whole):
    """Whether a contact with restitution is closed and approaches at the start of a substep."""
    cones, count = cones_of(model, touch.found)
    for c in range(count):
        if cones[c].kind == CONTACT and cones[c].restitution > 0.0:
            rate = normal_rate(model, data, cones[c], 1.0, touch.v)
            if closes_now(touch.start_gap[c], rate, gravity_strength(model), whole):
                return True
    return False


@routine
def jump(model, data, touch, settings, dt):
    """Apply impacts at the start of a substep of dt where closed contacts with restitution approach.

    Returns True where momenta have changed; the first guess and the active set must then be computed again.
    """
    if touch is None:
        return False
    return jump_at(model, data, touch, touch.impacts, settings, dt)


@routine
def jump_at(model, data, touch, impacts, settings, dt):
    """`jump` of a robot with contacts."""
    if impacts is None or impacts.waiting.shape[0] == 0:
        return False
    if not may_have_impact(model, data, touch, settings.whole):
        return False
    unlock_joints(touch.joints)
    for j in range(touch.lam.shape[0]):
        impacts.lam[j] = touch.lam[j]
    cones, count = cones_of(model, touch.found)
    most = 0
    for c in range(count):
        if cones[c].kind == CONTACT or cones[c].kind == LIMIT:
            most += HITS
    hits = 0
    while hits < most and hit(model, data, touch, impacts, settings, dt):
        add_hit_impulses(model, data, touch, touch.found, impacts)
        hits += 1
    impacts.now[0]["hits"] += hits
    touch.balance[0]["kinetic"] = kinetic_energy(model, data, 0.0, hits > 0)
    for k in range(data.p.shape[0]):
        touch.v[k] = data.v_last[k] = data.v_older[k] = data.dx[k]
    for j in range(touch.lam.shape[0]):
        touch.lam[j] = impacts.lam[j]
    return True


@routine
def choose_impacting(model, data, touch, impacts, whole):
    """Activate the closed contacts and limits that approach, and loops; returns whether there is an impact."""
    cones, count = cones_of(model, touch.found)
    found, gravity = False, gravity_strength(model)
    for c in range(count):
        cone, struck, gap = cones[c], False, touch.start_gap[c]
        if cone.kind == LIMIT:
            low, high = data.q0[cone.iq] - cone.lower, cone.upper - data.q0[cone.iq]
            touch.side[c], gap = (1.0, low) if low <= high else (-1.0, high)
        if cone.kind == LIMIT or cone.kind == CONTACT:
            struck = cone.restitution > 0.0 or is_closed(gap, gravity, whole)
            struck = struck and (cone.kind == LIMIT or cone.compliance <= 0.0)  # soft contacts are not instantaneous
            rate = normal_rate(model, data, cone, touch.side[c], touch.v)
            struck = struck and closes_now(gap, rate, gravity, whole)
        impacts.struck[c] = 1 if struck else 0
        found = found or struck
        touch.active[c] = 1 if struck or cone.kind == LOOP else 0
        touch.compliance[c] = touch.phase.compliance[c] = 0.0
    return found


@routine
def hold(model, data, touch, settings, dt):
    """Solve for the plastic impulses `lam` of active constraints; updates the momenta, and the velocities `v`."""
    lam, which, phase = touch.lam, touch.which, touch.phase
    for j in range(lam.shape[0]):
        lam[j] = 0.0
    relate_momenta(model, data, touch, dt, 0.0)
    solve_all_cones(model, touch, touch.found, dt, 0.1 * settings.floor * dt / settings.whole)
    for i in range(phase.count[0]):
        for k in range(data.p.shape[0]):
            data.p[k] += lam[which[i]] * phase.N[which[i], k]
    solve(model, data, phase.W, data.p, touch.v)
    carry_impact(goals_of(touch), phase.W, data.p)
    add_prescribed(goals_of(touch), touch.v)


@routine
def hit(model, data, touch, impacts, settings, dt):
    """One impact of the approaching contacts at the start of a substep of dt; returns whether there is any.

    Updates momenta and velocities `v`. Stores the plastic impulses in `phase.total`, their w and the diagonal of W in
    `phase.w` and `phase.diagonal`, and the applied share of the restitution in `now`.
    """
    v, dp, dv, phase, lam = touch.v, impacts.dp, impacts.dv, touch.phase, touch.lam
    if not choose_impacting(model, data, touch, impacts, settings.whole):
        return False
    cones, count = cones_of(model, touch.found)
    for k in range(v.shape[0]):
        dv[k], dp[k] = v[k], 0.0
    count_from(model, data, goals_of(touch), v, 0.0, data.p)
    hold(model, data, touch, settings, dt)
    taken = linear = square = 0.0
    loops = False
    for j in range(lam.shape[0]):
        phase.total[j], phase.w[j], phase.diagonal[j] = lam[j], touch.w[j], touch.W[j, j]
    move_drive_impulses(model.cones, goals_of(touch), phase.total, 1.0)
    for c in range(count):
        o, loops = cones[c].row, loops or cones[c].kind == LOOP
        if impacts.struck[c] == 0:
            continue
        for j in range(o, o + impulses(cones[c])):
            for k in range(v.shape[0]):
                taken -= 0.5 * lam[j] * phase.N[j, k] * (dv[k] + v[k])
        if cones[c].kind == CONTACT:
            taken -= (lam[o + 1] * cones[c].drift[0] + lam[o + 2] * cones[c].drift[1]) / dt
            back = cones[c].restitution * lam[o]
            for k in range(v.shape[0]):
                dp[k] += back * phase.N[o, k]
                linear += back * phase.N[o, k] * v[k]
    if loops:
        hold_loops(model, data, touch, impacts, settings, dt)
    solve(model, data, phase.W, dp, dv)
    carry_impact(goals_of(touch), phase.W, dp)
    for k in range(v.shape[0]):
        square += dp[k] * dv[k]
    share = returned_share(0.5 * square, linear, taken)
    impacts.now[0]["share"] = share
    for k in range(v.shape[0]):
        data.p[k] += share * dp[k]
        v[k] += share * dv[k]
    count_again(goals_of(touch), data.p)
    return True


@routine
def hit_alone(model, data, touch, impacts, settings, number):
    """Impact `number` of those at one configuration, as in `jump`."""
    if impacts is None or impacts.waiting.shape[0] == 0:
        return False
    if number == 0 and not may_have_impact(model, data, touch, settings.whole):
        return False
    return hit(model, data, touch, impacts, settings, settings.dt)


@routine
def hold_loops(model, data, touch, impacts, settings, dt):
    """Add loop impulses to the restitution momenta `dp` such that loops stay closed."""
    cones, count = cones_of(model, touch.found)
    for c in range(count):
        touch.active[c] = 1 if cones[c].kind == LOOP else 0
    for k in range(data.p.shape[0]):
        data.p[k], impacts.dp[k], impacts.dv[k] = impacts.dp[k], data.p[k], touch.v[k]
    touches_prescribed(goals_of(touch), 0.0)
    hold(model, data, touch, settings, dt)
    touches_prescribed(goals_of(touch), 1.0)
    for k in range(data.p.shape[0]):
        data.p[k], impacts.dp[k], touch.v[k] = impacts.dp[k], data.p[k], impacts.dv[k]


@routine
def add_hit_impulses(model, data, touch, found, impacts):
    """Add the impulses of an impact to those of the step."""
    share = impacts.now[0]["share"]
    for c in range(model.cones.shape[0]):
        cone = model.cones[c]
        for j in range(cone.row, cone.row + impulses(cone)):
            more = share * cone.restitution if j == cone.row and cone.kind == CONTACT else 0.0
            touch.total[j] += (1.0 + more) * touch.phase.total[j]
    add_hit_of_drives(model.cones, goals_of(touch), touch, share)
    if found is not None:
        log_hit(model, touch, found, impacts, share)


@routine
def log_hit(model, touch, found, impacts, share):
    """Append the impulses of an impact to the log, as `detected_contacts.store_detected`."""
    now, lam = found.now[0], touch.phase.total
    if found.log.shape[0] == 0:
        return
    for j in range(now.count):
        c = model.cones.shape[0] + j
        cone = found.cones[c]
        at = cone.row
        if impacts.struck[c] == 0 or lam[at] <= 0.0:
            continue
        if now.written >= found.log.shape[0]:
            now.full = 1
            return
        row, normal = found.log[now.written], (1.0 + share * cone.restitution) * lam[at]
        along = axpy3(lam[at + 1], load3(cone.first), scale3(normal, load3(cone.normal)))
        f = axpy3(lam[at + 2], load3(cone.second), along)
        row[0], row[1], row[2] = now.step, cone.other, cone.node
        for i in range(3):
            row[3 + i], row[6 + i] = cone.arm[i], f[i] / now.dt
        row[9] = touch.start_gap[c]
        now.written += 1


@routine
def find_impact(model, data, touch, dt):
    """Find when the first waiting contact closes in a solved substep of dt; whether any penetrates at its end."""
    if touch is None:
        return False
    return find_impact_of(model, data, touch, touch.impacts, dt)


@routine
def find_impact_of(model, data, touch, impacts, dt):
    """`find_impact` of a robot with contacts."""
    if impacts is None or impacts.waiting.shape[0] == 0:
        return False
    now, (cones, count) = impacts.now[0], cones_of(model, touch.found)
    now["impact"], now["nearest"], now["closing"] = math.inf, math.inf, -1
    for c in range(count):
        if impacts.waiting[c] == 0 or cones[c].kind != CONTACT:
            continue
        gap, begin = end_gap(data, touch.found, cones[c]), touch.start_gap[c]
        if gap < now["nearest"]:
            now["nearest"], now["closing"] = gap, c
        rate = normal_rate(model, data, cones[c], 1.0, touch.v)
        if begin > 0.0 and (gap < 0.0 or rate < 0.0):
            now["impact"] = min(now["impact"], time_of_impact(begin, rate, gap, dt))
    return now["nearest"] < -now["closest"]


# ---------------------------------------------------------------------------------------------------- ends of substeps


@routine
def begin_step(touch, tolerance):
    """Reset impulses and impact counters at the start of a step; restitution is enabled.

    Args:
        tolerance: of solved positions [rad or m], to which gaps count as zero.
    """
    if touch is not None:
        for k in range(touch.total.shape[0]):
            touch.total[k] = 0.0
        begin_impacts(touch.impacts, tolerance)


@routine
def begin_impacts(impacts, tolerance):
    """`begin_step` of the impact record."""
    if impacts is not None and impacts.waiting.shape[0] > 0:
        now = impacts.now[0]
        now["hits"], now["ended"], now["closest"] = 0, 0, max(NEAREST, tolerance)
        if now["forced"] == 0:
            now["plastic"] = 0
        for k in range(impacts.ends.shape[0]):
            impacts.ends[k] = 0.0


@routine
def length_of(impacts, dt, parts, split, start, end):
    """Length [s] of the substep between two shares of a step of dt; `split`: not one of `parts` equal substeps."""
    if impacts is None or impacts.waiting.shape[0] == 0:
        return substep_length(dt, parts)
    return (end - start) * dt if split else substep_length(dt, parts)


@routine
def end_at_impact(impacts, dt, start, after, cut, early, late):
    """`restitution.next_end` after `find_impact`: (decision, cut, bracket of the impact).

    Args:
        start, after: shares of the step between which the substep lies.
        cut: share of the step at which an impact ends the substep; 0 for none.
    """
    if impacts is None or impacts.waiting.shape[0] == 0:
        return ACCEPT, cut, early, late
    now = impacts.now[0]
    if now["forced"] != 0:
        return ACCEPT, cut, early, late
    span = start, cut if cut > 0.0 else after, after
    bracket = early, late
    gap, before = now["nearest"], now["nearest_before"]
    look, target, early, late = next_end(gap, before, now["impact"], span, dt, bracket, now["closest"])
    now["nearest_before"] = gap
    if look == ACCEPT:
        return look, cut, early, late
    if look == GIVE_UP:
        now["plastic"] = 1
        return look, 0.0 * cut, 0.0 * early, 0.0 * late
    return look, target, early, late


@routine
def end_substep(impacts, count, end, at_impact, bodies):
    """Record the end of substep `count`; disables restitution for the next one after too many impacts in the step."""
    if impacts is None or impacts.waiting.shape[0] == 0:
        return
    now = impacts.now[0]
    record_substep(impacts.ends, count, end, now["plastic"], True)
    now["ended"] += 1 if at_impact else 0
    if now["forced"] == 0:
        now["plastic"] = 1 if has_too_many_impacts(now["ended"], bodies) else 0
