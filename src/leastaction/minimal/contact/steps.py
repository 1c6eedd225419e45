"""Time step in joint coordinates: Newton's method, its first guess, and bisection of steps that fail."""

from leastaction._jit import routine
from leastaction.contact.laws.restitution import ACCEPT
from leastaction.contact.penetration.penetration_recovery import slight_overlap
from leastaction.contact.solver.ncp_solver import solve_all_cones
from leastaction.minimal.contact.acceptance import accept_or_go_back, keep_start, know_start, rotates_too_far
from leastaction.minimal.contact.body_sweeps import (
    eliminate,
    end_residual,
    move,
    move_on,
    put_end,
    put_start,
    recentre,
    update,
)
from leastaction.minimal.contact.detection.detected_contacts import add_violated_contacts, is_partial, store_detected
from leastaction.minimal.contact.detection.robot_contacts import choose, gravity_drop, law_violation, push, relate
from leastaction.minimal.contact.detection.tunnelling_of_joints import passes_through
from leastaction.minimal.contact.forces.spring_forces import pull, pull_by_controls, pulls_of, regularize_loops
from leastaction.minimal.contact.momentum_phase import solve_momenta
from leastaction.minimal.contact.solver.joint_impacts import (
    begin_step,
    end_at_impact,
    end_substep,
    find_impact,
    jump,
    length_of,
)
from leastaction.minimal.contact.solver.locked_joints import (
    add_locked_impulses,
    guess_locked,
    holds_any,
    locked_joints,
    update_locked,
)
from leastaction.minimal.contact.solver.prescribed_joints import goals_of, set_substep_targets
from leastaction.step_control.bisection import FINEST, LAST, first_half, next_substep, substep_length

PATIENCE = 6
"""Iterations after which Newton accepts updates and gap errors of 1e-7 rad or m."""

DIVIDED_IN_VAIN = 16
"""Largest number of substeps where round-off prevents convergence: shorter substeps have the same round-off."""

ROUNDS = 16
"""After undetected contacts are added, Newton gets another `max_iterations`, up to `ROUNDS` times as many in total. The
contacts of edges of a box that moves over another box change with each solution: a substep of a stack (corpus, seed 3)
took 131 iterations; with a total of 12 for all these problems it failed at any length."""

AT_IMPACTS = 0.01
"""Fraction of the tolerance for substeps that end at impacts, and for gaps there: a tumbling box amplifies an error in
the time of an impact a hundredfold by its next impacts."""

LATE_ROUNDS = 16
"""Most solutions of a substep after which missing contacts are added; beyond that, the substep is bisected. Crossing
edges without a common solution produce new contacts each time: a step of a thrown tree had 130 contacts of five pairs
after a minute, and had not ended. With 6, the limit of `Maximal`, one of 20 stacks fails (corpus)."""

SHARP = 1e-15
"""Errors below this [rad or m] need no further iteration while contact forces act. A contact force is the gap over the
compliance, some 1e-7 m per unit of impulse, so that an error of 1e-10 m changes the force noticeably."""

CLOSE = 1e-3
"""Largest update [rad or m] after which the convergence tests are evaluated."""


@routine
def newton(model, data, touch, settings, dt, placed):
    """One Newton update of q1; returns its size [rad or m] and the largest scaled residual before it.

    `placed`: whether the poses of bodies at the end of the step already correspond to q1.
    """
    if not placed:
        put_end(model, data, touch)
        pull(model, data, pulls_of(touch), dt)
    norm = eliminate(model, data, touch, dt, model.soft, model.driven, model.branched)
    if touch is not None:
        relate(model, data, touch.found, dt)
        regularize_loops(model.cones, touch, touch.pulls)
        solve_all_cones(model, touch, touch.found, 0.5 * dt, 0.1 * settings.floor)
        push(model, data)
    return update(model, data, touch, model.branched), norm


@routine
def contact_violation(model, data, touch, dt):
    """Largest violation of the contact laws [m or rad], see `robot_contacts.law_violation`; 0 without contacts."""
    return 0.0 if touch is None else law_violation(model, data, dt)


@routine
def tolerance_of(touch, settings, dt, at_impact):
    """Newton tolerance [rad or m] of a substep of dt: proportional to dt, so that the error of end velocities does not
    depend on dt; `AT_IMPACTS` times that where the substep ends at an impact, whose time depends on them."""
    if touch is None:
        return settings.tolerance
    share = settings.tolerance * (dt / settings.whole)
    return AT_IMPACTS * share if at_impact else share


@routine
def begin_contacts(model, data, touch, settings, dt):
    """Choose the active constraints from the first guess in q1; returns whether bodies are placed at q1."""
    if touch is None:
        return False
    put_end(model, data, touch)
    pull(model, data, touch.pulls, dt)
    choose(model, data, dt, settings.whole)
    return True


@routine
def has_all_contacts(model, data, touch, settings, dt):
    """Whether the solution violates no contact outside of the active set; contacts that it does violate are added."""
    if touch is None:
        return True
    falls = gravity_drop(model, dt), slight_overlap(gravity_drop(model, settings.whole), settings.whole)
    return add_violated_contacts(model, data, model.shapes, touch.found, (dt, settings.whole), falls) == 0


@routine
def rounds_of(touch):
    """Number of solutions of the current substep after which violated contacts were added."""
    if touch is None:
        return 0
    return rounds_of_found(touch.found)


@routine
def rounds_of_found(found):
    """See `rounds_of`."""
    if found is None:
        return 0
    return found.now[0].rounds


@routine
def is_full(touch):
    """Whether an array of contacts or their impulses is too small."""
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
def loads_have_converged(touch, missed, left):
    """Whether a converged step needs no further iteration for its contact impulses.

    Args:
        missed: largest violation of the contact laws [m or rad].
        left: expected size of the next update [rad or m].
    """
    if touch is None:
        return True
    pushes = False
    for k in range(touch.kick.shape[0]):
        pushes = pushes or touch.kick[k] != 0.0
    return not pushes or (missed <= SHARP and left <= SHARP)


@routine
def begin(model, data, settings, dt, steady, holds):
    """Set the first guess, see `attempt`, and choose the active contacts with it."""
    v_last, v_older, dx, displacement = data.v_last, data.v_older, data.dx, data.displacement
    for k in range(dx.shape[0]):
        dx[k] = dt * (2.0 * v_last[k] - v_older[k]) if steady else dt * v_last[k]
        displacement[k] = dx[k]
    guess_locked(model, data, locked_joints(data.touch), dt, holds)
    move(model, data.q0, dx, data.q1, model.turning)
    return begin_contacts(model, data, data.touch, settings, dt)


@routine
def attempt(model, data, settings, dt, steady, holds, at_impact):
    """Solve one substep of dt from (q0, p) for q1 and `end`; returns the iterations, negative where it fails.

    The first guess is linear extrapolation with the mean velocity `v_last` of the last substep or, where `steady`,
    quadratic extrapolation with `v_older` also. Where `holds` is False, the contact problem includes all dry friction.
    `at_impact`: whether the substep ends at an impact.
    """
    dx, displacement = data.dx, data.displacement
    placed = begin(model, data, settings, dt, steady, holds)
    if jump(model, data, data.touch, settings, dt):
        placed = begin(model, data, settings, dt, False, holds)
    if is_full(data.touch):
        return -1
    last, most, it = False, settings.max_iterations, 0
    tolerance = tolerance_of(data.touch, settings, dt, at_impact)
    while it < most or (last and it == most):
        it += 1
        size, norm = newton(model, data, data.touch, settings, dt, placed)
        placed = False
        if not size < 1e12:
            return -it
        move_on(model, displacement, dx, model.turning)
        if update_locked(model, data, data.touch, locked_joints(data.touch), dt) > 0:
            last = False
        elif size <= CLOSE:
            # Estimate of the next update: residuals divided by their pivots. Their decrease by the last update says
            # less, because the first update also finds the impulses of springs, loops and contacts.
            new = end_residual(model, data, data.touch, dt, model.soft, model.driven, model.branched)
            placed = True
            # Contacts that do not converge to round-off do not fail the step.
            allowed = max(settings.tolerance, settings.floor if it < PATIENCE else max(settings.floor, 1e-7))
            short = contact_violation(model, data, data.touch, dt)
            if short > allowed:
                last = False
                continue
            floor = size <= settings.floor and new > 0.25 * norm
            floor = floor or (it >= PATIENCE and size <= allowed)
            solved = min(size, new) <= tolerance or floor
            if (
                solved
                and not last
                and not loads_have_converged(data.touch, short, size * new / norm if norm > 0.0 else 0.0)
            ):
                last = True
            elif solved:
                # A substep that contains an impact is cut there: violations after it are irrelevant.
                if find_impact(model, data, data.touch, dt) or has_all_contacts(model, data, data.touch, settings, dt):
                    add_locked_impulses(model.cones, data.touch, locked_joints(data.touch))
                    return it
                if rounds_of(data.touch) > LATE_ROUNDS:
                    return -it
                last = False
                most = min(it, ROUNDS * settings.max_iterations) + settings.max_iterations
    return -it


@routine
def step(model, data, settings, steady):
    """One step from (q0, p) to the new q0 and p, with constant generalised forces tau.

    Where Newton fails or the energy balance rejects the result, the step is bisected, and so is each half that fails.
    Returns the iterations, -1 where the shortest substep fails, and the number of substeps.
    """
    v_last, v_older, displacement, impacts = data.v_last, data.v_older, data.displacement, impacts_of(data.touch)
    total, count = 0, 0
    parts, part, start, end, split = 1, 0, 0.0, 1.0, False
    cut, early, late = 0.0, 0.0, 0.0  # share of the step at which an impact ends it, and its bracket; 0: none
    recentre(model, data, data.touch, model.turning)
    know_start(model, data, data.touch)
    begin_step(data.touch, AT_IMPACTS * min(settings.tolerance, settings.floor))
    while part < parts:
        dt = length_of(impacts, settings.dt, parts, split or cut > 0.0, start, cut if cut > 0.0 else end)
        set_substep_targets(goals_of(data.touch), start, cut if cut > 0.0 else end)
        spent = solve(model, data, data.touch, settings, dt, steady, cut > 0.0)
        total += abs(spent)
        if spent > 0:
            look, cut, early, late = end_at_impact(impacts, settings.dt, start, end, cut, early, late)
            if look != ACCEPT:
                steady = False
                continue
        accepted = spent > 0 and end_part(model, data, data.touch, settings, dt)
        if not accepted:
            if parts >= most_parts(data, data.touch, spent) or is_full(data.touch):
                return -1, count
            parts, part, end = first_half(parts, part, start, end)
            cut, early, late, steady = 0.0, 0.0, 0.0, False
            continue
        for k in range(v_last.shape[0]):
            v_older[k] = v_last[k]
            v_last[k] = displacement[k] / dt
        store_part_impulses(model, data, data.touch)
        if is_full(data.touch):
            return -1, count
        end_substep(impacts, count, cut if cut > 0.0 else end, cut > 0.0, model.nodes.shape[0])
        count += 1
        steady = parts == 1 and cut == 0.0
        split = cut > 0.0
        if split:
            start = cut
        else:
            parts, part, _ = next_substep(parts, part, 1, True)
            start, end = end, end + substep_length(1.0, parts)
        cut, early, late = 0.0, 0.0, 0.0
    return total, count


@routine
def impacts_of(touch):
    """Record of the impacts, or None where no contact has restitution."""
    if touch is None:
        return None
    return touch.impacts


@routine
def end_part(model, data, touch, settings, dt):
    """Compute the momenta at the end of a solved substep and advance to it; returns whether it is accepted.

    A rejected substep restores the state; only first guesses have changed.
    """
    keep_start(model, data, touch, settings, dt)
    advance(model, data)
    return accept_or_go_back(model, data, touch, dt, solve_momenta(model, data, touch, dt, 0.1 * settings.floor))


@routine
def most_parts(data, touch, spent):
    """Largest number of substeps after a failed attempt: few where only round-off prevents convergence.

    Equations without contacts are smooth: near the solution updates shrink quadratically unless round-off dominates,
    for example where 32 bits do not resolve positions any more.
    """
    if touch is not None:
        return LAST
    if spent > -PATIENCE:
        return FINEST
    for k in range(data.dx.shape[0]):
        if not abs(data.dx[k]) <= CLOSE:
            return FINEST
    return DIVIDED_IN_VAIN


@routine
def solve(model, data, touch, settings, dt, steady, at_impact):
    """`attempt`, followed by the checks for tunnelling and for rotations by more than a right angle.

    A substep that contains an impact is not checked. Returns the iterations, negative where it fails.
    """
    spent = attempt(model, data, settings, dt, steady, dt != 0.0, at_impact)
    if spent < 0 and holds_any(locked_joints(touch)):
        again = attempt(model, data, settings, dt, steady, dt == 0.0, at_impact)
        spent = again - spent if again > 0 else again + spent
    if touch is None or spent < 0 or is_partial(touch.found) or find_impact(model, data, touch, dt):
        return spent
    if rotates_too_far(model, data) or tunnels(model, data, model.shapes, touch.found):
        return -spent
    return spent


@routine
def tunnels(model, data, shapes, found):
    """Whether two bodies have passed through each other."""
    if found is None:
        return False
    return passes_through(model, data, found, shapes.convex)


@routine
def store_part_impulses(model, data, touch):
    """Add the impulses of a substep that has just ended to those of the step."""
    if touch is not None:
        total = touch.phase.total
        for k in range(total.shape[0]):
            touch.total[k] += total[k]
        store_detected(model, data, touch.found)


@routine
def prepare(model, data):
    """Place bodies at the start of a run."""
    data.now[0] = 0
    for k in range(3):
        data.origin[k] = 0.0
    put_start(model, data, data.touch)
    recentre(model, data, data.touch, model.turning)
    reset_energy(data.touch)


@routine
def reset_energy(touch):
    """Mark the kinetic energy of the state as unknown."""
    if touch is not None:
        touch.balance[0]["kinetic"] = -1.0


@routine
def reset_contacts(touch):
    """Clear the impulses of the last step (no warm start)."""
    if touch is not None:
        for k in range(touch.lam.shape[0]):
            touch.lam[k] = 0.0
        for k in range(touch.kick.shape[0]):
            touch.kick[k] = 0.0
        for j in range(touch.columns.shape[0]):
            for k in range(touch.columns.shape[1]):
                touch.columns[j, k] = 0.0
                touch.rows[j, k] = 0.0


@routine
def advance(model, data):
    """Make the end of a step the start of the next."""
    for k in range(data.p.shape[0]):
        data.p[k] = data.end[k]
    for k in range(data.q0.shape[0]):
        data.q0[k] = data.q1[k]
    data.now[0] = 1 - data.now[0]


@routine
def apply_controls(model, data, u, step, robot, driven):
    """Set the generalised forces of controls u[step, :, robot]; axes of length 1 broadcast."""
    if driven is None:
        return
    k, r = min(step, u.shape[0] - 1), min(robot, u.shape[2] - 1)
    for c in range(u.shape[1]):
        data.u[c] = u[k, c, r]
    drive(model, data, model.limited)


@routine
def drive(model, data, limited):
    """Set the generalised forces of the controls in `data.u`, clipped to their limits; none where `limited` is None."""
    drives, tau, u = model.drives, data.tau, data.u
    push_along(drives, tau, u, limited, model.pushed)
    pull_by_controls(model, data, pulls_of(data.touch))


@routine
def push_along(drives, tau, u, limited, pushed):
    """See `drive`; where `pushed` is None, all controls act along joints."""
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
