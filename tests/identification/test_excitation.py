"""Motions that tell more of parameters than random ones, within limits; and which parameters any motion tells."""

from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction import dynamics
from leastaction.errors import IdentificationError
from leastaction.identification import base_parameters, design_excitation
from tests.identification.arms import SECOND, arm
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import random_state, random_tree

NAMES = ["mass:fore", "com:fore", "damping:elbow", "damping:shoulder"]


@pytest.fixture(scope="module")
def designed():
    return design_excitation(arm(), NAMES, duration=2.0, harmonics=3, evaluations=8)


def test_it_tells_more_than_what_the_search_begins_with(designed):
    assert designed.information > designed.first_information + 0.1


def test_it_starts_and_ends_at_rest_at_the_same_place(designed):
    ends = [0, -1]
    assert_close(designed.q[0], designed.q[-1], 1e-9)
    assert_close(designed.v[ends], np.zeros((2, 2)), 1e-9)
    assert_close(designed.a[ends], np.zeros((2, 2)), 1e-8)


def test_velocities_are_those_of_the_positions(designed):
    assert_close(np.gradient(designed.q, designed.dt, axis=0)[1:-1], designed.v[1:-1], 5e-3)


def test_it_stays_within_limits():
    """Of positions, velocities and efforts, although more of each would tell more."""
    limits = {"lower": (-0.4,), "upper": (0.9,), "velocity_limit": (1.5,), "effort_limit": (4.5,)}
    joints = tuple(replace(joint, **limits) for joint in arm().joints)
    found = design_excitation(arm().replace(joints=joints), NAMES, duration=2.0, harmonics=3, evaluations=4)
    assert found.q.min() > -0.4
    assert found.q.max() < 0.9
    assert np.abs(found.v).max() < 1.5
    assert np.abs(found.controls).max() < 4.5
    assert np.abs(found.v).max() > 0.5


def test_its_controls_make_it(designed):
    """Up to what holding them over steps does to an arm that swings freely."""
    options = {"steps": len(designed.controls), "controls": designed.controls, "integrator": SECOND}
    run = la.simulate(arm(), designed.q[0], dt=designed.dt, progress=False, **options)
    assert_close(run.q, designed.q, 0.02)


def test_condition_numbers_as_a_criterion():
    found = design_excitation(arm(), NAMES, duration=2.0, harmonics=3, evaluations=6, criterion="condition")
    assert found.condition < found.first_condition


def test_passive_joints_cannot_be_asked_for_a_motion():
    robot = arm().replace(actuators=arm().actuators[:1])
    with pytest.raises(IdentificationError, match="elbow"):
        design_excitation(robot, NAMES)


def test_base_parameters_of_a_planar_arm():
    """Of two links that turn about y: two components of each first moment, one moment of inertia each, and the mass of
    the second only together with those of the first (Gautier 1991)."""
    base = base_parameters(arm())
    assert base.rank == 6
    combined = {name for name, column in zip(base.names, base.matrix.T, strict=True) if column.any()}
    assert combined == {f"{x}:{body}" for body in ("upper", "fore") for x in ("mx", "mz", "Iyy")} | {"m:fore"}
    assert "mz:upper - 0.5 m:fore" in base.formulas()
    assert "m:upper" in base.without_effect


@pytest.mark.parametrize("seed", range(3))
def test_forces_depend_on_base_parameters_alone(seed):
    """Along all changes of the parameters that keep these, no force changes; along others some do."""
    robot = random_tree(seed, 4, ("revolute", "prismatic", "spherical"), armature=False)
    base = base_parameters(robot)
    q, v = random_state(robot, seed)
    a = np.random.default_rng(seed).normal(size=robot.nv)
    Y = dynamics.inverse_dynamics_regressor(robot, q, v, a)
    pi = dynamics.inertial_parameters(robot).ravel()
    assert_close(Y[:, base.independent] @ base.values, Y @ pi, 1e-8)
    assert np.linalg.matrix_rank(base.matrix) == base.rank
