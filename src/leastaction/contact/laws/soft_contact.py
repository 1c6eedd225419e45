"""Contacts that give way: a compliance C [m/N] and a relaxation time tau [s] along the normal (Kelvin and Voigt).

    0 <= F,   C F + g + tau g' >= 0,   one of them zero        (g: gap, negative where things overlap)

is Signorini's law with a spring 1 / C and a damper tau / C in series with the gap, which never pulls. C = 0 is the
rigid contact, and for tau > 0 its limit, too: the damper grows with the spring. The depth -g is a function of the
positions, so (q, p) is all of a state. In the two phases of a step of length h from the gap g0 to g1, with the half
impulse l and the impulse L of the whole step,

    positions:  0 <= l,   2 C l / h + (1 - a) min(g0, 0) + a g1 >= 0,        a = 1/2 + (tau - b) / h
    momenta:    0 <= L,   C (L - 2 l) + h b v1 >= 0,                         b = min(2 tau / 3, h)

one of each pair zero, with the rate v1 of the gap at the end: a diagonal on the Delassus matrix of each phase
(Carpentier et al. 2024). The force acts in the middle of the step, as other springs do. With E = min(g, 0)^2 / (2 C) as
the energy of a contact, F (g1 - g0) <= E0 - E1: equal without damping where it is closed at both ends, since then
(g0 + g1) / 2 = -C F; less where it opens or closes within the step, since g0 > 0 counts as 0 and a >= 1/2. The momentum
phase takes the rest: (L - 2 l) v1 <= 0. So no step gains energy. The share b of the damper acts at the end of the step,
where it stops v1 as C goes to 0; it is at most h, which leaves an error of h^3 a step.

Springs in series have the sum of their compliances. Their relaxation time is the mean of both, weighted by these, as of
dampers that creep alike.
"""

from typing import Any

import numpy as np

from leastaction._jit import inline

__all__ = ["RELAXATION", "SHORTEST", "elastic_energy", "in_series", "required_gap", "soft_law"]

RELAXATION = 0.01
"""Relaxation time [s] of a compliance that comes without one: what rings faster than at 30 Hz hardly bounces."""

SHORTEST = 1e-4
"""Least share of the step that the damper at its end has. Without any, impulses of the momentum phase would have no
equation of their own; a spring at w h = 1 loses 1e-4 of its energy in a radian by it, beside a phase error of 1/12."""


@inline
def soft_law(compliance, relaxation, dt):
    """Depth for each unit of the half impulse [m / (N s)], (1 - a) / a, and C / b of the momentum phase [m / (N s)]."""
    end = min(max(relaxation / 1.5, SHORTEST * dt), dt)
    a = 0.5 + max(relaxation - end, 0.0) / dt
    return 2.0 * compliance / (a * dt), (1.0 - a) / a, compliance / end


@inline
def required_gap(phi, lag):
    """Gap at the end of a step below which a contact pushes [m], with phi at its start and lag = (1 - a) / a."""
    return -lag * min(phi, 0.0)


@inline
def elastic_energy(phi, compliance):
    """Energy of a contact with this gap [J]."""
    depth = min(phi, 0.0)
    return 0.5 * depth * depth / compliance


def in_series(one: Any, two: Any) -> Any:
    """Compliance and relaxation time of two surfaces, each of which has both, NaN for what it does not say.

    Args:
        one, two: shape (2, n).
    """
    a, b = np.nan_to_num(one[0]), np.nan_to_num(two[0])
    slow, fast = (np.where(np.isnan(x[1]), RELAXATION, x[1]) for x in (one, two))
    said = np.fmax(one[1], two[1])
    whole = a + b
    mean = (a * slow + b * fast) / np.where(whole > 0.0, whole, 1.0)
    return np.stack([whole, np.where(whole > 0.0, mean, np.where(np.isnan(said), RELAXATION, said))])
