"""The compile decorators: what is compiled when, what is kept on disk, and what an edit does to it."""

import collections
import gc
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

import numba
import numpy as np
import pytest
from numba import types
from numba.core import itanium_mangler
from numba.core.types.functions import BaseFunction

import leastaction
from leastaction import _jit
from leastaction._jit.fingerprint import describe_types
from leastaction._jit.hooks.numba_patches import patched_numba

SOURCE = Path(leastaction.__file__).parent

SMALL = """
from demo._jit import inline

@inline
def shift(x):
    return x + 1.0
"""

REACHED = """
from collections import namedtuple
from demo._jit import inline, routine

ONE = 1.0
TABLE = (1.0, 2.0)
Pair = namedtuple('Pair', 'first second')

@inline
def shift(x):
    \"\"\"Add one.\"\"\"
    # why
    pair = Pair(x, TABLE[0])
    return pair.first + ONE

@inline
def back(x):
    return x - 1.0
"""

OTHER = """
from demo._jit import routine

@routine
def factor():
    return 2.0
"""

UNUSED = """
from demo import other

def unused(x):
    return x
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
    shutil.copytree(SOURCE / "_jit", package / "_jit")
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


def test_code_older_than_its_source_is_not_taken_for_the_new_one(demo):
    """A process that imported the package before an edit may not leave its kernels to the next."""
    edit = "import demo.big, pathlib; f = pathlib.Path(demo.__file__).parent / 'small.py'; "
    edit += "f.write_text(f.read_text().replace('x + 1.0', 'x + 2.0')); print(demo.big.answer(3.0))"
    assert python(edit, demo)[0] == "8.0"
    assert python(CALL, demo)[0] == "10.0"


BEFORE: list[str] = []


@pytest.mark.parametrize(
    ("file", "old", "new", "kept"),
    [
        ("small.py", "ONE = 1.0", "ONE = 2.0", False),
        ("small.py", "TABLE = (1.0, 2.0)", "TABLE = (1.0, 3.0)", False),
        ("small.py", "'first second'", "'second first'", False),
        ("small.py", "@inline", "@routine(error_model='python')", False),
        ("small.py", "# why", "# why not\n", True),
        ("small.py", '"""Add one."""', '"""Add one, and more."""', True),
        ("small.py", "return x - 1.0", "return x - 2.0", True),
        ("other.py", "return 2.0", "return 3.0", False),
        ("big.py", "return twice(x)", "return twice(twice(x))", False),
        ("big.py", "def unused(x):", "def unused(x, y):", True),
    ],
)
def test_only_edits_of_what_a_kernel_reaches_count(demo, file, old, new, kept):
    (demo / "demo" / "small.py").write_text(REACHED)
    (demo / "demo" / "other.py").write_text(OTHER)
    (demo / "demo" / "big.py").write_text(BIG.replace("2.0 * shift(x)", "other.factor() * shift(x)") + UNUSED)
    code = "from demo.big import answer; from demo._jit.fingerprint import fingerprint; print(fingerprint(answer))"
    if not BEFORE:  # the same in every folder
        BEFORE.append(python(code, demo)[0])
    path = demo / "demo" / file
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    assert ([python(code, demo, PYTHONHASHSEED="7")[0]] == BEFORE) == kept


def test_named_tuples_of_other_fields_are_other_arguments():
    """Numba names them by their class alone."""
    one, other = (numba.typeof(collections.namedtuple("Pair", names)(1.0, 2.0)) for names in ("a b", "b a"))
    assert str(one) == str(other)
    nested = [(types.Tuple([pair, types.int64]),) for pair in (one, other)]
    assert describe_types(nested[0]) != describe_types(nested[1])
    assert describe_types((one,)) != describe_types((other,))


def test_damaged_kernels_are_compiled_again(demo):
    python(CALL, demo)
    for path in (demo / "cache").rglob("*.nbc"):
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
    assert err.count("(not cached)") == 1  # for both


def test_a_disk_that_is_full_costs_one_warning(demo):
    full = """
import errno, pathlib
def write_bytes(self, data):
    with open(self, "wb") as file:
        file.write(data[:10])
    raise OSError(errno.ENOSPC, "No space left on device")
pathlib.Path.write_bytes = write_bytes
"""
    out, err = python(full + CALL, demo)
    assert out == "8.0"
    assert err.count("cannot keep compiled kernels") == 1
    assert not [file for file in (demo / "cache").rglob("*") if file.is_file()], "nothing half written is left"
    assert python(CALL, demo)[0] == "8.0"


def test_kernels_go_thirty_days_after_their_last_use(demo):
    folder = demo / "cache" / "kernels"
    folder.mkdir(parents=True)
    old, recent, foreign = (folder / name for name in ("a-0.nbc", "a-1.nbc", "notes"))
    for file, days in ((old, 31), (recent, 29), (foreign, 1000)):
        file.write_text("")
        os.utime(file, (time.time() - days * 24 * 3600,) * 2)
    python(CALL, demo)
    assert not old.exists()
    assert recent.exists()
    assert foreign.exists()

    kernel = next(folder.glob("demo.big.answer-*.nbc"))
    os.utime(kernel, (time.time() - 29 * 24 * 3600,) * 2)
    python(CALL, demo)
    assert time.time() - kernel.stat().st_mtime < 3600


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


def test_other_compiled_functions_may_call_inner_ones(demo):
    """Which is all the more as entry points take them apart: each has but its own code."""
    code = "import numba; from demo.big import twice, answer; f = numba.njit(lambda x: twice(x) + twice(2.0 * x)); "
    code += "print(f(3.0), answer(3.0), f(3.0), numba.njit(lambda x: answer(x))(3.0))"
    for _ in range(2):  # compiled, and from disk
        assert python(code, demo)[0] == "22.0 8.0 22.0 8.0"


def test_environments_of_inner_functions_are_known(demo):
    """Exceptions with a value made at run time need them, in the process that compiled and in the next."""
    small = SMALL.replace("inline", "routine").replace("@routine", "@routine(allocates=True)")
    small = small.replace("    return x", "    if x < 0.0:\n        raise ValueError('negative', x)\n    return x")
    (demo / "demo" / "small.py").write_text(small)
    code = "from demo.big import answer\ntry:\n    answer(-3.0)\nexcept ValueError as e:\n    print(e.args)"
    for _ in range(2):
        assert python(code, demo)[0] == "('negative', -3.0)"


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


@_jit.routine(allocates=False)
def _tail(x):
    return x[1:], len(x) - 1


@_jit.routine(allocates=False)
def _sum_of_tail(x):
    total = 0.0
    tail, count = _tail(x)
    for k in range(count):
        total += tail[k]
    return total


@_jit.routine(allocates=True)
def _sum_of_squares(x):
    squares = x * x
    return squares.sum()


def test_kernels_borrow_arrays_and_may_call_those_that_make_some():
    point = _jit.entry(lambda x: _sum_of_tail(x) + _sum_of_squares(x), allocates=False)
    _jit.ENTRIES.pop()
    x = np.arange(3.0)
    count = sys.getrefcount(x)
    assert [point(x) for _ in range(3)] == [8.0] * 3
    assert sys.getrefcount(x) == count


@pytest.mark.parametrize(
    ("allocates", "function", "message"),
    [
        (False, lambda x: (x * x)[0], "declare it with allocates=True"),
        (False, lambda x: (x[1:], 0), "gives back an array"),
        (True, lambda x: _tail(x)[1], "takes an array from _tail"),
    ],
)
def test_arrays_that_nobody_would_own_are_refused(allocates, function, message):
    point = _jit.entry(function, allocates=allocates)
    _jit.ENTRIES.pop()
    with pytest.raises(numba.core.errors.NumbaError, match=message):
        point(np.arange(3.0))


def test_not_a_number_stays_not_a_number():
    @_jit.inline
    def minus(x):
        return x - x

    assert minus(float("inf")) != minus(float("inf"))


def test_patches_leave_numba_as_it_was():
    def touched():
        return BaseFunction.get_call_type, itanium_mangler.mangle, gc.isenabled()

    before = touched()
    with patched_numba():
        assert all(now != then for now, then in zip(touched(), before, strict=True))
    assert touched() == before


def test_names_of_functions_are_short_and_tell_their_arguments_apart():
    """Numba's own hold every field of every argument, once in each call."""
    record = numba.typeof(np.zeros(2, [(f"field{k}", float) for k in range(50)]))
    arguments = (record, types.float64), (record, types.int64), (types.float64, record), (record,)
    with patched_numba():
        names = [itanium_mangler.mangle("module.function", kinds, abi_tags=("tag",), uid=7) for kinds in arguments]
        names.append(itanium_mangler.mangle("module.function", arguments[0], abi_tags=("other",), uid=7))
        names.append(itanium_mangler.mangle("module.function", arguments[0], abi_tags=("tag",), uid=8))
        again = itanium_mangler.mangle("module.function", arguments[0], abi_tags=("tag",), uid=7)
    assert len(set(names)) == len(names)
    assert names[0] == again
    assert max(map(len, names)) < 80


class _Pair(NamedTuple):
    a: Any
    b: Any


class _Bundle(NamedTuple):
    factor: float
    pair: _Pair
    rows: Any
    nothing: Any


@_jit.routine
def _weighted(pair, k):
    total = 0.0
    for i in range(pair.a.shape[0]):
        pair.b[i] += k
        total += pair.a[i] * pair.b[i]
    return total


@_jit.routine
def _of_bundle(bundle, swapped):
    """The pair of a bundle, or a new one, and what is in it before and after it was written to."""
    pair = bundle.pair
    if swapped:
        pair = _Pair(bundle.rows, pair.a)
    before = pair.b[0]
    total = _weighted(pair, 1) + _weighted(pair, 2) + _weighted(bundle.pair, 3)
    return bundle.factor * total + before + pair.b[0]


def test_bundles_are_passed_by_reference():
    """Kernels see what others write to the arrays of a bundle, whether it was handed on or made on the way."""
    point = _jit.entry(lambda bundle, swapped: _of_bundle(bundle, swapped))
    _jit.ENTRIES.pop()
    for swapped in (False, True):
        compiled, plain = (_Bundle(2.0, _Pair(np.arange(3.0), np.ones(3)), np.full(3, 5.0), None) for _ in range(2))
        expected = _in_python(plain, swapped)
        assert point(compiled, swapped) == expected
        np.testing.assert_array_equal(compiled.pair, plain.pair)
    # None where the entry point came from the cache.
    assert len(_weighted.overloads) <= 1, "a function is not compiled again for each constant"


def _in_python(bundle, swapped):
    def weighted(pair, k):
        pair.b[:] += k
        return pair.a @ pair.b

    pair = _Pair(bundle.rows, bundle.pair.a) if swapped else bundle.pair
    before = pair.b[0]
    total = weighted(pair, 1) + weighted(pair, 2) + weighted(bundle.pair, 3)
    return bundle.factor * total + before + pair.b[0]


@_jit.routine
def _root(x):
    if x < 0.0:
        raise ValueError("a negative number")
    return x**0.5


@_jit.routine
def _sum_of_roots(x):
    return _root(x) + _root(x + 1.0)


def test_errors_of_inner_functions_reach_python():
    point = _jit.entry(lambda x: _sum_of_roots(x))
    _jit.ENTRIES.pop()
    assert point(0.0) == 1.0
    with pytest.raises(ValueError, match="a negative number"):
        point(-0.5)


def test_notebooks_are_told_that_a_kernel_compiles(monkeypatch, capsys):
    """Who waits at a screen that is no terminal; a log only hears of what takes long, and of all else in the end."""
    from leastaction._jit import messages
    from leastaction._jit.messages import report_compilation

    monkeypatch.setenv("LEASTACTION_QUIET", "0")
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    report_compilation("rollout")
    for name in ("rollout", "rollout", "contact"):
        report_compilation(name, 0.1, "not cached")
    assert capsys.readouterr().err == ""
    messages._sum_up()
    messages._sum_up()  # has nothing more to say
    assert capsys.readouterr().err == "leastaction: compiled rollout, contact in 0.3 s (not cached)\n"
    assert not messages._waiting
    monkeypatch.setattr(messages, "PATIENCE", 0.001)
    report_compilation("rollout")
    messages._waiting["rollout"].join(10.0)
    report_compilation("rollout", 3.0, "not cached")
    first, second = capsys.readouterr().err.splitlines()
    assert first == "leastaction: compiling rollout, once ..."
    assert second.startswith("leastaction: compiled rollout")
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    report_compilation("rollout")
    assert capsys.readouterr().err == "leastaction: compiling rollout, once ...\n"


@pytest.mark.parametrize(
    ("module", "name", "words"),
    [
        ("maximal.step.rollout", "rollout", "Maximal"),
        ("maximal.step.rollout", "rollout_with_contact", "Maximal with contact"),
        ("maximal.derivatives.kernels", "backward", "gradients of Maximal"),
        ("minimal.contact.rollout", "rollout", "Minimal"),
        ("minimal.any", "rollout", "Galerkin"),
        ("elsewhere", "rollout", "rollout"),
    ],
)
def test_kernels_are_named_by_what_users_know(module, name, words):
    from leastaction._jit.messages import subject

    assert subject(SimpleNamespace(__module__=f"leastaction.{module}", __name__=name)) == words


def test_names_of_packages_that_have_kernels_are_there():
    from leastaction._jit.messages import _SUBJECTS

    assert [name for name in _SUBJECTS if not (SOURCE / name.replace(".", "/")).is_dir()] == []
