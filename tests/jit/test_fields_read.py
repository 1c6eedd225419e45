"""What functions read of their bundles, told before any types are known: too little would let wrong code be shared."""

import sys
from typing import Any, NamedTuple

import pytest

from leastaction._jit import hooks, inline, routine

if hooks.why_stock():
    pytest.skip(hooks.why_stock(), allow_module_level=True)

from leastaction._jit.hooks.reads import WHOLE, fields_read

HERE = sys.modules[__name__]


class Pair(NamedTuple):
    """Two of anything."""

    first: Any
    second: Any


@inline
def first_of(pair, k):
    return pair.first[k]


@routine
def through_names(pair):
    known = pair
    inner = known.second
    return first_of(inner, k=0)


@routine
def through_a_module(pair):
    return HERE.first_of(pair, 0)


def calling(function):
    @routine
    def call(pair):
        return function(pair, 1)

    return call


through_a_closure = calling(first_of)


@routine
def in_a_loop(pair, count):
    total = 0.0
    for k in range(count):
        inner = pair.second
        total += inner.first[k]
    return total


@routine
def whether_none(pair):
    return 0.0 if pair.second is None else 1.0


@routine
def written(pair):
    pair.first[0] = 1.0


@routine
def calls_itself(pair, k):
    return 0.0 if k == 0 else pair.second[k] + calls_itself(pair, k - 1)


@routine
def given_back(pair):
    return pair


@routine
def by_index(pair):
    return pair[0]


@routine
def taken_apart(pair):
    a, _ = pair
    return a


@routine
def put_together(pair):
    return Pair(pair, 1.0).first.second


@routine
def one_of_two(pair, k):
    chosen = pair.first if k > 0 else pair.second
    return chosen.first


@routine
def assigned_anew(pair, k):
    if k > 0:
        pair = pair.second
    return pair.first


@routine
def beside_a_condition(pair, k):
    return first_of(pair, 1 if k > 0 else 0)


@routine
def compared(pair):
    return pair == pair


@routine
def by_a_function_of_python(pair):
    return len(pair)


@routine
def in_a_closure(pair):
    return sum([pair.first[k] for k in range(2)])


ALL = {WHOLE: {}}


@pytest.mark.parametrize(
    ("function", "reads"),
    [
        (first_of, {"first": ALL}),
        (through_names, {"second": {"first": ALL}}),
        (through_a_module, {"first": ALL}),
        (through_a_closure, {"first": ALL}),
        (in_a_loop, {"second": {"first": ALL}}),
        (whether_none, {"second": {}}),
        (written, {"first": ALL}),
    ],
)
def test_fields_that_are_read(function, reads):
    assert fields_read(function.py_func)[0] == reads


@pytest.mark.parametrize(
    "function",
    [
        calls_itself,
        given_back,
        by_index,
        taken_apart,
        put_together,
        assigned_anew,
        beside_a_condition,
        compared,
        by_a_function_of_python,
        in_a_closure,
    ],
)
def test_what_does_more_with_a_bundle_needs_all_of_it(function):
    assert WHOLE in fields_read(function.py_func)[0]


def test_a_field_that_may_be_another_one_is_needed_whole():
    assert fields_read(one_of_two.py_func)[0] == {"first": ALL, "second": ALL}
