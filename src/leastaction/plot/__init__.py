"""Plots of runs, of accuracy and of structure. Needs matplotlib, which the extra `view` brings.

Every function gives back the figure, and writes it to `path` if there is one (the suffix decides on the format).
Without a `path` the figure belongs to pyplot, so that notebooks and `plt.show()` know it; where there is no display,
matplotlib's Agg draws it. Lines differ by colour and by dashes or markers, so that prints in grey and colour-blind
readers can distinguish them. `look` gives figures of your own the same style.
"""

from leastaction.plot.accuracy import convergence, slope, work_precision
from leastaction.plot.contacts import contacts
from leastaction.plot.history import constraint_violation, coordinates, energy, momentum
from leastaction.plot.portrait import phase
from leastaction.plot.structure import sparsity
from leastaction.plot.style import look

__all__ = [
    "constraint_violation",
    "contacts",
    "convergence",
    "coordinates",
    "energy",
    "look",
    "momentum",
    "phase",
    "slope",
    "sparsity",
    "work_precision",
]


def __dir__() -> list[str]:
    return [*__all__]
