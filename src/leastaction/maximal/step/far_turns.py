"""Do bodies turn further in a step than its equations tell apart?

The angular momentum of a body that turns by an angle a in a step is J sin(a) / dt along its axis (Bruedigam 2023,
Eq. 16): it grows up to a quarter turn and falls beyond. Solutions there turn the faster the less momentum they have,
and no motion leads to them. So steps are divided until no body turns so far, before anything is solved where the
velocities before tell. And a step knows contacts by planes, lines and points of its start: what turns far meets faces
where they are no more. So bodies near others turn by less.
"""

from leastaction._jit import routine

QUARTER = 0.7
"""Largest |dt w / 2| of a body with mass: sin(a / 2) for a turn by the angle a. The momentum is largest at 0.7071."""

FAR, NEAR = 0.4, 0.25
"""The same by the velocities before, 0.8 rad, and of bodies near others, 0.5 rad. Measured on 500 scenes of light
bodies that spin with 200 to 2000 rad/s: a smaller NEAR takes more work, a larger FAR, too: Newton fails more often."""


@routine(allocates=False)
def is_beyond_quarter(bodies, states, dt):
    """Whether a body with mass turns by more than a quarter turn in a solved step."""
    most = 0.0
    for i in range(bodies.shape[0]):
        s = states[i]
        if bodies[i].mass > 0.0:
            most = max(most, s.w[0] ** 2 + s.w[1] ** 2 + s.w[2] ** 2)
    return 0.25 * dt * dt * most > QUARTER * QUARTER


@routine(allocates=False)
def would_turn_far(bodies, states, contact, dt):
    """Whether a body with mass would turn too far in a step, with the velocity before; contact: its cones, or None."""
    most = (2.0 / dt) ** 2
    for i in range(bodies.shape[0]):
        if speed_before(bodies, states, i) > FAR * FAR * most:
            return True
    if contact is not None:
        for k in range(contact.now[0].count):
            c = contact.cones[k]
            if c.source < 0:
                continue
            fast = max(speed_before(bodies, states, c.a), speed_before(bodies, states, c.b))
            if fast > NEAR * NEAR * most:
                return True
    return False


@routine(allocates=False)
def speed_before(bodies, states, i):
    """Angular velocity of a body before the step, squared; 0 of the world and of bodies without mass."""
    if i < 0:
        return 0.0
    s = states[i]
    return s.x[0] ** 2 + s.x[1] ** 2 + s.x[2] ** 2 if bodies[i].mass > 0.0 else 0.0
