"""Reverse mode through loops: gradients of their virtual power less z . h by motions of the nodes and by parameters.

A row pushes with x times its wrench R on node b and against it on node a, where x is its multiplier or the force of its
spring and damper; its equation has the value h. See `force_cotangents` for the rest.
"""

from leastaction._jit import inline, routine
from leastaction.kinematics.closure_kernels import evaluate, is_coupling, is_velocity, soft_force, twist_of
from leastaction.kinematics.closure_kernels import wrench_slope as closure_slope
from leastaction.kinematics.sweeps import add_to
from leastaction.spatial import ZERO6, axpy, coAd_inv, dot, load3, load6, load9, scale, sub


@inline
def _unit6(c):
    a = (1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0)
    b = (1.0 if c == 3 else 0.0, 1.0 if c == 4 else 0.0, 1.0 if c == 5 else 0.0)
    return (a, b)


@inline
def _virtual_twist(cot, node):
    return ZERO6 if node < 0 else load6(cot[node].W)


@routine
def loop_cotangents(loops, data, back, lam, out):
    """Add the gradients of all rows of loops to data.T, data.dV (nodes, 6).

    back.z (nr + m): behind nr what multiplies the equations. out (rows, 9): by displacements of the joint's placement
    on node a (a twist in that node's frame), by stiffness, damping and rest of soft rows.
    """
    if loops is None:
        return
    rows, kept, links, cot, z, nr = loops.rows, data.loops.kept, data.links, back.cot, back.z, back.yv.shape[0]
    GT, GV, scratch = data.T, data.dV, data.dF[0]
    for k in range(rows.shape[0]):
        row = rows[k]
        # Coordinates that a coupling ties belong to no placement, and their forces depend on no velocity.
        if (row.soft == 0 and kept[k] < 0) or is_coupling(row):
            continue
        h, R = evaluate(row, links)
        power, speed = (
            sub(_virtual_twist(cot, row.b), _virtual_twist(cot, row.a)),
            sub(twist_of(links, row.b), twist_of(links, row.a)),
        )
        by_value, by_rate = 0.0, 0.0
        if row.soft != 0:
            s = dot(R, power)
            by_value, by_rate = -row.stiffness * s, -row.damping * s
            out[k, 6] -= s * h
            out[k, 7] -= s * dot(R, speed)
            out[k, 8] += s * row.stiffness
            push = soft_force(row, links, h, R)
        else:
            push = lam[kept[k]]
            if is_velocity(row):
                by_rate = -z[nr + kept[k]]
            else:
                by_value = -z[nr + kept[k]]
        by_wrench = axpy(by_rate, speed, scale(push, power))
        for side in range(2):
            sign = 1.0 if side == 1 else -1.0
            node = row.b if side == 1 else row.a
            for c in range(6):
                scratch[c] = dot(by_wrench, closure_slope(row, links, side == 0, side == 1, _unit6(c)))
            G = axpy(sign * by_value, R, load6(scratch))
            if node >= 0:
                add_to(GT[node], G)
                add_to(GV[node], scale(sign * by_rate, R))
            if side == 0:
                if node >= 0:
                    G = coAd_inv((load9(links[node].R), load3(links[node].p)), G)
                for c in range(3):
                    out[k, c] += G[0][c]
                    out[k, 3 + c] += G[1][c]
