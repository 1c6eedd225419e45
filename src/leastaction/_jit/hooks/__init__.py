"""Faster compilation by names of Numba that are not public. Nothing depends on it: without, stock Numba compiles.

Stock Numba optimises every function together with all that it calls, once for each caller, and makes machine code of
it each time. Here each function is optimised once (`libraries`), bundles are passed by reference (`lowering`), those
that agree in what a function reads of them have one code (`reads`), and kernels and the functions they call are kept
on disk under the hash of what they are made of (`kernel_cache`, `function_cache`). CPU seconds of a first pendulum: 12
in place of 44.

It is used with the releases of Numba that it was tested with (``make test-numba``), if all names are there, and unless
``LEASTACTION_STOCK_NUMBA=1`` is set. `why_stock` says what it is, as ``leastaction doctor`` does.
"""

import os
from functools import cache

import numba

__all__ = ["TESTED", "why_stock"]

TESTED = ("0.62", "0.63", "0.64", "0.65", "0.66", "0.67", "0.68")
"""Releases of Numba, each with its patches."""


@cache
def why_stock() -> str:
    """Why stock Numba compiles, empty where this package does."""
    if os.environ.get("LEASTACTION_STOCK_NUMBA", "0") not in ("", "0"):
        return "LEASTACTION_STOCK_NUMBA is set"
    if ".".join(numba.__version__.split(".")[:2]) not in TESTED:
        return f"Numba {numba.__version__} is none of the tested releases ({', '.join(TESTED)})"
    try:
        from . import dispatchers  # noqa: F401
    except (ImportError, AttributeError) as error:
        return f"Numba {numba.__version__} lacks a name: {error}"
    return ""
