"""Joints with prescribed motion: locked as by dry friction (`locked_joints`), at given positions.

In the position phase the first guess puts a prescribed joint at its final position, where Newton's update leaves it;
the impulse of its drive is minus the residual of the joint's equation. The momentum phase subtracts the momenta M v_g
of the prescribed velocities v_g, relative to which locked joints are at rest; contact velocities include v_g. Between
the times of a run, joints move at constant rates, poses at constant twists, and end velocities are linear in time.
"""

from leastaction._jit import inline, routine
from leastaction.kinematics.manifold import displacement
from leastaction.minimal.contact.joint_momenta import momenta_of_velocities, solve
from leastaction.minimal.contact.solver.locked_joints import is_prescribed, locked_joints
from leastaction.minimal.vec6 import ZEROS


@inline
def goals_of(touch):
    """`Goals`, or None where nothing is prescribed."""
    return goals_in(locked_joints(touch))


@inline
def goals_in(joints):
    """See `goals_of`."""
    if joints is None:
        return None
    return joints.goals


@routine
def begin_goals(goals, row, work, nq):
    """Start a run from a row of the record, with the work of the drives up to there [J]."""
    if goals is None or goals.dofs.shape[0] == 0:
        return
    goals.work[0] = work
    for k in range(goals.v.shape[0]):
        goals.rates[1, k] = row[nq + k]


@routine
def set_step_targets(model, data, goals, rows, k):
    """Set the prescribed displacements and velocities of a step from row k of the record."""
    if goals is None or goals.dofs.shape[0] == 0:
        return
    nq, row = data.q0.shape[0], rows[k]
    displacement(model.nodes, data.q0, row, goals.whole, 0)
    for c in range(goals.v.shape[0]):
        goals.rates[0, c], goals.rates[1, c] = goals.rates[1, c], row[nq + c]


@routine
def keep_work(goals, record, row):
    """Store the work of the drives up to a step in the record."""
    if goals is not None and goals.dofs.shape[0] > 0:
        record.work[row] = goals.work[0]


@routine
def set_substep_targets(goals, start, end):
    """Set the prescribed displacements and velocities of the substep between two shares of the step."""
    if goals is None or goals.dofs.shape[0] == 0:
        return
    for i in range(goals.dofs.shape[0]):
        k = goals.dofs[i]
        goals.shift[k] = (end - start) * goals.whole[k]
        goals.rate[k] = (1.0 - end) * goals.rates[0, k] + end * goals.rates[1, k]


@routine
def count_from(model, data, goals, velocities, dt, p):
    """Subtract the momenta M v_g of the prescribed velocities from p; dt: see `momenta_of_velocities`."""
    if goals is None or goals.dofs.shape[0] == 0:
        return
    for i in range(goals.dofs.shape[0]):
        goals.v[goals.dofs[i]], goals.back[goals.dofs[i]] = velocities[goals.dofs[i]], 0.0
    momenta_of_velocities(model, data, ZEROS, goals.v, dt, goals.twists, goals.p)
    for k in range(p.shape[0]):
        p[k] -= goals.p[k]


@inline
def rate_of(goals):
    """Prescribed velocities at the end of a substep, for `count_from`."""
    if goals is None:
        return None
    return goals.rate


@routine
def count_again(goals, p):
    """Undo `count_from`: add M v_g to p."""
    if goals is None or goals.dofs.shape[0] == 0:
        return
    for k in range(p.shape[0]):
        p[k] += goals.p[k]


@routine
def prescribed_motion(joints, row):
    """Contact velocity that the prescribed velocities cause: a constraint row times v_g."""
    return prescribed_rate(goals_in(joints), row)


@routine
def prescribed_rate(goals, row):
    """See `prescribed_motion`."""
    rate = 0.0
    if goals is None or goals.dofs.shape[0] == 0:
        return rate
    for i in range(goals.dofs.shape[0]):
        rate += row[goals.dofs[i]] * goals.v[goals.dofs[i]]
    return goals.moves[0] * rate


@routine
def solve_relative(model, data, W, goals, p, v):
    """v = M^-1 p with the factors of M in which prescribed joints are locked; uses M v_g of `count_from`."""
    if goals is None or goals.dofs.shape[0] == 0:
        solve(model, data, W, p, v)
        return
    for k in range(p.shape[0]):
        p[k] -= goals.p[k]
    solve(model, data, W, p, v)
    for k in range(p.shape[0]):
        p[k] += goals.p[k]
    add_prescribed(goals, v)


@routine
def add_prescribed(goals, v):
    """Add the prescribed velocities v_g to v."""
    if goals is None or goals.dofs.shape[0] == 0:
        return
    for i in range(goals.dofs.shape[0]):
        v[goals.dofs[i]] += goals.moves[0] * goals.v[goals.dofs[i]]


@routine
def carry_impact(goals, W, p):
    """Subtract the residuals of locked joints after `solve` from p, and add the drive impulses to `back`."""
    if goals is None or goals.dofs.shape[0] == 0:
        return
    for i in range(goals.dofs.shape[0]):
        k = goals.dofs[i]
        goals.back[k] -= W[k, 7]
        p[k] -= W[k, 7]


@routine
def move_drive_impulses(cones, goals, total, share):
    """Move a share of the drive impulses in `back` to the constraints that lock their joints, and add up their work."""
    if goals is None or goals.dofs.shape[0] == 0:
        return
    for c in range(cones.shape[0]):
        if is_prescribed(cones[c]):
            k = cones[c].dof
            total[cones[c].row] += share * goals.back[k]
            goals.work[0] += share * goals.back[k] * goals.v[k]
            goals.back[k] = 0.0


@routine
def add_hit_of_drives(cones, goals, touch, share):
    """Add the drive impulses of the restitution of an impact to those of the step."""
    move_drive_impulses(cones, goals, touch.total, share)


@routine
def touches_prescribed(goals, moves):
    """Set whether constraint velocities include the prescribed velocities: 1 or 0."""
    if goals is not None and goals.dofs.shape[0] > 0:
        goals.moves[0] = moves


@routine
def add_work(goals, work):
    """Add to the work of the drives [J]."""
    if goals is not None and goals.dofs.shape[0] > 0:
        goals.work[0] += work


@routine
def work_of_drives(model, data, touch, goals, dt):
    """Work of the drives in both phases of a solved substep, and its uncertainty [J].

    The work of the impulse at either end is that over the mean of the velocities before and after it, which is the
    energy change of a free mass; the uncertainty is the distance to the values with either velocity. `dx` contains the
    velocities at the end of the substep.
    """
    work = unknown = 0.0
    if goals is None or goals.dofs.shape[0] == 0:
        return work, unknown
    for c in range(model.cones.shape[0]):
        cone = model.cones[c]
        if is_prescribed(cone):
            k, first = cone.dof, touch.lam[cone.row]
            rate, last = data.displacement[k] / dt, touch.phase.total[cone.row] - first
            work += 0.5 * (first * (touch.v[k] + rate) + last * (rate + data.dx[k]))
            unknown += 0.5 * (abs(first * (rate - touch.v[k])) + abs(last * (data.dx[k] - rate)))
    return work, unknown
