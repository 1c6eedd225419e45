"""Newton directions: three ways to one solution, the residual's true derivative, quadratic convergence."""

import numpy as np
import pytest

import leastaction as la
from leastaction._jit import entry
from leastaction.minimal.galerkin_joints.arrays import GalerkinSettings
from leastaction.minimal.galerkin_joints.joint_models import galerkin_model, point_data, solver_data
from leastaction.minimal.galerkin_joints.joint_residual import residual, start_point
from leastaction.minimal.galerkin_joints.newton import newton_directions
from leastaction.minimal.quadrature_rules import MIDPOINT, lobatto
from tests.minimal.helpers import JOINTS, method
from tests.oracles.differences import assert_close, central
from tests.oracles.random_trees import KINDS, random_state, random_tree

RULES = {"midpoint": MIDPOINT} | {f"s = {s}": lobatto(s) for s in (1, 2, 3, 4)}
SOLVERS = ("recursive", "sparse", "dense")
FORCES = {"stiffness": 3.0, "damping": 0.2, "armature": True}


@entry
def all_directions(model, settings, points, solvers, q, p, u, dx):
    """Residual at the control points in `points`, three directions dx (3, s, nv); gives back its norm."""
    start_point(model, settings.rule, points, q)
    norm = residual(model, settings, points, p, u)
    recursive, sparse, dense = solvers
    newton_directions.recursive(model, settings, points, recursive, dx[0])
    newton_directions.tree_sparse(model, settings, points, sparse, dx[1])
    newton_directions.dense(model, settings, points, dense, dx[2])
    return norm


class Iterate:
    """A step that is not solved: control points near those of a uniform motion, any momentum and controls."""

    def __init__(self, robot, rule, seed=0, dt=0.01, wobble=0.02):
        rng = np.random.default_rng(seed)
        self.model, self.settings = galerkin_model(robot).tree, GalerkinSettings(rule, dt, 1e-12, 1, 1.0, 1)
        self.points = point_data(self.model, rule)
        self.solvers = tuple(solver_data(name, self.model, rule) for name in SOLVERS)
        self.q, v = random_state(robot, seed)
        start = np.zeros(robot.nv)
        for node in self.model.nodes:
            if node.nv == 1:
                start[node.iv] = self.q[node.iq]
        self.X, self.r = self.points.X, self.points.r
        self.X[:] = start + dt * rule.c[:, None] * v
        self.X[1:] += wobble * rng.normal(size=self.X[1:].shape)
        self.p = rng.normal(size=robot.nv)
        self.u = rng.normal(size=(len(rule.w), robot.nu))
        self.dx = np.zeros((3, *self.r.shape))

    def evaluate(self):
        """Directions from the present control points; gives back the norm of the residual."""
        return all_directions(self.model, self.settings, self.points, self.solvers, self.q, self.p, self.u, self.dx)

    def residual_at(self, x):
        """The residual, one row per control point after the first, with those points moved by x."""
        self.X[1:] += x
        self.evaluate()
        self.X[1:] -= x
        return self.r.ravel().copy()


def assert_directions_agree(iterate, tolerance=1e-9):
    iterate.evaluate()
    scale = np.abs(iterate.dx[2]).max()
    assert scale > 0.0
    for k in (0, 1):
        assert np.abs(iterate.dx[k] - iterate.dx[2]).max() <= tolerance * scale, SOLVERS[k]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("bodies", [1, 5, 20, 60])
def test_directions_agree(bodies, rule):
    """O(n) recursion, tree-sparse LDU and dense elimination agree, for trees with every joint."""
    # A long chain of random joints is too badly conditioned to compare.
    for seed, branching in enumerate((0.0, 0.5, 1.0) if bodies < 60 else (0.7, 0.8, 1.0)):
        robot = random_tree(seed + bodies, bodies, KINDS, branching=branching, **FORCES)
        assert_directions_agree(Iterate(robot, RULES[rule], seed))


@pytest.mark.parametrize("rule", RULES)
def test_directions_agree_for_two_hundred_bodies(rule):
    robot = random_tree(3, 200, ("revolute", "revolute", "prismatic", "spherical"), branching=0.7, **FORCES)
    assert len(robot.bodies) == 200
    assert_directions_agree(Iterate(robot, RULES[rule]))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "fixed"])
def test_jacobian_is_the_derivative_of_the_residual(kind, rule):
    """Every column by central differences; armature, springs, dampers, gravity and controls act."""
    robot = random_tree(9, 3, (kind, kind, "revolute"), branching=0.3, **FORCES)
    iterate = Iterate(robot, RULES[rule])
    iterate.evaluate()
    dx, r = iterate.dx[0].ravel().copy(), iterate.r.ravel().copy()
    # Blocks of all second derivatives of the action: residual rows against control points after the first.
    blocks = iterate.solvers[2].hessian.D[:-1, :, 1:].copy()
    unit = np.eye(dx.size).reshape(-1, *iterate.r.shape)
    J = np.stack([central(lambda h, e=e: iterate.residual_at(h * e)) for e in unit], axis=-1)
    assert_close(J @ dx, -r, 1e-9)
    assert_close(blocks.reshape(J.shape), J, 1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_quadratic_convergence(rule):
    """Each Newton iteration squares the residual, until round-off."""
    robot = random_tree(2, 6, KINDS, branching=0.5, **FORCES)
    for way in range(3):
        iterate = Iterate(robot, RULES[rule], dt=0.05, wobble=0.0)
        # The momentum of a uniform motion, and a first guess beside it.
        iterate.evaluate()
        iterate.p -= iterate.r[0]
        iterate.X[1:] += 0.01 * np.random.default_rng(1).normal(size=iterate.r.shape)
        history = []
        for _ in range(8):
            history.append(iterate.evaluate())
            iterate.X[1:] += iterate.dx[way]
        fall = np.log(np.array(history) / history[0])
        # Above round-off, and after the first iteration: the exponent grows by a factor of two each time.
        clear = [k for k in range(1, 7) if history[k + 1] > 1e-11 * history[0]]
        assert clear, history
        assert fall[clear[-1] + 1] / fall[clear[-1]] > 1.7, history
        assert history[-1] < 1e-11 * history[0], history


@pytest.mark.parametrize("order", JOINTS)
def test_solvers_make_one_trajectory(order):
    """Through the front door, on a tree with every joint."""
    robot = random_tree(5, 8, KINDS, branching=0.5, **FORCES)
    q, v = random_state(robot, 1, speed=0.3)
    methods = [method(order, solver=name) for name in SOLVERS]
    runs = [la.simulate(robot, q, v, dt=0.01, steps=5, integrator=integrator) for integrator in methods]
    for run in runs[1:]:
        assert np.abs(robot.difference(runs[0].q, run.q)).max() <= 1e-10
        assert_close(run.p, runs[0].p, 1e-10)
    assert runs[0].iterations[1:].max() <= 6
