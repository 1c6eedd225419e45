"""Chains of 1 to 512 links on ball joints from random starts: error against CPU time beside five peers."""

import leastaction as la
from benchmarks.races import chains

LENGTHS, FEW = (1, 2, 8, 32, 128, 512), (8,)
OURS = {
    "Galerkin(2)": la.Galerkin(order=2),
    "Galerkin(4)": la.Galerkin(order=4),
    "Galerkin(6)": la.Galerkin(order=6),
    "Maximal(2)": la.Maximal(),
    "RungeKutta(4)": la.RungeKutta(order=4),
}

DURATION = 0.3
"""Seconds; later those of 32 links whip about so fast that no refined solution is to be had."""

NOTES = f"""The chains of `races/chains` on ball joints, each rotated by up to ±{chains.ANGLE} rad about three axes, \
over {DURATION:g} s. Drake's ball joints use three angles; the other engines and ours use quaternions. Pinocchio: \
commutator-free Runge-Kutta of order 4."""


def run(progress, quick=False):
    """All lengths and contenders."""
    lengths = FEW if quick else LENGTHS
    return chains.chains(progress, lengths, quick, "spherical", OURS, "Chains on ball joints", NOTES, DURATION)
