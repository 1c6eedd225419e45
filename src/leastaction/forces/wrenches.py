"""Constant wrenches at points of bodies: those of the world keep their direction, those of the body turn with it."""

from leastaction._jit import inline, routine
from leastaction.forces.points import virtual_velocity
from leastaction.kinematics.sweeps import add_to
from leastaction.spatial import ZERO3, add3, cross, load3, load6, load9, mattvec, matvec


@inline
def _state(w, links):
    """(rotation of the node, position of the point, torque and force in the world)."""
    R = load9(links[w.node].R)
    x = add3(load3(links[w.node].p), matvec(R, load3(w.point)))
    F = load6(w.wrench)
    if w.local != 0:
        F = (matvec(R, F[0]), matvec(R, F[1]))
    return R, x, F


@routine
def wrenches(records, links, external):
    """Add the world wrenches to `external`, shape (nodes, 6)."""
    for i in range(records.shape[0]):
        w = records[i]
        if w.node >= 0:
            _, x, F = _state(w, links)
            add_to(external[w.node], (add3(F[0], cross(x, F[1])), F[1]))


@routine
def slopes(records, links, T, out):
    """Add the changes of the wrenches (Sueda 2021, Eq. 1.32)."""
    for i in range(records.shape[0]):
        w = records[i]
        if w.node < 0:
            continue
        t = load6(T[w.node])
        _, x, F = _state(w, links)
        dx = add3(t[1], cross(t[0], x))
        dtorque, dforce = ZERO3, ZERO3
        if w.local != 0:
            dtorque, dforce = cross(t[0], F[0]), cross(t[0], F[1])
        moment = add3(cross(dx, F[1]), cross(x, dforce))
        add_to(out[w.node], (add3(dtorque, moment), dforce))


@routine
def cotangents(records, links, cot, GT, out):
    """Reverse mode; out (wrenches, 6): by their entries."""
    for i in range(records.shape[0]):
        w = records[i]
        if w.node < 0:
            continue
        R, x, F = _state(w, links)
        turn, speed = virtual_velocity(w.node, cot, x)
        a, b = turn, speed
        if w.local != 0:
            a, b = mattvec(R, turn), mattvec(R, speed)
            add_to(GT[w.node], (add3(cross(F[0], turn), cross(F[1], speed)), ZERO3))
        g = cross(F[1], turn)
        add_to(GT[w.node], (cross(x, g), g))
        for c in range(3):
            out[i, c] += a[c]
            out[i, 3 + c] += b[c]
