"""Impulses of joint springs at the end of a step.

The spring of a joint with one axis has the energy K (x - rest)^2 / 2. Its discrete gradient over a step from x0 to x1
is the midpoint force K (rest - (x0 + x1) / 2), for any motion of the joint: times x1 - x0 it is the difference of the
energies. It acts along the gradients of x, which are a wrench on one body and its opposite on the other, at the start
of the step (a share `halves` of the impulse, `assembly.implicit_coordinates`) and at its end. So momenta are conserved
to round-off. Slides that do not rotate conserve the energy exactly, by the midpoint rule, which is symplectic; where
bodies rotate, the error is of the square of their rotation angle in half a step (see `path_springs`).

Springs of ball and free joints: see `ball_springs`.
"""

from leastaction._jit import routine
from leastaction.maximal.maximal_records import BALL, FREE
from leastaction.maximal.step.block_parts import add_kick
from leastaction.maximal.step.forces.ball_springs import add_momentum, leave_turning


@routine(allocates=False)
def end_joint_springs(model, settings, data, dt):
    """Add the impulses of joint springs at the end of the step to the momenta; `data` is at the next start."""
    share = (1.0 - settings.halves) * dt
    for k in range(model.coordinates.shape[0]):
        c, s = model.coordinates[k], data.coordinates[k]
        if c.stiffness == 0.0 or share == 0.0:
            continue
        if c.kind == BALL or c.kind == FREE:
            leave_turning(c, model, data, share, dt)
            continue
        pull = share * c.stiffness * (c.rest - s.value + 0.5 * dt * s.rate)
        for body, w in ((c.a, s.wa), (c.b, s.wb)):
            add_momentum(data.bodies, body, w, pull)
            add_kick(data.kicks[1], body, w, pull)
