"""Meshes with hollows in convex pieces; `coacd` itself where it is installed, else one that knows a single mesh."""

import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import leastaction as la
from leastaction.mechanism import Box, Mesh, Pose

CORNER = np.array([[0, 0], [2, 0], [2, 1], [1, 1], [1, 2], [0, 2]], float)


def bracket():
    """An L, one metre thick."""
    vertices = [[x, y, z] for z in (0.0, 1.0) for x, y in CORNER]
    flat = [(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)]
    faces = [(c, b, a) for a, b, c in flat] + [(a + 6, b + 6, c + 6) for a, b, c in flat]
    for k in range(6):
        j = (k + 1) % 6
        faces += [(k, j, j + 6), (k, j + 6, k + 6)]
    return Mesh(np.array(vertices), np.array(faces), name="bracket", friction=0.3, pose=Pose((0, 0, 0.5)))


def robot():
    b = la.MechanismBuilder("holder")
    b.body("holder", mass=2.0, inertia=1.0, shapes=(bracket(), Box((0.1, 0.1, 0.1))))
    b.revolute("pivot", "world", "holder")
    return b.build()


@pytest.fixture
def package(monkeypatch):
    """What decomposes: the package, or something that cuts the bracket at its corner."""
    if importlib.util.find_spec("coacd") is None:
        cut = ((0, 2), (0, 1)), ((0, 1), (1, 2))
        found = [(np.array([[x, y, z] for x in xs for y in ys for z in (0, 1)]), None) for xs, ys in cut]
        own = SimpleNamespace(set_log_level=lambda level: None, Mesh=lambda *a: a, run_coacd=lambda mesh, **o: found)
        monkeypatch.setitem(sys.modules, "coacd", own)


def test_pieces_fill_the_mesh_and_leave_its_hollow(package):
    before = robot()
    after = la.robots.decompose(before, "holder")
    seen, *pieces, box = after.bodies[0].shapes
    assert (seen.collision, seen.visual, box) == (False, True, before.bodies[0].shapes[1])
    assert len(pieces) >= 2
    for piece in pieces:
        assert (piece.collision, piece.visual, piece.name, piece.friction) == (True, False, "bracket", 0.3)
        assert piece.pose == bracket().pose
    volumes = [piece.volume() for piece in pieces]
    assert sum(volumes) == pytest.approx(3.0, rel=0.02)
    assert after.bodies[0].inertia == before.bodies[0].inertia
    assert la.robots.decompose(after) == after  # nothing is left to do


def test_only_what_is_named_and_refusals(monkeypatch):
    assert la.robots.decompose(robot(), "world") == robot()
    with pytest.raises(la.MechanismError, match=r"there is no 'holdr' in 'holder'.*'holder'"):
        la.robots.decompose(robot(), ["holdr"])
    with pytest.raises(la.MechanismError, match="concavity"):
        la.robots.decompose(robot(), concavity=0.0)
    monkeypatch.setitem(sys.modules, "coacd", None)  # as if it were not installed
    with pytest.raises(la.MissingExtraError, match=r"leastaction\[convex\]"):
        la.robots.decompose(robot())
