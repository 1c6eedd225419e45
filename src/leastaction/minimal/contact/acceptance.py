"""Energy balance and rotation bound of a substep, which decide whether it is accepted (see `step_control`).

The kinetic energy is that of the momenta after the momentum phase. The work of forces follows the quadrature of the
step: springs by the difference of their energies, dampers by the mean velocity. Contact impulses only dissipate, but
for surfaces that move along their shapes (belts) and initial overlaps; soft contacts store elastic energy. Losses are
not checked where strong dampers are implicit at the end (`joint_momenta.end_damping_of`), nor in the finest substeps:
light links that heavy ones pull taut stop as in an impact, which no substep resolves. Energy that a finest substep
without active contacts loses may return within the same step.
"""

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import CONTACT, LIMIT, TIE
from leastaction.minimal.contact.body_sweeps import work_of_thrust
from leastaction.minimal.contact.detection.detected_contacts import is_partial
from leastaction.minimal.contact.elastic_contacts import elastic_energies
from leastaction.minimal.contact.joint_momenta import end_damping_of, factor, solve, take_out_end_damping
from leastaction.minimal.contact.solver.prescribed_joints import add_work, goals_of, solve_relative, work_of_drives
from leastaction.spatial import dot3, load3, sub3
from leastaction.step_control.bisection import FINEST
from leastaction.step_control.energy_balance import NOISE, is_balanced, largest_gain

QUARTER = 1.0
"""Trace of a rotation by a right angle: up to there a body's momentum is a one-to-one function of its rotation."""


@routine
def mass_of(model):
    """Mass of all bodies [kg]."""
    mass = 0.0
    for i in range(model.nodes.shape[0]):
        mass += model.nodes[i].mass
    return mass


@routine
def given(model, touch, found, dt):
    """Upper bound [J] of the energy from initial overlaps that contacts resolve and from moving surfaces."""
    if found is None:
        return parting(model.cones, touch, model.cones.shape[0]) / dt
    many = model.cones.shape[0] + found.now[0].count
    return (parting(found.cones, touch, many) + belt_work(model, touch, found)) / dt


@routine
def belt_work(model, touch, found):
    """Upper bound of the work of moving surfaces in the step, times its length [J s]."""
    work = 0.0
    for j in range(found.now[0].count):
        c = model.cones.shape[0] + j
        if touch.active[c]:
            at, way = found.cones[c].row, found.cones[c].drift
            work += abs(touch.lam[at + 1] * way[0]) + abs(touch.lam[at + 2] * way[1])
    return work


@routine
def parting(cones, touch, many):
    """Upper bound of the work of contacts and limits that resolve overlaps, times the length of the step [J s].

    It is twice the impulse of the position phase times the overlap: C in docs/theory/contact.md.
    """
    work = 0.0
    for c in range(many):
        pushes = cones[c].kind == CONTACT or cones[c].kind == LIMIT
        if touch.active[c] and pushes and cones[c].compliance <= 0.0:
            work += 2.0 * touch.lam[cones[c].row] * max(-touch.start_gap[c], 0.0)
    return work


@routine
def rotates_too_far(model, data):
    """Whether a body rotates by more than a right angle in the solved step."""
    now, far = data.now[0], False
    for i in range(model.nodes.shape[0]):
        R0, R1, trace = data.R[now][i], data.R[1 - now][i], 0.0
        for k in range(9):
            trace += R0[k] * R1[k]
        far = far or not trace >= QUARTER
    return far


@routine
def kinetic_energy(model, data, dt, factored):
    """Kinetic energy [J] of the momenta `p` at the start poses of the robot; writes the velocities to `dx`.

    Args:
        dt: length of the step that ended here [s], whose implicit end damping k makes momenta (M + k) v, see
            `joint_momenta.end_damping_of`; 0 where they are M v.
        factored: whether `phase.W` contains the factors of M + k there.
    """
    W, v, energy = data.touch.phase.W, data.dx, 0.0
    if factored:
        solve_relative(model, data, W, goals_of(data.touch), data.p, v)
    else:
        factor(model, data, W, dt, None)
        solve(model, data, W, data.p, v)
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        for k in range(node.iv, node.iv + node.nv):
            implicit = end_damping_of(model.dofs[k], dt) if node.nv == 1 else 0.0
            energy += 0.5 * (data.p[k] - implicit * v[k]) * v[k]
    return energy


@inline
def work_of_controls(driven, data, k):
    """Work of the controls on degree of freedom k [J]."""
    if driven is None:  # then `tau` is not set
        return 0.0
    return data.tau[k] * data.displacement[k]


@inline
def work_of_pulls(pulls, data):
    """Work of the springs, tendons and loops in `pulls` [J], and the sum of the magnitudes of their impulses."""
    if pulls is None or pulls.links.shape[1] == 0:
        return 0.0, 0.0
    size = 0.0
    for k in range(data.p.shape[0]):
        size += abs(pulls.start[k]) + abs(pulls.end[k])
    return pulls.work[0], size


@routine
def work_of_forces(model, data, dt):
    """Work of all forces in a solved step [J], sum of impulse magnitudes, and whether the damping work is exact."""
    nodes, now, g = model.nodes, data.now[0], load3(model.gravity)
    work, size = work_of_pulls(data.touch.pulls, data)
    known, weight = True, dt * dot3(g, g) ** 0.5
    for i in range(nodes.shape[0]):
        node = nodes[i]
        shift = sub3(load3(data.x[1 - now][i]), load3(data.x[now][i]))
        work += node.mass * dot3(g, shift) + 2.0 * work_of_thrust(model.pushed, model, data, i, shift, dt)
        size += weight * node.mass
        for k in range(node.iv, node.iv + node.nv):
            work += work_of_controls(model.driven, data, k)
            size += abs(data.p[k]) + abs(data.end[k])
        if node.nv == 1:
            dof, moved = model.dofs[node.iv], data.displacement[node.iv]
            force = dof.stiffness * (0.5 * (data.q0[node.iq] + data.q1[node.iq]) - dof.rest)
            work -= force * moved
            size += dt * abs(force)
            if end_damping_of(dof, dt) > 0.0:
                known = False
            else:
                work -= dof.damping * moved * moved / dt
    return work, size, known


@routine
def touches(cones, touch, low, high):
    """Whether any contact, limit or dry friction in cones[low:high] is active with an impulse."""
    found = False
    for c in range(low, high):
        found = found or (touch.active[c] != 0 and cones[c].kind < TIE and touch.lam[cones[c].row] != 0.0)
    return found


@routine
def anything_touches(model, touch, found):
    """`touches` of all constraints."""
    own = model.cones.shape[0]
    if found is None:
        return touches(model.cones, touch, 0, own)
    return touches(found.cones, touch, 0, own + found.now[0].count)


@routine
def know_start(model, data, touch):
    """Compute kinetic energy and velocities of the start of a step where they are not stored."""
    if touch is None:
        return
    touch.balance[0]["owed"], touch.balance[0]["elastic_start"] = 0.0, -1.0
    if not touch.balance[0]["kinetic"] >= 0.0:
        touch.balance[0]["kinetic"] = kinetic_energy(model, data, 0.0, False)
        for k in range(data.p.shape[0]):
            touch.v[k] = data.dx[k]


@routine
def keep_start(model, data, touch, settings, dt):
    """Checkpoint the start of a solved step and the terms of its energy balance."""
    if touch is None:
        return
    balance = touch.balance[0]
    work, size, known = work_of_forces(model, data, dt)
    start, end, given_back = elastic_energies(model, data, touch)
    if not balance["elastic_start"] >= 0.0:
        balance["elastic_start"] = start
    balance["elastic_end"], work = end, work + given_back
    balance["lossless"] = known and not anything_touches(model, touch, touch.found)
    balance["finest"] = dt * FINEST < 1.5 * settings.whole
    balance["noise"] = NOISE * settings.tolerance / dt * size + given(model, touch, touch.found, dt)
    balance["work"] = work
    for k in range(data.p.shape[0]):
        touch.p_start[k] = data.p[k]
    for k in range(data.q0.shape[0]):
        touch.q_start[k] = data.q0[k]


@routine
def accept_or_go_back(model, data, touch, dt, factored):
    """Whether the energy balance accepts the step that has just ended; otherwise restore the state before it."""
    if touch is None:
        return True
    balance, g = touch.balance[0], load3(model.gravity)
    if is_partial(touch.found):
        balance["kinetic"] = -1.0
        return True
    before, after = balance["kinetic"], kinetic_energy(model, data, dt, factored)
    driven, unknown = work_of_drives(model, data, touch, goals_of(touch), dt)
    gain, lossless = after - before - balance["work"] - driven, balance["lossless"] != 0
    most = largest_gain(before, after, 0.5 * mass_of(model) * dt * dt * dot3(g, g)) + balance["noise"] + unknown
    if lossless and balance["finest"] != 0:
        most, lossless = most + balance["owed"], False
    if is_balanced(gain, most, lossless):
        balance["kinetic"], balance["elastic"] = after, balance["elastic_end"]
        add_work(goals_of(touch), driven)
        if balance["finest"] != 0 and balance["lossless"] != 0:
            balance["owed"] = max(balance["owed"] - gain, 0.0)
        for k in range(data.p.shape[0]):
            touch.v[k] = data.dx[k]
        take_out_end_damping(model, dt, touch.v, data.p)
        return True
    data.now[0] = 1 - data.now[0]
    for k in range(data.p.shape[0]):
        data.p[k] = touch.p_start[k]
    for k in range(data.q0.shape[0]):
        data.q0[k] = touch.q_start[k]
    return False
