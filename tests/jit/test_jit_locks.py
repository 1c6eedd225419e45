"""Of several processes that want the same kernel one compiles it; the others wait, for no longer than it lives."""

import os
import subprocess
import sys

import pytest

from tests.jit.test_jit import CALL, demo, python

__all__ = ["demo"]

SLOW = """
import pathlib, time
from demo._jit import LISTENERS
def listen(name, seconds):
    if seconds is None:
        print("begun", flush=True)
        while not pathlib.Path(FOLDER, "waits").exists():
            time.sleep(0.05)
LISTENERS.append(listen)
"""
"""Compiles kernels as soon as another process waits for them."""

WAITS = """
import pathlib
from demo._jit import LISTENERS
LISTENERS.append(lambda name, seconds: pathlib.Path(FOLDER, "waits").touch())
"""

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="sends signals")


def placed(code, root):
    return f"FOLDER = {str(root)!r}{code}{CALL}"


def begin(root, code):
    """A process that has begun to compile `answer`."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("LEASTACTION_", "NUMBA_"))}
    settings |= {"PYTHONPATH": str(root), "LEASTACTION_CACHE_DIR": str(root / "cache")}
    process = subprocess.Popen(
        [sys.executable, "-c", placed(code, root)], env=settings, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "begun\n"
    return process


def test_a_process_waits_for_another_one(demo):
    with begin(demo, SLOW) as first:
        hits = "; print(sum(answer.stats.cache_hits.values()), sum(answer.stats.cache_misses.values()))"
        assert python(placed(WAITS, demo) + hits, demo) == ("8.0\n1 0", "")
        assert first.communicate()[0] == "8.0\n"
    assert not [*(demo / "cache").rglob("*.lock")]


def test_a_process_that_was_killed_is_not_waited_for(demo):
    with begin(demo, SLOW) as first:
        first.kill()
    assert [*(demo / "cache").rglob("*.lock")]
    out, err = python(CALL, demo)
    assert out == "8.0"
    assert err.endswith("(cached for next time)")
    assert not [*(demo / "cache").rglob("*.lock")]


def test_a_kernel_that_cannot_be_compiled_is_left_to_others(demo):
    code = "from pathlib import Path\nfrom demo.big import answer\ntry:\n    answer('text')\nexcept Exception:\n"
    code += "    print(len([*Path('cache').rglob('*.lock')]))"
    assert python(f"import os\nos.chdir({str(demo)!r})\n{code}", demo, LEASTACTION_QUIET="1") == ("0", "")
