"""Steps of a lane: Newton, its first guess, division of what it does not solve."""

from leastaction._jit import routine
from leastaction.minimal.lanes.bounces import LEFT, RIGID, SLIGHT, bounces, work_of_impulses
from leastaction.minimal.lanes.compliance import slight_overlap
from leastaction.minimal.lanes.contacts import choose, fall_of, miss, push, relate
from leastaction.minimal.lanes.energy import work_of_contacts
from leastaction.minimal.lanes.energy_balance import accept_or_go_back, keep_start, know_start, rotates_too_far
from leastaction.minimal.lanes.found import keep_found, overlooked
from leastaction.minimal.lanes.friction import settle_all
from leastaction.minimal.lanes.momentum_phase import solve_momenta
from leastaction.minimal.lanes.passing import passes_through
from leastaction.minimal.lanes.pulls import pull, pull_by_controls, pulls_of, slacken_loops
from leastaction.minimal.lanes.sweeps import (
    eliminate,
    look_at_end,
    move,
    move_on,
    put_end,
    put_start,
    recentre,
    update,
)
from leastaction.step_control.bisection import FINEST, next_substep, substep_length

PATIENCE = 6
"""Iterations after which updates and gaps of 1e-7 rad or m are good enough."""

DIVIDED_IN_VAIN = 16
"""Most parts of a step where round-off keeps Newton from its end: smaller ones have as much of it."""

TRIES = 40
"""Most shares of the restitution that are tried."""

SHARP = 1e-15
"""Errors below this [rad or m] need no further iteration where contacts push. They divide their load by how far they
give way, some 1e-7 m for each unit of an impulse: what is wrong by 1e-10 m is a different load."""

CLOSE = 1e-3
"""Updates above this [rad or m] need no look at how good they are."""


@routine
def newton(model, lane, touch, settings, dt, placed):
    """One Newton update of q1: its size [rad or m] and the largest residual of the equations before it.

    `placed` tells that bodies are where q1 has them.
    """
    if not placed:
        put_end(model, lane, touch)
        pull(model, lane, pulls_of(touch), dt)
    norm = eliminate(model, lane, touch, dt, model.soft, model.driven, model.branched)
    if touch is not None:
        relate(model, lane, touch.found, dt)
        slacken_loops(model.cones, touch, touch.pulls)
        settle_all(model, touch, touch.found, 0.5 * dt, 0.1 * settings.floor)
        push(model, lane)
    return update(model, lane, model.branched), norm


@routine
def missed(model, lane, touch, dt):
    """By how much the laws of contact are missed [m or rad]; see `contacts.miss`."""
    return 0.0 if touch is None else miss(model, lane, dt)


@routine
def begin_contacts(model, lane, touch, settings, dt):
    """Which contacts take part, from the first guess in q1; gives back whether bodies are placed there now."""
    if touch is None:
        return False
    put_end(model, lane, touch)
    pull(model, lane, touch.pulls, dt)
    choose(model, lane, dt, settings.whole)
    return True


@routine
def is_whole(model, lane, touch, settings, dt):
    """Whether no contacts were overlooked; those that were take part from now on."""
    if touch is None:
        return True
    falls = fall_of(model, dt), slight_overlap(fall_of(model, settings.whole), settings.whole)
    return overlooked(model, lane, model.shapes, touch.found, (dt, settings.whole), falls) == 0


@routine
def is_full(touch):
    """Whether there was no room for a contact or its force."""
    if touch is None:
        return False
    return found_is_full(touch.found)


@routine
def found_is_full(found):
    """See `is_full`."""
    if found is None:
        return False
    return found.now[0].full != 0


@routine
def is_sharp(touch, missed, left):
    """Whether a solved step needs no further iteration for the loads of its contacts.

    Args:
        missed: by how much the laws of contact are missed [m or rad].
        left: size of the next update, as expected.
    """
    if touch is None:
        return True
    pushes = False
    for k in range(touch.kick.shape[0]):
        pushes = pushes or touch.kick[k] != 0.0
    return not pushes or (missed <= SHARP and left <= SHARP)


@routine
def attempt(model, lane, settings, dt, steady):
    """Solve one step of dt from (q0, p) for q1 and `end`; gives back its iterations, or minus their number.

    The first guess goes on with the mean rate of the last step, `near`, or where `steady` with its change since the
    one before, `far`.
    """
    q0, q1, near, far, dx, moved = lane.q0, lane.q1, lane.near, lane.far, lane.dx, lane.moved
    for k in range(dx.shape[0]):
        dx[k] = dt * (2.0 * near[k] - far[k]) if steady else dt * near[k]
        moved[k] = dx[k]
    move(model, q0, dx, q1, model.turning)
    placed = begin_contacts(model, lane, lane.touch, settings, dt)
    if is_full(lane.touch):
        return -1
    last = False
    for it in range(1, settings.max_iterations + 2):
        if it > settings.max_iterations and not last:
            break
        size, norm = newton(model, lane, lane.touch, settings, dt, placed)
        placed = False
        if not size < 1e12:
            return -it
        move_on(model, moved, dx, model.turning)
        if size <= CLOSE:
            # The next update would be smaller by as much as this one has shrunk the residual.
            new = look_at_end(model, lane, lane.touch, dt, model.soft, model.driven, model.branched)
            placed = True
            # Contacts that do not settle to the last digit need not hold up the step.
            allowed = max(settings.tolerance, settings.floor if it < PATIENCE else max(settings.floor, 1e-7))
            short = missed(model, lane, lane.touch, dt)
            if short > allowed:
                last = False
                continue
            floor = size <= settings.floor and new > 0.25 * norm
            floor = floor or (it >= PATIENCE and size <= allowed)
            solved = size <= settings.tolerance or size * new <= settings.tolerance * norm or floor
            if solved and not last and not is_sharp(lane.touch, short, size * new / norm if norm > 0.0 else 0.0):
                last = True
            elif solved:
                if is_whole(model, lane, lane.touch, settings, dt):
                    return it
                last = False
    return -settings.max_iterations


@routine
def step(model, lane, settings, steady):
    """One step from (q0, p) with the generalised forces tau held, to q0 and p.

    Where Newton does not find the end of a step, or its energy balance does not hold, the step is divided: two of half
    its length, each divided again where that does not help. Gives back the iterations, or -1 where not even the finest
    part has a solution; and the number of parts.
    """
    near, far, moved = lane.near, lane.far, lane.moved
    total, count = 0, 0
    parts, part, halvings = 1, 0, 1
    recentre(model, lane, lane.touch, model.turning)
    know_start(model, lane, lane.touch)
    while part < parts:
        dt = substep_length(settings.dt, parts)
        spent, tried = solve(model, lane, lane.touch, settings, dt, steady)
        total += tried
        accepted = spent > 0 and end_part(model, lane, lane.touch, settings, dt)
        if not accepted:
            if parts >= most_parts(lane, lane.touch, spent) or is_full(lane.touch):
                return -1, count
            parts, part, halvings = next_substep(parts, part, halvings, False)
            steady = False
            continue
        for k in range(near.shape[0]):
            far[k] = near[k]
            near[k] = moved[k] / dt
        note(model, lane, lane.touch, count, dt)
        if is_full(lane.touch):
            return -1, count
        count += 1
        steady = parts == 1
        parts, part, halvings = next_substep(parts, part, halvings, True)
    return total, count


@routine
def end_part(model, lane, touch, settings, dt):
    """The momenta at the end of a solved part, which becomes the start of the next; gives back whether it is accepted.

    Where it is not, nothing has changed but first guesses.
    """
    keep_start(model, lane, touch, settings, dt)
    advance(model, lane)
    return accept_or_go_back(model, lane, touch, dt, solve_momenta(model, lane, touch, dt, 0.1 * settings.floor))


@routine
def most_parts(lane, touch, spent):
    """How many parts a step may have after an attempt that failed: few where round-off is all that is left.

    Equations without contacts are smooth: near their solution, updates shrink at once, or they never do, as where 32
    bits do not tell positions apart any more.
    """
    if touch is not None or spent > -PATIENCE:
        return FINEST
    for k in range(lane.dx.shape[0]):
        if not abs(lane.dx[k]) <= CLOSE:
            return FINEST
    return DIVIDED_IN_VAIN


@routine
def solve(model, lane, touch, settings, dt, steady):
    """`attempt`, and where bounces add energy others with less restitution; (the last result, all iterations).

    A step in which things pass through each other or bodies turn by more than a right angle is none.
    """
    if touch is None:
        spent = attempt(model, lane, settings, dt, steady)
        return spent, abs(spent)
    spent, tried = attempt_bounces(model, lane, settings, dt, steady)
    if spent > 0 and (rotates_too_far(model, lane) or tunnels(model, lane, model.shapes, touch.found)):
        return -spent, tried
    return spent, tried


@routine
def attempt_bounces(model, lane, settings, dt, steady):
    """Lower the restitution until the impulses do no work; (result as of `attempt`, all iterations).

    Regula falsi (Illinois) for the share that is kept, from what the work is above its bound with all of it. Where the
    work jumps, the share is the one below. There is one call of `attempt`: a GPU's compiler puts all of it here.
    """
    share, low, high, above, below, side, tried, spent = lane.touch.share, 0.0, 1.0, 0.0, 0.0, 0, 0, 0
    energy = lane.touch.balance[0]["kinetic"]
    share[0] = 1.0
    for k in range(TRIES + 1):
        if k > 0:
            share[0] = low if k == 1 or k == TRIES else (low * above - high * below) / (above - below)
        spent = attempt(model, lane, settings, dt, steady)
        tried += abs(spent)
        if spent < 0 or (k == 0 and not bounces(lane.touch)):
            break
        exact, after = work_of_contacts(model, lane, dt)
        work = max(work_of_impulses(model, lane, dt) - LEFT * energy, exact - SLIGHT * (after + after - exact))
        if k == 0:
            above = work
            if work <= 0.0:
                break
        elif k == 1:
            below = work
            if work >= 0.0:  # it is not restitution that adds energy
                break
        elif abs(work) <= RIGID * energy or k == TRIES:
            break
        elif work > 0.0:
            high, above = share[0], work
            below *= 0.5 if side > 0 else 1.0
            side = 1
        else:
            low, below = share[0], work
            above *= 0.5 if side < 0 else 1.0
            side = -1
    return spent, tried


@routine
def tunnels(model, lane, shapes, found):
    """Whether things have passed through each other."""
    if found is None:
        return False
    return passes_through(model, lane, found, shapes.convex)


@routine
def note(model, lane, touch, count, dt):
    """Impulses of a part of a step, of length dt, whose end the lane is at."""
    if touch is not None:
        touch.before[0], total = dt, touch.phase.total
        for k in range(total.shape[0]):
            touch.total[k] = total[k] if count == 0 else touch.total[k] + total[k]
        keep_found(model, lane, touch.found)


@routine
def prepare(model, lane):
    """Bodies at the start of a run."""
    lane.now[0] = 0
    for k in range(3):
        lane.origin[k] = 0.0
    put_start(model, lane, lane.touch)
    recentre(model, lane, lane.touch, model.turning)
    forget_energy(lane.touch)


@routine
def forget_energy(touch):
    """The kinetic energy of a state is not known."""
    if touch is not None:
        touch.balance[0]["kinetic"] = -1.0


@routine
def forget_contacts(touch):
    """No impulses from a step before."""
    if touch is not None:
        touch.before[0] = 0.0
        for k in range(touch.lam.shape[0]):
            touch.lam[k] = 0.0
        for k in range(touch.kick.shape[0]):
            touch.kick[k] = 0.0
        for j in range(touch.columns.shape[0]):
            for k in range(touch.columns.shape[1]):
                touch.columns[j, k] = 0.0
                touch.rows[j, k] = 0.0


@routine
def advance(model, lane):
    """The end of a step becomes the start of the next."""
    for k in range(lane.p.shape[0]):
        lane.p[k] = lane.end[k]
    for k in range(lane.q0.shape[0]):
        lane.q0[k] = lane.q1[k]
    lane.now[0] = 1 - lane.now[0]


@routine
def apply_controls(model, lane, u, step, robot, driven):
    """Generalised forces of the controls of a step: u[step, :, robot], where axes of length 1 serve all."""
    if driven is None:
        return
    k, r = min(step, u.shape[0] - 1), min(robot, u.shape[2] - 1)
    for c in range(u.shape[1]):
        lane.u[c] = u[k, c, r]
    drive(model, lane, model.limited)


@routine
def drive(model, lane, limited):
    """Generalised forces of the controls in `lane.u`, within their limits; there are none where `limited` is None."""
    drives, tau, u = model.drives, lane.tau, lane.u
    push_along(drives, tau, u, limited, model.pushed)
    pull_by_controls(model, lane, pulls_of(lane.touch))


@routine
def push_along(drives, tau, u, limited, pushed):
    """See `drive`; where `pushed` is None, all controls push along joints."""
    for c in range(tau.shape[0]):
        tau[c] = 0.0
    for c in range(drives.shape[0]):
        asked = u[c]
        if limited is not None:
            if asked < drives[c].lower:
                asked = drives[c].lower
            if asked > drives[c].upper:
                asked = drives[c].upper
            u[c] = asked
        if pushed is None or drives[c].dof >= 0:
            tau[drives[c].dof] += drives[c].gear * asked
