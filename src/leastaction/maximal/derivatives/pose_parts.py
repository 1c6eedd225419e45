"""Terms of the equations between motions and momenta of bodies at a pose."""

from leastaction._jit import inline
from leastaction.maximal.maximal_records import BALL
from leastaction.maximal.step.forces.ball_springs import ball_axis


@inline
def rate_of(w, T, body):
    """w . T of a body, zero for the world."""
    rate = 0.0
    if body >= 0:
        for c in range(6):
            rate += w[c] * T[body, c]
    return rate


@inline
def add_to_body(out, first, body, w, k):
    """Add k w to the equations of a body."""
    if body >= 0:
        for c in range(6):
            out[first[body] + c] += k * w[c]


@inline
def add_drive_momentum(c, s, dofs, states, T, first, out):
    """Add the momentum of a coordinate's armature, at body velocities T, to the equations of its bodies."""
    if c.armature > 0.0 and c.kind == BALL:
        for j in range(3):
            wa, wb = ball_axis(c, j, states)
            rate = dofs[c.iv + j].armature * (rate_of(wa, T, c.a) + rate_of(wb, T, c.b))
            add_to_body(out, first, c.a, wa, rate)
            add_to_body(out, first, c.b, wb, rate)
    elif c.armature > 0.0:
        rate = c.armature * (rate_of(s.wa, T, c.a) + rate_of(s.wb, T, c.b))
        add_to_body(out, first, c.a, s.wa, rate)
        add_to_body(out, first, c.b, s.wb, rate)
