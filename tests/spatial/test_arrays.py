"""Tuples go into arrays and come back, from plain arrays and from fields of records."""

import numpy as np
import pytest

from leastaction import spatial
from leastaction._jit import entry

PAIRS = [
    (spatial.load3, spatial.store3, 3),
    (spatial.load4, spatial.store4, 4),
    (spatial.load6, spatial.store6, 6),
    (spatial.load9, spatial.store9, 9),
    (spatial.load_sym, spatial.store_sym, 6),
    (spatial.load_inertia, spatial.store_inertia, 10),
]


@pytest.mark.parametrize(("load", "store", "size"), PAIRS)
def test_store_writes_what_load_reads_and_nothing_else(load, store, size):
    source = np.arange(1.0, size + 3.0)
    target = np.zeros(size + 2)
    store(target, load(source))
    assert target.tolist() == [*range(1, size + 1), 0.0, 0.0]


def test_shapes_of_the_tuples():
    a = np.arange(10.0)
    assert spatial.load6(a) == ((0.0, 1.0, 2.0), (3.0, 4.0, 5.0))
    assert spatial.load_inertia(a) == (0.0, (1.0, 2.0, 3.0), (4.0, 5.0, 6.0, 7.0, 8.0, 9.0))


def test_offsets():
    a = np.zeros(9)
    V = ((1.0, 2.0, 3.0), (4.0, 5.0, 6.0))
    spatial.store6_at(a, 2, V)
    assert a.tolist() == [0, 0, 1, 2, 3, 4, 5, 6, 0]
    assert spatial.load6_at(a, 2) == V
    spatial.add6_at(a, 3, V)
    assert a.tolist() == [0, 0, 1, 3, 5, 7, 9, 11, 6]


@entry
def _carry(bodies):
    """Pass a twist from each record to the next, doubled."""
    for i in range(1, bodies.shape[0]):
        spatial.store6(bodies[i].twist, spatial.scale(2.0, spatial.load6(bodies[i - 1].twist)))
        spatial.store_inertia(bodies[i].inertia, spatial.load_inertia(bodies[i - 1].inertia))


def test_fields_of_records():
    layout = np.dtype([("mass", "f8"), ("twist", "f8", 6), ("inertia", "f8", 10)])
    bodies = np.zeros(3, layout).view(np.recarray)
    bodies[0].twist = np.arange(6.0)
    bodies[0].inertia = np.arange(10.0)
    _carry(bodies)
    assert bodies.twist[2].tolist() == [0.0, 4.0, 8.0, 12.0, 16.0, 20.0]
    assert bodies.inertia[2].tolist() == list(range(10))
