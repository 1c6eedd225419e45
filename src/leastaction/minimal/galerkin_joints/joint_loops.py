"""Steps with closed loops and couplings (Fan 2018, Eq. 6 and Section 3.3; for the midpoint rule Johnson and Murphey,
Scalable Variational Integrators for Constrained Mechanical Systems in Generalized Coordinates, T-RO 2009).

Unknowns are the control points and the multipliers at the points 0 ... s-1; equations are the DEL rows and the loop
equations at the points 1 ... s. (Those of rolling contacts are for velocities: at order 2 for the mean of both ends; no
higher order is guaranteed with them.) Newton updates come from `elimination`. The Jacobian of the rows includes the
curvature of the loops, so Newton converges quadratically.

The midpoint rule has no quadrature point at its ends. There the mechanism is evaluated with the Lobatto rule through
the same control points, and the loops' impulse at the start, G lam, is added to the momentum with which the step
begins.
The momentum of Eq. 6c lacks the impulse of the loops at its own point. It is added (`fit_momentum`), so that M^-1 p
satisfies the loops.
"""

from leastaction._jit import entry, routine
from leastaction.kinematics.closure_kernels import (
    evaluate,
    is_coupling,
    is_velocity,
    polynomial,
    twist_of,
    wrench_slope,
)
from leastaction.minimal.convergence import ROUND_OFF, SHARPEST, largest
from leastaction.minimal.elimination import CAPS, eliminate, fit_momentum, hinges_turn_too_far, loop_forces
from leastaction.minimal.galerkin_joints.arrays import LoopData
from leastaction.minimal.galerkin_joints.derivatives import joint_hessian
from leastaction.minimal.galerkin_joints.joint_one_sided_forces import open_or_close
from leastaction.minimal.galerkin_joints.joint_residual import ball_matrices, residual, start_point
from leastaction.minimal.galerkin_joints.joint_rollout import shortened
from leastaction.minimal.galerkin_joints.joint_work import is_off_balance
from leastaction.minimal.galerkin_joints.newton import newton_directions
from leastaction.minimal.galerkin_joints.newton.joint_newton import begin, end_state, turns_too_far
from leastaction.minimal.galerkin_joints.quadrature_points import is_nodal, positions, velocities
from leastaction.minimal.initial_guesses import constant_velocity, kinetic_energy
from leastaction.minimal.substep_rollout import rollout_of
from leastaction.spatial import ad, add, dot, load6_at, sub


@routine
def loop_rows(model, loops):
    """Values h[(gamma, c)], G[(rho, k), (rho, c)] and H[(gamma, c), (gamma, k)] of the equations at all points.

    `H_start`[(gamma, c), k]: their derivative by the start of the step, nonzero only for rolling contacts.
    """
    pts, X, dt = loops.points.nodes, loops.points.X, loops.settings.dt
    col, row = loops.hessian.col, loops.hessian.row
    h, G, H = loops.system.h, loops.system.G, loops.system.H
    nodes, rows, coefficients, count = model.nodes, model.closure.rows, model.closure.coefficients, model.closure.count
    s, n = X.shape[0] - 1, X.shape[1]
    Q = s + 1
    G[:] = 0.0
    H[:] = 0.0
    loops.system.H_start[:] = 0.0
    for al in range(s + 1):
        links = pts[al]
        for c in range(count):
            eq = rows[c]
            up, down = al * count + c, (al - 1) * count + c
            if is_coupling(eq):
                f, slope, _ = polynomial(eq, coefficients, X[al, eq.leader])
                if al < s:
                    G[al * n + eq.follower, up] += 1.0
                    G[al * n + eq.leader, up] -= slope
                if al > 0:
                    h[down] = X[al, eq.follower] - f
                    H[down, (al - 1) * n + eq.follower] += 1.0
                    H[down, (al - 1) * n + eq.leader] -= slope
                continue
            value, W = evaluate(eq, links)
            if is_velocity(eq):
                # Order 2: the mean of both ends, which is symmetric in time. Beyond: at the points after the first.
                if s == 1 or al > 0:
                    at = c if s == 1 else down
                    weight = 0.5 * dt if s == 1 else dt
                    before = h[at] if s == 1 and al == 1 else 0.0
                    h[at] = before + weight * dot(W, sub(twist_of(links, eq.b), twist_of(links, eq.a)))
                    _velocity_row(nodes, loops, eq, W, at, al, weight)
            elif al > 0:
                h[down] = value
            for end in range(2):
                i = eq.b if end == 0 else eq.a
                sign = 1.0 if end == 0 else -1.0
                while i >= 0:
                    for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                        if al < s:
                            G[al * n + k, up] += sign * dot(load6_at(row[k, al], 6 * (Q + al)), W)
                        if al > 0 and not is_velocity(eq):
                            H[down, (al - 1) * n + k] += sign * dot(load6_at(col[k, al], 6 * (Q + al)), W)
                    i = nodes[i].parent


@routine
def _velocity_row(nodes, loops, eq, W, down, al, weight):
    """Add the derivative of weight W . (twist of b - twist of a) at point al by all control points."""
    col, H, H_start = loops.hessian.col, loops.system.H, loops.system.H_start
    links = loops.points.nodes[al]
    n, Q = col.shape[0], col.shape[1]
    va, vb = twist_of(links, eq.a), twist_of(links, eq.b)
    for end in range(2):
        i = eq.b if end == 0 else eq.a
        sign = 1.0 if end == 0 else -1.0
        own = vb if end == 0 else va
        while i >= 0:
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                for chi in range(col.shape[1]):
                    T = load6_at(col[k, chi], 6 * (Q + al))
                    V = add(load6_at(col[k, chi], 6 * al), ad(T, own))
                    dW = wrench_slope(eq, links, end == 1, end == 0, T)
                    slope = weight * (sign * dot(W, V) + dot(dW, sub(vb, va)))
                    if chi == 0:
                        H_start[down, k] += slope
                    else:
                        H[down, (chi - 1) * n + k] += slope
            i = nodes[i].parent


@routine
def at_control_points(model, loops):
    """The mechanism at the control points of a rule with other quadrature points, with its rows and columns."""
    points = loops.points
    for al in range(points.nodes.shape[0]):
        positions(model, loops.settings.rule, points, al)
        velocities(model.nodes, loops.settings, points, al)
    ball_matrices(model.nodes, loops.settings, points)
    joint_hessian.vectors(model.nodes, loops.settings, points, loops.hessian)


@routine
def start_momentum(settings, loops, p):
    """loops.p: momentum p at the start plus the loop impulse there, unless a quadrature point includes it."""
    G, lam = loops.system.G, loops.points.lam
    for k in range(p.shape[0]):
        x = p[k]
        if not is_nodal(settings.rule):
            for c in range(G.shape[1]):
                x += G[k, c] * lam[0, c]
        loops.p[k] = x


@routine
def newton(model, settings, data, loops, u, cap):
    """Solve for control points and multipliers. Returns (iterations, converged)."""
    points, dx, history, tolerance = data.points, data.dx, data.history, settings.tolerance
    X, r, lam, count = points.X, points.r, loops.points.lam, model.closure.count
    s, n = r.shape
    lam[:] = 0.0
    for it in range(history.shape[0]):
        history[it] = 0.0
    for k in range(n):
        loops.p[k] = data.p[k]
    history[0] = residual(model, settings, points, loops.p, u)
    open_or_close(model.jumps, model, settings, points)
    last = 1e300
    for it in range(1, settings.max_iterations + 1):
        joint_hessian.assemble(model, settings, points, data.solver.hessian)
        if not is_nodal(settings.rule):
            at_control_points(model, loops)
        loop_rows(model, loops)
        newton_directions.jacobian(data.solver.hessian.D, data.solver.J)
        eliminate(loops.system, data.solver.J, r, dx)
        size = largest(dx)
        if not size < 1e12:
            return it, False
        shorten = min(1.0, cap / size)
        for a in range(s):
            for i in range(n):
                X[a + 1, i] += shorten * dx[a, i]
            for c in range(count):
                lam[a, c] += shorten * loops.system.dlam[a * count + c, 0]
        start_momentum(settings, loops, data.p)
        history[it] = residual(model, settings, points, loops.p, u)
        floor = size <= ROUND_OFF and size > 0.25 * last and tolerance >= SHARPEST
        if shorten == 1.0 and (size <= tolerance or floor):
            if open_or_close(model.jumps, model, settings, points) == 0:
                return it, not (turns_too_far(model.nodes, X) or hinges_turn_too_far(model.nodes, X[0], X[s], True))
            residual(model, settings, points, loops.p, u)
        last = size
    return settings.max_iterations, False


@routine
def _attempt(model, settings, data, u, q, p, q_next, p_next, before):
    """See `substep_rollout.rollout_of`; the first guess has the velocity at the start, which satisfies the loops."""
    own = data.loops
    loops = LoopData(shortened(own.settings, settings.dt), own.points, own.hessian, own.p, own.system)
    iterations, accepted, after = 0, False, 0.0
    for again in range(len(CAPS)):
        constant_velocity(model.native, settings, data.guess, data.points.X, q)
        begin(model.tree, settings, data, q, p)
        if not is_nodal(settings.rule):
            start_point(model.tree, loops.settings.rule, loops.points, q)
        its, accepted = newton(model.tree, settings, data, loops, u, CAPS[again])
        iterations += its
        if accepted:
            break
    if accepted:
        for i in range(data.p.shape[0]):
            data.p[i] = loops.p[i]
        end_state(model.tree, settings, data, q, q_next, p_next)
        fit_momentum(model.native, data.guess, loops.system, q_next, p_next)
        after = kinetic_energy(model.native, data.guess, q_next, p_next)
        accepted = not is_off_balance(model, settings, data.points, before, after, p, p_next)
    return iterations, accepted, after


@routine
def _write_forces(model, settings, data, multipliers, row, first):
    """See `substep_rollout.rollout_of`."""
    own = data.loops
    loop_forces(own.system, own.points.lam, settings.dt, own.settings.rule.w, multipliers, row, first)


_rollout = rollout_of(_attempt, shortened, _write_forces)


@entry(nogil=True)
def rollout(model, settings, data, U, Q, P, iterations, divided, multipliers):
    """Steps from row 0 of Q and P with loops; returns the number of steps done.

    `multipliers`: those of the loops as forces [N or N m], one row per state.
    """
    return _rollout(model, settings, data, U, Q, P, iterations, divided, multipliers)
