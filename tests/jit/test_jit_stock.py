"""Stock Numba compiles everything, where the hooks of this package are not used: same results, kept on disk."""

import os
import subprocess
import sys

import pytest
from numba.core import config

from tests.jit.test_jit import CALL, SMALL, SOURCE, demo, python

__all__ = ["demo"]

pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")


def stock(code, root, **environment):
    return python(code, root, LEASTACTION_STOCK_NUMBA="1", **environment)


def test_kernels_are_kept_and_never_stale(demo):
    out, err = stock(CALL, demo)
    assert out == "8.0"
    assert err.startswith("leastaction: compiled answer in ")
    assert err.endswith(" s (cached for next time)")
    assert len(err.splitlines()) == 1, "inner functions are not told of"
    assert stock(CALL, demo) == ("8.0", "")
    assert not (demo / "cache" / "kernels").exists()
    assert not (demo / "cache" / "parts").exists()

    # Of an inlined function, in another file than the entry point: Numba itself would not see it.
    (demo / "demo" / "small.py").write_text(SMALL.replace("x + 1.0", "x + 2.0"))
    assert stock(CALL, demo)[0] == "10.0"


def test_a_release_that_was_not_tested_compiles_without_hooks(demo):
    code = "import numba; numba.__version__ = '9.9.9'; " + CALL
    code += "; from demo._jit.hooks import why_stock; print(why_stock())"
    out, _ = python(code, demo)
    assert out.startswith("8.0\nNumba 9.9.9 is none of the tested releases")


def test_a_release_that_lacks_a_name_compiles_without_hooks(demo):
    code = "import numba.core.codegen as c; del c.JITCodeLibrary; " + CALL
    code += "; from demo._jit.hooks import why_stock; print(why_stock())"
    out, _ = python(code, demo)
    assert out.startswith("8.0\n")
    assert "JITCodeLibrary" in out


def test_python_may_call_inner_functions(demo):
    """Without Numba's wrapper a call would crash the process."""
    code = "from demo.big import *; print(shift(3.0), answer(3.0), twice(3.0), shift(x=3.0))"
    assert stock(code, demo)[0] == "4.0 8.0 8.0 4.0"


def test_other_compiled_functions_may_call_inner_ones(demo):
    code = "import numba; from demo.big import twice, answer; f = numba.njit(lambda x: twice(x) + twice(2.0 * x)); "
    code += "print(f(3.0), answer(3.0), f(3.0), numba.njit(lambda x: answer(x))(3.0))"
    assert stock(code, demo)[0] == "22.0 8.0 22.0 8.0"


def test_a_folder_that_cannot_be_written_or_is_full_does_not_matter(demo):
    (demo / "file").write_text("in the way")
    assert stock(CALL, demo, LEASTACTION_CACHE_DIR=str(demo / "file" / "cache"))[0] == "8.0"
    full = "import shutil; usage = shutil.disk_usage; shutil.disk_usage = lambda f: usage(f)._replace(free=1); " + CALL
    out, err = stock(full, demo)
    assert out == "8.0"
    assert "not cached" in err


def begin(root, code):
    """A process that calls the compiled function, or does what code says."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("LEASTACTION_", "NUMBA_"))}
    settings |= {"PYTHONPATH": str(root), "LEASTACTION_CACHE_DIR": str(root / "cache"), "LEASTACTION_STOCK_NUMBA": "1"}
    return subprocess.Popen([sys.executable, "-c", code], env=settings, stdout=subprocess.PIPE, text=True)


def test_processes_that_compile_at_once_and_one_that_is_killed_do_not_matter(demo):
    stop = "import os; from demo._jit import LISTENERS; LISTENERS.append(lambda name, seconds: os._exit(9)); "
    killed = begin(demo, stop + CALL)
    assert killed.wait(120) == 9
    both = [begin(demo, CALL) for _ in range(2)]
    assert [process.communicate(timeout=120)[0].strip() for process in both] == ["8.0", "8.0"]
    assert stock(CALL, demo) == ("8.0", "")


def test_doctor_tells_why():
    code = "from leastaction.cli.commands.doctor import _cache; print(_cache()['stock'])"
    assert stock(code, SOURCE.parent)[0] == "LEASTACTION_STOCK_NUMBA is set"
    assert python(code, SOURCE.parent)[0] == ""
