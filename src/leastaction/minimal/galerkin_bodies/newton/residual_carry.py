"""Transfer of the residuals of a solved step to the momentum at its end.

The rows of a joint sum to the impulse on it when all nodes move together. So residuals of the rows 0 ... s - 1 are
missing from row s; adding them as the same wrench conserves momentum maps at any tolerance, and round-off has no
bias.
"""

from leastaction._jit import inline, routine
from leastaction.kinematics.sweeps import FREE
from leastaction.spatial import add3, cross, load3, load9, mattvec, matvec, sub3


@routine
def carry_residuals(model, data, p):
    """Add the residuals r of a solved step to the momentum p (nv,) at its end, as wrenches fixed in the world."""
    nodes, bodies, r = model.nodes, data.bodies, data.r
    last = bodies.shape[0] - 1
    for i in range(nodes.shape[0]):
        n = nodes[i].iv
        for j in range(last):
            if nodes[i].nv == 1:
                p[n] += r[j, n]
                continue
            R, end = load9(bodies[j, i].R), load9(bodies[last, i].R)
            t = matvec(R, _three(r, j, n))
            if nodes[i].kind == FREE:
                f = matvec(R, _three(r, j, n + 3))
                t = add3(t, cross(sub3(load3(bodies[j, i].p), load3(bodies[last, i].p)), f))
                f = mattvec(end, f)
                for c in range(3):
                    p[n + 3 + c] += f[c]
            t = mattvec(end, t)
            for c in range(3):
                p[n + c] += t[c]


@inline
def _three(r, j, n):
    return (r[j, n], r[j, n + 1], r[j, n + 2])
