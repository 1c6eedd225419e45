"""Work of forces over a solved step, for its energy balance."""

from leastaction._jit import routine
from leastaction.kinematics.closure_kernels import evaluate, is_coupling, polynomial, twist_of
from leastaction.spatial import dot, load6, sub
from leastaction.step_control import energy_balance


@routine
def work_of_loops(closure, points):
    """Work of the multipliers of loops by the quadrature: zero, but for the motion between the points.

    The impulses at the end of the step belong to the next step.
    """
    work = 0.0
    if closure is None:
        return work
    links, rate, lam = points.nodes, points.rate, points.lam
    for al in range(links.shape[0]):
        for c in range(closure.count):
            row = closure.rows[c]
            if is_coupling(row):
                _, slope, _ = polynomial(row, closure.coefficients, points.X[al, row.leader])
                work += lam[al, c] * (rate[al, row.follower] - slope * rate[al, row.leader])
            else:
                _, W = evaluate(row, links[al])
                work += lam[al, c] * dot(W, sub(twist_of(links[al], row.b), twist_of(links[al], row.a)))
    return work


@routine
def is_off_balance(model, settings, points, before, after, p, p_next):
    """Whether the solved step from momentum p to p_next, of kinetic energies `before` and `after` [J], is off balance.

    The work of gravity, springs, dampers, drives and other forces follows the quadrature of the step.
    """
    nodes = model.tree.nodes
    pts, scr, rate, force = points.nodes, points.screws, points.rate, points.force
    w, dt = settings.rule.w, settings.dt
    work = impulses = 0.0
    for k in range(p.shape[0]):
        impulses += abs(p[k]) + abs(p_next[k])
    for al in range(w.shape[0]):
        for i in range(nodes.shape[0]):
            # Summed over joints, subtree impulses times joint motions are the impulses on bodies times their twists.
            G = load6(pts[al, i].G)
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                impulse = w[al] * dt * force[al, k] + dot(load6(scr[al, k].S), G)
                work += rate[al, k] * impulse
                impulses += abs(impulse)
    work -= work_of_loops(model.tree.closure, points)
    floating = model.native.floating
    return energy_balance.is_off_balance(floating, force, (before, after, work), (p, p_next), impulses, settings)
