"""The kernel of all second derivatives of the discrete action against differences of its first derivatives.

Row (chi, i) of D is the change of row chi of the discrete Euler-Lagrange equations. Ball joints have special rows and
columns: column 0 turns R_k in its own frame and leaves the other control points in place, so their coordinates
xi = log(R_k^T R) change; row s is along turns of R_{k+1} in its own frame, so that it is the momentum p_{k+1}.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from leastaction._jit import entry
from leastaction.mechanism import Coupling
from leastaction.minimal.galerkin_joints import joint_residual
from leastaction.minimal.galerkin_joints.arrays import GalerkinSettings
from leastaction.minimal.galerkin_joints.derivatives import joint_hessian
from leastaction.minimal.galerkin_joints.joint_models import galerkin_model, hessian_data, point_data, sizes
from leastaction.minimal.quadrature_rules import MIDPOINT, lobatto
from tests.minimal.helpers import skew
from tests.oracles.random_trees import KINDS, random_pose, random_tree, random_unit

RULES = {"midpoint": MIDPOINT, 2: lobatto(1), 4: lobatto(2), 6: lobatto(3)}
DT = 0.05
STEP = 1e-5


@entry
def rows_of(model, settings, points, q, p, u):
    """All rows of the discrete action, left in `points`."""
    joint_residual.start_point(model, settings.rule, points, q)
    joint_residual.residual(model, settings, points, p, u)


@entry
def blocks_of(model, settings, points, data):
    joint_hessian.assemble(model, settings, points, data)


def right_jacobian(xi):
    """Turn of exp(xi) in its own frame per change of xi."""
    t, K = np.linalg.norm(xi), skew(xi)
    return np.eye(3) - (1 - np.cos(t)) / t**2 * K + (t - np.sin(t)) / t**3 * K @ K


class Step:
    """One step of a mechanism at random control points, momenta, controls and multipliers."""

    def __init__(self, robot, rule, seed, multipliers=False):
        rng = np.random.default_rng(seed)
        self.model, self.settings = galerkin_model(robot).tree, GalerkinSettings(rule, DT, 1e-12, 1, 1.0, 1)
        self.points = point_data(self.model, rule)
        self.size = sizes(self.model, rule)
        self.q, self.p = robot.random_configuration(rng), rng.normal(size=robot.nv)
        self.u = rng.normal(size=(self.size.Q, robot.nu))
        self.X = 0.3 * rng.normal(size=(self.size.s + 1, robot.nv))
        self.X[0] = 0.0
        self.balls = {int(node.iv): int(node.iq) for node in self.model.nodes if node.nv == 3}
        for node in self.model.nodes:
            if node.nv == 1:
                self.X[:, node.iv] += self.q[node.iq]
        if multipliers:
            self.points.lam[:] = rng.normal(size=self.points.lam.shape)

    def rows(self, X, q):
        """First derivatives, shape (s + 1, nv)."""
        s = self.size.s
        self.points.X[:] = X
        rows_of(self.model, self.settings, self.points, q, self.p, self.u)
        g = self.points.g.copy()
        for n in self.balls:
            g[s, n : n + 3] = np.linalg.solve(right_jacobian(X[s, n : n + 3]).T, g[s, n : n + 3])
        return g

    def moved(self, chi, k, h):
        """Rows with control point chi of degree of freedom k moved by h."""
        X, q = self.X.copy(), self.q.copy()
        n = next((n for n in self.balls if n <= k < n + 3), None)
        if chi > 0 or n is None:
            X[chi, k] += h
            return self.rows(X, q)
        i, e = self.balls[n], h * np.eye(3)[k - n]
        w, x, y, z = q[i : i + 4]
        x, y, z, w = (Rotation.from_quat([x, y, z, w]) * Rotation.from_rotvec(e)).as_quat()
        q[i : i + 4] = w, x, y, z
        for a in range(1, len(X)):
            turned = Rotation.from_rotvec(-e) * Rotation.from_rotvec(X[a, n : n + 3])
            X[a, n : n + 3] = turned.as_rotvec()
        return self.rows(X, q)

    def by_differences(self):
        s, nv = self.size.s, self.size.nv
        D = np.zeros((s + 1, nv, s + 1, nv))
        for chi in range(s + 1):
            for k in range(nv):
                D[:, :, chi, k] = (self.moved(chi, k, STEP) - self.moved(chi, k, -STEP)) / (2 * STEP)
        return D

    def analytic(self):
        self.rows(self.X, self.q)
        data = hessian_data(self.size)
        blocks_of(self.model, self.settings, self.points, data)
        return data.D


def springy():
    """Springs, a cable, dampers and wrenches between and on bodies of a tree."""
    rng = np.random.default_rng(2)
    robot = random_tree(2, 5, ("revolute", "spherical", "free", "prismatic"))
    b, n = robot.edit(), robot.body_names

    def points(*bodies):
        return [(body, rng.normal(size=3)) for body in bodies]

    b.spring("between", *points(n[1], n[4]), stiffness=50, rest_length=0.3, damping=2)
    b.spring("ground", *points("world", n[3]), stiffness=30, rest_length=0.3, damping=1)
    b.cable("cable", points(n[0], n[2], "world", n[4]), stiffness=20, rest_length=0.2, damping=0.5)
    b.wrench("push", n[4], 5 * rng.normal(size=6), point=rng.normal(size=3))
    b.wrench("thrust", n[2], 5 * rng.normal(size=6), point=rng.normal(size=3), frame="body")
    return b.build()


def looped(seed):
    """Loop joints with every kind of row, a coupling; the configuration need not close them.

    No spring about a hinge: the rate of its angle is that about the axis only where the loop is closed.
    """
    rng = np.random.default_rng(seed)
    robot = random_tree(seed, 5, ("revolute", "spherical", "free", "prismatic"))
    b, n = robot.edit(), robot.body_names

    def place():
        return {"pose": random_pose(rng), "loop": True}

    b.revolute("l1", n[1], n[4], axis=random_unit(rng), damping=0.4, **place())
    axis = random_unit(rng)
    b.joint("l2", "cylindrical", n[0], n[3], axis=axis, damping=(0.3, 0), stiffness=(5, 0), **place())
    b.joint("l3", "screw", "world", n[2], axis=random_unit(rng), pitch=0.3, **place())
    b.joint("l4", "universal", n[2], n[4], **place())
    b.joint("l5", "fixed", n[0], n[2], **place())
    hinges = [joint.name for joint in robot.joints if joint.nv == 1]
    if len(hinges) > 1:
        b.add(Coupling("gear", hinges[0], hinges[1], (0.1, 0.5, 0.3, 0.2)))
    return b.build()


CASES = {
    "hinges": lambda: random_tree(3, 5, ("revolute",)),
    "screws": lambda: random_tree(3, 5, ("prismatic", "revolute", "screw"), armature=False),
    "balls": lambda: random_tree(3, 4, ("spherical",)),
    "free": lambda: random_tree(3, 3, ("free",)),
    "mixed": lambda: random_tree(3, 6, KINDS),
    "damped": lambda: random_tree(4, 6, KINDS, damping=0.3, stiffness=2.0),
    "springs": springy,
    "loops": lambda: looped(2),
    "loops of a gear": lambda: looped(3),
}


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("rule", RULES)
def test_blocks_are_the_derivatives_of_the_rows(name, rule):
    if "loops" in name and rule == "midpoint":
        pytest.skip("the midpoint rule has no multipliers at its point")
    step = Step(CASES[name](), RULES[rule], 1, multipliers="loops" in name)
    D = step.by_differences()
    assert np.abs(step.analytic() - D).max() <= 1e-8 * np.abs(D).max()


def test_the_gear_case_has_a_gear():
    assert looped(3).couplings
