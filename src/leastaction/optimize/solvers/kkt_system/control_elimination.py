"""Unknowns with few neighbours, such as controls: eliminated one by one before any front is filled.

They must not be neighbours of each other, so their order does not matter. Those with too small a pivot go through the
fronts with all others.
"""

from leastaction._jit import routine
from leastaction.optimize.solvers.kkt_system.bunch_kaufman import TINY

GONE = -2
"""Place of an unknown that left before all stages."""

THRESHOLD = 1e-8
"""Smallest pivot beside the largest entry of its row; with few neighbours nothing is built upon a pivot but them."""


@routine
def eliminate(model, data, values):
    """Let thin unknowns leave; what they leave behind goes to `data.fill`.

    Gives whether others left than the last time.
    """
    at, fill, ratios, pivots, counts = data.at, data.fill, data.ratios, data.thin_pivots, data.counts
    near, near_slots, around, early = model.near, model.near_slots, model.around, data.early
    early[:] = False
    others = False
    for n in range(model.thin.shape[0]):
        first, last, pair = around[n], around[n + 1], model.pairs[n]
        d, top = values[model.thin_slots[n, 0]] + values[model.thin_slots[n, 1]], 0.0
        for a in range(first, last):
            top = max(top, abs(values[near_slots[a]]))
        stays = not (abs(d) > TINY and abs(d) >= THRESHOLD * top)
        others |= stays != (pivots[n] == 0.0)
        at[model.thin[n]] = -1 if stays else GONE
        pivots[n] = 0.0 if stays else d
        inverse = 0.0 if stays else 1.0 / d
        for a in range(first, last):
            ratios[a] = inverse * values[near_slots[a]]
            early[near[a]] |= not stays
            for b in range(first, a + 1):
                fill[pair] = -ratios[a] * values[near_slots[b]]
                pair += 1
        if not stays:
            counts[0 if d > 0.0 else 1] += 1
    return others


@routine
def forth(model, data, b):
    """Their part of the solution with L."""
    for n in range(model.thin.shape[0]):
        if data.thin_pivots[n] != 0.0:
            y = b[model.thin[n]]
            for a in range(model.around[n], model.around[n + 1]):
                b[model.near[a]] -= data.ratios[a] * y
            b[model.thin[n]] = y / data.thin_pivots[n]


@routine
def back(model, data, b):
    """Their part of the solution with L'."""
    for n in range(model.thin.shape[0]):
        if data.thin_pivots[n] != 0.0:
            y = b[model.thin[n]]
            for a in range(model.around[n], model.around[n + 1]):
                y -= data.ratios[a] * b[model.near[a]]
            b[model.thin[n]] = y
