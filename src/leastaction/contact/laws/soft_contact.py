"""Soft contacts: a compliance C [m/N] and a relaxation time tau [s] along the normal (Kelvin-Voigt model).

    0 <= F,   C F + g + tau g' >= 0,   one of them zero        (g: gap, negative in penetration)

is Signorini's law with a spring 1 / C and a parallel damper tau / C in series with the gap, which never pulls. C = 0 is
the rigid contact, also as the limit for tau > 0, since the damper grows with the spring. The depth -g is a function of
positions, so (q, p) is the complete state. In the two phases of a step of length h from the gap g0 to g1, with the half
impulse l and the impulse L of the whole step,

    positions:  0 <= l,   2 C l / h + (1 - a) min(g0, 0) + a g1 >= 0,        a = 1/2 + (tau - b) / h
    momenta:    0 <= L,   C (L - 2 l) + h b v1 >= 0,                         b = min(2 tau / 3, h)

in each pair one is zero; v1 is the gap rate at the end. This is a diagonal on the Delassus matrix of each phase
(Carpentier et al. 2024). The force acts in the middle of the step, as other springs do. With E = min(g, 0)^2 / (2 C) as
the energy of a contact, F (g1 - g0) <= E0 - E1: equal without damping where it is closed at both ends, since then
(g0 + g1) / 2 = -C F; less where it opens or closes within the step, since g0 > 0 counts as 0 and a >= 1/2. The momentum
phase dissipates: (L - 2 l) v1 <= 0. So no step gains energy. The share b of the damper acts at the end of the step,
where it stops v1 as C goes to 0; it is at most h, which leaves an error of h^3 per step.

Springs in series have the sum of their compliances. Their relaxation time is the mean of both, weighted by compliance,
as for dampers that creep at the same rate.
"""

from typing import Any

import numpy as np

from leastaction._jit import inline

__all__ = ["RELAXATION", "SHORTEST", "elastic_energy", "in_series", "required_gap", "soft_law"]

RELAXATION = 0.01
"""Default relaxation time [s] of a compliance: contacts with natural frequencies above 30 Hz hardly bounce."""

SHORTEST = 1e-4
"""Least share of the step for b, the damper at the end. Without it the impulses of the momentum phase would have no
equation of their own; a spring at w h = 1 loses 1e-4 of its energy per radian by it, with a phase error of 1/12."""


@inline
def soft_law(compliance, relaxation, dt):
    """Depth per half impulse [m / (N s)], (1 - a) / a, and C / b of the momentum phase [m / (N s)]."""
    end = min(max(relaxation / 1.5, SHORTEST * dt), dt)
    a = 0.5 + max(relaxation - end, 0.0) / dt
    return 2.0 * compliance / (a * dt), (1.0 - a) / a, compliance / end


@inline
def required_gap(phi, lag):
    """Gap at the end of a step below which a contact pushes [m]; phi: gap at its start [m], lag = (1 - a) / a."""
    return -lag * min(phi, 0.0)


@inline
def elastic_energy(phi, compliance):
    """Elastic energy of a contact at the gap phi [J]."""
    depth = min(phi, 0.0)
    return 0.5 * depth * depth / compliance


def in_series(one: Any, two: Any) -> Any:
    """Compliance [m/N] and relaxation time [s] of two surfaces in series; NaN stands for an unspecified value.

    Args:
        one, two: (compliance, relaxation time) of each surface, shape (2, n).
    """
    a, b = np.nan_to_num(one[0]), np.nan_to_num(two[0])
    slow, fast = (np.where(np.isnan(x[1]), RELAXATION, x[1]) for x in (one, two))
    said = np.fmax(one[1], two[1])
    whole = a + b
    mean = (a * slow + b * fast) / np.where(whole > 0.0, whole, 1.0)
    return np.stack([whole, np.where(whole > 0.0, mean, np.where(np.isnan(said), RELAXATION, said))])
