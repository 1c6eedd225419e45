"""Steps with contacts in which bodies turn further than the motion before leads them.

Gaps are those of the end of a step, along normals that the step begins with. Legs that fold, and links that a stiff
servo turns along a wall, have solutions on either side of a straight or folded configuration, and others a turn away.
Impacts change velocities, but what that turns a body by within a step shrinks with the step: so it is divided.
"""

from leastaction._jit import routine
from leastaction.spatial import axpy3, dot3

TURN = 0.5
"""Most that a body may turn in a step beyond what its velocity before accounts for [rad]; that of `Maximal`."""


@routine
def is_flipped(model, lane, between, dt):
    """Whether a body does, in a solved step in which something pushes."""
    nodes, S_, turns, near, moved = model.nodes, lane.S[lane.now[0]], between.ways[0], lane.near, lane.moved
    pushes, flips = False, False
    for c in range(near.shape[0]):
        pushes = pushes or lane.touch.kick[c] != 0.0
    if not pushes:
        return False
    for i in range(nodes.shape[0]):
        node, turn = nodes[i], (0.0, 0.0, 0.0)
        if node.parent >= 0:
            t = turns[node.parent]
            turn = (t[0], t[1], t[2])
        for c in range(node.iv, node.iv + node.nv):
            turn = axpy3(moved[c] - dt * near[c], (S_[c, 0], S_[c, 1], S_[c, 2]), turn)
        t = turns[i]
        t[0], t[1], t[2] = turn
        flips = flips or dot3(turn, turn) > TURN * TURN
    return flips
