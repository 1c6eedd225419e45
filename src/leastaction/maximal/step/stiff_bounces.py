"""What impacts give to springs that push at the same time.

Springs give the bodies impulses k- at the end of the step before and k+ at the start of this one. Momenta between are
p- = M v- + k- before an impact and p+ = M v+ - k+ after it, with the velocities v within the steps on both sides; and
the energy that the impulse N f of contacts adds is that of these momenta,

    E+ - E- = (p+ + p-) / 2 . M^-1 N f = N f . (v- + v+) / 2 + (M^-1 N f) . (k- - k+) / 2

The first is the work that restitution is bounded by. The second is what an impulse that has to turn springs around does
to bodies: where these push with more than bodies hold, even an impact without restitution adds energy. It falls with
the square of the step. Only what hits counts: contacts that were closed before bear the forces of springs, and momenta
are read without these (see `pressed`).
"""

from leastaction._jit import routine
from leastaction.linalg.graph.kernels import factorize, solve
from leastaction.maximal.step.newton import DEPENDENT
from leastaction.maximal.step.pressed import add_cone_impulses, was_closed
from leastaction.maximal.step.projection import projection_matrix


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
    projection_matrix(model, data, data.factors.values)
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
