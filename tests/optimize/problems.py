"""Problems that several tests share."""

import math

import numpy as np

import leastaction as la
from leastaction import optimize as opt


def swing_up(steps=30, **options):
    """A cart-pole from hanging to upright."""
    problem = opt.Problem(la.robots.cart_pole(), steps=steps, **({"duration": 2.0} | options))
    problem.start(q=[0, 0], v=[0, 0]).finish(q=[0, math.pi], v=[0, 0])
    return problem.bounds(u=(-20, 20)).minimize(opt.effort())


def limb():
    """A floating body with a ball joint, a hinge and a slider on it: every kind of motion."""
    b = la.MechanismBuilder("limb")
    inertia = la.mechanism.Inertia(1.0, (0.02, 0.03, -0.2), (0.02, 0.03, 0.01))
    for name in ("trunk", "upper", "lower", "tool", "tail"):
        b.body(name, inertia=inertia)
    b.free("trunk", name="base")
    b.spherical("shoulder", "trunk", "upper", position=(0.1, 0, 0))
    b.revolute("elbow", "upper", "lower", axis="y", position=(0, 0, -0.4))
    b.prismatic("reach", "lower", "tool", axis="z", position=(0, 0.05, -0.4))
    b.revolute("wag", "trunk", "tail", axis="x", position=(-0.1, 0, 0))
    return b.build()


def perturbed(problem, seed=0, scale=0.15):
    """A transcription and unknowns at which nothing is special."""
    program = problem.transcribe()
    z = problem.initial_unknowns(program) + scale * np.random.default_rng(seed).normal(size=program.n)
    if program.layout.duration >= 0:
        z[program.layout.duration] = problem.guess_duration * 1.1
    return program, z


def differences(function, z, size, h=1e-6):
    """Central differences, shape (size, n)."""
    out, a, b = np.zeros((size, len(z))), np.zeros(size), np.zeros(size)
    for k, e in enumerate(h * np.eye(len(z))):
        function(z + e, a)
        function(z - e, b)
        out[:, k] = (a - b) / (2.0 * h)
    return out


def jacobian_and_differences(program, z):
    """Both as plain matrices."""
    values = np.zeros(program.jacobian_pattern.count)
    program.jacobian(z, values)
    return program.jacobian_pattern.dense(values), differences(program.constraints, z, program.m)
