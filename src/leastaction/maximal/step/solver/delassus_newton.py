"""Newton's method on the motion alone, for one phase of a step; each iteration solves the contact problem exactly.

In an iteration, motions of contacts are linear in the impulses l,

    w = w0 + W l,    W = E K^-1 D',    w0 = slacks and slips at the present velocities + E K^-1 (residuals),

with the Newton matrix K of bodies and joints without contacts, the unit wrenches D and the gradients E of slacks and
slips. `contact.solver.ncp_solver` then solves the contact laws over the dense Delassus matrix W, as in joint
coordinates, so Newton's method sees smooth equations only. The graph gives K = (L D) U; rows of E U^-1 and columns of
(L D)^-1 D' are nonzero only along the bodies on the paths from those in contact to the root (`sparse_columns`).
"""

import math

from leastaction._finite import is_finite
from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.contact.solver.cone_kinds import CONTACT, DRY, LIMIT, PLAIN, TURNING
from leastaction.contact.solver.islands import fill_delassus
from leastaction.contact.solver.ncp_solver import list_impulses, solve_ncp
from leastaction.contact.solver.torque_laws import ROLL, SPIN
from leastaction.linalg.graph.graph_factorization import factorize, solve_backward, solve_forward
from leastaction.linalg.graph.sparse_columns import find_path, find_places, reduce_column, reduce_row
from leastaction.maximal.step.solver.newton import DEPENDENT, apply
from leastaction.maximal.step.solver.predictor_corrector import push_cones
from leastaction.maximal.step.solver.semismooth_newton import (
    FAST,
    HALF,
    POLISHED,
    WATCH,
    choose_modes,
    evaluate_modes,
    store_slacks,
)
from leastaction.maximal.step.solver.tolerances import NOTHING, largest_residual, scales
from leastaction.maximal.step.velocity_equations import APART, VELOCITIES, equations


@inline
def takes_part(contact, c):
    """Whether a cone is in the contact problem of the present phase; the second phase omits cones that are open."""
    return contact.now[0].phase != VELOCITIES or c.offset < APART


@inline
def turns_after(contact, k):
    """Number of cones after cone k that are its torsional and rolling friction."""
    count = 0
    while k + count + 1 < contact.now[0].count and contact.cones[k + count + 1].kind == ip.TURN:
        count += 1
    return count


@routine(allocates=False)
def relate(model, data, contact):
    """Assemble the contact problem, with the forward-substituted right-hand side in `dx`; returns its size.

    Contacts and limits that have no impulse and stay open without impulses are omitted. Where the impulses of others
    close them, the next iteration includes them.
    """
    problem, graph, count, row, k = contact.problem, model.graph, 0, 0, 0
    find_places(graph, problem.places)
    while k < contact.now[0].count:
        c, turns = contact.cones[k], turns_after(contact, k)
        if takes_part(contact, c):
            own = problem.found.cones[count]
            begin_cone(own, contact, k, turns, row)
            a, b = first_row(graph, c.a), first_row(graph, c.b)
            many = find_path(graph, data.factors, problem.places, a, b, problem.path)
            if c.kind == ip.DRY or c.gam > 0.0 or c.rs < 0.0 or closes(graph, data, problem, c, row, a, b, many):
                for i in range(row, row + own.width):
                    for j in range(problem.rows.shape[1]):
                        problem.rows[i, j] = problem.columns[i, j] = 0.0
                    problem.w[i] = 0.0
                place_impulses(problem, c, row, a, b)
                for m in range(turns):
                    t = contact.cones[k + 1 + m]
                    place_impulses(problem, t, row + (SPIN if t.directions == ip.SPIN else ROLL), a, b)
                for i in range(row, row + own.width):
                    reduce_column(graph, data.factors, problem.path, many, problem.columns[i])
                    reduce_row(graph, data.factors, problem.path, many, problem.rows[i])
                    problem.w[i] += product(graph, problem, many, problem.rows[i], data.dx)
                row += own.width
                count += 1
        k += 1 + turns
    for k in range(problem.active.shape[0]):
        problem.active[k] = 1 if k < count else 0
    n = list_impulses(problem.found.cones, problem, problem.found)
    fill_delassus(problem, problem.found.islands, n)
    return n


@routine(allocates=False)
def begin_cone(own, contact, k, turns, row):
    """Turn cone k, with its torsional and rolling friction, into a cone of the contact problem, with their impulses."""
    c, lam = contact.cones[k], contact.problem.lam
    own.row, own.node, own.other, own.cone, own.dof, own.width = row, c.a, c.b, k, k, 1
    own.spin = own.roll = own.friction = 0.0
    own.kind = LIMIT
    if c.kind == ip.DRY:
        own.kind, own.friction, lam[row] = DRY, c.bound, c.beta[0]
        return
    lam[row] = c.gam
    if c.kind == ip.EXACT or turns > 0:
        own.kind, own.width, own.friction = CONTACT, PLAIN, c.mu if c.kind == ip.EXACT else 0.0
        lam[row + 1], lam[row + 2] = c.beta[0], c.beta[1]
    if turns > 0:
        own.width = TURNING
        lam[row + SPIN] = lam[row + ROLL] = lam[row + ROLL + 1] = 0.0
    for m in range(turns):
        t = contact.cones[k + 1 + m]
        if t.directions == ip.SPIN:
            own.spin, lam[row + SPIN] = t.mu, t.beta[0]
        else:
            own.roll, lam[row + ROLL], lam[row + ROLL + 1] = t.mu, t.beta[0], t.beta[1]


@routine(allocates=False)
def closes(graph, data, problem, c, row, a, b, many):
    """Whether the Newton step without any contact impulses closes a contact or limit."""
    y = problem.rows[row]
    for j in range(y.shape[0]):
        y[j] = 0.0
    place(y, a, b, c.ea, c.eb, 0)
    reduce_row(graph, data.factors, problem.path, many, y)
    return c.rs + product(graph, problem, many, y, data.dx) < 0.0


@routine(allocates=False)
def product(graph, problem, many, y, z):
    """Dot product of y and z over the unknowns of a path."""
    total = 0.0
    for m in range(many):
        node = graph.nodes[problem.path[m]]
        for j in range(node.row, node.row + node.width):
            total += y[j] * z[j]
    return total


@inline
def first_row(graph, body):
    """First row of a body in the Newton matrix, -1 for the world."""
    return graph.first[body] if body >= 0 else -1


@routine(allocates=False)
def place_impulses(problem, c, at, a, b):
    """Write the unit wrenches, gradients and residuals of a cone's impulses, from row `at` on."""
    if c.kind < ip.DRY:
        place(problem.columns[at], a, b, c.da, c.db, 0)
        place(problem.rows[at], a, b, c.ea, c.eb, 0)
        problem.w[at] = c.rs
        at += 1
    if c.kind == ip.LIMIT:
        return
    for i in range(1 if c.kind == ip.DRY or (c.kind == ip.TURN and c.directions == ip.SPIN) else 2):
        place(problem.columns[at + i], a, b, c.da, c.db, 6 + 6 * i)
        place(problem.rows[at + i], a, b, c.ya, c.yb, 6 * i)
        problem.w[at + i] = c.ry[i]


@inline
def place(out, a, b, ra, rb, at):
    """Add the six components of each body, from `at` on, to a vector over the graph's unknowns."""
    for i in range(6):
        if a >= 0:
            out[a + i] += ra[at + i]
        if b >= 0:
            out[b + i] += rb[at + i]


@routine(allocates=False)
def add_compliance(contact):
    """Add the compliance of cones, linearised about their impulses, to W and w0; see `contact.laws.compliance`."""
    problem = contact.problem
    for p in range(problem.active.shape[0]):
        if problem.active[p] == 0:
            break
        own = problem.found.cones[p]
        c, at = contact.cones[own.cone], own.row
        if c.kind == ip.DRY:
            problem.W[at, at] += c.slip_compliance
            continue
        give, slope = ip.yielding(c)
        problem.W[at, at] += slope
        problem.w[at] += give - slope * c.gam
        for i in range(at + 1, at + min(own.width, PLAIN)):
            problem.W[i, i] += c.slip_compliance
        for i in range(at + PLAIN, at + own.width):
            problem.W[i, i] += contact.cones[own.cone + 1].slip_compliance


@routine(allocates=False)
def take_impulses(contact):
    """Copy the impulses of the solved contact problem to the cones."""
    problem, lam = contact.problem, contact.problem.lam
    for p in range(problem.active.shape[0]):
        if problem.active[p] == 0:
            break
        own = problem.found.cones[p]
        c, at = contact.cones[own.cone], own.row
        if c.kind == ip.DRY:
            c.beta[0] = lam[at]
            continue
        c.gam = lam[at]
        if c.kind == ip.EXACT:
            c.beta[0], c.beta[1] = lam[at + 1], lam[at + 2]
        for m in range(turns_after(contact, own.cone)):
            t = contact.cones[own.cone + 1 + m]
            t.gam = lam[at]
            if t.directions == ip.SPIN:
                t.beta[0], t.beta[1] = lam[at + SPIN], 0.0
            else:
                t.beta[0], t.beta[1] = lam[at + ROLL], lam[at + ROLL + 1]


@routine(allocates=False)
def direction(model, data, contact, tolerance):
    """Newton step of bodies and joints into dx and new impulses into the cones; False where the matrix is singular."""
    problem, dx = contact.problem, data.dx
    singular, _ = factorize(model.graph, data.factors, DEPENDENT)
    if singular >= 0:
        return False
    for i in range(dx.shape[0]):
        dx[i] = data.fixed[i]
    solve_forward(model.graph, data.factors, dx)
    n = relate(model, data, contact)
    add_compliance(contact)
    solve_ncp(problem.found.cones, problem, 1.0, tolerance)
    take_impulses(contact)
    for i in range(n):
        if problem.lam[i] != 0.0:
            for j in range(dx.shape[0]):
                dx[j] += problem.lam[i] * problem.columns[i, j]
    solve_backward(model.graph, data.factors, dx)
    return True


@routine(allocates=False)
def delassus_newton(model, settings, data, contact, dt):
    """Solve the present phase from the present velocities and impulses; iterations, or -1 - iterations on failure."""
    now = contact.now[0]
    _, _, limit, closed = scales(model.bodies, settings, contact, dt)
    fresh, stale = dt != 0.0, dt == 0.0  # not literals: each would compile another specialisation
    best, idle, last, size = math.inf, 0, math.inf, math.inf
    now.dense[now.phase] += 1
    for iteration in range(settings.max_iterations):
        joints = equations(model, settings, data, contact, dt, fresh)
        evaluate_modes(model.coordinates, data.bodies, data.coordinates, contact, dt, fresh)
        _, worst = choose_modes(contact, stale)
        push_cones(data.bodies, contact)
        worst = max(worst, joints)
        if size > NOTHING * settings.tolerance:
            worst = max(worst, largest_residual(model.bodies, data.bodies))
        idle += 1
        if worst <= HALF * best or iteration == 1:
            best, idle = worst, 0
        solved = worst <= limit and joints <= closed
        if solved and (worst <= POLISHED * limit or FAST * last < worst or idle == WATCH):
            store_slacks(contact)
            return iteration
        if idle == WATCH or not is_finite(worst):
            return -1 - iteration
        now.iterations[now.phase] += 1
        now.matrices[now.phase] += 1
        last = worst
        if not direction(model, data, contact, limit):
            return -1 - iteration
        moves = 0.0 if now.phase == VELOCITIES else dt
        size = apply(model, data, 1.0, moves)
    return -1 - settings.max_iterations
