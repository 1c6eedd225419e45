"""Kinematics of points of bodies, wrenches of forces on them, and the derivatives of both.

Every force at a point is built from these six functions:

- `point_state` and `pull`: position and velocity of a point; wrench of a force on it;
- `point_slope` and `pull_slope`: their directional derivatives by motions of the bodies;
- `virtual_velocity` and `add_point_gradients`: the transpose of these, for reverse mode.

In reverse mode, E is the sum over nodes of W . wrench for the virtual twists W of the nodes. A force f at a point x
contributes f . w, with the point's virtual velocity w = W_v + W_w x x, so its share of dE is

    (K^T w + f x W_w) . dx + D^T w . d(xd),   K = df/dx, D = df/d(xd),

at the cost of the force itself, for any number of coordinates. GT and GV (nodes, 6) accumulate the gradients by
displacements (world twists) of the nodes and by changes of their twists.
"""

from typing import Any

import numpy as np

from leastaction._jit import inline
from leastaction.kinematics.sweeps import add_to
from leastaction.mechanism.pose import Pose
from leastaction.spatial import ZERO3, add3, cross, load3, load6, load9, mattvec, matvec

NODE_POINT = np.dtype([("node", "i8"), ("p", "f8", 3)], align=True)
"""A point (3) [m] fixed to a node, or to the world (node -1)."""

Frames = dict[str, tuple[int, Pose]]
"""For each body, and "world", its node (-1 for the world) and its pose in that node."""


def zeroed(count: int, dtype: np.dtype) -> Any:
    """Allocate records initialised to zero."""
    return np.zeros(count, dtype).view(np.recarray)


@inline
def point_state(node, local, links):
    """World position and velocity [m, m/s] of a point fixed to a node (-1: the world)."""
    if node < 0:
        return local, ZERO3
    link = links[node]
    x = add3(load3(link.p), matvec(load9(link.R), local))
    V = load6(link.v)
    return x, add3(V[1], cross(V[0], x))


@inline
def path_point(point, links):
    """World position and velocity [m, m/s] of a `NODE_POINT`; links must hold poses and twists."""
    return point_state(point.node, load3(point.p), links)


@inline
def pull(external, node, x, f):
    """Add the wrench of the force f at the world position x to a node."""
    if node >= 0:
        add_to(external[node], (cross(x, f), f))


@inline
def point_slope(node, x, links, T, dV):
    """Changes of the position and velocity of the point x of a node."""
    if node < 0:
        return ZERO3, ZERO3
    t, d = load6(T[node]), load6(dV[node])
    dx = add3(t[1], cross(t[0], x))
    V = load6(links[node].v)
    return dx, add3(add3(d[1], cross(d[0], x)), cross(V[0], dx))


@inline
def pull_slope(out, node, x, dx, f, df):
    """Add the change of the wrench of a force f at the point x, for changes dx and df."""
    if node >= 0:
        add_to(out[node], (add3(cross(dx, f), cross(x, df)), df))


@inline
def virtual_velocity(node, cot, x):
    """(W_w, w): virtual angular velocity of a node and virtual velocity of its point x; `cot` has a field W."""
    if node < 0:
        return ZERO3, ZERO3
    W = load6(cot[node].W)
    return W[0], add3(W[1], cross(W[0], x))


@inline
def add_point_gradients(node, x, gx, gxd, links, GT, GV, out):
    """Add gradients by position and velocity of a point to GT and GV of its node, and by its local position to out."""
    local = gx
    if node >= 0:
        gx = add3(gx, cross(gxd, load6(links[node].v)[0]))
        add_to(GT[node], (cross(x, gx), gx))
        add_to(GV[node], (cross(x, gxd), gxd))
        local = mattvec(load9(links[node].R), gx)
    for c in range(3):
        out[c] += local[c]
