"""Tendons with limits alone: elimination goes round what they tie while they are slack, and nothing else changes."""

import numpy as np
import pytest

import leastaction as la
from leastaction.maximal.contact_graph import Layout
from leastaction.maximal.stepper import MaximalStepper

LINKS = 6


def chain(longest: float) -> la.Mechanism:
    """A hanging chain of six links, with a string of at most so much length over points of all of them [m]."""
    builder = la.MechanismBuilder("chain")
    for k in range(LINKS):
        builder.body(f"link{k}", mass=1.0, com=(0, 0, -0.5), inertia=0.1)
        parent, place = (f"link{k - 1}", (0, 0, -1)) if k else ("world", (0, 0, 0))
        builder.revolute(f"hinge{k}", parent, f"link{k}", axis=(0, 1, 0), position=place, damping=0.05)
    via = [(f"link{k}", (0.1, 0, -0.5)) for k in range(LINKS)]
    builder.tendon("string", via=via, limits=(0.0, longest), limit_stiffness=2e3, limit_damping=5.0)
    return builder.build()


def run(robot: la.Mechanism) -> la.Trajectory:
    return la.simulate(robot, q=np.linspace(0.5, -0.4, LINKS), dt=0.005, steps=200, integrator=la.Maximal())


@pytest.mark.parametrize("longest", [9.0, 4.9], ids=["slack", "acts"])
def test_runs_are_those_with_all_bodies_tied(longest, monkeypatch):
    robot = chain(longest)
    graph = MaximalStepper(la.Maximal(), robot, 0.005)
    pairs = {(i, j) for i in range(LINKS) for j in range(i + 1, LINKS)}
    assert graph.model.slack == {(i, j) for i, j in pairs if j > i + 1}
    out, lay_out = run(robot), Layout._lay_out

    def tied(self, *arguments):
        self.flat.slack = frozenset()
        return lay_out(self, *arguments)

    monkeypatch.setattr(Layout, "_lay_out", tied)
    np.testing.assert_allclose(out.q, run(robot).q, atol=1e-9)
    length = np.array([la.dynamics.body_poses(robot, q)[:, :3, 3].sum() for q in out.q])
    assert np.ptp(length) > 1e-3  # it moves


def test_strings_with_springs_stay_tied():
    builder = chain(9.0).edit()
    builder.tendon("spring", via=[(f"link{k}", (0.1, 0, -0.5)) for k in range(LINKS)], stiffness=10.0)
    assert MaximalStepper(la.Maximal(), builder.build(), 0.005).model.slack == frozenset()
