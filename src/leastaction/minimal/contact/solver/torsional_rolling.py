"""Torsional and rolling friction: constraint rows and columns of torques about the normal and tangents of a contact.

The relative rotation of the two bodies of a contact in a step about the normal or a tangent f at its start is
w = f (y - z), with their rotation vectors y and z. The torque impulses act there, with Coulomb-like laws

    |lam_n| <= spin lam,   |lam_t| <= roll lam

with the impulse lam along the normal: `contact.solver.torque_laws`.
"""

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import PLAIN
from leastaction.contact.solver.torque_laws import ROLL, SPIN
from leastaction.minimal.contact.paths import against, pull_both, push_both
from leastaction.minimal.galerkin_bodies.rotational_energy import polynomial, turn_between
from leastaction.minimal.vec6 import ZEROS, plus
from leastaction.spatial import ZERO3, add3, dot3, load3, load9, mattvec, scale3, sub3
from leastaction.spatial._series import inverse_jacobian_terms


@inline
def torque(t):
    """Wrench of a pure torque t."""
    return (t[0], t[1], t[2], 0.0, 0.0, 0.0)


@inline
def with_torque(rolls, cone, lam, h):
    """Wrench h plus the torsional and rolling torques of a contact."""
    if rolls is None or not rolls:
        return h
    if cone.width == PLAIN:
        return h
    at = cone.row + SPIN
    t = add3(scale3(lam[at + 1], load3(cone.first)), scale3(lam[at + 2], load3(cone.second)))
    return plus(1.0, torque(add3(t, scale3(lam[at], load3(cone.normal)))), h)


@inline
def turn_of(data, i):
    """Rotation vector of body i in the step [rad], in world directions."""
    if i < 0:
        return ZERO3
    return turn_between(load9(data.R[data.now[0]][i]), load9(data.R[1 - data.now[0]][i]))


@inline
def row_about(i, f, y):
    """Gradient of the rotation y of a body along f by its end twist."""
    if i < 0:
        return ZEROS
    e, _ = inverse_jacobian_terms(dot3(y, y))
    return torque(mattvec(polynomial(y, -0.5, e), f))


@routine
def relate_turn(model, data, rolls, cone):
    """Set rows, columns and w0 of torsional and rolling friction of a contact."""
    if rolls is None or not rolls:
        return
    if cone.width == PLAIN:
        return
    touch, S0_, i, j = data.touch, data.S[data.now[0]], cone.node, cone.other
    y, z = turn_of(data, i), turn_of(data, j)
    for k in range(3):
        at, f = cone.row + SPIN + k, load3(cone.normal if k == 0 else (cone.first if k == 1 else cone.second))
        touch.w[at] = dot3(f, sub3(y, z))
        push_both(model.nodes, S0_, data.W, touch.col, i, torque(f), j, against(torque(f)), touch.columns[at])
        pull_both(model, data, i, row_about(i, f, y), j, against(row_about(j, f, z)), touch.rows[at])


@routine
def turn_violation(data, rolls, cone):
    """Rotation [rad] of a contact whose torsional or rolling friction sticks."""
    if rolls is None or not rolls:
        return 0.0
    if cone.width == PLAIN:
        return 0.0
    lam, o, missed = data.touch.lam, cone.row, 0.0
    y = sub3(turn_of(data, cone.node), turn_of(data, cone.other))
    if abs(lam[o + SPIN]) < 0.999 * cone.spin * lam[o]:
        missed = abs(dot3(load3(cone.normal), y))
    f1, f2, most = lam[o + ROLL], lam[o + ROLL + 1], cone.roll * lam[o]
    if f1 * f1 + f2 * f2 < 0.999 * most * most:
        missed = max(missed, abs(dot3(load3(cone.first), y)), abs(dot3(load3(cone.second), y)))
    return missed
