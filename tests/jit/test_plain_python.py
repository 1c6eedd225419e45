"""With NUMBA_DISABLE_JIT=1 every kernel runs as plain Python, and gives what the compiled one gives."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np

import leastaction as la
from tests.oracles.differences import assert_close
from tests.oracles.random_trees import random_state, random_tree

ROOT = Path(__file__).parents[2]


def results():
    """Numbers from kernels of every kind, as lists."""
    b = random_tree(4, 4, ("revolute", "spherical", "free", "screw"), stiffness=1.0, damping=0.1).edit()
    b.cable("cable", ["world", "body1", "body3"], stiffness=10.0, rest_length=0.1, damping=0.1)
    b.wrench("wind", "body1", np.ones(6))
    b.thruster("thruster", "body2", np.ones(6))
    robot = b.build()
    q, v = random_state(robot, 1)
    d = la.dynamics
    values = [
        d.body_poses(robot, q),
        d.body_twists(robot, q, v),
        d.mass_matrix(robot, q),
        d.inverse_dynamics(robot, q, v, v),
        d.forward_dynamics(robot, q, v, v),
        *d.inverse_dynamics_derivatives(robot, q, v, v),
        d.passive_forces(robot, q, v),
        [d.kinetic_energy(robot, q, v), d.potential_energy(robot, q)],
        d.momentum(robot, q, v),
    ]
    for integrator in (la.SemiImplicitEuler(), la.RungeKutta(order=4), la.DOP853()):
        run = la.simulate(robot, q, v, dt=0.01, steps=3, integrator=integrator, controls=[0.5])
        values += [run.q, run.v, run.p]
    cube = la.robots.cube()
    run = la.simulate(cube, la.robots.home(cube), dt=0.01, steps=4, integrator=la.Minimal())  # more than two at once
    values += [run.q, run.p]
    return [np.asarray(x).tolist() for x in values]


def test_compiled_and_plain_kernels_agree():
    code = "import json; from tests.jit.test_plain_python import results; print(json.dumps(results()))"
    path = os.pathsep.join([str(ROOT), str(Path(la.__file__).parents[1])])
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    for plain, compiled in zip(json.loads(done.stdout), results(), strict=True):
        assert_close(compiled, plain, 1e-11)


PLAIN_STEPS = """
import numpy as np, leastaction as la
arm, cube = la.robots.pendulum(2), la.robots.cube()
ends = {}
for i in (la.Galerkin(order=2), la.Minimal(), la.Maximal(), la.BDF(order=2)):
    ends[type(i).__name__] = la.simulate(arm, [0.3, -0.2], dt=0.001, steps=4, integrator=i, progress=False).q[-1]
print(*(abs(q - ends["Galerkin"]).max() < 1e-6 for q in ends.values()))
for i in (la.Minimal(), la.Maximal()):
    run = la.simulate(cube, la.robots.home(cube), dt=0.01, steps=4, integrator=i, progress=False)
    print(np.ptp(run.energy) < 1.0)
"""


def test_steps_of_all_formulations_run_as_plain_python():
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1", "PYTHONPATH": str(Path(la.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", PLAIN_STEPS], env=environment, capture_output=True, text=True)
    assert done.stdout.split() == ["True"] * 6, done.stderr
