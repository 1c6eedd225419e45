"""Functions that kernels call are kept on disk by themselves: kernels of other processes take them from there."""

import os
import pickle
import shutil
import time

import pytest

from leastaction._jit.hooks.function_cache import CachedFunction
from tests.jit.test_jit import BIG, SMALL, demo, python

__all__ = ["demo"]

MORE = """
@routine
def root(x):
    if x < 0.0:
        raise ValueError("below zero")
    return math.sqrt(max(x, 1e-3))

def scaled(k):
    @inline
    def scale(x):
        return k * max(x, 0.5)
    return scale

double, triple = scaled(2.0), scaled(3.0)

@entry
def first(x):
    return double(twice(x)) + 0.0 * triple(x) + root(x)

@entry
def second(x):
    return triple(twice(x)) + root(double(x))
"""

TYPED = """
from numba.core.typed_passes import NopythonTypeInference as Typing
import leastaction
ordinary, typed = Typing.run_pass, []
def run_pass(self, state):
    if state.func_id.module.__name__ == "demo.big" or state.func_id.module.__name__ == "demo.small":
        typed.append(state.func_id.func_name)
    return ordinary(self, state)
Typing.run_pass = run_pass
from demo import big
"""
"""Records which functions of the package Numba looks at."""


BUNDLES = """
from typing import Any, NamedTuple
import numpy as np
from demo._jit import entry, routine

class Springs(NamedTuple):
    stiffness: Any
    rest: Any

class Model(NamedTuple):
    extra: Any
    springs: Any
    mass: Any
    own: Any
    weights: Any

@routine
def weigh(model, k):
    mass = model.mass
    return mass[k] * model.weights[k] + model.own.rest[k]

@routine
def total(model, count):
    out = 0.0
    for k in range(count):
        out += weigh(model, k=k)
    return out

@routine
def pull(springs, k):
    if springs is None:
        return 0.0
    return springs.stiffness[k] * springs.rest[k]

@routine
def either(model, other, k):
    chosen = model if k > 1 else other
    return chosen.mass[k]

@routine
def everything(model, k):
    pair = model, k
    return pair[0].mass[pair[1]] + pair[0].own.stiffness[k]

@routine
def sums(model):
    return total(model, 3), pull(model.springs, 1), pull(model.own, 1), either(model, model, 2), everything(model, 2)

@entry
def without(parts):
    return sums(Model(None, None, parts[0], Springs(*parts[1]), parts[2]))

@entry
def having(parts):
    return sums(Model(parts[3], None, parts[0], Springs(*parts[1]), parts[2]))

x = np.arange(1.0, 5.0)
plain = x, (2.0 * x, x), x
"""


@pytest.fixture
def bundles(demo):
    """The package, with functions that read a few fields of their bundles."""
    (demo / "demo" / "bundles.py").write_text(BUNDLES)
    return demo


@pytest.fixture
def family(demo):
    """The package, with two entry points that call the same functions."""
    (demo / "demo" / "big.py").write_text("import math\nfrom demo._jit import inline\n" + BIG + MORE)
    return demo


def told(code, root, **environment):
    environment["LEASTACTION_QUIET"] = "1"
    return python(f"{TYPED}\n{code}\nprint(sorted(typed))", root, **environment)[0].splitlines()


def read_part(file):
    return CachedFunction(*pickle.loads(file.read_bytes()))


def test_a_kernel_is_made_of_what_others_left(family):
    value, typed = told("print(big.first(3.0))", family)
    assert float(value) == pytest.approx(16.0 + 3.0**0.5)
    assert typed == "['first', 'root', 'scale', 'scale', 'shift', 'twice']"
    assert told("print(big.second(3.0))", family) == [repr(24.0 + 6.0**0.5), "['second']"]
    # Also in one process, and in the other order.
    assert told("print(big.second(3.0), big.first(3.0))", family) == [f"{24.0 + 6.0**0.5!r} {16.0 + 3.0**0.5!r}", "[]"]


def test_what_was_edited_and_its_callers_are_compiled_again(family):
    told("big.first(3.0)", family)
    (family / "demo" / "small.py").write_text(SMALL.replace("x + 1.0", "x + 2.0"))
    value, typed = told("print(big.second(3.0))", family)
    assert float(value) == pytest.approx(30.0 + 6.0**0.5)
    assert typed == "['second', 'shift', 'twice']"


def test_a_part_of_any_process_serves_callers_of_all_others(family):
    """Processes that compile at once write the same files; callers find what they call by its name in LLVM's code."""
    names = []
    for seed in ("1", "2"):
        told("big.first(3.0)", family, PYTHONHASHSEED=seed)
        folder = family / "cache" / "parts"
        names.append({file.name: read_part(file).name for file in folder.iterdir()})
        folder.rename(family / f"parts{seed}")
        (family / "cache" / "kernels").rename(family / f"kernels{seed}")
    assert names[0]
    assert names[0] == names[1]
    # Half of each.
    (family / "cache" / "parts").mkdir()
    for k, name in enumerate(sorted(names[0])):
        (family / f"parts{1 + k % 2}" / name).rename(family / "cache" / "parts" / name)
    assert told("print(big.second(3.0))", family) == [repr(24.0 + 6.0**0.5), "['second']"]


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_damaged_parts_are_compiled_again(family, damage):
    told("big.first(3.0)", family)
    for file in sorted((family / "cache" / "parts").iterdir()):
        file.write_bytes(file.read_bytes()[:100]) if damage == "cut" else file.unlink()
    value, typed = told("print(big.second(3.0))", family)
    assert float(value) == pytest.approx(24.0 + 6.0**0.5)
    assert "'twice'" in typed


def test_errors_come_out_of_parts_from_disk(family):
    told("big.first(3.0)", family)
    code = "try:\n    big.second(-3.0)\nexcept ValueError as error:\n    print(error)"
    # max(-6, 0.5) is above zero: the root of the other entry point is what fails.
    assert told("print(big.second(-3.0) > 0.0)", family)[0] == "True"
    code = code.replace("second", "first")
    (family / "cache" / "kernels").rename(family / "cache" / "away")
    assert told(code, family) == ["below zero", "['first']"]


def test_parts_go_thirty_days_after_their_last_use(family):
    folder = family / "cache" / "parts"
    folder.mkdir(parents=True)
    old, recent = folder / "0.part", folder / "1.part"
    for file, days in ((old, 31), (recent, 29)):
        file.write_text("")
        os.utime(file, (time.time() - days * 24 * 3600,) * 2)
    told("big.first(3.0)", family)
    assert not old.exists()
    assert recent.exists()
    for file in folder.iterdir():
        os.utime(file, (time.time() - 29 * 24 * 3600,) * 2)
    told("big.second(3.0)", family)
    assert any(time.time() - file.stat().st_mtime < 3600 for file in folder.iterdir())


def test_machine_code_is_made_once(family):
    """A second kernel of the same functions makes machine code of itself alone, and its file serves without theirs."""
    count = """
import demo._jit.hooks.libraries as libraries
made, true = [], libraries.machine_code
libraries.machine_code = lambda codegen, part, name: made.append(name) or true(codegen, part, name)
"""
    told(count + "big.first(3.0)\nassert len(made) >= 2", family)
    told(count + "big.second(3.0)\nassert not made", family)
    (family / "cache" / "parts").rename(family / "away")
    assert told("print(big.second(3.0), big.first(3.0))", family)[0] == f"{24.0 + 6.0**0.5!r} {16.0 + 3.0**0.5!r}"


@pytest.mark.parametrize("fresh", [True, False], ids=["compiled", "from disk"])
def test_code_of_users_has_no_names_of_parts(family, fresh):
    """LLVM may change the arguments of functions inside it, and one table has all names: kernels would call these."""
    if not fresh:
        told("big.first(3.0)", family)
    code = """
import numba
from llvmlite.binding import Linkage
print(numba.njit(lambda x: big.first(x))(3.0))
library = next(iter(big.first.overloads.values())).library
inside = [f for f in library._get_module_for_linking().functions if not f.is_declaration]
print(sorted({f.linkage.name for f in inside if "twice" in f.name or "root" in f.name}))
"""
    value, kinds, _ = told(code, family)
    assert float(value) == pytest.approx(16.0 + 3.0**0.5)
    assert kinds == "['private']"


def parts_of(code, root):
    """Which parts a process leaves when it begins without any."""
    shutil.rmtree(root / "cache", ignore_errors=True)
    out = python(f"from demo.bundles import *; print({code})", root)[0]
    return out, {file.name: read_part(file) for file in (root / "cache" / "parts").iterdir()}


@pytest.mark.parametrize(
    ("code", "sums", "own"),
    [
        ("having((*plain, np.ones((2, 2))))", (20.0, 0.0, 8.0, 3.0, 9.0), {"sums", "either", "everything"}),
        ("having((*plain, 3.0))", (20.0, 0.0, 8.0, 3.0, 9.0), {"sums", "either", "everything"}),
        ("without((x, (np.arange(4), x), x))", (20.0, 0.0, 2.0, 3.0, 5.0), {"sums", "either", "everything", "pull"}),
    ],
    ids=["an array for None", "a number for None", "a field of a field"],
)
def test_bundles_that_agree_where_they_are_read_share_code(bundles, code, sums, own):
    """What does not read the field in which two bundles differ is compiled once, and it is the same from either."""
    out, first = parts_of("without(plain)", bundles)
    assert out == "(20.0, 0.0, 8.0, 3.0, 9.0)"
    out, second = parts_of(code, bundles)
    assert out == str(sums)
    shared = first.keys() & second.keys()
    assert {name: first[name] for name in shared} == {name: second[name] for name in shared}
    for function in ("weigh", "total", "pull", "sums", "either", "everything"):
        keys = [
            {key for key, part in parts.items() if f"{len(function)}{function}" in part.name}
            for parts in (first, second)
        ]
        assert keys[0], function
        assert (keys[0] == keys[1]) == (function not in own), function
