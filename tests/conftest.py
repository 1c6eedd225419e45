"""Settings that must be made before leastaction is imported, and the order of files."""

import gc
import os
from collections import Counter

from tests.hanging import pytest_runtest_logreport, pytest_runtest_protocol, pytest_sessionstart  # noqa: F401

os.environ["LEASTACTION_QUIET"] = "1"

# Each process has a core of its own: threads of linear algebra that wait for each other there take half of the time
# (tests/identification: 125 s of CPU time, 57 s with one thread).
for _name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")

os.environ.setdefault("LEASTACTION_ONE_PROCESS", "1")  # tests keep all cores busy as it is

gc.set_threshold(100_000, 20, 20)
"""Compilers leave millions of objects that stay: looking through them as often as usual takes a good deal of time."""

LONG = {
    "test_cuda.py": 60,
    "test_general_cuda.py": 60,
    "test_warmup.py": 10,
    "test_examples.py": 20,
    "test_sweep.py": 20,
    "test_search.py": 20,
    "test_nodes.py": 20,
    "test_wrong_calls.py": 10,
    "test_browser.py": 20,
    "test_processes.py": 20,
}
"""Files with tests that take long, and as how many others one of them counts."""


def pytest_xdist_auto_num_workers():
    """One process more than there are cores: some tests wait for other processes or for the clock."""
    return (len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1) + 1


def pytest_collection_modifyitems(config, items):
    """Files that take long come first: begun last, one would keep a single process busy while the others wait.

    Where several processes run the tests (`make test`); within a file the order stays what it is.
    """
    if not hasattr(config, "workerinput"):
        return
    weights = Counter()
    for item in items:
        weights[item.path] += LONG.get(item.path.name, 1)
    items.sort(key=lambda item: -weights[item.path])
