"""Feedback of drives on tendons: a stiff spring, which is unstable with Lobatto quadrature alone.

Its energy is integrated by Gauss quadrature, see `quadrature_rules.stiff_correction`: with Z = sum_k z_k l_k the length
at node j is replaced by l_j - z_j / w_j Z.
"""

from leastaction._jit import inline, routine
from leastaction.forces.arrays import modes_at
from leastaction.forces.tendons import tendon_forces as laws
from leastaction.kinematics.sweeps import add_to
from leastaction.spatial import ZERO6, dot, load6, store6


@routine
def hold_tendons(tendons, model, data):
    """Set `modes.pull`, the corrections of lengths at all nodes, and unwrap joint angles; poses must be computed."""
    if tendons is None:
        return
    items, z, w, pull = data.modes.items, model.rule.z, model.rule.w, data.modes.pull
    laws.unwrap_angles(items, data.Q[0])
    for i in range(tendons.shape[0]):
        if tendons[i].held == 0.0:
            continue
        Z = 0.0
        for k in range(z.shape[0]):
            Z += z[k] * laws.length_and_rate(tendons[i], items, data.bodies[k])[0]
        for j in range(z.shape[0]):
            pull[j, i, 2] = -z[j] / w[j] * Z


@routine
def held_columns(tendons, model, settings, data, dense, first):
    """Add the effect of lengths at other nodes to H; needs `body_residual` and twists."""
    if tendons is None:
        return
    z = model.rule.z
    last = z.shape[0]
    for i in range(tendons.shape[0]):
        if tendons[i].held == 0.0:
            continue
        for j in range(last):
            _gradient(tendons[i], model, data, dense, j)
        for j in range(last - first):
            modes = modes_at(data.modes, j)
            free = laws.free_share(tendons[i], modes.items, modes.tendons[i], modes.pull[i], data.bodies[j])
            gain = settings.dt * tendons[i].held * free * z[j]
            for k in range(first, last):
                for a in range(dense.g.shape[1]):
                    for b in range(dense.g.shape[1]):
                        dense.H[j, a, k, b] += gain * z[k] * dense.g[j, a] * dense.g[k, b]


@inline
def _gradient(tendon, model, data, dense, j):
    """g[j]: gradient of a tendon's length by the displacements of the joints at node j."""
    out = dense.out
    for i in range(out.shape[0]):
        store6(out[i], ZERO6)
    laws.push(tendon, data.modes.items, data.bodies[j], 1.0, out)
    for i in range(model.nodes.shape[0] - 1, -1, -1):
        node = model.nodes[i]
        F = load6(out[i])
        for a in range(node.iv, node.iv + node.nv):
            dense.g[j, a] = dot(load6(data.S[j, a]), F)
        if node.parent >= 0:
            add_to(out[node.parent], F)
