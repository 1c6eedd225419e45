"""Contacts of a solved substep as functions of the poses of their two bodies at both ends.

For each contact: the wrench of its impulse, its gap at the end, the slip and relative rotation of its bodies, and the
corresponding quantities at the end for the momentum phase, all as functions of four poses. `contact_slopes` has the
derivatives.
"""

from typing import Any, NamedTuple

from leastaction._jit import entry, inline, routine
from leastaction.contact.narrow_phase.gap import gap, material_points
from leastaction.spatial import (
    IDENTITY,
    ZERO3,
    act,
    add3,
    axpy3,
    cross,
    dot3,
    load3,
    load9,
    mattvec,
    matvec,
    neg3,
    norm3,
    scale3,
    sub3,
)

WRENCH, GAP, SLIDE, TURN, START_GAP, WRENCH_END, RATE, TURN_RATE, VALUES = 0, 6, 7, 9, 12, 13, 19, 22, 25
"""First index of the values of a contact: wrench of its impulse about the origin (6), gap at the end [m], slip along
its tangents [m] (2), relative rotation about normal and tangents [rad] (3), gap at the start [m]; at the end of the
substep: wrench of the impulses that the momentum phase adds (6), velocities along normal and tangents [m/s] (3) and
about them [rad/s] (3)."""


class Part(NamedTuple):
    """A solved substep as kernel arguments, with m contacts and b bodies.

    Attributes:
        cones: `ROBOT_CONE` records of the contacts; contacts: `CONTACT` records of the detected ones.
        of: index of each contact among these, -1 for a sphere over a plane, shape (m,).
        R, x: rotations and centres of mass of the bodies at both ends, then at the ends of the solutions after which
            contacts were added, shapes (2 + solutions, b, 9), (2 + solutions, b, 3).
        y: rotation vectors of the bodies in the substep, in world axes [rad], shape (b, 3).
        e: coefficient of y x (y x .) in the inverse Jacobian of y, shape (b,).
        lam, torques: impulses along and about normal and tangents, shape (m, 3).
        more, more_torques: impulses that the momentum phase adds to them, shape (m, 3).
        twists: world twists of the bodies with the velocities at the end, shape (b, 6).
        reach: radius of each body [m], shape (b,).
        h: length of the substep [s].
    """

    cones: Any
    contacts: Any
    of: Any
    R: Any
    x: Any
    y: Any
    e: Any
    lam: Any
    torques: Any
    more: Any
    more_torques: Any
    twists: Any
    reach: Any
    h: Any


@inline
def pose_of(part, end, i):
    """Pose of body i at one end; the identity for the world."""
    if i < 0:
        return IDENTITY
    return load9(part.R[end, i]), load3(part.x[end, i])


@inline
def located(cone, contacts, of, Xb, Xa):
    """(gap, normal, point, material points of node and other) of a contact at poses of its node and the other body."""
    if of < 0:
        n, first = load3(cone.normal), act(Xb, load3(cone.arm))
        return dot3(n, first) - cone.offset, n, axpy3(-cone.radius, n, first), first, ZERO3
    phi, n, x = gap(contacts[of], Xa, Xb)
    a, b = material_points(contacts[of], Xa, Xb, n, x)
    return phi, n, x, b, a


@inline
def tangents_of(cone, first, n):
    """Two tangents: `first` projected on the plane normal to n, and one across, on the side of the cone's own."""
    t = axpy3(-dot3(first, n), n, first)
    t = scale3(1.0 / norm3(t), t)
    s = cross(n, t)
    return t, neg3(s) if dot3(s, load3(cone.second)) < 0.0 else s


@inline
def of_frame(lam, n, t, s):
    """Vector with the components lam (3) along normal and tangents."""
    return add3(scale3(lam[0], n), add3(scale3(lam[1], t), scale3(lam[2], s)))


@inline
def slid(X0, X1, y, c, x):
    """Displacement of a body's surface at the contact point x, with the material point c (both at the start) [m]."""
    last = add3(X1[1], matvec(X1[0], mattvec(X0[0], sub3(c, X0[1]))))
    return add3(sub3(last, c), cross(y, sub3(x, c)))


@inline
def put_wrench(out, at, f, x, torque):
    """Store the wrench about the origin of a force f at x and a torque."""
    moment = add3(cross(x, f), torque)
    for k in range(3):
        out[at + k], out[at + 3 + k] = moment[k], f[k]


@routine
def evaluate(part, k, nodes, ends, turns, out):
    """Values of contact k at the poses `ends` of (node, other) at the start and (node, other) at the end.

    Args:
        nodes: node and other.
        turns: their rotation vectors y.
    """
    cone, of = part.cones[k], part.of[k]
    X0n, X0o, X1n, X1o = ends
    phi, n, x, cn, co = located(cone, part.contacts, of, X0n, X0o)
    t, s = tangents_of(cone, load3(cone.first), n)
    out[START_GAP] = phi
    put_wrench(out, WRENCH, of_frame(load3(part.lam[k]), n, t, s), x, of_frame(load3(part.torques[k]), n, t, s))
    slip = slid(X0n, X1n, turns[0], cn, x)
    if nodes[1] >= 0:
        slip = sub3(slip, slid(X0o, X1o, turns[1], co, x))
    if of >= 0 and part.contacts[of].belt:
        c = part.contacts[of]
        slip = axpy3(part.h, sub3(matvec(X0n[0], load3(c.belt_b)), matvec(X0o[0], load3(c.belt_a))), slip)
    out[SLIDE], out[SLIDE + 1] = dot3(t, slip), dot3(s, slip)
    turn = sub3(turns[0], turns[1])
    out[TURN], out[TURN + 1], out[TURN + 2] = dot3(n, turn), dot3(t, turn), dot3(s, turn)
    # At the end, with the tangents of the start projected.
    out[GAP], n, x, _, _ = located(cone, part.contacts, of, X1n, X1o)
    t, s = tangents_of(cone, t, n)
    more, torque = of_frame(load3(part.more[k]), n, t, s), of_frame(load3(part.more_torques[k]), n, t, s)
    put_wrench(out, WRENCH_END, more, x, torque)
    w, v = twist_against(part, nodes)
    v = add3(v, cross(w, x))
    for i, f in enumerate((n, t, s)):
        out[RATE + i], out[TURN_RATE + i] = dot3(f, v), dot3(f, w)


@inline
def twist_against(part, nodes):
    """World twist of the node relative to the other body with the velocities at the end."""
    V = part.twists[nodes[0]]
    w, v = (V[0], V[1], V[2]), (V[3], V[4], V[5])
    if nodes[1] >= 0:
        V = part.twists[nodes[1]]
        w, v = sub3(w, (V[0], V[1], V[2])), sub3(v, (V[3], V[4], V[5]))
    return w, v


@inline
def place_of(part, k):
    """Index in `Part.R` of the poses at which contact k was detected: 0 for the start."""
    of = part.of[k]
    return 1 + part.contacts[of].late if of >= 0 and part.contacts[of].late > 0 else 0


@routine
def base(part, k, nodes, out):
    """`evaluate` at the poses of the substep."""
    i, j = nodes
    ends = pose_of(part, 0, i), pose_of(part, 0, j), pose_of(part, 1, i), pose_of(part, 1, j)
    evaluate(part, k, nodes, ends, (load3(part.y[i]), load3(part.y[j]) if j >= 0 else ZERO3), out)


@entry
def contact_values(part, out):
    """Values (m, `VALUES`) of all contacts of a `Part`, which is passed as a plain tuple."""
    part = Part(*part)
    for k in range(part.cones.shape[0]):
        base(part, k, (part.cones[k].node, part.cones[k].other), out[k])
