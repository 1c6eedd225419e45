"""Impulses of loops, couplings and soft loop joints at the nodes of a body-wise step, and their derivatives.

A constraint between two bodies exerts the wrench lam W and its opposite on them, at the node where it holds; a
coupling acts on its two joints. Multipliers are impulses. Springs and dampers of loop joints are rows of the same kind,
whose force follows from the poses and twists at their node.
"""

from leastaction._jit import inline, routine
from leastaction.kinematics.closure_kernels import (
    evaluate,
    is_coupling,
    is_velocity,
    polynomial,
    soft_force,
    twist_of,
    wrench_slope,
)
from leastaction.kinematics.loop_equations import coordinate_of
from leastaction.kinematics.sweeps import add_to, is_above
from leastaction.minimal.galerkin_bodies.node_twists import body_twists, twist_slope
from leastaction.spatial import dot, load6, scale, sub


@routine
def closure_impulses(closure, model, settings, data, j):
    """Add the impulses at node j to the wrenches F and the generalised forces tau; nothing for trees (None)."""
    if closure is None:
        return
    bodies, lam = data.bodies[j], data.lam[j]
    wdt = settings.dt * model.rule.w[j]
    if closure.rows.shape[0] > closure.count:
        body_twists(model, settings, data, j)
    for c in range(closure.rows.shape[0]):
        row = closure.rows[c]
        if is_coupling(row):
            _, slope, _ = polynomial(row, closure.coefficients, coordinate_of(model.nodes, data.Q[j], row.leader))
            # Joint forces are multiplied by the weight of the node; multipliers are impulses already.
            data.tau[row.follower] += lam[c] / wdt
            data.tau[row.leader] -= slope * lam[c] / wdt
            continue
        h, W = evaluate(row, bodies)
        x = wdt * soft_force(row, bodies, h, W) if row.soft != 0 else lam[c]
        if row.b >= 0:
            add_to(bodies[row.b].F, scale(x, W))
        if row.a >= 0:
            add_to(bodies[row.a].F, scale(-x, W))


@routine
def closure_columns(closure, model, settings, data, dense, rows):
    """Add the derivatives of the impulses at the first `rows` nodes to H; nothing for trees (None).

    The rotation of joint rows is included with all other wrenches, see `body_hessian`.
    """
    if closure is None:
        return
    for j in range(rows):
        if closure.rows.shape[0] > closure.count:
            body_twists(model, settings, data, j)
        for c in range(closure.rows.shape[0]):
            row = closure.rows[c]
            if is_coupling(row):
                n = row.leader
                x = coordinate_of(model.nodes, data.Q[j], n)
                _, _, curvature = polynomial(row, closure.coefficients, x)
                dense.H[j, n, j, n] -= data.lam[j, c] * curvature
            elif row.soft != 0:
                _soft_columns(model, settings, data, dense.H, j, row)
            else:
                _columns(model.nodes, data, dense.H, j, row, data.lam[j, c])


@inline
def _work(nodes, S, row, F, H, j, k, b):
    """Add the work of the wrench F on body b of a row, and of its opposite on body a, to column (k, b) of node j."""
    for end in range(2):
        i = row.b if end == 0 else row.a
        sign = 1.0 if end == 0 else -1.0
        while i >= 0:
            for a in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                H[j, a, k, b] += sign * dot(load6(S[j, a]), F)
            i = nodes[i].parent


@routine
def _columns(nodes, data, H, j, row, x):
    """Add the derivatives of an equation with the impulse x by the poses of its two bodies."""
    S, bodies = data.S, data.bodies[j]
    for end in range(2):
        i = row.b if end == 0 else row.a
        while i >= 0:
            # Joints that carry both bodies move both; they are treated from b.
            both = is_above(nodes, i, row.a if end == 0 else row.b)
            if end == 0 or not both:
                for b in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                    dW = wrench_slope(row, bodies, both or end == 1, both or end == 0, load6(S[j, b]))
                    _work(nodes, S, row, scale(x, dW), H, j, j, b)
            i = nodes[i].parent


@routine
def _soft_columns(model, settings, data, H, j, row):
    """Add the derivatives of a spring and damper by its bodies at node j, those of the damper by all nodes."""
    nodes, S, bodies = model.nodes, data.S, data.bodies[j]
    wdt = settings.dt * model.rule.w[j]
    h, W = evaluate(row, bodies)
    _columns(nodes, data, H, j, row, wdt * soft_force(row, bodies, h, W))
    between = sub(twist_of(bodies, row.b), twist_of(bodies, row.a))
    for end in range(2):
        body = row.b if end == 0 else row.a
        sign = 1.0 if end == 0 else -1.0
        i = body
        while i >= 0:
            for b in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                for k in range(S.shape[0]):
                    T = load6(S[k, b])
                    dx = row.damping * sign * dot(W, twist_slope(model, settings, data, body, j, k, T))
                    if k == j:
                        dW = wrench_slope(row, bodies, end == 1, end == 0, T)
                        dx += row.stiffness * sign * dot(W, T) + row.damping * dot(dW, between)
                    _work(nodes, S, row, scale(-wdt * dx, W), H, j, k, b)
            i = nodes[i].parent


@routine
def loop_rows(model, settings, data, system):
    """Values h[(k, c)], G[(j, a), (j, c)] and H[(k, c), (k, b)] of the equations at all nodes; see `LoopSystem`.

    Equations of positions hold at the nodes 1 ... s. Those of rolling contacts are for velocities: at order 2 for the
    mean of both ends, which is symmetric in time, at higher orders at the nodes after the first.
    """
    closure, nodes, S, h, G, H = model.closure, model.nodes, data.S, system.h, system.G, system.H
    s, n, count = S.shape[0] - 1, S.shape[1], closure.count
    for a in range(H.shape[0]):
        h[a] = 0.0
        for b in range(H.shape[1]):
            H[a, b] = 0.0
            G[b, a] = 0.0
        for b in range(n):
            system.H_start[a, b] = 0.0
    for j in range(s + 1):
        bodies = data.bodies[j]
        for c in range(count):
            row = closure.rows[c]
            up, down = j * count + c, (j - 1) * count + c
            if is_coupling(row):
                x = coordinate_of(nodes, data.Q[j], row.leader)
                f, slope, _ = polynomial(row, closure.coefficients, x)
                if j < s:
                    G[j * n + row.follower, up] += 1.0
                    G[j * n + row.leader, up] -= slope
                if j > 0:
                    h[down] = coordinate_of(nodes, data.Q[j], row.follower) - f
                    H[down, (j - 1) * n + row.follower] += 1.0
                    H[down, (j - 1) * n + row.leader] -= slope
                continue
            value, W = evaluate(row, bodies)
            rolls = is_velocity(row)
            if rolls and (s == 1 or j > 0):
                body_twists(model, settings, data, j)
                at = c if s == 1 else down
                _velocity_row(model, settings, data, system, row, W, at, j)
            elif j > 0 and not rolls:
                h[down] = value
            for end in range(2):
                i = row.b if end == 0 else row.a
                sign = 1.0 if end == 0 else -1.0
                while i >= 0:
                    for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                        work = sign * dot(load6(S[j, k]), W)
                        if j < s:
                            G[j * n + k, up] += work
                        if j > 0 and not rolls:
                            H[down, (j - 1) * n + k] += work
                    i = nodes[i].parent


@routine
def _velocity_row(model, settings, data, system, row, W, at, j):
    """Add weight W . (twist of b - twist of a) at node j to equation `at`, and its derivatives by all nodes."""
    nodes, S, bodies = model.nodes, data.S, data.bodies[j]
    n = S.shape[1]
    weight = 0.5 * settings.dt if S.shape[0] == 2 else settings.dt
    between = sub(twist_of(bodies, row.b), twist_of(bodies, row.a))
    system.h[at] += weight * dot(W, between)
    for end in range(2):
        body = row.b if end == 0 else row.a
        sign = 1.0 if end == 0 else -1.0
        i = body
        while i >= 0:
            for b in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                for k in range(S.shape[0]):
                    T = load6(S[k, b])
                    slope = sign * dot(W, twist_slope(model, settings, data, body, j, k, T))
                    if k == j:
                        slope += dot(wrench_slope(row, bodies, end == 1, end == 0, T), between)
                    if k == 0:
                        system.H_start[at, b] += weight * slope
                    else:
                        system.H[at, (k - 1) * n + b] += weight * slope
            i = nodes[i].parent
