"""What sticks to a body that turns as prescribed goes round with it.

Sliding velocities are taken at the start of a step, where they lead off the circle on which a turntable carries things:
these would creep outwards by omega^2 r dt / 2. What sticks to it turns with it, so that its centre of mass, at r from
that of the table, goes by (Q - 1) r in the step, with the table's turn Q = (c, u) as a quaternion; the velocities at
the start come to 2 u x r. The difference is added to them.
"""

import math

from leastaction._jit import inline
from leastaction.contact.distance import tangents
from leastaction.maximal.step.bodies import start_pose
from leastaction.spatial import axpy3, cross, dot3, load3, load9, matvec, scale3, store3, sub3


@inline
def note_turn(cone, states):
    """Half the turn of the given body of a cone, by its present velocity, which no contact changes."""
    side = cone.whirl[3]
    if side != 0.0:
        i = cone.a if side < 0.0 else cone.b
        store3(cone.whirl, scale3(0.5 / abs(side), matvec(load9(states[i].R), load3(states[i].w))))


@inline
def let_drift(cone, states):
    """What moving surfaces and given turns add to the sliding velocity of a cone, into it."""
    cone.drift[0], cone.drift[1] = cone.belt[0], cone.belt[1]
    side = cone.whirl[3]
    if side != 0.0:
        own, other = (cone.a, cone.b) if side < 0.0 else (cone.b, cone.a)
        r, u = sub3(start_pose(states, other)[1], load3(states[own].p)), load3(cone.whirl)
        c = math.sqrt(max(1.0 - dot3(u, u), 0.0))
        across = cross(u, r)
        slip = scale3(2.0 * side, axpy3(c - 1.0, across, cross(u, across)))
        t1, t2 = tangents(load3(cone.normal))
        cone.drift[0] += dot3(slip, t1)
        cone.drift[1] += dot3(slip, t2)
