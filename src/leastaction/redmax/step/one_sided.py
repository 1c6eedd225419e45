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
def has_dampers(one_sided):
    """Whether any one-sided force has a damper."""
    if one_sided is None:
        return False
    some = one_sided.penalties.shape[0] + one_sided.paths.shape[0]
    return some + one_sided.limits.shape[0] + one_sided.coords.shape[0] > 0


@inline
def _exchange(record, old, new):
    if old == record.mode or old < 0:
        record.mode = new


@routine
def exchange_modes(one_sided, forces, old, new):
    """Set all modes `old` (any if negative) to `new`."""
    if one_sided is None:
        return
    for i in one_sided.penalties:
        _exchange(forces.penalties[i], old, new)
    for i in one_sided.paths:
        _exchange(forces.paths[i], old, new)
    for i in one_sided.limits:
        _exchange(forces.dofs[forces.nodes[i].iv], old, new)
    for k in one_sided.coords:
        _exchange(forces.coords[k], old, new)


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
def change_modes(one_sided, model, data, r, rd, settled, one):
    """Bring all modes up to the state where `residual` ran last; gives back how many changed, and how many touch.

    settled: whether those that touch may leave; one: whether one change at most is made.
    """
    changed, touching = 0, 0
    if one_sided is None:
        return changed, touching
    forces, links = model.forces, data.links
    for i in one_sided.penalties:
        contact = forces.penalties[i]
        x, xd = point_state(contact.node, load3(contact.at), links)
        n = load3(contact.normal)
        gap, rate = dot3(n, sub3(x, load3(contact.origin))), dot3(n, xd)
        c, t = _change(contact, gap, rate, settled, not one or changed == 0)
        changed, touching = changed + c, touching + t
    for i in one_sided.paths:
        path = forces.paths[i]
        length, rate = path_length(path, forces.points, links)
        c, t = _change(path, path.rest_length - length, -rate, settled, not one or changed == 0)
        changed, touching = changed + c, touching + t
    for i in one_sided.limits:
        node = forces.nodes[i]
        dof, k = forces.dofs[node.iv], node.iv
        c, t = _change_limit(dof, data.q[node.iq], data.v[k], settled, not one or changed == 0)
        changed, touching = changed + c, touching + t
    for k in one_sided.coords:
        c, t = _change_limit(forces.coords[k], r[k], rd[k], settled, not one or changed == 0)
        changed, touching = changed + c, touching + t
    return changed, touching
