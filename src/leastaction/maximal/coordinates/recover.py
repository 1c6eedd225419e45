"""Joint coordinates q and momenta p from the poses and momenta of bodies.

A joint's coordinates follow from the poses of its two bodies (Bruedigam 2023, B.6). Its momenta are those of the bodies
projected on its motion; so the contributions of joint impulses, which a step leaves undetermined along the constraints,
cancel.
"""

from leastaction._jit import inline, routine
from leastaction.maximal.maximal_records import BALL, FREE, HINGE
from leastaction.maximal.step.bodies import start_pose
from leastaction.maximal.step.joint_rows import coordinate, relative
from leastaction.spatial import (
    ZERO3,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    matvec,
    quat_from_rotation,
)


@routine(allocates=False)
def read_coordinates(coordinates, states, cstates, q, dt):
    """Coordinates at the start poses, into cstates (continuous angles) and q, which holds those of the step before.

    Also stores their mean rates over the step of dt in between.
    """
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
            # q and -q are the same rotation: take the sign of the step before.
            same = r[0] * q[j] + r[1] * q[j + 1] + r[2] * q[j + 2] + r[3] * q[j + 3]
            sign = -1.0 if same < 0.0 else 1.0
            for i in range(4):
                q[j + i] = sign * r[i]
            continue
        value, _, _, _ = coordinate(c, cstates[k].value, Ra, xa, Rb, xb)
        cstates[k].rate = (value - cstates[k].value) / dt
        cstates[k].value = value
        if c.iq >= 0:
            q[c.iq] = value


@inline
def freedoms(c):
    """Number of degrees of freedom of a coordinate."""
    return 6 if c.kind == FREE else (3 if c.kind == BALL else 1)


@inline
def child_of(c):
    """The child body of a coordinate; the second hinge of a universal joint has its bodies swapped."""
    return max(c.a, c.b)


@routine(allocates=False)
def screw_of(c, j, states):
    """Twist of the child about the world's origin per unit of velocity j of a coordinate, at the start poses."""
    Rb, xb = start_pose(states, c.b)
    if c.kind == BALL or c.kind == FREE:
        e = (1.0 if j % 3 == 0 else 0.0, 1.0 if j % 3 == 1 else 0.0, 1.0 if j % 3 == 2 else 0.0)
        n = matvec(Rb, matvec(load9(c.Rb), e))
        if j >= 3:
            return ZERO3, n
        return n, cross(add3(xb, matvec(Rb, load3(c.pb))), n)
    Ra, xa = start_pose(states, c.a)
    n = matvec(Ra, load3(c.n))
    if c.kind != HINGE:
        return ZERO3, n
    x = add3(xb, matvec(Rb, load3(c.pb))) if c.sign > 0.0 else add3(xa, matvec(Ra, load3(c.pa)))
    return n, axpy3(c.pitch, n, cross(x, n))


@routine(allocates=False)
def read_momenta(bodies, coordinates, states, H, p):
    """Joint momenta p (nv,) from the bodies' momenta P at the start poses.

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
        child = child_of(c)
        for j in range(freedoms(c)):
            t, f = screw_of(c, j, states)
            p[c.iv + j] = dot3(t, (H[child, 0], H[child, 1], H[child, 2]))
            p[c.iv + j] += dot3(f, (H[child, 3], H[child, 4], H[child, 5]))
