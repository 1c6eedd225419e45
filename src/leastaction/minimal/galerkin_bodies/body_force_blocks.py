"""Body forces in the recursion: each acts on one body alone, so their derivatives are 6 x 6 blocks per body and node.

A wrench at node j changes by K eta_j + D dv_j; the twist there depends on the poses at all nodes (`node_twists`).
Products of `forces.total` with unit twists of all bodies at once yield all blocks, because forces that couple no two
bodies do not mix them.
"""

from leastaction._jit import inline, routine
from leastaction.forces import drives, total
from leastaction.forces.arrays import modes_at
from leastaction.kinematics.sweeps import add_to
from leastaction.minimal.galerkin_bodies.node_twists import twist_slope
from leastaction.spatial import ZERO6, load6, scale, store6
from leastaction.spatial.basis import unit_twist


@routine
def push_slopes(pushes, model, settings, data, u):
    """Set K, D and F at the poses of the last `body_residual`, with the controls u (nodes, nu)."""
    if pushes is None:
        return
    for j in range(pushes.F.shape[0]):
        _wrenches(pushes, model, settings, data, j, u[j])
        for c in range(6):
            _columns(pushes, model, data, j, c, u[j], pushes.T, pushes.dV, pushes.K)
            if model.slowed:
                _columns(pushes, model, data, j, c, u[j], pushes.dV, pushes.T, pushes.D)


@routine
def _wrenches(pushes, model, settings, data, j, u):
    """Impulses of all body forces at node j."""
    bodies, F = data.bodies[j], pushes.F[j]
    for i in range(F.shape[0]):
        store6(F[i], ZERO6)
    total.wrenches(model.forces, modes_at(data.modes, j), bodies, F)
    drives.wrenches(model.forces.drives, bodies, u, F)
    weight = settings.dt * model.rule.w[j]
    for i in range(F.shape[0]):
        store6(F[i], scale(weight, load6(F[i])))


@routine
def _columns(pushes, model, data, j, c, u, moved, still, out):
    """Set column c of the blocks `out` of all bodies at node j; moved, still: T and dV, or the reverse."""
    n = moved.shape[0]
    for i in range(n):
        store6(moved[i], unit_twist(c))
        store6(still[i], ZERO6)
        store6(pushes.out[i], ZERO6)
    total.wrench_slopes(model.forces, modes_at(data.modes, j), data.bodies[j], pushes.T, pushes.dV, pushes.out)
    drives.slopes(model.forces.drives, data.bodies[j], u, pushes.T, pushes.out)
    for i in range(n):
        for a in range(6):
            out[j, i, a, c] = pushes.out[i, a]


@inline
def push_block(pushes, model, settings, data, at, i):
    """Add the results of `push_slopes` for body i to its block A[at] and its predicted wrenches E."""
    if pushes is None:
        return
    if pushes.on[i]:
        _push_block(pushes, model, settings, data, at, i)


@routine
def _push_block(pushes, model, settings, data, at, i):
    A, K, D = data.A, pushes.K, pushes.D
    s = K.shape[0]
    for j in range(s):
        weight = settings.dt * model.rule.w[j]
        if j > 0:
            add_to(data.bodies[j, i].E, load6(pushes.F[j, i]))
            for a in range(6):
                for b in range(6):
                    A[at, 6 * j + a, 6 * j - 6 + b] -= weight * K[j, i, a, b]
        if model.slowed:
            for k in range(1, s + 1):
                for b in range(6):
                    w, v = twist_slope(model, settings, data, i, j, k, unit_twist(b))
                    for a in range(6):
                        turned = D[j, i, a, 0] * w[0] + D[j, i, a, 1] * w[1] + D[j, i, a, 2] * w[2]
                        shifted = D[j, i, a, 3] * v[0] + D[j, i, a, 4] * v[1] + D[j, i, a, 5] * v[2]
                        A[at, 6 * j + a, 6 * k - 6 + b] -= weight * (turned + shifted)
