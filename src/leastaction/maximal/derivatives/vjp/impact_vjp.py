"""Gradients by parameters of impacts and of the times at which they end substeps, see `impact_cotangents`.

An impact is solved again with other values of a parameter, at the same positions and momenta before it. Its
contribution to the gradient is the central differences of the momenta after it, and of the gap that determines its
time, times the gradients by these.
"""

import math

from leastaction._jit import entry, routine
from leastaction.maximal.arrays import ContactModel, MaximalSettings, named_contact, named_data, named_model
from leastaction.maximal.contact.contact_setup import cone_of, find_cones
from leastaction.maximal.derivatives.arrays import ImpactTape
from leastaction.maximal.derivatives.resolve_substep import row_of, rows_of
from leastaction.maximal.derivatives.sensitivity_kernels import read_start
from leastaction.maximal.derivatives.vjp.parameter_vjp import coordinates_of_tree
from leastaction.maximal.step.body_impacts import reflect
from leastaction.maximal.step.body_states import load_state
from leastaction.maximal.step.initial_guess import FIRST


@routine(allocates=False)
def keep_impact(data, back, k, j, key, by_gap):
    """Store the impact at the start of substep j of step k for gradients by parameters.

    Args:
        key, by_gap: of the contact whose gap determines its time, and the gradient by that gap; key = -1: `back.bars`
            are the gradients by the momenta after the impact.
    """
    kept, rows, row = back.impacts, rows_of(back, k), row_of(back, k, j)
    m = kept.count[0]
    if m >= kept.impacts.shape[0]:
        return
    impact = kept.impacts[m]
    impact.step, impact.key, impact.by_gap = k, key, by_gap
    impact.dt = back.lengths[back.begins[k] + j]
    for i in range(data.bodies.shape[0]):
        for c in range(7):
            kept.poses[m, i, c] = rows.poses[row, i, c]
        for c in range(6):
            kept.momenta[m, i, c] = rows.momenta[row, i, c]
            kept.velocities[m, i, c] = rows.velocities[row, i, c]
            kept.bars[m, i, c] = back.bars[1, i, c] if key < 0 else 0.0
    for c in range(kept.q.shape[1]):
        kept.q[m, c] = rows.q[row, c]
    for c in range(kept.goals.shape[1]):
        kept.goals[m, c] = data.goals[0, c] if key < 0 else data.goals[1, c]
    kept.count[0] = m + 1


@entry(nogil=True)
def weigh_impacts(model, settings, data, near, own, contact, kept, scratch, left):
    """Weighted sum, with a model, of the momenta after impacts and of the gaps that determine their times.

    Which contacts are closed follows from the original robot.

    Args:
        model, settings, data, near, contact, kept: plain tuples of `MaximalModel`, `MaximalSettings`, `MaximalData`,
            `ContactModel`, `ContactData` and `ImpactTape`; model and near may be others on the same graph.
        own: `ContactModel` of the original robot.
        scratch: (coordinates, joint positions (nq,), keys and gaps of contacts).
        left: impacts of this step, and of those before it, do not count.
    """
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    near, own, contact, kept = ContactModel(*near), ContactModel(*own), named_contact(contact), ImpactTape(*kept)
    coordinates, q, keys, gaps = scratch
    states, total = data.bodies, 0.0
    for m in range(kept.count[0]):
        impact = kept.impacts[m]
        if impact.step <= left:
            continue
        found = 0
        for turn in range(2):
            coordinates_of_tree(model.coordinates, kept.q[m], coordinates)
            for c in range(q.shape[0]):
                q[c] = kept.q[m, c]
            load_state(states, kept.poses[m], kept.momenta[m])
            for i in range(states.shape[0]):
                for c in range(6):
                    states[i].x[c], states[i].slope[c], states[i].I[c] = kept.velocities[m, i, c], 0.0, 0.0
                for c in range(3):
                    states[i].w[c], states[i].vc[c] = states[i].x[c], states[i].x[3 + c]
            for c in range(kept.goals.shape[1]):
                data.goals[0, c] = kept.goals[m, c]
            read_start(model, data, coordinates, q, impact.dt)
            data.past[0].known = FIRST
            contact.now[0].known, contact.now[0].plastic, contact.written[0] = 0, 0, 0
            pairs = own if turn == 0 else near
            count = find_cones(model, settings, data, pairs, contact, impact.dt)
            if count < 0:
                return math.nan
            for k in range(count + contact.now[0].waiting):
                c = cone_of(contact, k)
                if turn == 0:
                    keys[found], gaps[found] = c.key, c.gap
                    found += 1
                    continue
                if c.key == impact.key:
                    total += impact.by_gap * c.gap
                c.gap = gap_known(keys, gaps, found, c)
        if impact.key < 0:
            reflect(model, settings, data, contact, impact.dt)
            for i in range(states.shape[0]):
                for c in range(6):
                    total += kept.bars[m, i, c] * states[i].P[c]
    return total


@routine(allocates=False)
def gap_known(keys, gaps, count, c):
    """Gap of a cone's contact from the stored keys and gaps; that of the cone where it is not stored."""
    for k in range(count):
        if keys[k] == c.key:
            return gaps[k]
    return c.gap
