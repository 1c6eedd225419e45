"""VJPs of impacts and of the times at which they end substeps (`step.body_impacts`).

One impact takes momenta P to P_f = P_p + c (P_1 - P_p), with the plastic impulses L of the contacts that approach,

    P_p = P + G' mu + D' L,    P_1 = P_p + D_n' e L_n + G' mu_1,    T(P_f) = T(P) where c < 1

Modes are fixed, so the plastic impact is a second phase (`velocity_cotangents`) with an additional gradient by its
normal impulses, and the joint impulses mu_1 are a projection. With the gradient b by P_f and velocities v, T = P . v/2,

    k = b . (P_1 - P_p) / v_f . (P_1 - P_p),    b' = b - k v_f

is the gradient by P_p, with 1 - c, and by P_1, with c; k v is that by P (k = 0 where c = 1). Two terms are omitted for
c < 1: the dependence of the kinetic energy on the poses, by armature alone, and on moving surfaces.

A substep that ends at an impact has the length h with gap(q(h)) = 0. The gradient by h, of this substep minus that of
the one whose end is fixed, over the rate of the gap, is the gradient by the gap. The derivative of the end state by h
is a central difference of the substep solved with two other lengths.
"""

import math

import numpy as np

from leastaction._jit import inline, is_set, routine
from leastaction.contact.laws import cones as ip
from leastaction.contact.laws.restitution import NEAREST
from leastaction.maximal.contact.contact_setup import find_cones
from leastaction.maximal.derivatives.resolve_substep import OTHERWISE, begin_part, begin_state, count_contacts, parts_of
from leastaction.maximal.derivatives.vjp.cone_cotangents import (
    cone_cotangent,
    gap_cotangents,
    point_cotangents,
    wrench_cotangents,
)
from leastaction.maximal.derivatives.vjp.impact_vjp import keep_impact
from leastaction.maximal.derivatives.vjp.velocity_cotangents import (
    end_cotangents,
    factor_second_phase,
    joint_cotangents,
    project_back,
    transposed_solution,
)
from leastaction.maximal.step.bodies import END, move
from leastaction.maximal.step.body_impacts import (
    begin_impact,
    choose_approaching,
    node_velocities,
    plastic_hit,
    push_normal,
    restitution_of,
    restitution_share,
)
from leastaction.maximal.step.maximal_rollout import DONE, end_part, solve_part
from leastaction.maximal.step.velocity_equations import POSITIONS, VELOCITIES
from leastaction.maximal.step.velocity_projection import SOLVED, project_velocities, take_back
from leastaction.spatial import load4, load9, mattvec, quat_conj, quat_mul

WIDTH, LONGEST = 0.1, 0.01
"""Width of central differences by the length of a substep, relative to it, and its bound relative to the step."""

AT_IMPACT = 1e3 * NEAREST
"""Gap [m] up to which a substep counts as ending at an impact."""


@routine(allocates=False)
def replay_to_hit(model, settings, data, near, contact, dt, number):
    """Recompute the momenta and cones before impact `number` at the start of a substep of dt; returns success.

    `data` must hold the start of the substep, as in its solution.
    """
    contact.now[0].known = 0
    if find_cones(model, settings, data, near, contact, dt) < 0:
        return False
    begin_impact(model, contact)
    found = node_velocities(model, data)
    for _ in range(number):
        if found:
            choose_approaching(settings, data, contact)
            found, taken = plastic_hit(model, settings, data, contact, dt)
            if found:
                found, _ = restitution_share(model, data, contact, taken)
    choose_approaching(settings, data, contact)
    contact.now[0].phase = POSITIONS
    return found


@routine(allocates=False)
def pull_back_hit(model, settings, data, contact, back, dt):
    """Propagate `back.bars` to the momenta before an impact, after `replay_to_hit`; False on failure."""
    now, states, bars, n = contact.now[0], data.bodies, back.bars, data.bodies.shape[0]
    v, P_p, w = back.hit[0], back.hit[1], back.hit[2]
    copy_velocities(states, v)
    now.phase = VELOCITIES
    found, taken = plastic_hit(model, settings, data, contact, dt)
    if not found:
        return False
    count_contacts(contact, back)
    copy_velocities(states, w)
    for i in range(n):
        for c in range(6):
            P_p[i, c] = states[i].P[c]
    found, share = restitution_share(model, data, contact, taken)
    now.phase = POSITIONS
    if not found:
        return False
    energy = 0.0
    if share < 1.0:
        above = below = 0.0
        for i in range(n):
            for c in range(6):
                change = states[i].P[c] - P_p[i, c]
                above += bars[1, i, c] * change
                below += velocity(states, i, c) * change
        energy = above / below if below != 0.0 else 0.0
    for i in range(n):
        for c in range(6):
            b = bars[1, i, c] - energy * velocity(states, i, c)
            back.hit[3, i, c], bars[1, i, c] = (1.0 - share) * b, share * b
            states[i].P[c] = P_p[i, c]
    for k in range(now.count):
        push_normal(data, contact.cones[k], restitution_of(contact, contact.cones[k]) * contact.cones[k].gam)
    if not project_back(model, data, back, 0.0):
        return False
    for i in range(n):
        for c in range(6):
            back.push[i, c] = bars[1, i, c]
            bars[1, i, c] += back.hit[3, i, c]
            data.dV[i, c] = w[i, c]
    for k in range(data.rows.shape[0]):
        data.rows[k].mu = data.rows[k].lam
    if not factor_second_phase(model, settings, data, contact, back, dt):
        return False
    plastic_cotangents(model, data, contact, back)
    for i in range(n):
        for c in range(6):
            bars[1, i, c] += energy * v[i, c]
    return True


@routine(allocates=False)
def plastic_cotangents(model, data, contact, back):
    """`second_phase_cotangents` of a plastic impact; normal impulses times restitution have the gradient D `push`."""
    first, rhs, bars = model.graph.first, data.fixed, back.bars
    for j in range(rhs.shape[0]):
        rhs[j] = 0.0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        b0, b1, b2 = impact_cotangent(contact, c, bars[1], back.push)
        for i in range(6):
            if c.a >= 0:
                rhs[first[c.a] + i] -= b0 * c.da[i] + b1 * c.da[6 + i] + b2 * c.da[12 + i]
            if c.b >= 0:
                rhs[first[c.b] + i] -= b0 * c.db[i] + b1 * c.db[6 + i] + b2 * c.db[12 + i]
    transposed_solution(model, data, back)
    joint_cotangents(model, data, back, 0.0)
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        a0, a1, a2 = impact_cotangent(contact, c, bars[1], back.push)
        normal, more = 0.0 if c.kind >= ip.DRY else c.gam, restitution_of(contact, c) * c.gam
        for body, q in ((c.a, back.qa), (c.b, back.qb)):
            for i in range(6):
                z = v = x = 0.0
                if body >= 0:
                    z, v, x = bars[1, body, i], data.dV[body, i], back.push[body, i]
                q[i] = normal * z + more * x - a0 * v
                q[6 + i] = c.beta[0] * z - a1 * v
                q[12 + i] = c.beta[1] * z - a2 * v
        wrench_cotangents(model, data, contact, c, (0.0, -a1, -a2), back, back.G0, 0.0)
    point_cotangents(data, contact, 0, back, back.G0)
    end_cotangents(model, data, back)


@inline
def impact_cotangent(contact, c, z, push):
    """`cone_cotangent` with the gradient z by momenta, and that by the restitution impulses, `push`."""
    a0, a1, a2 = cone_cotangent(c, z)
    own = 0.0
    for i in range(6):
        if c.a >= 0:
            own += push[c.a, i] * c.da[i]
        if c.b >= 0:
            own += push[c.b, i] * c.db[i]
    own *= restitution_of(contact, c)
    return a0 + own * c.W[0], a1 + own * c.W[1], a2 + own * c.W[2]


@routine(allocates=False)
def copy_velocities(states, out):
    """Copy the velocities of a node, shape (bodies, 7), of which six are used."""
    for i in range(states.shape[0]):
        for c in range(3):
            out[i, c], out[i, 3 + c] = states[i].w[c], states[i].vc[c]


@inline
def velocity(states, i, c):
    """Entry c of the velocity of body i."""
    return states[i].w[c] if c < 3 else states[i].vc[c - 3]


# ------------------------------------------------------------------------------------------------- times of impact


@routine(allocates=False)
def closing(contact):
    """Index, from the end of the array, of the cone at whose contact a solved substep ends; -1 for none."""
    found, least = -1, AT_IMPACT
    for k in range(contact.now[0].waiting):
        c = contact.cones[contact.cones.shape[0] - 1 - k]
        if c.kind < ip.DRY and abs(c.gap) < least:
            found, least = k, abs(c.gap)
    return found


@routine(allocates=False)
def gap_of_key(contact, key):
    """Gap of the contact with a key at the end of a solved substep; NaN where it is not among those that wait."""
    for k in range(contact.now[0].waiting):
        c = contact.cones[contact.cones.shape[0] - 1 - k]
        if c.key == key:
            return c.gap
    return math.nan


@routine(allocates=False)
def state_work(states, back, other):
    """Product of `back.bars` by poses and momenta with the difference between the node in `data` and a stored one."""
    total = 0.0
    for i in range(states.shape[0]):
        s = states[i]
        turn = quat_mul(quat_conj(load4(other[0, i, 3:7])), load4(s.quat))
        for c in range(3):
            total += back.bars[0, i, c] * 2.0 * turn[1 + c] + back.bars[0, i, 3 + c] * (s.p[c] - other[0, i, c])
        for c in range(6):
            total += back.bars[1, i, c] * (s.P[c] - other[1, i, c])
    return total


@routine(allocates=False)
def keep_node(states, out):
    """Copy poses and momenta of the node in `data` to out (2, bodies, 7)."""
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            out[0, i, c] = s.p[c]
        for c in range(4):
            out[0, i, 3 + c] = s.quat[c]
        for c in range(6):
            out[1, i, c] = s.P[c]


@routine(allocates=False)
def gap_gradient(model, data, contact, back, k, dt):
    """Gradient of the gap of cone k (index as in `closing`) at the end of a solved substep of dt, into `back.G1`.

    In the body frames at the end. Returns the index of its contact and the gradient by its point.
    """
    states = data.bodies
    for i in range(states.shape[0]):
        move(states[i], dt)
        for c in range(6):
            back.G1[i, c] = 0.0
    c = contact.cones[contact.cones.shape[0] - 1 - k]
    by = back.by_points[c.source]
    gap_cotangents(model, data, contact, c, END, -1.0, back, back.G1)
    point = (by[0], by[1], by[2])
    by[0] = by[1] = by[2] = 0.0
    for i in range(states.shape[0]):
        turn = mattvec(load9(states[i].R1), (back.G1[i, 0], back.G1[i, 1], back.G1[i, 2]))
        for j in range(3):
            back.G1[i, j] = turn[j]
    return c.source, point


@routine(allocates=False)
def has_restitution(near, contact):
    """Whether any near pair of shapes has restitution."""
    if contact is None:
        return False
    most = 0.0
    for k in range(near.pairs.shape[0]):
        most = max(most, near.pairs[k].restitution)
    return most > 0.0


@routine(allocates=False)
def solve_length(model, settings, data, near, contact, back, k, j, dt):
    """Solve substep j of step k with another length, and go to its end; (gap of its closing contact, status)."""
    part, loose = back.begins[k] + j, 1 if settings.halves < 1.0 else 0
    length, share, key = back.lengths[part], back.shares[part, 1], contact.now[0].closing
    back.lengths[part] = dt
    back.shares[part, 1] = share + (dt - length) / settings.whole
    why = begin_part(model, settings, data, near, contact, back, k, j)
    back.lengths[part], back.shares[part, 1] = length, share
    if why != DONE:
        return 0.0, np.int64(why)
    spent, _, why, _ = solve_part(model, settings, data, near, contact, dt, k < 0)
    if why != DONE or spent < 0:
        return 0.0, np.int64(OTHERWISE if why == DONE else why)
    gap = gap_of_key(contact, key)
    end_part(model, settings, data, contact, back.at, back.u[k, back.nodes[part] + loose], dt)
    if project_velocities(model, settings, data, contact, dt) == SOLVED:
        take_back(settings, contact)
    elif is_set(settings.loops):
        node_velocities(model, data)
    return gap, np.int64(DONE)


@routine(allocates=False)
def time_back(model, settings, data, near, contact, back, k, j):
    """Propagate the gradient by the length of substep j of step k to its end where that is an impact; returns a status.

    A step ends at an impact where the next step begins with one. For other substeps the gradient stays in `back.rest`,
    for the impacts before them.
    """
    parts, dt = parts_of(back, k), back.lengths[back.begins[k] + j]
    if contact is None:
        return np.int64(DONE)
    if not has_restitution(near, contact):
        return np.int64(DONE)
    why = begin_part(model, settings, data, near, contact, back, k, j)
    if why != DONE:
        return np.int64(why)
    last, ends = j + 1 == parts, back.rest[1] > 0.0
    if parts == 1 and not ends and contact.now[0].hits == 0:
        return np.int64(DONE)
    spent, _, why, _ = solve_part(model, settings, data, near, contact, dt, k < 0)
    if why != DONE or spent < 0:
        return np.int64(OTHERWISE if why == DONE else why)
    at, source, point = -1 if last and not ends else closing(contact), np.int64(0), (0.0, 0.0, 0.0)
    if at >= 0:
        contact.now[0].closing = contact.cones[contact.cones.shape[0] - 1 - at].key
        source, point = gap_gradient(model, data, contact, back, at, dt)
    width = min(WIDTH * dt, LONGEST * settings.whole)
    before, why = solve_length(model, settings, data, near, contact, back, k, j, dt - width)
    if why != DONE:
        return why
    keep_node(data.bodies, back.hit)
    far = before
    if at >= 0 and math.isnan(before):  # too short for a gap before it: rate from two longer ones
        far, why = solve_length(model, settings, data, near, contact, back, k, j, dt + 2.0 * width)
        if why != DONE:
            return why
    after, why = solve_length(model, settings, data, near, contact, back, k, j, dt + width)
    if why != DONE:
        return why
    by_length = state_work(data.bodies, back, back.hit) / (2.0 * width)
    if at < 0:
        back.rest[0] = by_length
        return np.int64(DONE)
    rate = (4.0 * after - far if math.isnan(before) else after - before) / (2.0 * width)
    if not rate < 0.0:
        return np.int64(OTHERWISE)
    by_gap = -(by_length - back.rest[0]) / rate
    for i in range(data.bodies.shape[0]):
        for c in range(6):
            back.bars[0, i, c] += back.G1[i, c] * by_gap
    for c in range(3):
        back.by_points[source, c] = by_gap * point[c]
    keep_impact(data, back, k, j + 1, contact.now[0].closing, by_gap)
    return np.int64(DONE)


@routine(allocates=False)
def impact_back(model, settings, data, near, contact, back, k, j):
    """Propagate `back.bars` to the momenta before the impact at the start of substep j of step k; `DONE`, or why not.

    p at the start of a step is computed from these momenta; the caller adds its gradient after it.
    """
    if contact is None:
        return np.int64(DONE)
    hits, dt = contact.now[0].hits, back.lengths[back.begins[k] + j]
    if j == 0:
        back.rest[1] = float(hits)
    if hits == 0:
        return np.int64(DONE)
    keep_impact(data, back, k, j, -1, 0.0)
    for number in range(hits - 1, -2, -1):
        begin_state(model, data, contact, back, k, j)
        found = True
        if number >= 0:
            found = replay_to_hit(model, settings, data, near, contact, dt, number)
            found = found and pull_back_hit(model, settings, data, contact, back, dt)
        else:
            found = project_back(model, data, back, 0.0)
        if not found:
            return np.int64(OTHERWISE)
    contact.now[0].hits = hits
    return np.int64(DONE)
