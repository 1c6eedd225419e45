"""What robots hold stays where it is: no creep, no penetration, and the task is done."""

import pytest

import leastaction as la
from benchmarks.manipulation import CREEP, DEPTH, DONE, SCENES, ours


@pytest.mark.parametrize("engine", [la.Maximal(), la.Minimal()], ids=["maximal", "minimal"])
@pytest.mark.parametrize("name", SCENES)
def test_nothing_creeps(name, engine):
    _, _, creep, depth, off = ours(SCENES[name](), engine)
    assert creep <= CREEP
    assert depth <= DEPTH
    assert off <= DONE
