"""Ending what the interior point method has solved: by the modes that it has found, each cone is brought to its law.

That method stops where the mean of all products of slacks and impulses is small, whatever each of them is. How far
single contacts are from their law then depends on its iterations, and so do forces and derivatives. Modes
(`semismooth_newton`) have every cone on it.
"""

from leastaction._jit import routine
from leastaction.maximal.step.solver.contact_masses import fill_compliance, weigh_cone
from leastaction.maximal.step.solver.semismooth_newton import evaluate_modes, follow_modes, open_all_cones
from leastaction.maximal.step.velocity_equations import equations

SOLVED_BY_MODES = 2
"""In `sure`: the step was solved by modes; residuals then belong to its velocities."""

KNOWN = 0.01
"""Share of the masses that cones move by which motion is weighed beside impulses where modes do not come to rest with
all of it. What the interior point method has found is known to eight digits, so impulses tell the modes; weighed with
those masses, contacts that creep at the bound of friction are taken for sliding by what is left of their slip. Without
it 158 of 2200 steps of `drop_littledog` take more than 60 iterations, with it 11 (corpus, 10 seeds)."""

SOFTER = 900.0
"""Where that does not help either, contacts are solved with SOFTER times their compliance first. The load split of the
central path is far from that of least norm, and what slides slowly turns its direction: both are smoother with more
compliance. Without it 59 of those steps take more than 60 iterations."""


@routine(allocates=False)
def end_by_modes(model, settings, data, contact, dt):
    """End a step of rigid contact by the modes that the interior point method has found; the number of iterations.

    Where they do not come to rest, the step stays as it was solved.
    """
    now, spent, found = contact.now[0], 0, -1
    keep_solution(data, contact)
    for share in (1.0, KNOWN):
        if found < 0:
            weigh_cones(model.bodies, contact, share)
            found = modes_from(model, settings, data, contact, dt, 1.0)
            spent += abs(found)
            if found < 0:
                restore_solution(data, contact)
    if found < 0:
        for softer in (SOFTER, 1.0):
            found = modes_from(model, settings, data, contact, dt, softer)
            spent += abs(found)
            if found < 0:
                break
    if found >= 0:
        now.sure, now.soft[now.phase] = SOLVED_BY_MODES, 0
        return spent
    restore_solution(data, contact)
    for k in range(now.count):
        fill_compliance(settings, contact.cones[k], dt)
    fresh = dt == 0.0  # no literal False: it would be compiled anew
    equations(model, settings, data, contact, dt, fresh)
    evaluate_modes(model.coordinates, data.bodies, data.coordinates, contact, dt, fresh)
    return spent


@routine(allocates=False)
def weigh_cones(bodies, contact, share):
    """Fill the masses that cones move, and take a share of them."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        weigh_cone(bodies, c, contact.now[0].load)
        c.weight, c.drag = share * c.weight, share * c.drag


@routine(allocates=False)
def modes_from(model, settings, data, contact, dt, softer):
    """Modes from the present velocities and impulses, of contacts with so many times their compliance."""
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        fill_compliance(settings, c, dt)
        c.compliance, c.slip_compliance = softer * c.compliance, softer * c.slip_compliance
        c.deepest *= softer
    open_all_cones(contact)
    fresh = dt != 0.0  # no literal True: it would be compiled anew
    return follow_modes(model, settings, data, contact, dt, fresh)


@routine(allocates=False)
def keep_solution(data, contact):
    """Keep velocities and impulses; those of cones where the interior point method has their steps."""
    for i in range(data.bodies.shape[0]):
        s = data.bodies[i]
        for c in range(3):
            s.solved[c], s.solved[3 + c] = s.w[c], s.vc[c]
    for k in range(data.rows.shape[0]):
        data.rows[k].solved = data.rows[k].lam
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        c.dgam, c.ds, c.dpsi = c.gam, c.s, c.psi
        for i in range(2):
            c.dbeta[i], c.dy[i] = c.beta[i], c.y[i]


@routine(allocates=False)
def restore_solution(data, contact):
    """Take what `keep_solution` has kept."""
    for i in range(data.bodies.shape[0]):
        s = data.bodies[i]
        for c in range(3):
            s.w[c], s.vc[c] = s.solved[c], s.solved[3 + c]
    for k in range(data.rows.shape[0]):
        data.rows[k].lam = data.rows[k].solved
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        c.gam, c.s, c.psi = c.dgam, c.ds, c.dpsi
        for i in range(2):
            c.beta[i], c.y[i] = c.dbeta[i], c.dy[i]
