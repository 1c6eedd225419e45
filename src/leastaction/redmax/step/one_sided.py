"""On which piece of their law one-sided forces with dampers are: an active set that Newton's method changes on its way.

See `forces.touch` for the law. While a step is solved every such force is open, touching or closed, and its law is that
piece alone, continued without a kink. What is open and found beyond its surface closes. What is closed and found before
it while it approaches touches: neither piece holds. What touches opens or closes by the share of the damper that it
needs, which only counts once Newton's updates are small.
"""

from leastaction._jit import inline, routine
from leastaction.forces.passive import limit_gap, path_length, point_state
from leastaction.forces.touch import CLOSED, LAYER, OPEN, TOUCHING
from leastaction.spatial import dot3, load3, sub3


@inline
def _next_mode(mode, gap, rate, settled):
    """Mode of a force from its gap (negative beyond) and the gap's rate."""
    if mode == CLOSED and rate < 0.0 and gap > -LAYER:
        return TOUCHING
    if mode == TOUCHING and rate < 0.0 and (not settled or -LAYER <= gap <= 0.0):
        return TOUCHING
    return OPEN if gap > 0.0 else CLOSED


@routine
def has_dampers(model):
    """Whether any one-sided force has a damper."""
    dofs, paths, penalties, coords = model[1], model[4][1], model[4][4], model[4][7]
    for i in range(penalties.shape[0]):
        if penalties[i].damping > 0.0:
            return True
    for i in range(paths.shape[0]):
        if paths[i].pulls_only != 0 and paths[i].damping > 0.0:
            return True
    for k in range(dofs.shape[0]):
        if dofs[k].limit_damping > 0.0:
            return True
    found = False
    for k in range(coords.shape[0]):
        found = found or coords[k].limit_damping > 0.0
    return found


@inline
def _exchange(record, old, new):
    if old == record.mode or old < 0:
        record.mode = new


@routine
def exchange_modes(model, old, new):
    """Set all modes `old` (any if negative) to `new`."""
    dofs, paths, penalties, coords = model[1], model[4][1], model[4][4], model[4][7]
    for i in range(penalties.shape[0]):
        _exchange(penalties[i], old, new)
    for i in range(paths.shape[0]):
        _exchange(paths[i], old, new)
    for k in range(dofs.shape[0]):
        _exchange(dofs[k], old, new)
    for k in range(coords.shape[0]):
        _exchange(coords[k], old, new)


@inline
def _change(record, gap, rate, settled, may):
    """Bring one force up to its gap, if it may change; gives back (1 if it did, 1 if it touches now)."""
    mode = _next_mode(record.mode, gap, rate, settled)
    changed = 0
    if may and mode != record.mode:
        record.mode = mode
        changed = 1
    return changed, 1 if record.mode == TOUCHING else 0


@routine
def _change_limit(dof, q, v, settled, may):
    side, gap = limit_gap(dof, q)
    return _change(dof, gap, side * v, settled, may)


@routine
def change_modes(model, work, r, rd, settled, one):
    """Bring all modes up to the state where `residual` ran last; gives back how many changed, and how many touch.

    settled: whether those that touch may leave; one: whether one change at most is made.
    """
    nodes, dofs = model[0], model[1]
    paths, points, penalties, coords = model[4][1], model[4][2], model[4][4], model[4][7]
    links, q, v = work[0], work[4][0], work[4][1]
    changed, touching = 0, 0
    for i in range(penalties.shape[0]):
        contact = penalties[i]
        if contact.damping > 0.0:
            x, xd = point_state(contact.node, load3(contact.at), links)
            n = load3(contact.normal)
            gap, rate = dot3(n, sub3(x, load3(contact.origin))), dot3(n, xd)
            c, t = _change(contact, gap, rate, settled, not one or changed == 0)
            changed, touching = changed + c, touching + t
    for i in range(paths.shape[0]):
        if paths[i].pulls_only != 0 and paths[i].damping > 0.0:
            length, rate = path_length(paths[i], points, links)
            c, t = _change(paths[i], paths[i].rest_length - length, -rate, settled, not one or changed == 0)
            changed, touching = changed + c, touching + t
    for i in range(nodes.shape[0]):
        k = nodes[i].iv
        if nodes[i].nv == 1 and dofs[k].limit_damping > 0.0:
            c, t = _change_limit(dofs[k], q[nodes[i].iq], v[k], settled, not one or changed == 0)
            changed, touching = changed + c, touching + t
    for k in range(coords.shape[0]):
        if coords[k].limit_damping > 0.0:
            c, t = _change_limit(coords[k], r[k], rd[k], settled, not one or changed == 0)
            changed, touching = changed + c, touching + t
    return changed, touching
