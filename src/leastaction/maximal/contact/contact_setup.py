"""Contacts that take part in a step, as cones at the start poses; those of joints are in `limit_setup`."""

import math

import numpy as np

from leastaction._jit import inline, is_set, routine
from leastaction.contact.clearance import approach_of, measure, stay_apart
from leastaction.contact.laws import cones as ip
from leastaction.contact.laws.restitution import is_closed
from leastaction.contact.laws.sticking import is_sticking
from leastaction.contact.narrow_phase.closest_points import tangents
from leastaction.contact.narrow_phase.detect import detect, detect_smooth
from leastaction.contact.narrow_phase.gap import gap, material_points
from leastaction.contact.penetration.penetration_recovery import overlap_left, slight_overlap
from leastaction.maximal.contact.contact_margins import has_moved, lightest, margin_of, spread_speeds
from leastaction.maximal.contact.limit_setup import coordinate_cones
from leastaction.maximal.contact.mid_phase import contact_clearance, list_pairs
from leastaction.maximal.step.assembly import work
from leastaction.maximal.step.bodies import start_pose
from leastaction.maximal.step.solver.tolerances import heavier, largest_push, speed_scale, strongest
from leastaction.spatial import add3, cross, dot3, load3, load9, mattvec, matvec, scale3, store3, sub3

OUT_OF_DATE, NO_ROOM, UNTIED = np.int64(-1), np.int64(-2), np.int64(-3)
"""Status of `find_cones` where it returns no cones."""

CLOSE, PUSHED = 1, 2
"""Marks of near pairs that have a contact, and of those that had one with more than SLIGHT times the impulse of the
strongest contact: the elimination order of the graph is optimised for these."""

SLIGHT = 1e-6

LOOSE = -2
"""In place of a graph edge: the graph has none between the bodies of a pair."""

WINDOW = 64
"""Number of entries of the previous step's contact list that `match` searches from the expected position on."""

LIGHT = 1e-3
"""Least initial share of the central-path parameter of a cone. With equal shares, fast heavy bodies would push light
ones, which hardly move, so hard that these turn over within the step while it is solved."""

HAIR = 1e-12
"""Overlap that counts as none [m]: round-off of positions. Without it, sliding contacts with a gap of zero that no
joint can change would have no solution."""

APART, OVERLAPPING = 0.0, 1.0
"""What determines the least gap of a contact at the end of a step, in `side` of its cone."""

TURNING = np.int64(1 << 30)
"""Added to the key of a contact for its torsional friction, and twice for its rolling friction."""


@inline
def wrench_row(out, at, states, body, x, n, sign):
    """Write the wrench of a force sign n at x on a body, in its own frame, to out[at : at + 6]."""
    R, p = start_pose(states, body)
    t = mattvec(R, cross(sub3(x, p), n))
    for i in range(3):
        out[at + i] = sign * t[i]
        out[at + 3 + i] = sign * n[i]


@routine(allocates=False)
def find_cones(model, settings, data, near, contact, dt):
    """Fill the cones of a step; returns their number, or OUT_OF_DATE, NO_ROOM or UNTIED.

    OUT_OF_DATE: near pairs are; NO_ROOM: the arrays are too small; UNTIED: bodies without an edge touch.
    All pairs in contact are marked as `touched`. Velocities in `data` must be the guess of the step. The typical
    energy of the cones [J] is stored in `now`.
    """
    bodies, states, cones, now = model.bodies, data.bodies, contact.cones, contact.now[0]
    if has_moved(states, near, dt):
        return OUT_OF_DATE
    list_pairs(bodies, settings, states, near, contact, dt)
    spread_speeds(model.coordinates, states, near, contact, dt)
    before = now.known
    now.saved = 1 if now.kept == dt else 0
    now.known, now.count, now.kept = 0, 0, 0.0
    for k in range(before):
        c = cones[k]
        contact.keys[k] = c.key
        contact.impulses[k, 0], contact.impulses[k, 1], contact.impulses[k, 2] = c.gam, c.beta[0], c.beta[1]
        if now.saved == 1:
            ip.copy_block(c, contact.saved[k])
    now.push = largest_push(model, settings, data, dt)
    count = np.int64(0)
    energy = 0.0
    for k in range(model.coordinates.shape[0]):
        begin = count
        count = coordinate_cones(model, settings, data, contact, count, k, dt)
        for j in range(begin, count):
            energy += cones[j].gam
            cones[j].target_share = cones[j].gam
    found, loose, waiting = np.int64(0), False, np.int64(0)
    clearance = contact_clearance(contact)
    for m in range(now.listed):
        k = contact.listed[m]
        if is_locked(near, k):
            continue  # impulses undetermined; `add_violated_contacts` finds overlaps that their motion causes
        a, b = near.shapes[near.pairs[k].a].body, near.shapes[near.pairs[k].b].body
        if clearance.least[k] - approach_of(clearance.ways, a, b) > now.widest:
            continue
        X = start_pose(states, a), start_pose(states, b)
        margin = margin_of(bodies, settings, near, contact.speeds, k, dt)
        if stay_apart(clearance, near.shapes, near.pairs, k, X, near.table, margin, near.convex):
            continue
        begin = found
        found = detect_pair(near, contact, k, X, found, margin, near.features, near.convex)
        clearance.least[k] = -math.inf
        if found == begin:
            measure(clearance, near.shapes, near.pairs, k, X, near.table, margin, near.convex)
            continue
        most = cones_of(near) * (found - begin)
        if found > contact.contacts.shape[0] or count + 2 * most + waiting > cones.shape[0]:
            return NO_ROOM
        contact.touched[k] = max(contact.touched[k], CLOSE)
        loose = loose or near.edges[k] == LOOSE
        if loose:
            found = begin
        for j in range(begin, found):
            move_surfaces(near, k, contact.contacts[j])
            own = contact_cone(
                bodies, states, settings, cones[count], contact.contacts[j], j, near.edges[k], now.push, dt
            )
            choose_friction(bodies, states, settings, near.pairs[k], cones[count], contact.contacts[j])
            last = append_turning(states, near.pairs[k], contact, count, near.turning)
            if waits(settings, now, contact.contacts[j], cones[count].gap):
                waiting += last - count
                for m in range(last - count):
                    cones[cones.shape[0] - waiting + m] = cones[count + m]
                continue
            energy += own * (last - count)
            count = last
    if loose:
        return UNTIED
    # Joints may attach more mass to a contact than the body has itself; all contacts share it.
    now.load = max(1.0, settings.carried / max(count, 1))
    now.energy = now.load * energy / max(count, 1)
    for k in range(count):
        c = cones[k]
        c.share = c.target_share = min(max(now.load * c.target_share / now.energy, LIGHT), 1.0)
        ip.begin(c, c.s, c.y[0], c.y[1], now.energy)
    now.known, now.count, now.sure, now.matched = count, count, 0, 0
    now.waiting = waiting
    if settings.warm_start and settings.directions == 0:
        # Without a step before, all modes start open: of solutions with and without contact it finds the latter.
        match(contact, before)
        now.matched, now.sure = 1 if before > 0 else 0, 1
    return count


@inline
def bounces(settings, now, contact):
    """Whether a contact has restitution in the present substep; smoothed contacts have none."""
    return contact.restitution > 0.0 and now.plastic == 0 and settings.smoothing == 0.0


@inline
def waits(settings, now, contact, phi):
    """Whether a contact with the gap phi is left out of the substep, which ends where it closes; see `restitution`."""
    return bounces(settings, now, contact) and not is_closed(phi, settings.gravity, settings.whole)


@inline
def cone_of(contact, k):
    """Cone k of the present substep; indices from `count` on are the cones that wait."""
    count, last = contact.now[0].count, contact.cones.shape[0]
    return contact.cones[k if k < count else last + count - 1 - k]


@routine(allocates=False)
def detect_pair(near, contact, k, X, found, margin, features, convex):
    """Append the contacts of pair k at the poses X; see `narrow_phase.detect` and `ContactModel`."""
    shapes, pairs, contacts = near.shapes, near.pairs, contact.contacts
    if features is None or not features:
        return detect_smooth(shapes, pairs, k, X[0], X[1], near.table, contacts, found, margin)
    return detect(shapes, pairs, k, X, near.table, contacts, found, margin, convex)


@routine(allocates=False)
def match(contact, before):
    """Set `previous` of each cone to its index in the step before, or -1, by its key."""
    at = 0
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        c.previous = -1
        for j in range(min(WINDOW, before)):
            m = (at + j) % before
            if contact.keys[m] == c.key:
                c.previous, at = m, m + 1
                break


@routine(allocates=False)
def contact_cone(bodies, states, settings, cone, contact, j, edge, push, dt):
    """Turn contact j into a cone at the start poses, with a first guess of slack and sliding; its typical energy [J].

    The energy of the lighter body is stored in `target_share`.

    Args:
        cone: a `CONE` record, filled in.
        contact: a `CONTACT` record.
        edge: of the graph between its bodies.
        push: see `tolerances.largest_push`.
    """
    directions, gravity = settings.directions, settings.gravity
    cone.a, cone.b, cone.edge, cone.source, cone.key = contact.a, contact.b, edge, j, contact.key
    cone.mu, cone.directions = contact.friction, directions
    cone.kind = ip.LIMIT if contact.friction == 0.0 else (ip.LINEAR if directions > 0 else ip.EXACT)
    phi = contact_wrenches(cone, contact, states)
    vn = work(states, cone.da[0:6], cone.a) + work(states, cone.db[0:6], cone.b)
    # Features that did not overlap before are separated gradually, without a jump.
    cone.gravity_drop = gravity * dt * dt
    whole = settings.whole
    cone.slight = slight_overlap(gravity * whole * whole, whole)
    cone.rest = overlap_left(phi, cone.gravity_drop, cone.slight)
    cone.side = OVERLAPPING if cone.rest < 0.0 else APART
    if phi < HAIR:
        cone.rest = min(cone.rest, -HAIR)
    cone.gap = phi
    y0 = work(states, cone.da[6:12], cone.a) + work(states, cone.db[6:12], cone.b) + cone.drift[0]
    y1 = work(states, cone.da[12:18], cone.a) + work(states, cone.db[12:18], cone.b) + cone.drift[1]
    mass, least = heavier(bodies, contact.a, contact.b), lightest(bodies, contact.a, contact.b)
    speed = speed_scale(settings, push, mass, dt) + abs(min(vn, 0.0))
    cone.target_share = least * speed * speed
    cone.s = max((phi - cone.rest) / dt + vn, speed)
    cone.y[0], cone.y[1] = y0, y1
    return mass * speed * speed


@inline
def node_rate(wrench, at, bodies, states, i):
    """Velocity of body i along the unit wrench wrench[at : at + 6] from its momentum at the start of the step [m/s].

    It is zero for the world, and in the directions in which a body has no inertia.
    """
    rate = 0.0
    if i >= 0:
        J, P = bodies[i].J, states[i].P
        a, b, c = J[4] * J[8] - J[5] * J[5], J[2] * J[5] - J[1] * J[8], J[1] * J[5] - J[2] * J[4]
        d, e, f = J[0] * J[8] - J[2] * J[2], J[1] * J[2] - J[0] * J[5], J[0] * J[4] - J[1] * J[1]
        det = J[0] * a + J[1] * b + J[2] * c
        if det > 0.0:
            rate += wrench[at] * (a * P[0] + b * P[1] + c * P[2]) / det
            rate += wrench[at + 1] * (b * P[0] + d * P[1] + e * P[2]) / det
            rate += wrench[at + 2] * (c * P[0] + e * P[1] + f * P[2]) / det
        if bodies[i].mass > 0.0:
            for k in range(3):
                rate += wrench[at + 3 + k] * P[3 + k] / bodies[i].mass
    return rate


@routine(allocates=False)
def choose_friction(bodies, states, settings, pair, cone, contact):
    """Set the static friction of a contact of a `PAIR` that sticks, see `laws.sticking`; call after `contact_cone`."""
    if pair.static <= pair.friction:
        return
    slip = node_rate(cone.da, 6, bodies, states, cone.a) + node_rate(cone.db, 6, bodies, states, cone.b)
    along = node_rate(cone.da, 12, bodies, states, cone.a) + node_rate(cone.db, 12, bodies, states, cone.b)
    if is_sticking(slip + cone.drift[0], along + cone.drift[1], settings.whole):
        contact.friction, contact.sticks, cone.mu = pair.static, 1, pair.static
        cone.kind = ip.LINEAR if settings.directions > 0 else ip.EXACT


@routine(allocates=False)
def contact_wrenches(cone, contact, states):
    """Write point, normal and unit wrenches of a contact at the start poses to its cone; returns the gap [m]."""
    (Ra, pa), (Rb, pb) = start_pose(states, contact.a), start_pose(states, contact.b)
    phi, n, x = gap(contact, (Ra, pa), (Rb, pb))
    t1, t2 = tangents(n)
    store3(cone.point, x)
    store3(cone.normal, n)
    ca, cb = material_points(contact, (Ra, pa), (Rb, pb), n, x)
    store3(cone.ra, mattvec(Ra, sub3(ca, pa)))
    store3(cone.rb, mattvec(Rb, sub3(cb, pb)))
    for row, d in enumerate((n, t1, t2)):
        wrench_row(cone.da, 6 * row, states, contact.a, x, d, -1.0)
        wrench_row(cone.db, 6 * row, states, contact.b, x, d, 1.0)
    cone.drift[0] = cone.drift[1] = 0.0
    if contact.belt != 0:
        slip = sub3(matvec(Rb, load3(contact.belt_b)), matvec(Ra, load3(contact.belt_a)))
        cone.drift[0], cone.drift[1] = dot3(slip, t1), dot3(slip, t2)
    return phi


@inline
def is_locked(near, k):
    """Whether the bodies of a pair are fixed, prescribed or locked, so that contact impulses do nothing."""
    a, b = near.shapes[near.pairs[k].a], near.shapes[near.pairs[k].b]
    return (a.body < 0 or a.given != 0) and (b.body < 0 or b.given != 0)


@routine(allocates=False)
def move_surfaces(near, k, contact):
    """Set the surface velocities of a contact of pair k, and mark it as found at the start of the step."""
    contact.late = 0
    a, b = near.shapes[near.pairs[k].a].belt, near.shapes[near.pairs[k].b].belt
    contact.belt = 0
    for i in range(3):
        contact.belt_a[i], contact.belt_b[i] = a[i], b[i]
        if a[i] != 0.0 or b[i] != 0.0:
            contact.belt = 1


@inline
def cones_of(near):
    """Largest number of cones per contact."""
    return ip.CONES if is_set(near.turning) else 1


@routine(allocates=False)
def append_turning(states, pair, contact, count, turning):
    """Append the cones of torsional and rolling friction of the last contact; returns the number of cones.

    Args:
        pair: `PAIR` record of the contact.
        count: index of the contact's cone, which is the last.
        turning: see `ContactModel`.
    """
    if turning is None or not turning:
        return count + 1
    cones, at = contact.cones, count
    touching = contact.contacts[cones[at].source]
    touching.spin, touching.roll = pair.spin, pair.roll
    for motion in range(ip.SPIN, ip.ROLL + 1):
        mu = pair.spin if motion == ip.SPIN else pair.roll
        if mu > 0.0:
            count += 1
            cones[count] = cones[at]
            cone = cones[count]
            cone.kind, cone.mu, cone.directions, cone.key = ip.TURN, mu, motion, cone.key + motion * TURNING
            turn_wrenches(cone, states)
            cone.y[0] = work(states, cone.da[6:12], cone.a) + work(states, cone.db[6:12], cone.b)
            cone.y[1] = work(states, cone.da[12:18], cone.a) + work(states, cone.db[12:18], cone.b)
    return count + 1


@routine(allocates=False)
def turn_wrenches(cone, states):
    """Write the unit torques of a TURN, about the normal (SPIN) or both tangents (ROLL) of its contact, to its cone."""
    n = load3(cone.normal)
    t1, t2 = tangents(n)
    cone.drift[0] = cone.drift[1] = 0.0
    for i in range(6, 18):
        cone.da[i] = cone.db[i] = 0.0
    for row, d in enumerate((n, t1) if cone.directions == ip.SPIN else (t1, t2)):
        if row == 1 and cone.directions == ip.SPIN:
            continue  # SPIN has one axis
        for body, sign, out in ((cone.a, -1.0, cone.da), (cone.b, 1.0, cone.db)):
            if body >= 0:
                t = mattvec(load9(states[body].R), d)
                for i in range(3):
                    out[6 + 6 * row + i] = sign * t[i]


@routine(allocates=False)
def append_contacts(contact, step, dt):
    """Write the contact forces of a step to the log; False where it is full."""
    log, written = contact.log, contact.written
    slight = SLIGHT * strongest(contact)
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        if c.source < 0 or c.kind == ip.TURN:
            continue
        if written[0] >= log.shape[0]:
            return False
        if c.gam > slight:
            contact.touched[contact.contacts[c.source].pair] = PUSHED
        n = load3(c.normal)
        t1, t2 = tangents(n)
        f = add3(scale3(c.gam, n), add3(scale3(c.beta[0], t1), scale3(c.beta[1], t2)))
        row = log[written[0]]
        row[0], row[1], row[2] = step, c.a, c.b
        for i in range(3):
            row[3 + i] = c.point[i]
            row[6 + i] = f[i] / dt
        row[9] = c.gap
        written[0] += 1
    return True
