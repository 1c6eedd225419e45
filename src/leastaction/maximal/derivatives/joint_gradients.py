"""Conversion between gradients by joint positions and momenta and gradients by poses and momenta of bodies.

A step starts from any momenta P of the bodies with S' P = p, S the joints' screws, since joint impulses remove the
difference. So gradients by P are admissible motions of the joints, S times the gradient by p.
"""

from leastaction._jit import routine
from leastaction.linalg.dense import solve_in_place
from leastaction.maximal.coordinates.recover import child_of, freedoms, screw_of
from leastaction.maximal.derivatives.vjp.cotangents import read_cotangents
from leastaction.spatial import add3, cross, dot3, load3, load9, mattvec, matvec, sub3


@routine(allocates=False)
def reads(b):
    """Whether any entry is not zero."""
    largest = 0.0
    for i in range(b.shape[0]):
        largest = max(largest, abs(b[i]))
    return largest > 0.0


@routine(allocates=False)
def clear_bars(back):
    """Set the gradient by the present state to zero."""
    bars = back.bars
    for a in range(bars.shape[0]):
        for i in range(bars.shape[1]):
            for c in range(6):
                bars[a, i, c] = 0.0


@routine(allocates=False)
def copy_bars(given, out):
    """Copy gradients by a state, shape (3, bodies, 6)."""
    for a in range(given.shape[0]):
        for i in range(given.shape[1]):
            for c in range(6):
                out[a, i, c] = given[a, i, c]


@routine(allocates=False)
def move_points(given, out):
    """Move gradients by points of contacts, shape (contacts, 3), to `out` and set the source to zero."""
    for k in range(given.shape[0]):
        for c in range(3):
            out[k, c], given[k, c] = given[k, c], 0.0


@routine(allocates=False)
def clear_points(back):
    """Set the gradient by points of contacts to zero."""
    for k in range(back.by_points.shape[0]):
        back.by_points[k, 0] = back.by_points[k, 1] = back.by_points[k, 2] = 0.0


@routine(allocates=False)
def add_read(back):
    """Add the gradients `back.read` by the momenta before an impact, which give p at the start of a step."""
    for i in range(back.read.shape[0]):
        for c in range(6):
            back.bars[1, i, c] += back.read[i, c]


@routine(allocates=False)
def clear_controls(back, k):
    """Set the gradient by the controls of step k to zero."""
    for node in range(back.controls.shape[1]):
        for c in range(back.controls.shape[2]):
            back.controls[k, node, c] = 0.0


@routine(allocates=False)
def take_controls(back, k, i):
    """Move the gradients by the controls of step k, constant over it, to row i of `back.B`."""
    for node in range(back.controls.shape[1]):
        for c in range(back.controls.shape[2]):
            back.B[i, c] += back.controls[k, node, c]
            back.controls[k, node, c] = 0.0


@routine(allocates=False)
def read_bars(model, data, back, bq, bp):
    """Gradients by the bodies' state into `back.bars` from those by its q and p."""
    bars, G, states = back.bars, back.G0, data.bodies
    clear_bars(back)
    for i in range(G.shape[0]):
        for c in range(6):
            G[i, c] = 0.0
    read_cotangents(model, data, bq, bp, back.twists, bars[1], G)
    for i in range(G.shape[0]):
        t = mattvec(load9(states[i].R), (G[i, 0], G[i, 1], G[i, 2]))
        for c in range(3):
            bars[0, i, c], bars[0, i, 3 + c] = t[c], G[i, 3 + c]


@routine(allocates=False)
def find_lifts(model, data, back):
    """Fill `back.lifts`: rows that map the motion of a body relative to its parent to the joint's velocities."""
    coordinates, states, gram, right = model.coordinates, data.bodies, back.gram, back.right
    for i in range(states.shape[0]):
        count, x = 0, load3(states[i].p)
        for a in range(6):
            for c in range(6):
                right[a, c], gram[a, c] = 0.0, 1.0 if a == c else 0.0
        for k in range(coordinates.shape[0]):
            if coordinates[k].iv >= 0 and child_of(coordinates[k]) == i:
                for j in range(freedoms(coordinates[k])):
                    t, f = screw_of(coordinates[k], j, states)
                    v = add3(f, cross(t, x))
                    for c in range(3):
                        right[count, c], right[count, 3 + c] = t[c], v[c]
                    count += 1
        for a in range(count):
            for b in range(count):
                gram[a, b] = 0.0
                for c in range(6):
                    gram[a, b] += right[a, c] * right[b, c]
        solve_in_place(gram, right)
        count = 0
        for k in range(coordinates.shape[0]):
            if coordinates[k].iv >= 0 and child_of(coordinates[k]) == i:
                for j in range(freedoms(coordinates[k])):
                    for c in range(6):
                        back.lifts[coordinates[k].iv + j, c] = right[count, c]
                    count += 1


@routine(allocates=False)
def joint_gradients(model, data, back, out):
    """Gradients (2 nv,) by joint positions and momenta from `back.bars`, at the start poses, after `find_lifts`.

    Leaves the gradient by poses at constant p in `back.bars`.
    """
    bodies, coordinates, states, bars = model.bodies, model.coordinates, data.bodies, back.bars
    E, G, H, n, nv = back.E0, back.G0, data.subtrees, bodies.shape[0], back.bp.shape[1]
    bp = out[nv:]
    for i in range(n):
        w = matvec(load9(states[i].R), (bars[1, i, 0], bars[1, i, 1], bars[1, i, 2]))
        for c in range(3):
            E[i, c], E[i, 3 + c] = w[c], bars[1, i, 3 + c]
        for c in range(6):
            G[i, c] = 0.0
    for k in range(coordinates.shape[0]):
        if coordinates[k].iv < 0:
            continue
        i = child_of(coordinates[k])
        w, v, parent = (E[i, 0], E[i, 1], E[i, 2]), (E[i, 3], E[i, 4], E[i, 5]), bodies[i].parent
        if parent >= 0:
            turn = (E[parent, 0], E[parent, 1], E[parent, 2])
            arm = sub3(load3(states[i].p), load3(states[parent].p))
            shift = add3((E[parent, 3], E[parent, 4], E[parent, 5]), cross(turn, arm))
            w, v = sub3(w, turn), sub3(v, shift)
        for j in range(freedoms(coordinates[k])):
            row = back.lifts[coordinates[k].iv + j]
            bp[coordinates[k].iv + j] = dot3((row[0], row[1], row[2]), w) + dot3((row[3], row[4], row[5]), v)
    # At constant p the momenta of the bodies change with the poses.
    read_cotangents(model, data, back.none, bp, back.twists, back.read, G)
    for i in range(n):
        turn = mattvec(load9(states[i].R), (G[i, 0], G[i, 1], G[i, 2]))
        for c in range(3):
            bars[0, i, c], bars[0, i, 3 + c] = bars[0, i, c] - turn[c], bars[0, i, 3 + c] - G[i, 3 + c]
        L = (bars[0, i, 3], bars[0, i, 4], bars[0, i, 5])
        turn = matvec(load9(states[i].R), (bars[0, i, 0], bars[0, i, 1], bars[0, i, 2]))
        K = add3(turn, cross(load3(states[i].p), L))
        for c in range(3):
            H[i, c], H[i, 3 + c] = K[c], L[c]
    for i in range(n - 1, -1, -1):
        if bodies[i].parent >= 0:
            for c in range(6):
                H[bodies[i].parent, c] += H[i, c]
    for k in range(coordinates.shape[0]):
        if coordinates[k].iv < 0:
            continue
        i = child_of(coordinates[k])
        for j in range(freedoms(coordinates[k])):
            t, f = screw_of(coordinates[k], j, states)
            d = coordinates[k].iv + j
            out[d] = dot3(t, (H[i, 0], H[i, 1], H[i, 2])) + dot3(f, (H[i, 3], H[i, 4], H[i, 5]))
