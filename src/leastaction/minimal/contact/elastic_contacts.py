"""Energy of soft contacts in a step, see `contact.laws.soft_contact`."""

from leastaction._jit import inline, routine
from leastaction.contact.laws.soft_contact import elastic_energy
from leastaction.contact.solver.cone_kinds import CONTACT
from leastaction.minimal.contact.detection.detected_contacts import gap_at
from leastaction.spatial import add3, dot3, load3, load9, matvec


@routine
def cones_of(model, found):
    """Constraints of a robot, and their current number."""
    if found is None:
        return model.cones, model.cones.shape[0]
    return found.cones, model.cones.shape[0] + found.now[0].count


@routine
def end_gap(data, found, cone):
    """Gap of a contact at the end of a solved substep [m]."""
    if found is None:
        return end_gap_of_ball(data, cone)
    if cone.found < 0:
        return end_gap_of_ball(data, cone)
    return gap_at(data, found.contacts[cone.found], cone.found * 0 + 1)[0]


@inline
def end_gap_of_ball(data, cone):
    """`end_gap` of a sphere over a plane."""
    k, i = 1 - data.now[0], cone.node
    x = add3(load3(data.x[k][i]), matvec(load9(data.R[k][i]), load3(cone.arm)))
    return dot3(load3(cone.normal), x) - cone.offset


@routine
def elastic_energies(model, data, touch):
    """Energy of soft contacts [J] at the start and at the end of a solved substep, and work of the loaded ones.

    A contact that opens under its damper without a force dissipates its energy.
    """
    cones, count = cones_of(model, touch.found)
    start = end = work = 0.0
    for c in range(count):
        if cones[c].kind == CONTACT and cones[c].compliance > 0.0:
            before = elastic_energy(touch.start_gap[c], cones[c].compliance)
            after = elastic_energy(end_gap(data, touch.found, cones[c]), cones[c].compliance)
            start, end = start + before, end + after
            if touch.active[c] and touch.lam[cones[c].row] > 0.0:
                work += before - after
    return start, end, work
