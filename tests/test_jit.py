"""The compile decorators: what is compiled when, what is kept on disk, and what an edit does to it."""

import importlib
import inspect
import os
import pkgutil
import shutil
import subprocess
import sys
import time
import types
from pathlib import Path

import numba
import pytest

import leastaction
from leastaction import _jit

SOURCE = Path(leastaction.__file__).parent

SMALL = """
from demo._jit import inline

@inline
def shift(x):
    return x + 1.0
"""

BIG = """
from demo._jit import entry, routine
from demo.small import shift

@routine
def twice(x):
    return 2.0 * shift(x)

@entry
def answer(x):
    return twice(x)
"""


@pytest.fixture
def demo(tmp_path):
    """A package with our decorators, one inlined function and one entry point that uses it."""
    package = tmp_path / "demo"
    package.mkdir()
    shutil.copy(SOURCE / "_jit.py", package / "_jit.py")
    (package / "__init__.py").write_text("")
    (package / "small.py").write_text(SMALL)
    (package / "big.py").write_text(BIG)
    return tmp_path


def python(code, root, **environment):
    """Run code in a new process with `root` on the path and the cache beneath it; its stdout and stderr."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("LEASTACTION_", "NUMBA_"))}
    settings |= {"PYTHONPATH": str(root), "LEASTACTION_CACHE_DIR": str(root / "cache")} | environment
    done = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr.strip()


CALL = "from demo.big import answer; print(answer(3.0))"


def test_kernels_are_kept_and_never_stale(demo):
    out, err = python(CALL, demo)
    assert out == "8.0"
    assert err.startswith("leastaction: compiled answer in ")
    assert err.endswith(" s (cached for next time)")
    assert len(err.splitlines()) == 1

    assert python(CALL, demo) == ("8.0", "")  # served from disk: nothing compiled, nothing said

    # An edit of the inlined function, in another file than the entry point, must be seen.
    (demo / "demo" / "small.py").write_text(SMALL.replace("x + 1.0", "x + 2.0"))
    out, err = python(CALL, demo, LEASTACTION_QUIET="1")
    assert (out, err) == ("10.0", "")
    assert python(CALL, demo) == ("10.0", "")

    # And back: the first kernel is still there.
    (demo / "demo" / "small.py").write_text(SMALL)
    assert python(CALL, demo) == ("8.0", "")


def test_code_older_than_its_source_is_not_kept(demo):
    """A process that imported the package before an edit may not leave its kernels to the next."""
    edit = "import demo.big, pathlib; f = pathlib.Path(demo.__file__).parent / 'small.py'; "
    edit += "f.write_text(f.read_text().replace('x + 1.0', 'x + 2.0')); print(demo.big.answer(3.0))"
    out, err = python(edit, demo)
    assert out == "8.0"
    assert err.endswith("(not cached)")
    assert python(CALL, demo)[0] == "10.0"


def test_damaged_kernels_are_compiled_again(demo):
    python(CALL, demo)
    for path in (demo / "cache").rglob("*.nb?"):
        path.write_bytes(b"not a kernel")
    out, err = python(CALL, demo)
    assert out == "8.0"
    assert "compiled answer" in err
    assert python(CALL, demo) == ("8.0", "")


def test_a_cache_that_cannot_be_written_costs_one_warning(demo):
    (demo / "file").write_text("in the way")
    code = "from demo.big import answer; print(answer(3.0), answer(3))"  # two kernels
    out, err = python(code, demo, LEASTACTION_CACHE_DIR=str(demo / "file" / "cache"))
    assert out == "8.0 8.0"
    assert err.count("leastaction cannot keep compiled kernels") == 1
    assert err.count("(not cached)") == 2


def test_kernels_of_other_sources_go_after_thirty_days(demo):
    cache = demo / "cache"
    old, recent, foreign = (cache / name for name in ("kernels-" + "0" * 20, "kernels-" + "1" * 20, "notes"))
    for directory, days in ((old, 31), (recent, 29), (foreign, 1000)):
        directory.mkdir(parents=True)
        (directory / "file").write_text("")
        os.utime(directory, (time.time() - days * 24 * 3600,) * 2)
    python(CALL, demo)
    assert not old.exists()
    assert recent.exists()
    assert foreign.exists()


def test_plain_python_without_the_compiler(demo):
    code = "import types; from demo.big import answer, twice, shift; "
    code += "print(answer(3.0), all(isinstance(f, types.FunctionType) for f in (answer, twice, shift)))"
    assert python(code, demo, NUMBA_DISABLE_JIT="1") == ("8.0 True", "")
    code = "from leastaction import spatial as s; V = ((0.1, 0.2, 0.3), (1.0, 2.0, 3.0)); "
    code += "print(max(abs(a - b) for x, y in zip(V, s.se3_log(s.se3_exp(V))) for a, b in zip(x, y)) < 1e-14)"
    assert python(code, SOURCE.parent, NUMBA_DISABLE_JIT="1") == ("True", "")


@pytest.mark.parametrize("wrappers", ["0", "1"])
def test_python_may_call_inner_functions(demo, wrappers):
    """Before and after a kernel has compiled them; without Numba's wrapper a call would crash the process."""
    code = "from demo.big import *; print(shift(3.0), answer(3.0), twice(3.0), shift(x=3.0))"
    out, _ = python(code, demo, LEASTACTION_WRAPPERS=wrappers)
    assert out == "4.0 8.0 8.0 4.0"


def test_importing_compiles_nothing():
    code = (
        "import leastaction, leastaction.spatial as s, leastaction._jit as j; "
        "functions = j.ENTRIES + [getattr(s, n) for n in s.__all__]; "
        "print(sum(len(getattr(f, 'signatures', ())) for f in functions))"
    )
    assert python(code, SOURCE.parent) == ("0", "")


def test_an_entry_point_is_a_plain_dispatcher():
    """So that a call of it costs no more than that of any compiled function."""

    @numba.njit
    def plain(x):
        return x

    count = len(_jit.ENTRIES)

    @_jit.entry(nogil=True)
    def point(x):
        return x

    assert type(point) is type(plain)
    assert _jit.ENTRIES[count:] == [point]
    _jit.ENTRIES.pop()


def test_not_a_number_stays_not_a_number():
    @_jit.inline
    def minus(x):
        return x - x

    assert minus(float("inf")) != minus(float("inf"))


def test_parts_without_kernels_compile_nothing():
    """Kernels are keyed by the sources of all other parts, so a kernel in these parts could go stale."""
    package = Path(_jit.__file__).parent
    for part in _jit.KERNEL_FREE:
        files = [package / part] if part.endswith(".py") else sorted((package / part).rglob("*.py"))
        for file in files:
            text = file.read_text() if file.exists() else ""
            for word in ("@entry", "@routine", "@inline", "njit"):
                assert word not in text, (file, word)


def test_no_part_calls_the_kernels_of_a_leaf_it_does_not_name():
    """Its own cached kernels would then not notice an edit of the leaf."""
    for module in pkgutil.walk_packages(leastaction.__path__, "leastaction."):
        importlib.import_module(module.name)
    for point in _jit.ENTRIES:
        if not point.__module__.startswith("leastaction."):
            continue  # of another test
        part = _jit._part(Path(inspect.getfile(_jit.cuda_source(point))))
        allowed = {_jit.CORE, part, *_jit.LEAVES.get(part, ())}
        for function in _called(_jit.cuda_source(point), set()):
            assert _jit._part(Path(inspect.getfile(function))) in allowed, (point, function)


def _called(function, seen):
    """All functions of the package that a kernel may reach through its globals."""
    names = [*function.__code__.co_names]
    for constant in function.__code__.co_consts:
        names += getattr(constant, "co_names", ())
    for name in names:
        target = _jit.cuda_source(function.__globals__.get(name))
        if (
            isinstance(target, types.FunctionType)
            and target.__module__.startswith("leastaction")
            and target not in seen
        ):
            seen.add(target)
            _called(target, seen)
    return seen
