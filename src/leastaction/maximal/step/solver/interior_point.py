"""Solve a step: by Newton without contacts, by `rigid_step`, or by a primal-dual interior point method.

The interior point method is that of Bruedigam 2023, Appendix D, with Mehrotra's predictor and corrector
(`predictor_corrector`): each iteration factorises once and solves twice.
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.linalg.graph.graph_factorization import factorize
from leastaction.maximal.contact.open_contacts import is_open
from leastaction.maximal.step.initial_guess import FOUND
from leastaction.maximal.step.solver.contact_masses import fill_compliance
from leastaction.maximal.step.solver.delassus_newton import delassus_newton
from leastaction.maximal.step.solver.newton import apply, newton_step
from leastaction.maximal.step.solver.predictor_corrector import (
    NEAR,
    add_cones,
    contact_direction,
    evaluate_cones,
    mean_product,
    push_cones,
)
from leastaction.maximal.step.solver.redundant_rows import find_redundant, leave_out_rows
from leastaction.maximal.step.solver.semismooth_newton import (
    OPEN,
    SOLVED_BY_MODES,
    STICK,
    active_step,
    begin_at_solution,
    begin_modes,
    is_rigid,
    sticking_step,
)
from leastaction.maximal.step.solver.tolerances import NOTHING, SHARPEST, largest_residual, least_product, scales
from leastaction.maximal.step.velocity_equations import VELOCITIES, equations

ROUND_OFF = 30.0
"""Residuals, relative to the tolerance, that round-off may leave where stiff contacts meet long chains of joints."""

DIVERGED = 10.0
"""A step fails and is divided where residuals exceed this multiple of the first or of the contacts' typical speed."""

STUCK, PATIENCE = 0.02, 3
"""After PATIENCE steps in a row with a step fraction below STUCK, the solve fails: Coulomb's law need not have a
solution."""


@inline
def store_update_size(history, iteration, size):
    """Store the size of an update in `history`, as long as there is room."""
    if iteration < history.shape[0]:
        history[iteration] = size


@routine(allocates=False)
def even_out(contact, goal):
    """The present kappa [J]; raises the cones' shares of it to 1 before it reaches its goal, raising no product."""
    kappa = mean_product(contact, 0.0)
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        c.share = min(max(c.target_share, NEAR * goal / kappa), 1.0)
    return mean_product(contact, 0.0)


@routine(allocates=False)
def is_complementary(contact, goal):
    """Whether all complementarity products have reached their goal: only then is the step a smooth function."""
    worst = 0.0
    for k in range(contact.now[0].count):
        worst = max(worst, ip.worst_product(contact.cones[k], goal))
    return worst <= 1e-6 * goal


@routine(allocates=False)
def solve_step(model, settings, data, contact, dt):
    """Velocities, joint impulses and contact impulses of a step, from the guess in `data` and the cones.

    Returns the number of iterations, or -1 - that number when it did not converge; the size of each update [m/s]
    goes to `history`.

    Args:
        contact: `ContactData`, or None without contacts: the compiler then omits all contact code.
    """
    if contact is None:
        return newton_step(model, settings, data, dt)
    if contact.now[0].count == 0:
        return newton_step(model, settings, data, dt)
    return contact_step(model, settings, data, contact, dt)


@routine(allocates=False)
def contact_step(model, settings, data, contact, dt):
    """`solve_step` with at least one cone: `rigid_step` for rigid contact, else `interior_step`."""
    now = contact.now[0]
    for k in range(now.count):
        fill_compliance(settings, contact.cones[k], dt)
    find_redundant(model, settings, data, now, dt, settings.loops)
    if is_rigid(settings):
        spent = rigid_step(model, settings, data, contact, dt)
    else:
        spent = interior_step(model, settings, data, contact, dt)
        for k in range(now.count):
            c = contact.cones[k]
            c.mode = OPEN if is_open(model.bodies, c) else STICK
    now.failed = 1 if spent < 0 else 0
    return spent


@routine(allocates=False)
def rigid_step(model, settings, data, contact, dt):
    """`contact_step` of rigid contact: by semismooth Newton (`active_step`); failing that by `delassus_newton`."""
    now, tried = contact.now[0], 0
    if now.sure > 0:
        now.sure = 0
        spent = active_step(model, settings, data, contact, dt)
        if spent >= 0:
            now.sure = SOLVED_BY_MODES
            return spent
        tried = -spent
        begin_again(data, contact)
    begin_modes(model.bodies, contact)
    if data.past[0].known == FOUND:
        begin_at_solution(model, settings, data, contact, dt)
    spent = delassus_newton(model, settings, data, contact, dt)
    if spent < 0:
        return spent - tried
    now.sure = SOLVED_BY_MODES
    return spent + tried


@routine(allocates=False)
def begin_again(data, contact):
    """Restore the initial guess of a step after a failed solve: the velocities at its start, and no joint impulses."""
    states, now = data.bodies, contact.now[0]
    for i in range(states.shape[0]):
        for c in range(3):
            states[i].w[c], states[i].vc[c] = states[i].x[c], states[i].x[3 + c]
    for k in range(data.rows.shape[0]):
        data.rows[k].lam = 0.0
    for k in range(now.count):
        c = contact.cones[k]
        ip.begin(c, c.s, c.y[0], c.y[1], now.energy)


@routine(allocates=False)
def stuck_step(model, settings, data, contact, dt):
    """`contact_step` with all contacts sticking at first (`sticking_step`); where it fails, restores the guess."""
    now = contact.now[0]
    for k in range(now.count):
        fill_compliance(settings, contact.cones[k], dt)
    find_redundant(model, settings, data, now, dt, settings.loops)
    spent = sticking_step(model, settings, data, contact, dt)
    if spent >= 0:
        now.sure, now.failed = SOLVED_BY_MODES, 0
    else:
        begin_again(data, contact)
    return spent


@routine(allocates=False)
def interior_step(model, settings, data, contact, dt):
    """Solve a step with at least one cone by the interior point method, from the central path."""
    bodies, states, now = model.bodies, data.bodies, contact.now[0]
    first, fixed, history = model.graph.first, data.fixed, data.history
    tolerance, most, goal = settings.tolerance, settings.max_iterations, settings.kappa
    fresh = most > 0  # not a literal True: it would compile another specialisation
    smooth = settings.smoothing > 0.0 and goal > SHARPEST * now.energy
    least = goal = max(goal, SHARPEST * now.energy)
    floor = goal if smooth else 0.0
    _, typical, limit, closed = scales(bodies, settings, contact, dt)
    stuck, size, largest = 0, math.inf, math.inf
    for iteration in range(most):
        now.iterations[now.phase] += 1
        now.matrices[now.phase] += 1
        joints = equations(model, settings, data, contact, dt, fresh)
        worst = evaluate_cones(model.coordinates, states, data.coordinates, contact, dt)
        push_cones(states, contact)
        left = max(worst, joints, largest_residual(bodies, states))
        if iteration == 0:
            largest = DIVERGED * max(left, typical)
        if not left <= largest or stuck == PATIENCE:
            return -1 - iteration
        if not smooth:
            goal = max(least, least_product(typical, contact, dt))
        kappa = even_out(contact, goal)
        if kappa <= (1.01 if smooth else 10.0) * goal:
            # Updates far below the tolerance change nothing: the remaining residual is round-off.
            if size <= 0.01 * tolerance:
                limit = max(limit, ROUND_OFF * tolerance)
            if size > NOTHING * tolerance:
                worst = left
            if worst <= limit and joints <= min(limit, closed) and (not smooth or is_complementary(contact, goal)):
                return iteration
        for i in range(bodies.shape[0]):
            for c in range(6):
                fixed[first[i] + c] = -states[i].r[c]
        add_cones(model, data, contact, 0.0)
        leave_out_rows(model, data, settings.loops)
        singular, _ = factorize(model.graph, data.factors, 0.0)
        if singular >= 0:
            store_update_size(history, iteration, math.nan)
            return -1 - iteration
        t = contact_direction(model, data, contact, kappa, goal, floor)
        moves = 0.0 if now.phase == VELOCITIES else dt
        size = apply(model, data, t, moves)
        store_update_size(history, iteration, size)
        stuck = stuck + 1 if t < STUCK else 0
    return -1 - most
