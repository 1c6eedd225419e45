"""Tendons: forces along a length that depends on several joints or bodies, and drives with nonlinear forces.

A length is a sum of weighted items: distances between two points, positions along and about joint axes, paths wrapped
around bodies. The gradient of an item is a world wrench W on its node and -W on the other, so its rate is W . (twist of
the node minus that of the other); the force of a tendon is its tension along the gradients. Servos on tendons, and
those on joints with a force range, are springs and dampers towards a target that the controls move (`modes.pull`); the
pull of a muscle is its activation. Stiff springs are best evaluated in the middle of a step, so `pull` also contains
the time from the given pose to that of the length, and an offset of the length.
"""

from leastaction._jit import inline, routine
from leastaction.forces.joint_limits import limit_gap
from leastaction.forces.muscle_forces import muscle_force
from leastaction.forces.tendons.tendon_lengths import length_and_rate, measure, row_of, turned
from leastaction.forces.touch import change, touch, update_mode
from leastaction.kinematics.closure_kernels import twist_of
from leastaction.kinematics.sweeps import add_to
from leastaction.spatial import ZERO6, add, dot, load6, scale, sub
from leastaction.spatial.basis import unit_twist

# ------------------------------------------------------------------ the law


@inline
def _spring_extension(tendon, length):
    """Extension of the spring, negative in compression, zero in its slack range."""
    if length > tendon.longest:
        return length - tendon.longest
    return min(length - tendon.shortest, 0.0)


@inline
def elastic(tendon, length):
    """(tension [N], energy [J]) of the spring and the limits, without dampers."""
    d = _spring_extension(tendon, length)
    force, energy = tendon.stiffness * d, 0.5 * tendon.stiffness * d * d
    if tendon.limit_stiffness > 0.0:
        side, gap = limit_gap(tendon, length)
        if gap < 0.0:
            force += side * tendon.limit_stiffness * gap
            energy += 0.5 * tendon.limit_stiffness * gap * gap
    return force, energy


@inline
def mean_depth(a, b):
    """Mean of max(x, 0) over x from a to b, and its derivatives by a and b."""
    if a >= 0.0 and b >= 0.0:
        return 0.5 * (a + b), 0.5, 0.5
    if a <= 0.0 and b <= 0.0:
        return 0.0, 0.0, 0.0
    share = b / (b - a) if b > a else a / (a - b)
    near, far = share - 0.5 * share * share, 0.5 * share * share
    return (0.5 * b * share, far, near) if b > a else (0.5 * a * share, near, far)


@inline
def mean_tension(tendon, a, b):
    """Mean of the tension of `elastic` over the lengths from a to b, and its derivatives by a and b.

    Times b - a it is the difference of the energies (Gonzalez 1996, discrete gradients).
    """
    long, long_a, long_b = mean_depth(a - tendon.longest, b - tendon.longest)
    short, short_a, short_b = mean_depth(tendon.shortest - a, tendon.shortest - b)
    high, high_a, high_b = mean_depth(a - tendon.upper, b - tendon.upper)
    low, low_a, low_b = mean_depth(tendon.lower - a, tendon.lower - b)
    k, m = tendon.stiffness, tendon.limit_stiffness
    by_a, by_b = k * (long_a + short_a) + m * (high_a + low_a), k * (long_b + short_b) + m * (high_b + low_b)
    return k * (long - short) + m * (high - low), by_a, by_b


@inline
def step_tension(tendon, pull, a, b, dt):
    """Tension [N] over a step of dt [s] between the lengths a and b, and its derivatives by a, b and the pull.

    Springs act with their mean, dampers resist the change of length and those of limits the change of depth, and drives
    use the mean length and the mean rate.
    """
    force, by_a, by_b = mean_tension(tendon, a, b)
    rate, damping = (b - a) / dt, tendon.damping / dt
    force, by_a, by_b = force + tendon.damping * rate, by_a - damping, by_b + damping
    if tendon.limit_damping > 0.0:
        damping = tendon.limit_damping / dt
        high = max(b - tendon.upper, 0.0) - max(a - tendon.upper, 0.0)
        low = max(tendon.lower - a, 0.0) - max(tendon.lower - b, 0.0)  # limits may be infinite
        force += damping * (high + low)
        by_a -= damping if a > tendon.upper or a < tendon.lower else 0.0
        by_b += damping if b > tendon.upper or b < tendon.lower else 0.0
    free = 0.0
    if tendon.driven != 0:
        own, by_length, by_rate, by_pull = drive_law(tendon, (pull, 0.0, 0.0), 0.5 * (a + b), rate)
        force -= min(max(own, tendon.weakest), tendon.strongest)
        if tendon.weakest <= own <= tendon.strongest:
            by_a, by_b = by_a - 0.5 * by_length + by_rate / dt, by_b - 0.5 * by_length - by_rate / dt
            free = -by_pull
    return force, by_a, by_b, free


@routine
def drive_law(tendon, pull, length, rate):
    """Unclipped force of the drives (a tension if negative), and its derivatives by length, rate and pull."""
    at = length + pull[1] * rate + pull[2]
    if tendon.muscle != 0:
        force, by_length, by_rate, by_pull = muscle_force(tendon, pull[0], at, rate)
        return force, by_length, by_rate + pull[1] * by_length, by_pull
    force = pull[0] - tendon.held * (at - tendon.target) - tendon.brake * rate
    return force, -tendon.held, -tendon.brake - pull[1] * tendon.held, 1.0


@inline
def tension(tendon, mode, pull, length, rate):
    """Tension [N]."""
    force = tendon.stiffness * _spring_extension(tendon, length) + tendon.damping * rate
    if tendon.limit_stiffness > 0.0:
        side, gap = limit_gap(tendon, length)
        acts, share, _ = touch(mode, gap)
        if acts:
            force += side * tendon.limit_stiffness * gap + share * tendon.limit_damping * rate
    if tendon.driven != 0:
        force -= min(max(drive_law(tendon, pull, length, rate)[0], tendon.weakest), tendon.strongest)
    return force


@inline
def tension_slopes(tendon, mode, pull, length, rate):
    """Derivatives of `tension` by length and rate, and negated by the pull of the drives (0 if clipped)."""
    stiffness = tendon.stiffness if _spring_extension(tendon, length) != 0.0 else 0.0
    damping, free = tendon.damping, 0.0
    if tendon.limit_stiffness > 0.0:
        side, gap = limit_gap(tendon, length)
        acts, share, slope = touch(mode, gap)
        if acts:
            stiffness += tendon.limit_stiffness + side * tendon.limit_damping * rate * slope
            damping += share * tendon.limit_damping
    if tendon.driven != 0:
        own, by_length, by_rate, by_pull = drive_law(tendon, pull, length, rate)
        if tendon.weakest <= own <= tendon.strongest:
            stiffness, damping, free = stiffness - by_length, damping - by_rate, by_pull
    return stiffness, damping, free


# ------------------------------------------------------------------ sums


@routine
def unwrap_angles(items, q):
    """Choose the angles of items nearest to the joint positions q (nq,), which counts full turns."""
    for k in range(items.shape[0]):
        if items[k].iq >= 0:
            items[k].near = q[items[k].iq]


@routine
def set_pulls(tendons, drives, pull, u):
    """Set pull[:, 0] to the forces of the controls u (nu,) on the tendons."""
    for i in range(tendons.shape[0]):
        pull[i, 0] = 0.0
    for k in range(drives.shape[0]):
        if drives[k].tendon > 0:
            pull[drives[k].tendon - 1, 0] += drives[k].gear * u[k]


@inline
def _add_pair(out, item, F):
    """Add a wrench F to the item's node and -F to the other."""
    if item.node >= 0:
        add_to(out[item.node], F)
    if item.other >= 0:
        add_to(out[item.other], scale(-1.0, F))


@routine
def push(tendon, items, links, force, out):
    """Add the wrenches of a force that lengthens a tendon to `out`, shape (nodes, 6)."""
    for k in range(tendon.first, tendon.first + tendon.count):
        push_along(items[k], links, force, out)


@inline
def push_along(item, links, force, out):
    """Add the wrenches of one item in `push`."""
    _, W = measure(item, links)
    _add_pair(out, item, scale(force * item.weight, W))


@routine
def wrenches(tendons, items, modes, pull, links, external):
    """Add the world wrenches to `external`, shape (nodes, 6)."""
    for i in range(tendons.shape[0]):
        length, rate = length_and_rate(tendons[i], items, links)
        force = tension(tendons[i], modes[i], pull[i], length, rate)
        if force != 0.0:
            push(tendons[i], items, links, -force, external)


@routine
def energy(tendons, items, links):
    """Elastic energy [J], without that of drives."""
    total = 0.0
    for i in range(tendons.shape[0]):
        length, _ = length_and_rate(tendons[i], items, links)
        total += elastic(tendons[i], length)[1]
    return total


@inline
def _row_moves(rows, node):
    found = False
    if node >= 0:
        for c in range(6):
            found = found or rows[node, c] != 0.0
    return found


@routine
def moves(tendon, items, T, dV):
    """Whether any of the tendon's nodes moves."""
    for k in range(tendon.first, tendon.first + tendon.count):
        a, b = items[k].other, items[k].node
        if _row_moves(T, a) or _row_moves(T, b) or _row_moves(dV, a) or _row_moves(dV, b):
            return True  # the third node of a wrapped path is the node of another item
    return False


@routine
def slopes(tendons, items, modes, pull, links, T, dV, out):
    """Add the directional derivatives of the wrenches (JVP)."""
    for i in range(tendons.shape[0]):
        tendon = tendons[i]
        if not moves(tendon, items, T, dV):
            continue
        dl = 0.0
        dr = 0.0
        for k in range(tendon.first, tendon.first + tendon.count):
            item = items[k]
            Ta, Tb, Tc = row_of(T, item.other), row_of(T, item.node), row_of(T, item.third)
            _, W = measure(item, links)
            dl += item.weight * dot(W, sub(Tb, Ta))
            dr += item.weight * dot(W, sub(row_of(dV, item.node), row_of(dV, item.other)))
            relative = sub(twist_of(links, item.node), twist_of(links, item.other))
            dr += item.weight * dot(turned(item, links, Ta, Tb, Tc), relative)
        length, rate = length_and_rate(tendon, items, links)
        force = tension(tendon, modes[i], pull[i], length, rate)
        stiffness, damping, _ = tension_slopes(tendon, modes[i], pull[i], length, rate)
        changed = stiffness * dl + damping * dr
        if force == 0.0 and changed == 0.0:
            continue
        for k in range(tendon.first, tendon.first + tendon.count):
            item = items[k]
            _, W = measure(item, links)
            dW = turned(item, links, row_of(T, item.other), row_of(T, item.node), row_of(T, item.third))
            dF = add(scale(-item.weight * changed, W), scale(-item.weight * force, dW))
            _add_pair(out, item, dF)


@inline
def _virtual(cot, node):
    if node < 0:
        return ZERO6
    return load6(cot[node].W)


@routine
def stretching(tendon, items, links, cot):
    """Rate of a tendon's length for the virtual twists in `cot`."""
    rate = 0.0
    for k in range(tendon.first, tendon.first + tendon.count):
        _, W = measure(items[k], links)
        rate += items[k].weight * dot(W, sub(_virtual(cot, items[k].node), _virtual(cot, items[k].other)))
    return rate


@routine
def cotangents(tendons, items, modes, pull, links, cot, GT, GV, out):
    """Reverse mode (VJP); out (tendons, 5): by stiffness, damping, and the drives' feedback gains and force."""
    for i in range(tendons.shape[0]):
        tendon = tendons[i]
        length, rate = length_and_rate(tendon, items, links)
        force = tension(tendon, modes[i], pull[i], length, rate)
        stiffness, damping, free = tension_slopes(tendon, modes[i], pull[i], length, rate)
        S = stretching(tendon, items, links, cot)
        out[i, 0] -= S * _spring_extension(tendon, length)
        out[i, 1] -= S * rate
        if tendon.muscle != 0:
            own = drive_law(tendon, pull[i], length, rate)[0]
            out[i, 2] += S * own if tendon.weakest <= own <= tendon.strongest else 0.0  # by the log of the peak force
        else:
            out[i, 2] -= S * free * (length + pull[i, 1] * rate + pull[i, 2])  # by the gain, for the target zero
        out[i, 3] -= S * free * rate
        out[i, 4] += S * free
        for k in range(tendon.first, tendon.first + tendon.count):
            item = items[k]
            _, W = measure(item, links)
            _add_pair(GT, item, scale(-S * stiffness * item.weight, W))
            _add_pair(GV, item, scale(-S * damping * item.weight, W))
            twist = sub(twist_of(links, item.node), twist_of(links, item.other))
            virtual = sub(_virtual(cot, item.node), _virtual(cot, item.other))
            y = add(scale(-S * damping * item.weight, twist), scale(-force * item.weight, virtual))
            for c in range(6):
                if item.other >= 0:
                    GT[item.other, c] += dot(turned(item, links, unit_twist(c), ZERO6, ZERO6), y)
                if item.node >= 0:
                    GT[item.node, c] += dot(turned(item, links, ZERO6, unit_twist(c), ZERO6), y)
                if item.third >= 0:
                    GT[item.third, c] += dot(turned(item, links, ZERO6, ZERO6, unit_twist(c)), y)


@routine
def rate_slope(tendon, items, mode, pull, links):
    """Derivative of the tension by the rate of the length."""
    length, rate = length_and_rate(tendon, items, links)
    return tension_slopes(tendon, mode, pull, length, rate)[1]


# ------------------------------------------------------------------ controls


@routine
def free_share(tendon, items, mode, pull, links):
    """Derivative of the drives' force by their pull: 1, for muscles by their curves; 0 if it is clipped."""
    length, rate = length_and_rate(tendon, items, links)
    return tension_slopes(tendon, mode, pull, length, rate)[2]


@routine
def control_wrenches(tendons, items, drives, modes, pull, links, u, out):
    """Add the changes of the wrenches for a change u (nu,) of the controls to `out`, shape (nodes, 6)."""
    for k in range(drives.shape[0]):
        i = drives[k].tendon - 1
        if i >= 0 and u[k] != 0.0:
            share = free_share(tendons[i], items, modes[i], pull[i], links)
            push(tendons[i], items, links, share * drives[k].gear * u[k], out)


@routine
def control_cotangents(tendons, items, drives, modes, pull, links, cot, bu):
    """Add to bu (nu,) the gradients by the controls."""
    for k in range(drives.shape[0]):
        i = drives[k].tendon - 1
        if i >= 0:
            share = free_share(tendons[i], items, modes[i], pull[i], links)
            bu[k] += share * drives[k].gear * stretching(tendons[i], items, links, cot)


# ------------------------------------------------------------------ limits with dampers


@routine
def change_modes(tendons, items, modes, links, settled, most):
    """Update the modes of limits by the lengths, at most `most` of them; see `touch.change`."""
    changed, touching = 0, 0
    for i in range(tendons.shape[0]):
        if tendons[i].limit_damping > 0.0:
            length, rate = length_and_rate(tendons[i], items, links)
            side, gap = limit_gap(tendons[i], length)
            c, t = change(modes, i, gap, side * rate, settled, changed < most)
            changed, touching = changed + c, touching + t
    return changed, touching


@routine
def update_modes(tendons, items, modes, links):
    """Open or close limits by the lengths, see `touch.update_mode`; returns the number of changes."""
    changed = 0
    for i in range(tendons.shape[0]):
        if tendons[i].limit_damping > 0.0:
            length, _ = length_and_rate(tendons[i], items, links)
            changed += update_mode(modes, i, limit_gap(tendons[i], length)[1])
    return changed
