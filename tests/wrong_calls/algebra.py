"""Spatial algebra, called wrongly from Python."""

import inspect

import numpy as np

from leastaction import spatial
from leastaction.spatial._argument_checks import entries_of, fits, kinds_of
from tests.wrong_calls.kinds import HUGE, ODD, Call

TWIST = ((0.1, 0.2, 0.3), (0.4, 0.5, 0.6))
EYE = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
VALID = {
    0: 0.5,
    -1: 1,
    3: (0.1, 0.2, 0.3),
    4: (1.0, 0.0, 0.0, 0.0),
    6: (1.0, 0.0, 0.0, 1.0, 0.0, 1.0),
    9: EYE,
    (3, 3): TWIST,
    (9, 3): (EYE, (0.1, 0.2, 0.3)),
    (9, 9): (EYE, EYE),
    (0, 3, 6): (1.0, (0.1, 0.2, 0.3), (1.0, 0.0, 0.0, 1.0, 0.0, 1.0)),
}
# Numba itself says that it cannot tell what an empty list holds.
THINGS = [*VALID.values(), "a", b"a", None, ODD, {}, 1j, True, HUGE, (1.0, 2.0), [0.1, 0.2, 0.3], (ODD,) * 3]
THINGS += [("a", "b", "c"), ((1.0, 2.0), (3.0, 4.0)), np.zeros(2), np.zeros((3, 3)), np.zeros(3, complex)]
THINGS += [np.array(["a"] * 3), (1.0, 2.0, HUGE), np.float64(1.0), (None,) * 9, (TWIST, TWIST), -1, 10**9]
ARRAYS = ["a", 3, 1.0, None, ODD, [0.0] * 10, (0.0,) * 10, np.zeros(2), np.zeros(0), np.zeros((10, 10))]
ARRAYS += [np.zeros(10, int), np.zeros(10, complex), np.array(["a"] * 10)]
READ_ONLY = np.zeros(20)
READ_ONLY.flags.writeable = False


def algebra():
    """`leastaction.spatial`: what an argument is, its name tells; each of another kind is wrong."""
    for name in spatial.__all__:
        function = getattr(spatial, name)
        if not callable(function):
            continue
        plain = getattr(function, "py_func", function)
        entries, kinds = entries_of(plain), kinds_of(plain)
        valid, wrong = {}, {}
        for x in inspect.signature(plain).parameters:
            if x == "a" and entries:
                valid[x] = np.zeros(20)
                wrong[x] = ARRAYS if name.startswith("load") else [*ARRAYS, READ_ONLY]
            else:
                valid[x] = VALID[kinds[x]]
                wrong[x] = [thing for thing in THINGS if not fits(thing, kinds[x])]
        if "o" in valid:
            wrong["o"] += [-1, 15, 10**9]
        if name == "column":
            wrong["k"] += [-1, 3]
        yield Call(f"spatial.{name}", function, valid, wrong, works=name in ("cross", "store6_at", "column"))
