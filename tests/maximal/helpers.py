"""What the tests of maximal coordinates share."""

import numpy as np

import leastaction as la
from tests.minimal.helpers import slopes

ORDERS = (1, 2, 4, 6)


def method(order, **settings):
    """Maximal coordinates, solved to round-off unless told otherwise."""
    return la.Maximal(order=order, **({"tolerance": 1e-12} | settings))


def assert_order(robot, order, reference, duration, counts, within=0.15, **options):
    """The error at fixed times falls as dt^order, in q, v and p (first order at least as fast)."""
    observed = slopes(robot, method(order), reference, duration, counts, **options)
    off = order - observed if order == 1 else np.abs(observed - order)
    assert off.max() <= within, observed
