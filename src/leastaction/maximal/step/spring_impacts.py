"""What impacts give to springs that push at the same time.

Springs give the bodies impulses k- at the end of the step before and k+ at the start of this one. Momenta between are
p- = M v- + k- before an impact and p+ = M v+ - k+ after it, with the velocities v within the steps on both sides; and
the energy that the impulse N f of contacts adds is that of these momenta,

    E+ - E- = (p+ + p-) / 2 . M^-1 N f = N f . (v- + v+) / 2 + (M^-1 N f) . (k- - k+) / 2

The first is the work that restitution is bounded by. The second is what an impulse that has to turn springs around does
to bodies: where these push with more than bodies hold, even an impact without restitution adds energy. It falls with
the square of the step. Only what hits counts: contacts that were closed before bear the forces of springs, and momenta
have them already (`velocity_projection`).
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact import cones as ip
from leastaction.contact.gap import gap
from leastaction.linalg.graph.kernels import factorize, solve
from leastaction.maximal.step.bodies import start_pose
from leastaction.maximal.step.judgement import IMPACT
from leastaction.maximal.step.newton import DEPENDENT
from leastaction.maximal.step.velocity_equations import velocity_matrix
from leastaction.spatial import EYE, ZERO3, axpy3, dot3, load3, load9, matmul, quat_to_rotation, scale3

CLOSED = 1e-3
"""Gap of what counts as closed at the start of a step, relative to how far gravity moves things in it."""


@routine(allocates=False)
def has_springs(data):
    """Whether springs push bodies at the start of the step."""
    for i in range(data.bodies.shape[0]):
        for c in range(6):
            if data.kicks[0, i, c] != 0.0 or data.kicks[1, i, c] != 0.0:
                return True
    return False


@routine(allocates=False)
def spring_work(model, settings, data, contact, dt):
    """What the impulses of cones that close in a solved step give to such springs [J]; see the top of the file."""
    if settings.halves == 1.0 or not has_springs(data):
        return 0.0
    first, dx, given, hits = model.graph.first, data.dx, data.dV, 0
    for i in range(given.shape[0]):
        for c in range(6):
            given[i, c] = 0.0
    for k in range(contact.now[0].count):
        if not was_closed(settings, data, contact, contact.cones[k], dt):
            add_cone_impulses(contact.cones[k], given, 1.0)
            hits += 1
    if hits == 0:
        return 0.0
    velocity_matrix(model, data, data.factors.values)
    for i in range(dx.shape[0]):
        dx[i] = 0.0
    for i in range(given.shape[0]):
        for c in range(6):
            dx[first[i] + c] = given[i, c]
    contact.now[0].kept = 0.0  # the factors no longer belong to the step
    singular, _ = factorize(model.graph, data.factors, DEPENDENT)
    if singular >= 0:
        return 0.0
    solve(model.graph, data.factors, dx)
    work = 0.0
    for i in range(given.shape[0]):
        for c in range(6):
            work += 0.5 * dx[first[i] + c] * (data.kicks[1, i, c] - data.kicks[0, i, c])
    return work


@inline
def add_cone_impulses(c, out, share):
    """Add a share of the impulses of a cone to `out`, shape (bodies, 6)."""
    normal = 0.0 if c.kind >= ip.DRY else c.gam
    for i in range(6):
        if c.a >= 0:
            out[c.a, i] += share * (normal * c.da[i] + c.beta[0] * c.da[6 + i] + c.beta[1] * c.da[12 + i])
        if c.b >= 0:
            out[c.b, i] += share * (normal * c.db[i] + c.beta[0] * c.db[6 + i] + c.beta[1] * c.db[12 + i])


@routine(allocates=False)
def was_closed(settings, data, contact, c, dt):
    """Whether a cone was closed in the step before; dry friction always is.

    What hits takes two steps: one that ends where it closes, and one that stops it. So it is to be closed at the start
    of this step, and at that of the step before no farther away than what comes too slowly for an impact.
    """
    if c.kind == ip.DRY:
        return True
    states, before = data.bodies, data.clock[1]
    if c.source < 0:
        room = c.side * (data.coordinates[-1 - c.source].value - c.bound)
        rate, _, _ = rates(states, c, 1.0, 0.0)
        far = (IMPACT * (before / dt) ** 2 + CLOSED) * c.leave
        return room < CLOSED * c.leave and room - before * rate < far
    slight = CLOSED * settings.gravity * dt * dt
    phi, _, _ = gap(contact.contacts[c.source], start_pose(states, c.a), start_pose(states, c.b))
    if phi >= slight:
        return False
    phi, _, _ = gap(contact.contacts[c.source], pose_before(states, c.a, before), pose_before(states, c.b, before))
    return phi < IMPACT * settings.gravity * before * before + slight


@inline
def pose_before(states, i, dt):
    """(R, p) at the start of the step before, which took dt; the world for i = -1."""
    if i < 0:
        return EYE, ZERO3
    x = states[i].x
    u = scale3(-0.5 * dt, (x[0], x[1], x[2]))
    turn = quat_to_rotation((math.sqrt(max(1.0 - dot3(u, u), 0.0)), u[0], u[1], u[2]))
    return matmul(load9(states[i].R), turn), axpy3(-dt, (x[3], x[4], x[5]), load3(states[i].p))


@inline
def rates(states, c, own, other):
    """Velocities of a cone along its normal and tangents: `own` times those of the step before, `other` of this one."""
    r0 = r1 = r2 = 0.0
    for body, d in ((c.a, c.da), (c.b, c.db)):
        if body >= 0:
            s = states[body]
            for i in range(6):
                v = own * s.x[i] + other * (s.w[i] if i < 3 else s.vc[i - 3])
                r0, r1, r2 = r0 + d[i] * v, r1 + d[6 + i] * v, r2 + d[12 + i] * v
    return r0, r1, r2
