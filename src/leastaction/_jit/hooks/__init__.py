"""Faster compilation through private names of Numba. Optional: without it, stock Numba compiles.

Stock Numba optimises every function together with all its callees, once for each caller, and emits machine code each
time. Here each function is optimised once (`libraries`), named tuples of arrays are passed by reference (`lowering`),
tuples that differ only in fields that a function does not read share its code (`reads`), and kernels and the functions
that they call are cached on disk under the hash of their inputs (`kernel_cache`, `function_cache`). CPU seconds of a
first pendulum: 12 in place of 44.

It is active with the releases of Numba that it was tested with (``make test-numba``), if all names exist, and unless
``LEASTACTION_STOCK_NUMBA=1`` is set. `why_stock` gives the reason otherwise, as does ``leastaction doctor``.
"""

import os
from functools import cache

import numba

__all__ = ["TESTED", "why_stock"]

TESTED = ("0.62", "0.63", "0.64", "0.65", "0.66", "0.67", "0.68")
"""Tested releases of Numba, with all their patch releases."""


@cache
def why_stock() -> str:
    """Why stock Numba compiles; empty where these hooks are active."""
    if os.environ.get("LEASTACTION_STOCK_NUMBA", "0") not in ("", "0"):
        return "LEASTACTION_STOCK_NUMBA is set"
    if ".".join(numba.__version__.split(".")[:2]) not in TESTED:
        return f"Numba {numba.__version__} is none of the tested releases ({', '.join(TESTED)})"
    try:
        from . import dispatchers  # noqa: F401
    except (ImportError, AttributeError) as error:
        return f"Numba {numba.__version__} lacks a name: {error}"
    return ""
