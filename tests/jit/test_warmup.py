"""`leastaction warmup` compiles everything once; after it no process compiles anything."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from numba.core import config

import leastaction as la

SOURCE = Path(la.__file__).parents[1]
pytestmark = pytest.mark.skipif(bool(config.DISABLE_JIT), reason="nothing is compiled")

# Every module, so that every entry point is defined; then the kernels that Python has no compiled version of.
ALL_COMPILED = """
import importlib, pkgutil
import leastaction
from leastaction._jit import ENTRIES
from leastaction._warmup import warmup
for module in pkgutil.walk_packages(leastaction.__path__, "leastaction."):
    importlib.import_module(module.name)
said = []
warmup(lambda *what: said.append(what))
print([entry.__name__ for entry in ENTRIES if not entry.signatures])
print([done for _, done, _ in said] == list(range(len(said))), said[-1][1] == said[-1][2] == len(said) - 1)
"""

USE = """
import numpy as np
import leastaction as la
robot = la.robots.unitree_a1()
q, v = robot.random_configuration(1), np.ones(robot.nv)
d = la.dynamics
d.body_twists(robot, q, v), d.com_jacobian(robot, q), d.centroidal_momentum(robot, q, v)
d.mass_matrix(robot, q), d.inverse_dynamics(robot, q, v, v), d.forward_dynamics(robot, q, v, v)
d.inverse_dynamics_derivatives(robot, q, v, v), d.forward_dynamics_derivatives(robot, q, v, v)
d.passive_forces(robot, q, v), d.kinetic_energy(robot, q, v), d.potential_energy(robot, q)
u = np.zeros(robot.nu)
explicit = la.ExplicitEuler(), la.SemiImplicitEuler(), la.Heun(), la.RungeKutta(order=4), la.DOP853()
variational = la.Galerkin(order=2), la.Galerkin(order=4), la.Midpoint()
variational += la.Galerkin(order=4, solver="recursive"), la.Galerkin(order=2, solver="dense")
for integrator in (*explicit, *variational):
    for way in ({}, {"controls": u}, {"controls": np.zeros((3, robot.nu))}, {"controls": lambda t: u},
                {"controller": lambda t, q, v: u}):
        run = la.simulate(robot, q, v, dt=1e-3, steps=3, integrator=integrator, **way)
        run.p, run.energy, run.momentum
loop = la.robots.three_link_loop()
la.simulate(loop, steps=2, integrator=la.Galerkin(order=4), project=True).constraint_violation
print("used")
"""


def python(code):
    settings = {k: v for k, v in os.environ.items() if k != "LEASTACTION_QUIET"} | {"PYTHONPATH": str(SOURCE)}
    done = subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def test_after_warmup_nothing_is_compiled():
    missed, counted = python(ALL_COMPILED).stdout.splitlines()
    assert missed == "[]"
    assert counted == "True True"
    done = python(USE)
    assert done.stdout.strip() == "used"
    assert "compiled" not in done.stderr


def test_command_line():
    """It names what it compiles, and where it keeps it. What the other test compiled is served from disk."""
    done = python("from leastaction.cli import app; app(['warmup'])")
    assert "Kernels are kept in" in done.stdout
