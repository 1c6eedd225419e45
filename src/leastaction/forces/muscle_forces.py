"""Muscle force: force-length and force-velocity curves with their derivatives; see `mechanism.Muscle`.

The curves are those of MuJoCo (`mju_muscleGain`, `mju_muscleBias`). A `TENDON` record holds their parameters.
"""

from leastaction._jit import inline, routine


@inline
def _bump(lmin, lmax, L):
    """Active force by the normalised length L, piecewise quadratic with the maximum 1 at L = 1; and its derivative."""
    if lmin > L or lmax < L:
        return 0.0, 0.0
    end = lmin if L <= 1.0 else lmax
    half = 0.5 * (1.0 - end)  # half of the distance from L = 1 to the end, negative beyond L = 1
    x = (L - end) / half
    if x <= 1.0:
        return 0.5 * x * x, x / half
    x = (1.0 - L) / half
    return 1.0 - 0.5 * x * x, x / half


@inline
def _by_rate(fvmax, V):
    """Active force by the normalised rate V: 0 for V <= -1, 1 at V = 0, at most fvmax; and its derivative."""
    if V <= -1.0:
        return 0.0, 0.0
    if V <= 0.0:
        return (V + 1.0) * (V + 1.0), 2.0 * (V + 1.0)
    y = fvmax - 1.0
    if y >= V:
        return fvmax - (y - V) * (y - V) / y, 2.0 * (y - V) / y
    return fvmax, 0.0


@inline
def _passive(lmax, fpmax, L):
    """Passive force by the normalised length: a parabola from L = 1, then linear; and its derivative."""
    if L <= 1.0:
        return 0.0, 0.0
    half = 0.5 * (lmax - 1.0)
    x = (L - 1.0) / half
    if x <= 1.0:
        return fpmax * 0.5 * x * x, fpmax * x / half
    return fpmax * (x - 0.5), fpmax / half


@routine
def muscle_force(tendon, a, length, rate):
    """(force that lengthens the tendon, its derivatives by length, rate and activation a)."""
    L = tendon.normal + (tendon.gear * length - tendon.start) / tendon.optimal
    V = tendon.gear * rate / (tendon.optimal * tendon.vmax)
    FL, dFL = _bump(tendon.lmin, tendon.lmax, L)
    FV, dFV = _by_rate(tendon.fvmax, V)
    FP, dFP = _passive(tendon.lmax, tendon.fpmax, L)
    scale = -tendon.gear * tendon.peak
    by_length = scale * (a * dFL * FV + dFP) * tendon.gear / tendon.optimal
    by_rate = scale * a * FL * dFV * tendon.gear / (tendon.optimal * tendon.vmax)
    return scale * (a * FL * FV + FP), by_length, by_rate, scale * FL * FV
