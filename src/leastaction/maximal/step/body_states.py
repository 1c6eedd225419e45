"""The bodies between two steps: loading and storing their states, and turning the end of a step into the next start."""

from leastaction._jit import routine
from leastaction.maximal.step.bodies import momenta, move
from leastaction.spatial import ZERO3, load3, load4, load9, mattvec, matvec, quat_to_rotation, store9


@routine(allocates=False)
def load_state(states, Z, P):
    """Poses Z (bodies, 7: position, quaternion) and momenta P (bodies, 6) into `BODY_STATE` records."""
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            s.p[c] = Z[i, c]
        for c in range(4):
            s.quat[c] = Z[i, 3 + c]
        for c in range(6):
            s.P[c] = P[i, c]
        store9(s.R, quat_to_rotation(load4(s.quat)))


@routine(allocates=False)
def is_at(states, Z, P):
    """Whether the bodies have exactly the poses Z and momenta P, bit for bit; see `load_state`."""
    same = True
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            same = same and s.p[c] == Z[i, c]
        for c in range(4):
            same = same and s.quat[c] == Z[i, 3 + c]
        for c in range(6):
            same = same and s.P[c] == P[i, c]
        if not same:
            break
    return same


@routine(allocates=False)
def store_state(states, Z, P, V):
    """Write `BODY_STATE` records to poses Z, momenta P and velocities V (bodies, 6) of the last step or substep."""
    for i in range(states.shape[0]):
        s = states[i]
        for c in range(3):
            Z[i, c] = s.p[c]
        for c in range(4):
            Z[i, 3 + c] = s.quat[c]
        for c in range(6):
            P[i, c] = s.P[c]
        for c in range(3):
            V[i, c], V[i, 3 + c] = s.w[c], s.vc[c]


@routine(allocates=False)
def finish_step(bodies, states, dt, carry):
    """End poses become start poses; sets the momenta at the end of the step (D2 of the action).

    With `carry` the residual of Newton's method is carried into the next momenta, rotated to their directions: momenta
    are then conserved to round-off at any tolerance. The residuals must be those at the present velocities.
    """
    for i in range(bodies.shape[0]):
        s = states[i]
        if not carry:
            move(s, dt)
        _, right = momenta(load9(bodies[i].J), load3(s.w), dt)
        left = mattvec(load9(s.R1), matvec(load9(s.R), load3(s.r))) if carry else ZERO3
        for c in range(3):
            s.P[c] = right[c] - left[c]
            s.P[3 + c] = bodies[i].mass * s.vc[c] - (s.r[3 + c] if carry else 0.0)
            s.p[c] = s.p1[c]
        for c in range(4):
            s.quat[c] = s.quat1[c]
        for c in range(9):
            s.R[c] = s.R1[c]


@routine(allocates=False)
def keep_start(data, contact):
    """Save the data that the initial guess of a step uses, so that the step can be restarted."""
    if contact is not None:
        keep_impulses(contact)
    data.start_past[0] = data.past[0]
    for i in range(data.bodies.shape[0]):
        s = data.bodies[i]
        for c in range(6):
            data.start_guess[i, c], data.start_guess[i, 6 + c] = s.x[c], s.slope[c]


@routine(allocates=False)
def keep_impulses(contact):
    """Save the impulses that warm-start the present step."""
    now = contact.now[0]
    now.start = now.known
    for k in range(now.known):
        c = contact.cones[k]
        contact.start_keys[k] = c.key
        contact.start_impulses[k, 0], contact.start_impulses[k, 1], contact.start_impulses[k, 2] = (
            c.gam,
            c.beta[0],
            c.beta[1],
        )
