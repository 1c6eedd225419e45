"""Is the solution of a step one that the motion leads to? Its energy tells."""

from leastaction._jit import inline

PLAUSIBLE = 0.1
"""Share of the energy of a step that may come from nowhere, see `is_implausible`."""

NOISE = 100.0
"""Velocities are known to so many tolerances of the Newton updates per step."""


@inline
def is_implausible(before, after, work, impulses, settings):
    """Whether the kinetic energy [J] changed in a step by something else than the work of its forces.

    The equations of a step that is too long for a fast motion have several solutions, and those far from the motion
    show by this, at any order and whatever forces act. What counts is the share of the kinetic energies at both ends
    and the work between them. `impulses`: sum of the sizes of momenta and impulses, for the noise. NaN is implausible.
    """
    noise = NOISE * settings.tolerance / settings.dt * impulses
    return not abs(after - before - work) <= PLAUSIBLE * (before + after + abs(work)) + noise
