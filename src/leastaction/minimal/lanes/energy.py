"""Energy that no force accounts for, in a step with contacts.

Impulses of contacts take energy. The equations of a step that is too long for what touches may have solutions that do
not: features of two bodies that turn fast are elsewhere at its end, and a huge impulse may bring them there. Forces
leave the mean motion of a step alone, so what it says of momenta and energies is the same whatever pushes: with the
momenta

    m0 = -D1 T = p + F0 + k,    m1 = D2 T = p1 - F1

of this motion at both ends, the impulses F0 and F1 of all forces there and k of the contacts, the contacts have done
the work

    W = T(q0, m0) - T(q0, m0 - k)

beside forces that act with them, as motors do that press on a wall: where the motion stops it is negative. And from
one end to the other the motion keeps its energy, T(q1, m1) = T(q0, m0), as that of bodies without forces does.
"""

import math

from leastaction._jit import inline, routine
from leastaction.minimal.bodywise.turning import turn_between
from leastaction.minimal.lanes.blocks import has_inertia
from leastaction.minimal.lanes.bounces import given, mass_of
from leastaction.minimal.lanes.legendre import factor, solve
from leastaction.minimal.lanes.pulls import momenta_of_drive
from leastaction.minimal.lanes.sixes import held, hold, six
from leastaction.minimal.lanes.sweeps import torque_of, with_thrust
from leastaction.minimal.sixes import ZEROS, times
from leastaction.spatial import add3, cross, dot3, load3, load9, load_sym, mattvec, matvec, scale3, sub3
from leastaction.step_control.energy_balance import SHARE as PLAUSIBLE

WORK = 1e-3
"""Work of the contacts in a step, relative to the kinetic energies before and after them, that counts as none."""

NOISE = 1e-6
"""Motions within a step that are too small to look at [m]."""

FAR = 1.0 + 2.0 * math.cos(0.2)
"""Trace of the turn of a body [0.2 rad] beyond which a step is looked at."""


@routine
def along_motion(lane):
    """Work of the impulses of contacts with the mean velocity of the step, times its length [J s]."""
    work = 0.0
    for k in range(lane.p.shape[0]):
        work += lane.touch.kick[k] * lane.moved[k]
    return work


@routine
def turns_far(model, lane):
    """Whether a body turns so far in the solved step that there may be other solutions."""
    now, far = lane.now[0], False
    for i in range(model.nodes.shape[0]):
        R0, R1, trace = lane.R[now][i], lane.R[1 - now][i], 0.0
        for k in range(9):
            trace += R0[k] * R1[k]
        far = far or not trace >= FAR
    return far


@routine
def momenta_of_motion(model, lane, dt, first, last):
    """Momenta of the mean motion of the step at its start and its end, without those of forces, into two arrays."""
    nodes, slots, wait, now = model.nodes, model.slots, lane.wait, lane.now[0]
    for k in range(model.branches):
        for c in range(12):
            wait[k, c] = 0.0
    F, E = ZEROS, ZEROS
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        if slots[i] >= 0:
            F, E = held(wait[slots[i]], 0, F), held(wait[slots[i]], 6, E)
        if has_inertia(node):
            R0, x0, x1 = load9(lane.R[now][i]), load3(lane.x[now][i]), load3(lane.x[1 - now][i])
            y = mattvec(R0, turn_between(R0, load9(lane.R[1 - now][i])))
            _, t, _, _ = torque_of(load_sym(node.Ic), y, 1.0 / dt)
            t, f = matvec(R0, t), scale3(node.mass / dt, sub3(x1, x0))
            u, v = add3(cross(x0, f), t), add3(cross(x1, f), t)
            F = (F[0] + u[0], F[1] + u[1], F[2] + u[2], F[3] + f[0], F[4] + f[1], F[5] + f[2])
            E = (E[0] + v[0], E[1] + v[1], E[2] + v[2], E[3] + f[0], E[4] + f[1], E[5] + f[2])
        for c in range(node.iv, node.iv + node.nv):
            u0 = u1 = model.dofs[c].armature * lane.moved[c] / dt
            if node.nv > 1:
                u0, u1 = momenta_of_drive(lane.touch.pulls, c)
            first[c], last[c] = times(six(lane.S[now][c]), F) + u0, times(six(lane.S[1 - now][c]), E) + u1
        if node.parent != i - 1:
            if node.parent >= 0:
                hold(wait[slots[node.parent]], 0, F)
                hold(wait[slots[node.parent]], 6, E)
            F, E = ZEROS, ZEROS


@routine
def energy_of(model, lane, p):
    """Kinetic energy [J] of momenta p, with the factors that `legendre.factor` has left in `lane.W`."""
    energy, v = 0.0, lane.dx
    solve(model, lane, lane.W, p, v)
    for k in range(p.shape[0]):
        energy += 0.5 * p[k] * v[k]
    return energy


@inline
def work_of_thrust(pushed, model, lane, i, shift, dt):
    """The same of what controls push body i with; `shift` of its centre of mass within the step."""
    if pushed is None:
        return 0.0
    F, x = with_thrust(pushed, model, lane, i, 0, dt, ZEROS), load3(lane.x[lane.now[0]][i])
    f = (F[3], F[4], F[5])
    turn = turn_between(load9(lane.R[lane.now[0]][i]), load9(lane.R[1 - lane.now[0]][i]))
    return (dot3(f, shift) + dot3(sub3((F[0], F[1], F[2]), cross(x, f)), turn)) / dt


@routine
def work_of_contacts(model, lane, dt):
    """Work W of the contacts of a solved step, see the top of the file, and the kinetic energy after them [J]; beside
    what may be `given`. Leaves the momenta of the motion at its end in `phase.y`."""
    phase, kick, work = lane.touch.phase, lane.touch.kick, 0.0
    m0, v = phase.off, lane.dx
    momenta_of_motion(model, lane, dt, m0, phase.y)
    factor(model, lane, lane.W, 0.0)
    solve(model, lane, lane.W, kick, v)
    for k in range(kick.shape[0]):
        work += v[k] * (m0[k] - 0.5 * kick[k])
    left = given(model, lane.touch, dt) + mass_of(model) * (NOISE / dt) ** 2
    return work - left, energy_of(model, lane, m0)


@routine
def gains_energy(model, lane, dt):
    """Whether a solved step with contacts has energy from nowhere: where impulses go with the motion, or bodies turn
    far. Those of steps in which nothing touches are judged by `flight.goes_astray`."""
    touch, now, pushes = lane.touch, lane.now[0], False
    for k in range(lane.p.shape[0]):
        pushes = pushes or touch.kick[k] != 0.0
    far = pushes and turns_far(model, lane)
    if not far and along_motion(lane) <= 0.0:
        return False
    work, start = work_of_contacts(model, lane, dt)
    if not work <= WORK * (start + start - work):
        return True
    if not far:
        return False
    lane.now[0] = 1 - now
    factor(model, lane, lane.W, 0.0)
    end = energy_of(model, lane, touch.phase.y)
    lane.now[0] = now
    return not abs(end - start) <= PLAUSIBLE * (start + end) + mass_of(model) * (NOISE / dt) ** 2
