"""Contacts of a lane with planes: gaps, sliding, and what impulses move them by.

A contact is a ball on a body over a plane. Its impulse acts at the start of a step on the point of the ball that faces
the plane, the gap is that at the end of the step, and sliding is how far that point of the body has moved along the
plane: x1 - x0 + y x r, with the body's centre of mass x, turn y and the arm r at the start (see docs/theory/contact.md,
whose laws these are). The impulses f are thus part of the equations at the start of the step as p is, and

    W = E A^-1 D^T,

with the Newton matrix A, the wrenches D^T of unit impulses and the rows E of gaps and sliding by the motion of the
body. The factors of A are at hand: going from a contact towards the root gives the column of L^-1 D^T and the row of
E U^-1 on the way, and two contacts meet at the joints that carry both.
"""

from leastaction._jit import inline, routine
from leastaction.minimal.bodywise.sixes import plus, times
from leastaction.minimal.bodywise.turning import polynomial, turn_between
from leastaction.minimal.lanes.sixes import six
from leastaction.spatial import add3, axpy3, cross, dot3, load3, load9, mattvec, matvec, sub3
from leastaction.spatial._series import inverse_jacobian_terms


@inline
def centre(contact, R_, x_):
    """Centre of a contact's ball [m]."""
    return add3(load3(x_[contact.node]), matvec(load9(R_[contact.node]), load3(contact.arm)))


@inline
def gap(contact, R_, x_):
    """Distance of a contact's ball from its plane [m], negative below it."""
    return dot3(load3(contact.normal), centre(contact, R_, x_)) - contact.offset


@inline
def tangents(contact):
    """The two tangents of a contact's plane."""
    return load3(contact.first), load3(contact.second)


@inline
def sliding(contact, lane):
    """(arm at the start, turn, motion along the plane's axes as a vector) of a contact's point within the step."""
    i = contact.node
    R0, x0 = load9(lane.R0[i]), load3(lane.x0[i])
    y = turn_between(R0, load9(lane.R1[i]))
    r = axpy3(-contact.radius, load3(contact.normal), matvec(R0, load3(contact.arm)))
    return r, y, add3(sub3(load3(lane.x1[i]), x0), cross(y, r))


@inline
def wrench(f, at):
    """Wrench about the origin of a force f at a point."""
    t = cross(at, f)
    return (t[0], t[1], t[2], f[0], f[1], f[2])


@routine
def push_up(model, lane, node, h, column):
    """L^-1 S0^T h of a wrench h on a body, along the joints that carry it."""
    nodes, S0_, W_, col_ = model.nodes, lane.S0, lane.W, lane.touch.col
    while node >= 0:
        for c in range(nodes[node].iv + nodes[node].nv - 1, nodes[node].iv - 1, -1):
            r = times(six(S0_[c]), h)
            column[c] = r
            h = plus(-W_[c, 6] * r, six(col_[c]), h)
        node = nodes[node].parent


@routine
def pull_up(model, lane, node, k, row):
    """k U^-1 of a row k on the motion of a body, along the joints that carry it, with the pivots divided out."""
    nodes, S1_, W_ = model.nodes, lane.S1, lane.W
    while node >= 0:
        for c in range(nodes[node].iv + nodes[node].nv - 1, nodes[node].iv - 1, -1):
            s = W_[c, 6] * times(k, six(S1_[c]))
            row[c] = s
            k = plus(-s, six(W_[c]), k)
        node = nodes[node].parent


@routine
def meet(model, node, row, column):
    """Product of a row of a contact on a body with a column, over the joints that carry it."""
    nodes, total = model.nodes, 0.0
    while node >= 0:
        for c in range(nodes[node].iv, nodes[node].iv + nodes[node].nv):
            total += row[c] * column[c]
        node = nodes[node].parent
    return total


@routine
def choose(model, lane, margin):
    """Contacts that take part at first: those that the first guess brings near their plane [m]."""
    contacts, touch = model.contacts, lane.touch
    any_active = False
    for c in range(contacts.shape[0]):
        near = gap(contacts[c], lane.R1, lane.x1) <= margin
        touch.active[c] = near
        any_active = any_active or near
        if not near:
            touch.lam[3 * c], touch.lam[3 * c + 1], touch.lam[3 * c + 2] = 0.0, 0.0, 0.0
    return any_active


@routine
def relate(model, lane):
    """W and w0 of the contacts that take part, after the elimination."""
    contacts, touch, W_ = model.contacts, lane.touch, lane.W
    for c in range(contacts.shape[0]):
        if not touch.active[c]:
            continue
        contact = contacts[c]
        i, n = contact.node, load3(contact.normal)
        r, y, moved = sliding(contact, lane)
        t, s = tangents(contact)
        at, end, x1 = add3(load3(lane.x0[i]), r), centre(contact, lane.R1, lane.x1), load3(lane.x1[i])
        e, _ = inverse_jacobian_terms(dot3(y, y))
        turn = polynomial(y, -0.5, e)  # derivative of y by turns at the end
        touch.w[3 * c] = gap(contact, lane.R1, lane.x1)
        touch.w[3 * c + 1], touch.w[3 * c + 2] = dot3(t, moved), dot3(s, moved)
        push_up(model, lane, i, wrench(n, at), touch.columns[3 * c])
        push_up(model, lane, i, wrench(t, at), touch.columns[3 * c + 1])
        push_up(model, lane, i, wrench(s, at), touch.columns[3 * c + 2])
        pull_up(model, lane, i, wrench(n, end), touch.rows[3 * c])
        for k, along in ((1, t), (2, s)):
            m = add3(cross(x1, along), mattvec(turn, cross(r, along)))
            row = (m[0], m[1], m[2], along[0], along[1], along[2])
            pull_up(model, lane, i, row, touch.rows[3 * c + k])
    for a in range(contacts.shape[0]):
        if not touch.active[a]:
            continue
        node = contacts[a].node
        for j in range(3 * a, 3 * a + 3):
            free = 0.0
            i = node
            while i >= 0:
                for c in range(model.nodes[i].iv, model.nodes[i].iv + model.nodes[i].nv):
                    free += touch.rows[j, c] * W_[c, 7]
                i = model.nodes[i].parent
            touch.w[j] += free
            for b in range(contacts.shape[0]):
                if touch.active[b]:
                    for k in range(3 * b, 3 * b + 3):
                        touch.W[j, k] = meet(model, node, touch.rows[j], touch.columns[k])


@routine
def push(model, lane):
    """The impulses enter the right-hand sides, and `kick` is what they do along the joints."""
    contacts, touch, W_ = model.contacts, lane.touch, lane.W
    nodes, lam = model.nodes, touch.lam
    for c in range(touch.kick.shape[0]):
        touch.kick[c] = 0.0
    for c in range(contacts.shape[0]):
        if not touch.active[c] or lam[3 * c] <= 0.0:
            continue
        contact = contacts[c]
        i = contact.node
        t, s = tangents(contact)
        n = load3(contact.normal)
        f = (
            lam[3 * c] * n[0] + lam[3 * c + 1] * t[0] + lam[3 * c + 2] * s[0],
            lam[3 * c] * n[1] + lam[3 * c + 1] * t[1] + lam[3 * c + 2] * s[1],
            lam[3 * c] * n[2] + lam[3 * c + 1] * t[2] + lam[3 * c + 2] * s[2],
        )
        r = axpy3(-contact.radius, n, matvec(load9(lane.R0[i]), load3(contact.arm)))
        whole = wrench(f, add3(load3(lane.x0[i]), r))
        while i >= 0:
            for k in range(nodes[i].iv, nodes[i].iv + nodes[i].nv):
                for j in range(3 * c, 3 * c + 3):
                    W_[k, 7] += lam[j] * touch.columns[j, k]
                touch.kick[k] += times(six(lane.S0[k]), whole)
            i = nodes[i].parent


@routine
def miss(model, lane):
    """By how much the laws are missed at the end of the step as it is [m]; contacts below their plane take part next.

    Of contacts that push: the gap, and where they stick, the sliding. Of others: how far they are below their plane.
    """
    contacts, touch, worst = model.contacts, lane.touch, 0.0
    lam = touch.lam
    for c in range(contacts.shape[0]):
        contact = contacts[c]
        d = gap(contact, lane.R1, lane.x1)
        if touch.active[c] and lam[3 * c] > 0.0:
            worst = max(worst, abs(d))
            most, f1, f2 = contact.friction * lam[3 * c], lam[3 * c + 1], lam[3 * c + 2]
            if f1 * f1 + f2 * f2 < 0.999 * most * most:
                _, _, moved = sliding(contact, lane)
                t, s = tangents(contact)
                worst = max(worst, abs(dot3(t, moved)), abs(dot3(s, moved)))
        elif d < 0.0:
            worst = max(worst, -d)
            touch.active[c] = True
    return worst
