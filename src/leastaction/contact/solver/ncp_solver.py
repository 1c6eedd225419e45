"""Nonlinear complementarity solver for rigid contact: Signorini's and Coulomb's laws over a small dense matrix.

The displacements of the contact points in a step are w = w0 + W lam: the gap at the end of the step along each normal,
and the slip along two tangents. With lam = (normal, friction, friction) [N s] for each contact,

    0 <= lam_n,  w_n >= 0,  lam_n w_n = 0,     |lam_t| <= mu lam_n,  lam_t = -mu lam_n w_t / |w_t| where it slides.

Both laws read lam = P(lam - w / k), with P the projection on admissible impulses. The solver begins with projected
Gauss-Seidel (Jourdan, Alart and Jean, A Gauss-Seidel like algorithm to solve frictional contact problems, CMAME 155,
1998) and continues with semismooth Newton on all contacts (Alart and Curnier, A mixed formulation for frictional
contact problems prone to Newton like solution methods, CMAME 92, 1991), with Levenberg-Marquardt damping.
"""

from leastaction._jit import inline, routine
from leastaction.contact.solver.cone_kinds import CONTACT, DRY, PLAIN, TIE
from leastaction.contact.solver.cone_response import GIVING, add, add_three, depth_of, disc_rows, stiffness, within
from leastaction.contact.solver.islands import arrange, cone_at, find_ranges, impulses, range_of
from leastaction.contact.solver.joint_stops import (
    BY_LIMIT,
    has_friction_beside,
    has_limit_beside,
    stop,
    stop_of_joint,
    sweep_joint,
    violation_of_joint,
)
from leastaction.contact.solver.torque_laws import clip_turn, sweep_turn, turn_rows, violation_of_turn
from leastaction.linalg.dense import solve_leading, solve_within

SWEEPS, ROUNDS, TRIES, CROSSOVER = 6, 12, 20, 8
"""Gauss-Seidel sweeps before each Newton solve; rounds of sweeps and Newton; damped Newton steps of a round; undamped
Newton steps of `cross_over`."""

WEDGED = 200
"""Gauss-Seidel sweeps of the second round, after Newton has failed in the first. Where friction wedges a leg against a
surface, it multiplies the impulse (26 times in a drop of LittleDog): about 100 sweeps converge, Newton does not."""

BETTER = 0.999
"""Largest ratio of the residuals after and before a Newton step that is accepted."""

CREEP, LESS, LEAST = 1e-4, 0.03, 1e-8
"""Regularisation of friction where no solution is found without: tangential compliance relative to the trace of W, its
reduction factor from one solution to the next, and the value below which it becomes zero."""

HOLD = 1e-6
"""Least damping, relative to the diagonal of W: the contacts of one body are redundant, so W may be singular."""

SLIGHTLY = 1e-12
"""Damping of `cross_over`: so small that the compliance of the contacts, not the damping, makes impulses unique."""

EXACT, DIGITS = 1e-7, 1e-4
"""Shares of the tolerance: residual at which impulses count as exact, and residual that may be round-off."""


@inline
def contact(W, w, lam, o, mu):
    """Return the impulses of a contact, all others fixed: normal, then friction projected on its disc."""
    push = max(0.0, lam[o] - w[o] / W[o, o])
    change = push - lam[o]
    k, most = stiffness(W, o, o + 1), mu * push
    f1 = lam[o + 1] - (w[o + 1] + W[o, o + 1] * change) / k
    f2 = lam[o + 2] - (w[o + 2] + W[o, o + 2] * change) / k
    share = within(f1, f2, most)
    return push, share * f1, share * f2


@routine
def take_part(cones, touch, found):
    """List the impulses of the active cones in `which`; returns their number."""
    active, which, n = touch.active, touch.which, 0
    for a in range(active.shape[0]):
        c = cone_at(found, a)
        if c < 0:
            break
        if active[c]:
            for k in range(cones[c].row, cones[c].row + impulses(cones[c])):
                which[n] = k
                n += 1
    return n


@routine
def list_impulses(own, touch, found):
    """List the active impulses, sorted by island if contacts are detected (`found`); else those of the cones `own`."""
    if found is None:
        return take_part(own, touch, found)
    arrange(found.cones, touch.active, found.islands)
    n = take_part(found.cones, touch, found)
    find_ranges(found.cones, touch, found.islands, n)
    return n


@routine
def sweep(cones, touch, n, dt, relax):
    """Projected Gauss-Seidel sweep, with relaxation factor `relax` for contacts; returns the largest change in w.

    Under-relaxation prevents oscillation between normal and friction impulses at high friction.
    """
    active, W, w, lam = touch.active, touch.W, touch.w, touch.lam
    change = 0.0
    for c in range(active.shape[0]):
        if not active[c]:
            continue
        o, moved = cones[c].row, 0.0
        if cones[c].kind == CONTACT:
            n0, n1, n2 = contact(W, w, lam, o, cones[c].friction)
            e0, e1, e2 = relax * (n0 - lam[o]), relax * (n1 - lam[o + 1]), relax * (n2 - lam[o + 2])
            lam[o], lam[o + 1], lam[o + 2] = lam[o] + e0, lam[o + 1] + e1, lam[o + 2] + e2
            if e0 != 0.0 or e1 != 0.0 or e2 != 0.0:
                add_three(touch, n, o, (e0, e1, e2))
                moved = abs(W[o, o] * e0) + abs(W[o + 1, o + 1] * e1) + abs(W[o + 2, o + 2] * e2)
            moved += sweep_turn(cones[c], touch, touch.rolls, n, relax)
        elif has_friction_beside(cones, active, c):
            moved = sweep_joint(cones, touch, n, c, dt)
        elif not has_limit_beside(cones, active, c):
            new = stop(cones[c], touch.side[c], W, w, lam, dt)
            e0 = new - lam[o]
            lam[o] = new
            if e0 != 0.0:
                add(touch, n, o, e0)
                moved = abs(W[o, o] * e0)
        if not moved <= change:
            change = moved
    return change


@routine
def violation(cones, touch, dt):
    """Return the residual of the laws as a displacement [m or rad]: the largest k |lam - P(lam - w / k)|."""
    active, W, w, lam, worst = touch.active, touch.W, touch.w, touch.lam, 0.0
    for c in range(active.shape[0]):
        if not active[c]:
            continue
        o = cones[c].row
        if has_friction_beside(cones, active, c):
            worst = max(worst, violation_of_joint(cones, touch, c, dt))
            continue
        if cones[c].kind != CONTACT:
            if not has_limit_beside(cones, active, c):
                worst = max(worst, W[o, o] * abs(lam[o] - stop(cones[c], touch.side[c], W, w, lam, dt)))
            continue
        push = max(0.0, lam[o] - w[o] / W[o, o])
        worst = max(worst, W[o, o] * abs(lam[o] - push))
        k, most = stiffness(W, o, o + 1), cones[c].friction * lam[o]
        x1, x2 = lam[o + 1] - w[o + 1] / k, lam[o + 2] - w[o + 2] / k
        share = within(x1, x2, most)
        worst = max(worst, violation_of_turn(cones[c], touch, touch.rolls))
        worst = max(worst, k * (abs(lam[o + 1] - share * x1) + abs(lam[o + 2] - share * x2)))
    return worst


@inline
def compliance_displacement(W, o, r):
    """Return the diagonal compliance of impulse r of the contact with normal impulse o: displacement per impulse."""
    if r == 0:
        return W[o, o]
    if r < PLAIN:
        return stiffness(W, o, o + 1)
    return max(W[o + r, o + r], GIVING * W[o, o])


@routine
def linear_rows(cones, touch, n, dt, hold):
    """Assemble Newton's equations for the changes of the n impulses in `M` and `d`; returns the number of unknowns.

    `hold` is the Levenberg-Marquardt damping, relative to the compliance. Changes that are known, such as those of
    contacts that open, are stored in `d`; `unknown` lists the rows of the others.
    """
    active, W, w, lam, M, d, index = touch.active, touch.W, touch.w, touch.lam, touch.M, touch.d, touch.which
    i, count = 0, 0
    for a in range(active.shape[0]):
        c = cone_at(touch.found, a)
        if c < 0:
            break
        if not active[c]:
            continue
        o, size = cones[c].row, impulses(cones[c])
        low, high = range_of(touch.found, o, n)
        if has_limit_beside(cones, active, c):
            continue  # treated together with its limit
        if has_friction_beside(cones, active, c):
            f, side = cones[c + 1].row, touch.side[c]
            push, rub, ends = stop_of_joint(cones[c], cones[c + 1], side, W, w, lam, dt)
            d[i], d[i + 1] = push - lam[o], rub - lam[f]
            if ends > 0:
                at, row = o if ends == BY_LIMIT else f, i + ends - 1
                for j in range(low, high):
                    M[row, j] = W[index[j], at]
                M[row, row] += hold * W[at, at]
                d[row] = -w[o] if ends == BY_LIMIT else side * max(side * w[f] - w[o], 0.0) - w[f]
                touch.unknown[count] = row
                count += 1
            i += 2
            continue
        if cones[c].kind == TIE:
            for j in range(low, high):
                M[i, j] = touch.side[c] * W[index[j], o]
            M[i, i] += 1.0
            d[i] = -touch.side[c] * w[o] - lam[o]
            touch.unknown[count] = i
            i, count = i + 1, count + 1
            continue
        if cones[c].kind != CONTACT:
            new, free = stop(cones[c], touch.side[c], W, w, lam, dt), lam[o] - w[o] / W[o, o]
            if new != free:
                d[i] = new - lam[o]
                i += 1
                continue
        elif lam[o] - w[o] / W[o, o] <= 0.0:
            for r in range(size):
                d[i + r] = -lam[o + r]
            i += size
            continue
        # First assume sticking: w + W d = 0.
        for r in range(size):
            for j in range(low, high):
                M[i + r, j] = W[index[j], o + r]
            M[i + r, i + r] += hold * compliance_displacement(W, o, r)
            d[i + r] = -w[o + r]
            touch.unknown[count] = i + r
            count += 1
        if size >= PLAIN:
            disc_rows(touch, o, 1, cones[c].friction, i, low, high)
            turn_rows(cones[c], touch, touch.rolls, i, low, high)
        i += size
    return count


@routine
def solve_rows(touch, n, count):
    """Solve Newton's equations for the unknown changes, into `d`; returns whether the matrix was regular."""
    b, d, unknown = touch.b, touch.d, touch.unknown
    if not solve_some(touch.found, touch, n, count):
        return False
    for a in range(count):
        d[unknown[a]] = b[a, 0]
    return True


@inline
def solve_some(found, touch, n, count):
    """Solve for the unknown changes into `b`, banded if islands are known; returns whether the matrix was regular."""
    if found is None:
        return solve_all(touch, n, count)
    return solve_ranges(touch, found.islands, n, count)


@routine
def solve_ranges(touch, islands, n, count):
    """`solve_all` with a banded matrix: each impulse is coupled only to those in its range."""
    M, b, d, unknown, which = touch.M, touch.b, touch.d, touch.unknown, touch.which
    place, begins, ends, a = islands.place, islands.begins, islands.ends, 0
    for j in range(n):
        place[j] = a
        if a < count and unknown[a] == j:
            a += 1
    place[n] = count
    for a in range(count):
        i, total = unknown[a], d[unknown[a]]
        low, high = islands.low[which[i]], islands.high[which[i]]
        begins[a], ends[a] = place[low], place[high]
        for j in range(low, high):
            if place[j + 1] > place[j]:
                M[a, place[j]] = M[i, j]  # safe in place: target row and column do not exceed the source's
            elif d[j] != 0.0:
                total -= M[i, j] * d[j]
        b[a, 0] = total
    return solve_within(M, b, count, begins, ends, place)


@routine
def solve_all(touch, n, count):
    """Eliminate the known changes and solve densely for the others, into `b`; returns whether the matrix is regular."""
    M, b, d, unknown = touch.M, touch.b, touch.d, touch.unknown
    for a in range(count):
        i, seen, total = unknown[a], 0, d[unknown[a]]
        for j in range(n):
            if seen < count and unknown[seen] == j:
                M[i, seen] = M[i, j]  # safe in place: seen <= j
                seen += 1
            elif d[j] != 0.0:
                total -= M[i, j] * d[j]
        b[a, 0] = total
    for a in range(count):
        for c in range(count):
            M[a, c] = M[unknown[a], c]
    return solve_leading(M, b, count)


@routine
def change_impulses(touch, n):
    """Add the n changes in `d` to the impulses and update the displacements w."""
    for j in range(n):
        if touch.d[j] != 0.0:
            touch.lam[touch.which[j]] += touch.d[j]
            add(touch, n, touch.which[j], touch.d[j])


@routine
def clip(cones, touch, dt):
    """Project the changes in `d` so that the new impulses are admissible."""
    active, lam, d, i = touch.active, touch.lam, touch.d, 0
    for a in range(active.shape[0]):
        c = cone_at(touch.found, a)
        if c < 0:
            break
        if not active[c]:
            continue
        o, bound = cones[c].row, dt * cones[c].friction
        new = lam[o] + d[i]
        if cones[c].kind >= TIE:
            i += 1
            continue
        if cones[c].kind == DRY:
            d[i] = min(bound, max(-bound, new)) - lam[o]
            i += 1
            continue
        new = max(0.0, new)
        d[i] = new - lam[o]
        i += 1
        if cones[c].kind == CONTACT:
            f1, f2 = lam[o + 1] + d[i], lam[o + 2] + d[i + 1]
            share = within(f1, f2, cones[c].friction * new)
            d[i], d[i + 1] = share * f1 - lam[o + 1], share * f2 - lam[o + 2]
            i = clip_turn(cones[c], touch, touch.rolls, new, i + 2)


@routine
def newton_on_impulses(cones, touch, n, dt, tolerance, before):
    """Damped Newton steps while they reduce the residual; damping grows after a rejected step. Returns the residual."""
    hold = HOLD
    for _ in range(TRIES):
        count = linear_rows(cones, touch, n, dt, hold)
        after = before
        if solve_rows(touch, n, count):
            clip(cones, touch, dt)
            change_impulses(touch, n)
            after = violation(cones, touch, dt)
            if not after < BETTER * before:
                for j in range(n):
                    touch.d[j] = -touch.d[j]
                change_impulses(touch, n)
        if after < BETTER * before:
            before, hold = after, max(HOLD, 0.01 * hold)
            if before <= tolerance:
                break
        else:
            hold *= 30.0
            if hold > 10.0:
                break
    return before


@routine
def cross_over(cones, touch, n, dt, tolerance, before):
    """Undamped Newton steps to machine precision, from a good estimate of the active set; returns the residual.

    The steps converge once each contact has its final state (open, sticking or sliding). The residual may rise on the
    way; if it does not end below `before`, the impulses are restored.
    """
    lam, which, best, last = touch.lam, touch.which, touch.best, before
    for j in range(n):
        best[j] = lam[which[j]]
    for _ in range(CROSSOVER):
        if last <= EXACT * tolerance or not solve_rows(touch, n, linear_rows(cones, touch, n, dt, SLIGHTLY)):
            break
        change_impulses(touch, n)
        after = violation(cones, touch, dt)
        stuck = not after < 0.5 * last and last <= DIGITS * tolerance
        last = after
        if stuck:
            break
    if last < before or last <= DIGITS * tolerance:
        return last
    for j in range(n):
        touch.d[j] = best[j] - lam[which[j]]
    change_impulses(touch, n)
    return before


@routine
def linearize_compliance(cones, touch):
    """Add the contacts' compliance to W and w0, linearised about the present impulses; see `laws.compliance`."""
    active, W, w, lam = touch.active, touch.W, touch.w, touch.lam
    for c in range(active.shape[0]):
        touch.soft[c] = 0.0
        if active[c] and cones[c].kind == CONTACT:
            o, give = cones[c].row, touch.compliance[c]
            depth, slope, slip = depth_of(lam[o], give, touch.deepest[0], touch.impulse_compliance[c])
            W[o, o] += slope
            w[o] += depth - slope * lam[o]
            W[o + 1, o + 1] += slip
            W[o + 2, o + 2] += slip


@routine
def regularize_friction(cones, touch, share):
    """Set the tangential regularisation of contacts to `share` times the trace of their 3 x 3 block of W."""
    active, W, w, lam = touch.active, touch.W, touch.w, touch.lam
    for c in range(active.shape[0]):
        if active[c] and cones[c].kind == CONTACT:
            o = cones[c].row
            more = share * (W[o, o] + W[o + 1, o + 1] + W[o + 2, o + 2]) - touch.soft[c]
            touch.soft[c] += more
            for k in (o + 1, o + 2):
                W[k, k] += more
                w[k] += more * lam[k]


@routine
def solve_ncp_once(cones, touch, n, dt, tolerance, relax, sweeps):
    """Gauss-Seidel sweeps, then Newton steps, from the present impulses; returns the residual [m or rad]."""
    for _ in range(sweeps):
        if sweep(cones, touch, n, dt, relax) <= 0.1 * tolerance:
            break
    left = cross_over(cones, touch, n, dt, tolerance, violation(cones, touch, dt))
    if left > tolerance:
        left = newton_on_impulses(cones, touch, n, dt, tolerance, left)
        if left <= tolerance:
            left = cross_over(cones, touch, n, dt, tolerance, left)
    return left


@routine
def solve_ncp(cones, touch, dt, tolerance):
    """Solve for the impulses `lam` and displacements `w` of the active cones; returns the residual [m or rad].

    Warm-starts from `lam`; `w` holds w0 on entry; dt [s] is the time for which dry friction acts. The linearised laws
    may have no solution: several contact points of a rigid body that all stick would have to approach each other.
    If none is found, friction is regularised, at first by `CREEP` times the trace of W, and the regularisation is
    then reduced from solution to solution. Where it reaches zero, the result is an exact solution.
    """
    lam, n = touch.lam, take_part(cones, touch, touch.found)
    linearize_compliance(cones, touch)
    for m in range(n):
        if lam[touch.which[m]] != 0.0:
            add(touch, n, touch.which[m], lam[touch.which[m]])
    left, share, good = 0.0, 0.0, 0.0
    for turn in range(ROUNDS):
        if turn > 1:
            regularize_friction(cones, touch, share)
        relax, sweeps = 1.0 if turn < 2 else 0.6, WEDGED if turn == 1 else SWEEPS
        left = solve_ncp_once(cones, touch, n, dt, tolerance, relax, sweeps)
        if left <= tolerance:
            if share == 0.0 or share == good:
                break
            good, share = share, (LESS * share if share > LEAST else 0.0)
        elif turn == 1:
            share = CREEP
        elif good > 0.0:
            share = good
    return left


@routine
def solve_all_cones(model, touch, found, dt, tolerance):
    """Apply `solve_ncp` to the model's cones, or to those of the detected contacts `found`."""
    if found is None:
        solve_ncp(model.cones, touch, dt, tolerance)
    else:
        solve_ncp(found.cones, touch, dt, tolerance)
