"""Momenta that do not open closed loops."""

from leastaction._jit import routine
from leastaction.linalg.graph.kernels import factorize, solve
from leastaction.maximal.records import BALL, NOT_LENT
from leastaction.maximal.step.ball_springs import ball_axis
from leastaction.maximal.step.block_parts import add_pair, add_six, lend, place_row
from leastaction.maximal.step.goals import goal_rate
from leastaction.maximal.step.newton import DEPENDENT


@routine(allocates=False, vectors=True)
def projection_matrix(model, data, values):
    """Matrix (M -G'; G 0) of `project_momenta` at the start poses, into `values` on the graph."""
    bodies, rows, coordinates, augment = model.bodies, model.rows, model.coordinates, model.augment
    rowstates, cstates = data.rows, data.coordinates
    graph, diagonal, offsets = model.graph, model.graph.diagonal, model.graph.offsets
    for k in range(values.shape[0]):
        values[k] = 0.0
    for i in range(bodies.shape[0]):
        d = diagonal[i]
        for r in range(3):
            for c in range(3):
                values[d + 6 * r + c] = bodies[i].J[3 * r + c]
            values[d + 7 * r] += bodies[i].least * bodies[i].radius ** 2
            values[d + 7 * (3 + r)] = bodies[i].mass + bodies[i].least
    for k in range(coordinates.shape[0]):
        c, s = coordinates[k], cstates[k]
        if c.armature > 0.0 and c.kind == BALL:
            for j in range(3):
                wa, wb = ball_axis(c, j, data.bodies)
                add_pair(graph, values, c, wa, wb, wa, wb, model.forces.dofs[c.iv + j].armature)
        elif c.armature > 0.0:
            add_pair(graph, values, c, s.wa, s.wb, s.wa, s.wb, c.armature)
    for k in range(rows.shape[0]):
        row, s = rows[k], rowstates[k]
        m = model.sizes[row.node]
        place_row(values, offsets, row.ea, m, row.local, s.wa, s.wa)
        place_row(values, offsets, row.eb, m, row.local, s.wb, s.wb)
        place_row(values, offsets, row.ea2, m, row.local, s.wa2, s.wa2)
        place_row(values, offsets, row.eb2, m, row.local, s.wb2, s.wb2)
        if row.eab > NOT_LENT:
            ra, rb = augment[row.node, 0], augment[row.node, 1]
            lend(graph, values, row, s.wa, s.wb, s.wa, s.wb, ra, rb)


@routine(allocates=False)
def project_momenta(model, data, multipliers, dt, loops):
    """Take from the momenta what would violate the joints: P + G' mu with G M^-1 (P + G' mu) = 0.

    For rows of prescribed motions their rates are on the right-hand side.

    A step leaves this part open, for the next step's joint impulses take it up; velocities must not show it. Drive
    inertias count to M.

    Args:
        multipliers: out: forces of the joints that this says, shape (rows,).
        dt: of the step before [s].
        loops: None without closed loops: then there is nothing to do, and nothing is compiled.

    Gives back whether all equations of the joints are independent of each other, as far as is known.
    """
    if loops is None:
        return False
    rows, rowstates = model.rows, data.rows
    skipped = solve_projection(model, data)
    if skipped < 0:
        for k in range(rows.shape[0]):
            rowstates[k].mu = multipliers[k] = 0.0
        return False
    for k in range(rows.shape[0]):
        mu = data.dx[model.graph.first[model.bodies.shape[0] + rows[k].node] + rows[k].local]
        rowstates[k].mu = mu
        multipliers[k] = 2.0 * mu / dt
        push_row(model, data, k, mu)
    return skipped == 0


@routine(allocates=False)
def hold_joints(model, data, known, loops):
    """Take from the momenta what closed loops, prescribed motions and joints hold; see `project_momenta`.

    Args:
        known: whether data.held are the factors of `project_momenta` for the start of this step, if on this graph.
        loops: see `project_momenta`.
    """
    if loops is None:
        return
    found = True
    if known and data.held.values[0] != 0.0:  # an inverse pivot; zero on a new graph
        fill_projection(model, data)
        solve(model.graph, data.held, data.dx)
    else:
        found = solve_projection(model, data) >= 0
    if found:
        for k in range(model.rows.shape[0]):
            row = model.rows[k]
            push_row(model, data, k, data.dx[model.graph.first[model.bodies.shape[0] + row.node] + row.local])


@routine(allocates=False)
def push_row(model, data, k, mu):
    """Add the impulse mu of row k to the momenta."""
    row, s, states = model.rows[k], data.rows[k], data.bodies
    if row.ea >= 0:
        add_six(states[row.a].P, 0, s.wa, mu)
    if row.eb >= 0:
        add_six(states[row.b].P, 0, s.wb, mu)
    if row.ea2 >= 0:
        add_six(states[model.coordinates[row.leader].a].P, 0, s.wa2, mu)
    if row.eb2 >= 0:
        add_six(states[model.coordinates[row.leader].b].P, 0, s.wb2, mu)


@routine(allocates=False)
def solve_projection(model, data):
    """dx <- velocities and impulses of the rows that go with the momenta; -1 where there are none.

    Else the number of equations that depend on others. The factors stay in data.held: the step that begins there may
    need them again.
    """
    projection_matrix(model, data, data.held.values)
    fill_projection(model, data)
    singular, skipped = factorize(model.graph, data.held, DEPENDENT)
    if singular >= 0:
        return -1
    solve(model.graph, data.held, data.dx)
    return skipped


@routine(allocates=False)
def fill_projection(model, data):
    """dx <- right-hand side of `solve_projection`: momenta, and rates of prescribed motions."""
    bodies, rows, first = model.bodies, model.rows, model.graph.first
    states, rowstates, dx = data.bodies, data.rows, data.dx
    for i in range(dx.shape[0]):
        dx[i] = 0.0
    for i in range(bodies.shape[0]):
        for c in range(6):
            dx[first[i] + c] = states[i].P[c]
    for k in range(rows.shape[0]):
        row = rows[k]
        if row.goal >= 0:
            dx[first[bodies.shape[0] + row.node] + row.local] = goal_rate(row, rowstates[k], data.goals[0])
