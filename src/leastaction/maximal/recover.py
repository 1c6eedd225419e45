"""Between maximal and joint coordinates: poses and momenta of bodies, and q and p of joints.

A joint's coordinates are read off the two poses it ties (Bruedigam 2023, B.6). Its momenta are those of the bodies
projected on its motion: what joint impulses add to the momenta of bodies, which a step leaves undetermined along the
constraints, drops out.
"""

from leastaction._jit import routine
from leastaction.maximal.bodies import start_pose
from leastaction.maximal.model import BALL, FREE, HINGE
from leastaction.maximal.rows import coordinate, relative
from leastaction.spatial import (
    add3,
    cross,
    dot3,
    load3,
    load9,
    matmul,
    mattvec,
    matvec,
    quat_from_rotation,
    sub3,
)


@routine
def read_coordinates(coordinates, states, cstates, q):
    """Coordinates at the start poses: into cstates (continuous angles) and q; q holds the step before's on entry."""
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        Ra, xa = start_pose(states, c.a)
        Rb, xb = start_pose(states, c.b)
        if c.kind == BALL or c.kind == FREE:
            if c.iq < 0:
                continue
            R, d = relative(c, Ra, xa, Rb, xb)
            j = c.iq
            if c.kind == FREE:
                q[j], q[j + 1], q[j + 2] = d
                j += 3
            r = quat_from_rotation(R)
            # q and -q are the same: stay on the side of the step before.
            same = r[0] * q[j] + r[1] * q[j + 1] + r[2] * q[j + 2] + r[3] * q[j + 3]
            sign = -1.0 if same < 0.0 else 1.0
            for i in range(4):
                q[j + i] = sign * r[i]
            continue
        value, _, _, _ = coordinate(c, cstates[k].value, Ra, xa, Rb, xb)
        cstates[k].value = value
        if c.iq >= 0:
            q[c.iq] = value


@routine
def read_momenta(bodies, coordinates, states, H, p):
    """Joint momenta p (nv,) of the bodies' momenta P at the start poses.

    Args:
        H: scratch, shape (bodies, 6): momenta of subtrees about the world's origin.
    """
    n = bodies.shape[0]
    for i in range(n):
        s = states[i]
        L = (s.P[3], s.P[4], s.P[5])
        K = add3(matvec(load9(s.R), (s.P[0], s.P[1], s.P[2])), cross(load3(s.p), L))
        H[i, 0], H[i, 1], H[i, 2] = K
        H[i, 3], H[i, 4], H[i, 5] = L
    for i in range(n - 1, -1, -1):
        j = bodies[i].parent
        if j >= 0:
            for c in range(6):
                H[j, c] += H[i, c]
    for k in range(coordinates.shape[0]):
        c = coordinates[k]
        if c.iv < 0:
            continue
        # The second hinge of a universal joint has its bodies swapped: the child is the one with the higher index.
        child = max(c.a, c.b)
        K = (H[child, 0], H[child, 1], H[child, 2])
        L = (H[child, 3], H[child, 4], H[child, 5])
        Ra, _ = start_pose(states, c.a)
        Rb, xb = start_pose(states, c.b)
        if c.kind == HINGE:
            other, y = (c.b, load3(c.pb)) if c.sign > 0.0 else (c.a, load3(c.pa))
            Rc, xc = start_pose(states, other)
            x = add3(xc, matvec(Rc, y))
            n_w = matvec(Ra, load3(c.n))
            p[c.iv] = dot3(n_w, sub3(K, cross(x, L))) + c.pitch * dot3(n_w, L)
        elif c.kind == BALL or c.kind == FREE:
            x = add3(xb, matvec(Rb, load3(c.pb)))
            Jb = matmul(Rb, load9(c.Rb))
            p[c.iv], p[c.iv + 1], p[c.iv + 2] = mattvec(Jb, sub3(K, cross(x, L)))
            if c.kind == FREE:
                p[c.iv + 3], p[c.iv + 4], p[c.iv + 5] = mattvec(Jb, L)
        else:
            p[c.iv] = dot3(matvec(Ra, load3(c.n)), L)
