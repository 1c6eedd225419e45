"""Work of the contacts in a step, which bounds restitution (`bounces`).

Forces leave the mean motion of a step alone, so what it says of momenta is the same whatever pushes: with the momenta

    m0 = -D1 T = p + F0 + k,    m1 = D2 T = p1 - F1

of this motion at both ends, the impulses F0 and F1 of all forces there and k of the contacts, the contacts have done
the work

    W = T(q0, m0) - T(q0, m0 - k)

beside forces that act with them, as motors do that press on a wall: where the motion stops it is negative.
"""

from leastaction._jit import routine
from leastaction.minimal.contact.blocks import has_inertia
from leastaction.minimal.contact.legendre import factor, solve
from leastaction.minimal.contact.newton_restitution import given, mass_of
from leastaction.minimal.contact.row_vec6 import held, hold, six
from leastaction.minimal.contact.spring_forces import momenta_of_drive
from leastaction.minimal.contact.sweeps import torque_of
from leastaction.minimal.galerkin_bodies.rotational_energy import turn_between
from leastaction.minimal.vec6 import ZEROS, times
from leastaction.spatial import add3, cross, load3, load9, load_sym, mattvec, matvec, scale3, sub3

NOISE = 1e-6
"""Motions within a step that are too small to look at [m]."""


@routine
def momenta_of_motion(model, data, dt, first, last):
    """Momenta of the mean motion of the step at its start and its end, without those of forces, into two arrays."""
    nodes, slots, wait, now = model.nodes, model.slots, data.wait, data.now[0]
    for k in range(model.branches):
        for c in range(12):
            wait[k, c] = 0.0
    F, E = ZEROS, ZEROS
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        if slots[i] >= 0:
            F, E = held(wait[slots[i]], 0, F), held(wait[slots[i]], 6, E)
        if has_inertia(node):
            R0, x0, x1 = load9(data.R[now][i]), load3(data.x[now][i]), load3(data.x[1 - now][i])
            y = mattvec(R0, turn_between(R0, load9(data.R[1 - now][i])))
            _, t, _, _ = torque_of(load_sym(node.Ic), y, 1.0 / dt)
            t, f = matvec(R0, t), scale3(node.mass / dt, sub3(x1, x0))
            u, v = add3(cross(x0, f), t), add3(cross(x1, f), t)
            F = (F[0] + u[0], F[1] + u[1], F[2] + u[2], F[3] + f[0], F[4] + f[1], F[5] + f[2])
            E = (E[0] + v[0], E[1] + v[1], E[2] + v[2], E[3] + f[0], E[4] + f[1], E[5] + f[2])
        for c in range(node.iv, node.iv + node.nv):
            u0 = u1 = model.dofs[c].armature * data.moved[c] / dt
            if node.nv > 1:
                u0, u1 = momenta_of_drive(data.touch.pulls, c)
            first[c], last[c] = times(six(data.S[now][c]), F) + u0, times(six(data.S[1 - now][c]), E) + u1
        if node.parent != i - 1:
            if node.parent >= 0:
                hold(wait[slots[node.parent]], 0, F)
                hold(wait[slots[node.parent]], 6, E)
            F, E = ZEROS, ZEROS


@routine
def energy_of(model, data, p):
    """Kinetic energy [J] of momenta p, with the factors that `legendre.factor` has left in `data.W`."""
    energy, v = 0.0, data.dx
    solve(model, data, data.W, p, v)
    for k in range(p.shape[0]):
        energy += 0.5 * p[k] * v[k]
    return energy


@routine
def work_of_contacts(model, data, dt):
    """Work W of the contacts of a solved step, see the top of the file, and the kinetic energy after them [J]; beside
    what may be `given`. Leaves the momenta of the motion at its end in `phase.y`."""
    phase, kick, work = data.touch.phase, data.touch.kick, 0.0
    m0, v = phase.off, data.dx
    momenta_of_motion(model, data, dt, m0, phase.y)
    factor(model, data, data.W, 0.0)
    solve(model, data, data.W, kick, v)
    for k in range(kick.shape[0]):
        work += v[k] * (m0[k] - 0.5 * kick[k])
    left = given(model, data.touch, data.touch.found, dt) + mass_of(model) * (NOISE / dt) ** 2
    return work - left, energy_of(model, data, m0)
