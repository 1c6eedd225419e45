"""What Newton leaves of the equations of a step goes into the momentum at its end.

Rows of a joint sum up to the impulse on it when all nodes move together. So what is left of the rows 0 ... s - 1 is
missing from row s; handed on as the same wrench, it keeps momentum maps whatever the tolerance, and round-off has no
bias.
"""

from leastaction._jit import inline, routine
from leastaction.kinematics.sweeps import FREE
from leastaction.spatial import add3, cross, load3, load9, mattvec, matvec, sub3


@routine
def carry_residuals(model, data, p):
    """Add the residuals r of a solved step to the momentum p (nv,) at its end, carried there in the world."""
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
