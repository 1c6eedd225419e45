"""The discrete Euler-Lagrange equations of the body-wise rule: wrenches of every body at the nodes, and their sums.

The discrete Lagrangian is a sum over bodies of functions of their poses at the nodes,

    l = dt sum_alpha w_alpha [m/2 |x'|^2 + 1/2 omega . I omega - V],

with x the centre of mass, interpolated through the nodes, and `rotational_energy` for omega. Its derivative along
twists of the poses is a wrench F_j for each body and node; those of a body sum to the wrenches of the potential alone,
so momenta are exact. Row (j, a): S_a(q_j) . (sum of F_j over the subtree of a), with p added at the first node; at the
last one it is the new p.
"""

from leastaction._jit import inline, routine
from leastaction.forces import drives, total
from leastaction.forces.arrays import modes_at
from leastaction.kinematics.sweeps import add_to, place, screw_axis
from leastaction.minimal.galerkin_bodies.joint_velocities import (
    drive_impulses,
    hold_servos,
    joint_velocities,
    turn_joints,
)
from leastaction.minimal.galerkin_bodies.loop_impulses import closure_impulses
from leastaction.minimal.galerkin_bodies.newton.simd_blocks import turn_packs
from leastaction.minimal.galerkin_bodies.node_twists import body_twists
from leastaction.minimal.galerkin_bodies.rotational_energy import set_turn, turn_between, turning_gradient
from leastaction.minimal.galerkin_bodies.tendon_feedback import hold_tendons
from leastaction.minimal.galerkin_bodies.wrench_blocks import start_torque
from leastaction.spatial import (
    EYE,
    ZERO3,
    ZERO6,
    add3,
    axpy3,
    cross,
    dot,
    load3,
    load6,
    load9,
    load_sym,
    matvec,
    rotate_sym,
    scale3,
    store3,
    store6,
    store9,
    store_sym,
    sub3,
)


@routine
def place_bodies(model, data, j):
    """Poses and screws of all bodies at node j, from Q[j]; at the first node also their inertias, for rotations."""
    nodes, bodies, S, q = model.nodes, data.bodies[j], data.S[j], data.Q[j]
    for i in range(nodes.shape[0]):
        node, body = nodes[i], bodies[i]
        Rp, pp = EYE, ZERO3
        if node.parent >= 0:
            Rp, pp = load9(bodies[node.parent].R), load3(bodies[node.parent].p)
        R, p = place(node, q, Rp, pp)
        store9(body.R, R)
        store3(body.p, p)
        store3(body.x, add3(p, matvec(R, load3(node.com))))
        if j == 0:
            store_sym(data.inertias[i], rotate_sym(R, load_sym(node.Ic)))
        for k in range(node.nv):
            store6(S[node.iv + k], screw_axis(node, k, R, p))


@inline
def moved(m, bodies, al, i):
    """sum_k m[al, k] x_k of body i: dt / mass times the derivative of its kinetic energy by x_al."""
    x0 = load3(bodies[0, i].x)
    out = ZERO3
    for k in range(1, m.shape[0]):
        out = axpy3(m[al, k], sub3(load3(bodies[k, i].x), x0), out)
    return out


@routine
def turn_bodies(model, settings, data, second, fourth):
    """Rotation vectors of all bodies over the step, and the derivatives of their kinetic energies.

    See `feature_flags.KernelFeatures`.
    """
    if fourth is not None and second is None:  # not compiled for all orders
        turn_packs(model, settings, data)
        return
    nodes, turns, bodies, w, b = model.nodes, data.turns, data.bodies, model.rule.w, model.rule.b
    for i in range(nodes.shape[0]):
        R0 = load9(bodies[0, i].R)
        for j in range(1, turns.shape[0]):
            set_turn(turns, j, i, turn_between(R0, load9(bodies[j, i].R)))
        turning_gradient(w, b, turns, i, load_sym(data.inertias[i]), settings.dt)


@routine
def inertial_wrenches(model, settings, data, j):
    """Wrenches of kinetic energy and gravity on each body at node j."""
    nodes, m, bodies, turns = model.nodes, model.rule.m, data.bodies, data.turns
    dt = settings.dt
    fall = scale3(dt * model.rule.w[j], load3(model.gravity))
    for i in range(nodes.shape[0]):
        mass = nodes[i].mass
        f = axpy3(mass / dt, moved(m, bodies, j, i), scale3(mass, fall))
        F = (add3(start_torque(turns, j, i), cross(load3(bodies[j, i].x), f)), f)
        store6(bodies[j, i].F, F)
        store3(bodies[j, i].f, f)


@routine
def hold_controls(model, data, u):
    """Generalised forces of the controls u (nodes, nu) at all nodes, which are constant while the step is solved."""
    for j in range(data.held.shape[0]):
        for k in range(data.held.shape[1]):
            data.held[j, k] = 0.0
        drives.joint_forces(model.forces.drives, u[j], 1.0, data.held[j])
        total.set_pulls(model.forces, modes_at(data.modes, j), u[j])


@routine
def _springs_at(soft, model, settings, data, j):
    """Add the generalised forces of springs and dampers in joints to tau; nothing where they are disabled (None)."""
    if soft is None:
        return
    if model.sprung:
        if model.damped:
            joint_velocities(model, settings, data, j)
        total.joint_forces(model.forces, modes_at(data.modes, j), data.Q[j], data.V[j], data.tau)
        hold_servos(model, data, j, data.tau)


@routine
def forces_at(model, settings, data, j, u):
    """Generalised forces tau, and wrenches of body forces added to F, at node j with the controls u (nu,)."""
    forces, tau = model.forces, data.tau
    for k in range(tau.shape[0]):
        tau[k] = data.held[j, k]
    _springs_at(model.ways.soft, model, settings, data, j)
    if model.pushed:
        bodies = data.bodies[j]
        body_twists(model, settings, data, j)
        for i in range(data.external.shape[0]):
            store6(data.external[i], ZERO6)
        total.wrenches(forces, modes_at(data.modes, j), bodies, data.external)
        drives.wrenches(forces.drives, bodies, u, data.external)
        weight = settings.dt * model.rule.w[j]
        for i in range(model.nodes.shape[0]):
            for c in range(6):
                bodies[i].F[c] += weight * data.external[i, c]


@routine
def rows_at(model, settings, data, j, out):
    """out[k] = S_k . F of its subtree + generalised impulses, at node j; F then holds the sums over subtrees."""
    nodes, bodies, S, tau = model.nodes, data.bodies[j], data.S[j], data.tau
    weight = settings.dt * model.rule.w[j]
    for i in range(nodes.shape[0] - 1, -1, -1):
        node = nodes[i]
        F = load6(bodies[i].F)
        for k in range(node.iv, node.iv + node.nv):
            out[k] = dot(load6(S[k]), F) + weight * tau[k]
        if node.parent >= 0:
            add_to(bodies[node.parent].F, F)
    drive_impulses(model.ways.soft, model, settings, data, j, out)


@routine
def residual(model, settings, data, p, u):
    """Residuals r (s, nv) of the equations at Q, p (nv,) and u (nodes, nu); returns their largest size."""
    s = model.rule.c.shape[0] - 1
    for j in range(1, s + 1):
        place_bodies(model, data, j)
    hold_tendons(model.forces.tendons, model, data)
    turn_bodies(model, settings, data, model.ways.second, model.ways.fourth)
    if model.damped or model.geared:
        turn_joints(model, settings, data)
    norm = 0.0
    for j in range(s):
        inertial_wrenches(model, settings, data, j)
        forces_at(model, settings, data, j, u[j])
        closure_impulses(model.closure, model, settings, data, j)
        rows_at(model, settings, data, j, data.r[j])
        for k in range(p.shape[0]):
            if j == 0:
                data.r[j, k] += p[k]
            if not abs(data.r[j, k]) <= norm:  # propagates NaN
                norm = abs(data.r[j, k])
    return norm


@routine
def end_momentum(model, settings, data, u, p):
    """The momentum p (nv,) at the end of a solved step."""
    s = model.rule.c.shape[0] - 1
    inertial_wrenches(model, settings, data, s)
    forces_at(model, settings, data, s, u[s])
    closure_impulses(model.closure, model, settings, data, s)
    rows_at(model, settings, data, s, p)
