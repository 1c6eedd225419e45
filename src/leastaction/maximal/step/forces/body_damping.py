"""Body forces that depend on velocities, except dampers along springs and cables; implicit, since the velocities of a
step are its unknowns.

Such a force acts with the mean twists of the bodies over the step, at their poses at its start (a share `halves` of the
impulse) and at its end: symmetric in time, so a symmetric step stays symmetric. The force at zero velocity is among the
known ones (see `impulses`) and is subtracted here. Blocks of the Newton matrix are products of its damping with unit
twists; those of a tendon, whose tension depends on one rate alone, are products of the gradients of its length. All
kernels take these forces as a further argument: where it is None they compile to nothing.
"""

from leastaction._jit import inline, routine
from leastaction.forces.tendons.tendon_forces import free_share, rate_slope
from leastaction.forces.tendons.tendon_lengths import measure
from leastaction.forces.total import resistance_slopes, wrenches
from leastaction.spatial import ZERO6, add3, cross, load3, load6, load9, mattvec, matvec, scale, store6, sub, sub3


@inline
def _twist(s, w, v):
    """World twist about the origin of a body with angular velocity w in its own frame and COM velocity v."""
    omega = matvec(load9(s.R), w)
    return (omega, add3(v, cross(load3(s.p), omega)))


@inline
def _length_feedback(pull, time):
    """Make the feedback of tendon drives use lengths extrapolated by `time` [s] from the poses, to mid-step."""
    for i in range(pull.shape[0]):
        pull[i, 1] = time


@inline
def _impulse(s, F):
    """A world wrench about the origin as (torque about the COM in the body frame, force)."""
    return (mattvec(load9(s.R), sub3(F[0], cross(load3(s.p), F[1]))), F[1])


@routine(allocates=False)
def _resistance(resisting, data):
    """data.dF <- wrenches on the bodies at their mean twists minus those at rest; stores the twists in the bodies."""
    states, touched = data.bodies, resisting.touched
    for j in range(touched.shape[0]):
        store6(data.external[touched[j]], ZERO6)
        store6(data.dF[touched[j]], ZERO6)
    wrenches(resisting, data.modes, states, data.external)
    for j in range(touched.shape[0]):
        s = states[touched[j]]
        store6(s.v, _twist(s, load3(s.w), load3(s.vc)))
    wrenches(resisting, data.modes, states, data.dF)
    for j in range(touched.shape[0]):
        i = touched[j]
        store6(data.dF[i], sub(load6(data.dF[i]), load6(data.external[i])))


@inline
def _rest(resisting, data):
    """Reset the twists of the bodies to zero, which all other forces assume."""
    for j in range(resisting.touched.shape[0]):
        store6(data.bodies[resisting.touched[j]].v, ZERO6)


@routine(allocates=False)
def implicit_resistance(resisting, model, settings, data, dt, fresh):
    """Subtract the impulses at the start of the step from the residuals; with `fresh` add their blocks."""
    if resisting is None or resisting.touched.shape[0] == 0:
        return
    states, touched, share = data.bodies, resisting.touched, settings.halves * dt
    _length_feedback(data.modes.pull, 0.5 * dt)
    _resistance(resisting, data)
    for j in range(touched.shape[0]):
        s = states[touched[j]]
        t, f = _impulse(s, load6(data.dF[touched[j]]))
        for c in range(3):
            s.r[c] -= share * t[c]
            s.r[3 + c] -= share * f[c]
    if fresh:
        for row in range(touched.shape[0], model.resisting_edges.shape[0]):
            for c in range(6):
                _columns(resisting, model, data, row, c, share)
        _tendon_blocks(resisting, model, data, share)
    _length_feedback(data.modes.pull, 0.0)
    _rest(resisting, data)


@routine(allocates=False)
def _columns(resisting, model, data, row, c, share):
    """Columns c of the blocks of a set of bodies, no two of which act on the same one, given by `row` of the edges."""
    states, touched, edges, values = data.bodies, resisting.touched, model.resisting_edges, data.factors.values
    e = (1.0 if c % 3 == 0 else 0.0, 1.0 if c % 3 == 1 else 0.0, 1.0 if c % 3 == 2 else 0.0)
    zero = (0.0, 0.0, 0.0)
    for k in range(touched.shape[0]):
        a = touched[k]
        store6(data.T[a], ZERO6)
        store6(data.dV[a], ZERO6)
        store6(data.dF[a], ZERO6)
        if edges[row, k] == k:
            store6(data.dV[a], _twist(states[a], e if c < 3 else zero, zero if c < 3 else e))
    resistance_slopes(resisting, data.modes, states, data.T, data.dV, data.dF)
    for k in range(touched.shape[0]):
        j = edges[row, k]
        if j < 0:
            continue
        a, b = touched[k], touched[j]
        at = model.graph.diagonal[a] if a == b else model.graph.offsets[edges[k, j], 0 if a < b else 1]
        t, f = _impulse(states[a], load6(data.dF[a]))
        for i in range(3):
            values[at + 6 * i + c] -= share * t[i]
            values[at + 6 * (3 + i) + c] -= share * f[i]


@routine(allocates=False)
def _tendon_blocks(resisting, model, data, share):
    """Blocks of the tendons: the derivative of the tension by the rate times the length gradients of two bodies."""
    states, touched, edges, values = data.bodies, resisting.touched, model.resisting_edges, data.factors.values
    for i in range(resisting.tendons.shape[0]):
        tendon, items = resisting.tendons[i], data.modes.items
        gain = share * rate_slope(tendon, items, data.modes.tendons[i], data.modes.pull[i], states)
        if gain == 0.0:
            continue
        for k in range(touched.shape[0]):
            data.dV[touched[k], 0] = 0.0  # whether the tendon acts on it
            store6(data.dF[touched[k]], ZERO6)
        for m in range(tendon.first, tendon.first + tendon.count):
            _, W = measure(items[m], states)
            _add_gradient(states, data.dF, data.dV, items[m].node, scale(items[m].weight, W))
            _add_gradient(states, data.dF, data.dV, items[m].other, scale(-items[m].weight, W))
        for k in range(touched.shape[0]):
            a = touched[k]
            if data.dV[a, 0] == 0.0:
                continue
            for j in range(touched.shape[0]):
                b = touched[j]
                if data.dV[b, 0] == 0.0:
                    continue
                at = model.graph.diagonal[a] if a == b else model.graph.offsets[edges[k, j], 0 if a < b else 1]
                for r in range(6):
                    for c in range(6):
                        values[at + 6 * r + c] += gain * data.dF[a, r] * data.dF[b, c]


@inline
def _add_gradient(states, gradients, acts, body, W):
    """Add a world wrench to the gradient of a length by the velocities of a body."""
    if body >= 0:
        t, f = _impulse(states[body], W)
        acts[body, 0] = 1.0
        for c in range(3):
            gradients[body, c] += t[c]
            gradients[body, 3 + c] += f[c]


@routine(allocates=False)
def end_resistance(resisting, settings, data, dt):
    """Add the impulses at the end of the step to the momenta; `data` is at the next start."""
    if resisting is None or resisting.touched.shape[0] == 0:
        return
    if settings.halves == 1.0:
        return
    _length_feedback(data.modes.pull, -0.5 * dt)
    _resistance(resisting, data)
    _length_feedback(data.modes.pull, 0.0)
    for j in range(resisting.touched.shape[0]):
        s = data.bodies[resisting.touched[j]]
        t, f = _impulse(s, load6(data.dF[resisting.touched[j]]))
        for c in range(3):
            s.P[c] += (1.0 - settings.halves) * dt * t[c]
            s.P[3 + c] += (1.0 - settings.halves) * dt * f[c]
    _rest(resisting, data)


@routine(allocates=False)
def shares(resisting, forces, data, time):
    """pull[:, 2] <- 1 where drives of tendons follow their controls, 0 where clipped, at the mean twists of the step.

    The feedback uses lengths extrapolated by `time` [s] from the poses.
    """
    for i in range(data.modes.pull.shape[0]):
        data.modes.pull[i, 2] = 1.0
    if resisting is None or resisting.touched.shape[0] == 0:
        return
    pull = data.modes.pull
    for j in range(resisting.touched.shape[0]):
        s = data.bodies[resisting.touched[j]]
        store6(s.v, _twist(s, load3(s.w), load3(s.vc)))
    for i in range(pull.shape[0]):
        pull[i, 1], pull[i, 2] = time, 0.0
        share = free_share(forces.tendons[i], data.modes.items, data.modes.tendons[i], pull[i], data.bodies)
        pull[i, 1], pull[i, 2] = 0.0, share
    _rest(resisting, data)
