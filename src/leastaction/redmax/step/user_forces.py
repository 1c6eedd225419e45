"""Forces of the user's own: wrenches on the nodes, and how they change."""

from leastaction._jit import inline, routine
from leastaction.forces.passive import path_point, pull
from leastaction.forces.slopes import point_slope, pull_slope
from leastaction.forces.user import call_user
from leastaction.spatial import add3


@routine
def user_state(user, scratch, k, links):
    """Positions and velocities of the points of force k, into `scratch`; gives back first and count."""
    first, count = user.spans[k, 0], user.spans[k, 1]
    for j in range(count):
        p, v = path_point(user.points[first + j], links)
        for c in range(3):
            scratch.x[j, c], scratch.xd[j, c], scratch.f[j, c] = p[c], v[c], 0.0
    return first, count


@routine
def user_force_slopes(user, scratch, k, links):
    """Force k with its stiffness and damping, into `scratch`; gives back first and count of its points."""
    first, n = user_state(user, scratch, k, links)
    K, D = scratch.K, scratch.D
    call_user(user.addresses[k, 0], scratch.x, scratch.xd, scratch.f, K, n)
    for j in range(9 * n * n):
        K[j] = 0.0
        D[j] = 0.0
    call_user(user.addresses[k, 1], scratch.x, scratch.xd, K, D, n)
    return first, n


@routine
def add_user_forces(user, scratch, links, external):
    """Add the wrenches of all of them."""
    if user is None:
        return
    x, f = scratch.x, scratch.f
    for k in range(user.addresses.shape[0]):
        first, count = user_state(user, scratch, k, links)
        call_user(user.addresses[k, 0], x, scratch.xd, f, scratch.K, count)
        for j in range(count):
            pull(external, user.points[first + j].node, (x[j, 0], x[j, 1], x[j, 2]), (f[j, 0], f[j, 1], f[j, 2]))


@routine
def user_slopes(user, scratch, links, T, dV, out):
    """Add the changes of their wrenches for displacements T and twist changes dV of the nodes."""
    if user is None:
        return
    points, x, f, K, D = user.points, scratch.x, scratch.f, scratch.K, scratch.D
    for k in range(user.addresses.shape[0]):
        first, n = user_force_slopes(user, scratch, k, links)
        for i in range(n):
            xi, fi, df = (x[i, 0], x[i, 1], x[i, 2]), (f[i, 0], f[i, 1], f[i, 2]), (0.0, 0.0, 0.0)
            for j in range(n):
                dx, dv = point_slope(points[first + j].node, (x[j, 0], x[j, 1], x[j, 2]), links, T, dV)
                df = add3(df, add3(_block(K, n, i, j, dx), _block(D, n, i, j, dv)))
            dx, _ = point_slope(points[first + i].node, xi, links, T, dV)
            pull_slope(out, points[first + i].node, xi, dx, fi, df)


@inline
def _block(K, n, i, j, d):
    """Block (i, j) of a matrix (3 n, 3 n) of 3 x 3 blocks, times d."""
    a, b, c = 3 * i * 3 * n + 3 * j, (3 * i + 1) * 3 * n + 3 * j, (3 * i + 2) * 3 * n + 3 * j
    return (
        K[a] * d[0] + K[a + 1] * d[1] + K[a + 2] * d[2],
        K[b] * d[0] + K[b + 1] * d[1] + K[b + 2] * d[2],
        K[c] * d[0] + K[c + 1] * d[1] + K[c + 2] * d[2],
    )
