"""Compilation of leastaction's kernels.

Three decorators, all built on Numba:

- ``inline`` for small pure functions on tuples: inlined into their caller;
- ``routine`` for larger kernels, called by entry points;
- ``entry`` for the few functions that Python calls: compiled at the first call, then cached on disk.

A cached kernel contains the code of everything that it calls, so its file is named after a hash of all that code
(`fingerprint`): after an edit of any function or constant that it reaches it is compiled anew, after other edits it is
not. A wheel may include prebuilt kernels (`prebuilt`). GPU kernels are cached in the same place (`cached_gpu_kernel`).
Environment variables:

- ``LEASTACTION_CACHE_DIR``: directory of the cache, in place of the user's cache directory;
- ``LEASTACTION_STOCK_NUMBA=1``: compile with stock Numba, without the `hooks` that shorten it;
- ``LEASTACTION_ONE_PROCESS=1``: compile a kernel in one process, on one core, in place of two;
- ``LEASTACTION_SHIPPED=0``: do not use the kernels of the wheel;
- ``LEASTACTION_QUIET=1``: print no line on stderr when an entry point is compiled;
- ``LEASTACTION_WRAPPERS=1``: Python calls ``inline`` and ``routine`` functions directly, in 1 us not 40 us,
  but kernels take twice as long to compile;
- ``NUMBA_DISABLE_JIT=1``: compile nothing; every kernel is plain Python, open to a debugger.
"""

from .decorators import ENTRIES, entry, inline, routine
from .flags import is_set
from .folders import cache_directory
from .gpu import cuda_ptx, cuda_source, faster_cuda
from .gpu_store import cached_gpu_kernel
from .messages import LISTENERS

__all__ = [
    "ENTRIES",
    "LISTENERS",
    "cache_directory",
    "cached_gpu_kernel",
    "cuda_ptx",
    "cuda_source",
    "entry",
    "faster_cuda",
    "inline",
    "is_set",
    "routine",
]
