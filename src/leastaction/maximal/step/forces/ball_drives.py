"""Armature of ball joints inside a tree.

Its discrete Lagrangian is that of a body (`bodies`) that rotates as the child does relative to the other body: with
the unit quaternion D = (s, d) = r0* r1 of that rotation within a step, in the frame of the child, W = 2 d / dt and
L = dt W . I W / 2 with the inertias I about the axes of the child. A rotation z of the child at the start makes that
(1, -z / 2) D, and one at the end D (1, z / 2). So its momenta are

    (2 / dt) (s I d + d x I d) at the start,    (2 / dt) (s I d - d x I d) at the end,

on the child, about its axes at that time, and their opposite on the other body: their sum is zero. Both are the same
for D and -D, so the sign of the quaternion does not matter.
"""

from leastaction._jit import inline, routine
from leastaction.maximal.step.block_parts import add_pair
from leastaction.maximal.step.bodies import END, START
from leastaction.maximal.step.forces.ball_springs import scalar_of
from leastaction.spatial import add3, axpy3, cross, dot3, load3, load9, matmul, mattmul, mattvec, matvec, scale3, store3


@inline
def unit(j):
    """Unit vector j."""
    return (1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)


@inline
def scaled(dofs, n, a):
    """I a: each component times the armature of its axis; n: first degree of freedom of the joint."""
    return dofs[n].armature * a[0], dofs[n + 1].armature * a[1], dofs[n + 2].armature * a[2]


@inline
def turn_of(x, y):
    """(s, d): product of the unit quaternions with the vector parts x and y."""
    cx, cy = scalar_of(x), scalar_of(y)
    return cx * cy - dot3(x, y), add3(add3(scale3(cx, y), scale3(cy, x)), cross(x, y))


@inline
def drive_momentum(dofs, n, a, b, dt, when):
    """Momentum of the armature about the axes of the child at the START or END of the step.

    Args:
        n: first degree of freedom of the joint.
        a, b: see `ball_springs`, vector parts of A* and B, in the frame of the child at that end.
    """
    s, d = turn_of(b, a) if when == END else turn_of(a, b)
    Id = scaled(dofs, n, d)
    return scale3(2.0 / dt, axpy3(s, Id, cross(Id, d) if when == END else cross(d, Id)))


@inline
def drive_slopes(dofs, n, a, b, e, when):
    """Gradients by a and b of dt / 2 times component e of `drive_momentum`."""
    s, d = turn_of(b, a) if when == END else turn_of(a, b)
    sign = -1.0 if when == END else 1.0
    Id = scaled(dofs, n, d)
    turned = scaled(dofs, n, axpy3(sign, cross(e, d), scale3(s, e)))
    by_d, by_s = axpy3(sign, cross(Id, e), turned), dot3(e, Id)
    ca, cb = scalar_of(a), scalar_of(b)
    # Derivative of the product of both unit quaternions, whose scalar parts follow from a and b. Its cross product is
    # a x b at the start, b x a at the end.
    by_a, by_b = scale3(cb, by_d), scale3(ca, by_d)
    by_a = axpy3(sign, cross(b, by_d), axpy3(-by_s, b, by_a))
    by_b = axpy3(sign, cross(by_d, a), axpy3(-by_s, a, by_b))
    by_a = axpy3(-(dot3(b, by_d) + by_s * cb) / ca, a, by_a)
    by_b = axpy3(-(dot3(a, by_d) + by_s * ca) / cb, b, by_b)
    return by_a, by_b


@inline
def _axes(c, states):
    """Axes of the child at the start of the step as columns, in the frame of its body b and of the other body."""
    joint = load9(c.Rb)
    return joint, mattmul(load9(states[c.a].R), matmul(load9(states[c.b].R), joint))


@inline
def _turns(c, states, of_b, of_a, dt):
    """Vector parts of A* and B in the frame of the child."""
    a, b = scale3(-0.5 * dt, load3(states[c.a].w)), scale3(0.5 * dt, load3(states[c.b].w))
    return mattvec(of_a, a), mattvec(of_b, b)


@routine(allocates=False)
def push_drive(c, s, dofs, states, graph, values, dt, fresh):
    """Add the armature's momentum at the start of the step to the residuals, and its blocks to the Newton matrix."""
    if c.armature == 0.0:
        return
    of_b, of_a = _axes(c, states)
    a, b = _turns(c, states, of_b, of_a, dt)
    # Stored and loaded to convert: dt is float64, the numbers from here on have the precision of the robot's data.
    store3(s.wa, a)
    store3(s.wb, b)
    a, b = load3(s.wa), load3(s.wb)
    p = drive_momentum(dofs, c.iv, a, b, dt, START)
    add_turn(states[c.b].r, matvec(of_b, p), 1.0)
    add_turn(states[c.a].r, matvec(of_a, p), -1.0)
    if not fresh:
        return
    zero = 0.0 * a[0]  # of the type of the others: tuples of mixed types cannot be indexed
    for j in range(3):
        by_a, by_b = drive_slopes(dofs, c.iv, a, b, unit(j), START)
        wa, wb = matvec(of_a, unit(j)), matvec(of_b, unit(j))
        ea, eb = matvec(of_a, by_a), matvec(of_b, by_b)
        # Both have the opposite sign on the other body.
        wa, wb = (-wa[0], -wa[1], -wa[2], zero, zero, zero), (wb[0], wb[1], wb[2], zero, zero, zero)
        ea, eb = (-ea[0], -ea[1], -ea[2], zero, zero, zero), (eb[0], eb[1], eb[2], zero, zero, zero)
        add_pair(graph, values, c, wa, wb, ea, eb, 1.0)


@routine(allocates=False)
def leave_drive(c, dofs, states, dt):
    """Add the armature's momentum at the end of the step; `data` is at the next start."""
    if c.armature == 0.0:
        return
    of_b, of_a = _axes(c, states)
    a, b = _turns(c, states, of_b, of_a, dt)
    p = drive_momentum(dofs, c.iv, a, b, dt, END)
    add_turn(states[c.b].P, matvec(of_b, p), 1.0)
    add_turn(states[c.a].P, matvec(of_a, p), -1.0)


@inline
def add_turn(out, t, sign):
    """Add sign times t to the angular part of six numbers."""
    for c in range(3):
        out[c] += sign * t[c]
