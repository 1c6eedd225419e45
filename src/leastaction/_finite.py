"""Telling finite numbers from NaN and infinity inside kernels."""

import sys

from leastaction._jit import inline

LARGEST = sys.float_info.max


@inline
def is_finite(x):
    """Whether x is neither NaN nor infinite.

    np.isfinite and math.isfinite are no use in kernels: Numba makes them x - x == x - x, and since our
    kernels allow sums to be reordered, LLVM may cancel x - x when it sees the sum that x comes from. A
    comparison stays.
    """
    return abs(x) <= LARGEST
