"""Kernels of inverse kinematics: Levenberg-Marquardt steps within limits, with loops closed."""

from leastaction._jit import entry, routine
from leastaction.kinematics.box_qp import bounded_minimum
from leastaction.kinematics.manifold import retract
from leastaction.kinematics.sweeps import FREE, PRISMATIC
from leastaction.kinematics.task_arrays import IKModel, named_ik_data
from leastaction.kinematics.task_errors import evaluate

LONGEST = 0.6
"""Longest change of a coordinate in one iteration [rad or m]; what slides may go as far as the largest error."""

DAMPED = 1e-14
"""Least damping, relative to the largest entry of the normal equations: of the size of their rounding errors."""

STALLED = 12
"""Iterations without a gain of a hundredth after which a start is given up."""


@routine
def keep_within(model, q):
    """Put the coordinates of q back to their limits."""
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        if node.nv == 1:
            q[node.iq] = min(max(q[node.iq], model.lower[node.iv]), model.upper[node.iv])


@routine
def bound_step(model, q, residual, low, high):
    """Bounds of a step from q: `LONGEST`, and limits."""
    for i in range(model.nodes.shape[0]):
        node = model.nodes[i]
        for k in range(node.iv, node.iv + node.nv):
            slides = node.kind == PRISMATIC or (node.kind == FREE and k >= node.iv + 3)
            high[k] = max(LONGEST, residual) if slides else LONGEST
            low[k] = -high[k]
            if node.nv == 1:
                x = q[node.iq]
                low[k] = max(low[k], min(model.lower[k] - x, 0.0))
                high[k] = min(high[k], max(model.upper[k] - x, 0.0))


@routine
def find_step(model, data, state, damping, residual):
    """Least squares of all tasks, with closed loops, within limits; returns the largest change of a coordinate."""
    e, J, H, g, d = state.e, state.J, data.H, data.g, data.d
    bound_step(model, state.q, residual, data.low, data.high)
    largest = 1.0
    for i in range(J.shape[0]):
        g[i] = 0.0
        for r in range(J.shape[1]):
            g[i] -= J[i, r] * e[r]
        for j in range(i + 1):
            total = 0.0
            for r in range(J.shape[1]):
                total += J[i, r] * J[j, r]
            H[i, j] = H[j, i] = total
        largest = max(largest, H[i, i])
    for i in range(J.shape[0]):
        H[i, i] += damping + DAMPED * largest
    bounded_minimum(H, g, data.low, data.high, state.A, state.h, d, data.bounded)
    longest = 0.0
    for k in range(d.shape[0]):
        longest = max(longest, abs(d[k]))
    return longest


@routine
def copy_state(state, trial):
    """The trial becomes the state."""
    for k in range(state.q.shape[0]):
        state.q[k] = trial.q[k]
    for r in range(state.e.shape[0]):
        state.e[r], state.errors[r] = trial.e[r], trial.errors[r]
    for c in range(state.h.shape[0]):
        state.h[c] = trial.h[c]
    for k in range(state.J.shape[0]):
        for r in range(state.J.shape[1]):
            state.J[k, r] = trial.J[k, r]
        for c in range(state.A.shape[0]):
            state.A[c, k] = trial.A[c, k]


@routine
def go_down(model, data, most, tolerance, whole, free):
    """Steps from `data.state`; returns how many there were, the sum of squares and the largest error, there.

    Args:
        most: steps.
        whole: whether tasks count that need not be reached.
        free: whether the best of these is looked for, not the first that reaches the others.
    """
    state, trial = data.state, data.trial
    cost, residual = evaluate(model, data, state, whole)
    damping, stalled, spent = 1e-3, 0, 0
    while spent < most:
        spent += 1
        longest = find_step(model, data, state, damping * min(cost, 1.0), residual)
        retract(model.nodes, state.q, data.d, trial.q)
        keep_within(model, trial.q)
        now, left = evaluate(model, data, trial, whole)
        if now < cost or (state.h.shape[0] > 0 and left < 0.5 * residual):
            stalled = 0 if now < 0.99 * cost else stalled + 1
            copy_state(state, trial)
            cost, residual, damping = now, left, max(0.1 * damping, 1e-9)
        else:
            stalled, damping = stalled + 1, min(10.0 * damping, 1e6)
        done = residual <= tolerance and (not free or stalled > 2)
        if done or stalled > STALLED or longest < 1e-13:
            break
    return spent, cost, residual


@entry
def descend(model, data, most, tolerance):
    """The minimum next to `data.state`: iterations, sum of squares and largest error of what must be reached, there.

    Of postures only what the other tasks let them have.

    Args:
        model, data: as plain tuples.
        most: iterations.
        tolerance: largest error that counts as reached.
    """
    model, data, free = IKModel(*model), named_ik_data(data), False
    for t in range(model.tasks.shape[0]):
        free = free or not model.tasks[t].required
    keep_within(model, data.state.q)
    spent, cost, residual = go_down(model, data, most, tolerance, True, free)
    if free:
        # A compromise so far. From here the shortest steps that reach the others leave the posture its part.
        more, _, _ = go_down(model, data, most, tolerance, False, False)
        spent += more
        cost, residual = evaluate(model, data, data.state, True)
    return spent, cost, residual
