"""Derivatives of springs, tendons, drag and joints with several axes in a step (`spring_forces`), by differences.

They are piecewise smooth functions of the configurations at both ends and of the controls, and cheap. Central
differences of order 4 over `STEP` have a relative error of some 1e-10, below that of the solution of a step.
"""

from leastaction._jit import entry, routine
from leastaction.kinematics.manifold import retract
from leastaction.minimal.contact.arrays import RobotData
from leastaction.minimal.contact.body_sweeps import put_end, put_start
from leastaction.minimal.contact.forces.spring_forces import pull, pull_by_controls
from leastaction.minimal.contact.rollout import named_model, named_touch

STEP = 2e-5
"""Step of the differences [rad or m]; for a control u, relative to max(1, |u|)."""


@routine
def pulled(model, data, dt, rows):
    """Impulses at the start of the step from q0 to q1 and at its end, into rows (2, nv)."""
    pulls = data.touch.pulls
    put_start(model, data, data.touch)
    put_end(model, data, data.touch)
    pull_by_controls(model, data, pulls)
    pull(model, data, pulls, dt)
    for c in range(rows.shape[1]):
        rows[0, c] = pulls.start[c] - pulls.drives[0, c]
        rows[1, c] = pulls.end[c] + pulls.drives[1, c]


@entry
def pulled_rows(model, data, touch, out, ends, u, dt, slopes, found):
    """Add the impulses, and where `slopes` their derivatives.

    Args:
        model, data, touch: as plain tuples.
        out: scratch, shape (2, nv).
        ends: joint positions at both ends, shape (2, nq).
        u: controls, shape (nu,).
        dt: length of the step [s].
        found: arrays to add to: the impulses, shape (2, nv), their derivatives by both ends, shape (2, nv, 2, nv), and
            by the controls, shape (2, nv, nu).
    """
    rows, H, C = found
    model = named_model(model)
    touch = named_touch(touch)
    data = RobotData(*data, touch)  # pyright: ignore[reportCallIssue]
    nv, nu, x = rows.shape[1], u.shape[0], data.dx
    for k in range(ends.shape[1]):
        data.q0[k], data.q1[k] = ends[0, k], ends[1, k]
    for k in range(nu):
        data.u[k] = u[k]
    pulled(model, data, dt, out)
    for end in range(2):
        for c in range(nv):
            rows[end, c] += out[end, c]
    if not slopes:
        return
    for end in range(2):
        q = data.q0 if end == 0 else data.q1
        for b in range(nv):
            for k in range(-2, 3):
                if k != 0:
                    for c in range(nv):
                        x[c] = 0.0
                    x[b] = k * STEP
                    retract(model.nodes, ends[end], x, q)
                    pulled(model, data, dt, out)
                    add_difference(k, STEP, out, H[:, :, end, b])
        for k in range(ends.shape[1]):
            q[k] = ends[end, k]
    for b in range(nu):
        size = STEP * max(1.0, abs(u[b]))
        for k in range(-2, 3):
            if k != 0:
                data.u[b] = u[b] + k * size
                pulled(model, data, dt, out)
                add_difference(k, size, out, C[:, :, b])
        data.u[b] = u[b]


@routine
def add_difference(k, size, values, out):
    """Add one of the four values of a central difference of order 4, at k times its step, to the derivative."""
    weight = (1.0 if k > 0 else -1.0) * (8.0 if abs(k) == 1 else -1.0) / (12.0 * size)
    for end in range(2):
        for c in range(out.shape[1]):
            out[end, c] += weight * values[end, c]
