"""The arrays of the explicit methods: what their kernels read, write, and the settings of a run."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from leastaction._jit import inline
from leastaction.dynamics.workspace import Workspace
from leastaction.forces.arrays import ForceModel, ForceModes, force_model, force_modes, named_forces, named_modes
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray


class Tableau(NamedTuple):
    """An explicit Runge-Kutta method whose stages only look at the stage before.

    Attributes:
        nodes: fractions of a step at which the stages are.
        rows: weight of the stage before in each stage.
        weights: of the stages in the step.
    """

    nodes: tuple[float, ...]
    rows: tuple[float, ...]
    weights: tuple[float, ...]


EULER = Tableau((0.0,), (0.0,), (1.0,))
HEUN = Tableau((0.0, 1.0), (0.0, 1.0), (0.5, 0.5))
CLASSICAL = Tableau((0.0, 0.5, 0.5, 1.0), (0.0, 0.5, 0.5, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6))


class ExplicitModel(NamedTuple):
    """Read only.

    Attributes:
        forces: of the mechanism.
        gravity: [m/s^2], shape (3,).
    """

    forces: ForceModel
    gravity: FloatArray


class ExplicitSettings(NamedTuple):
    """Settings of a run.

    Attributes:
        dt: time step [s].
        tableau: of Runge-Kutta methods; others do not read it.
    """

    dt: float
    tableau: Tableau


class ExplicitData(NamedTuple):
    """Scratch of one robot; no step needs what the one before left here.

    Attributes:
        modes: of one-sided forces.
        links, screws, external: see `Workspace`.
        tau: generalised forces, shape (nv,).
        x: exponential coordinates about the start of the step, shape (nv,).
        y: velocities of a stage, shape (nv,).
        z: positions of a stage, shape (nq,).
        K: rates of x and v in each stage, shape (stages, 2, nv).
    """

    modes: ForceModes
    links: Any
    screws: Any
    external: FloatArray
    tau: FloatArray
    x: FloatArray
    y: FloatArray
    z: FloatArray
    K: FloatArray


def explicit_model(mechanism: Mechanism) -> ExplicitModel:
    """What explicit methods read of a mechanism."""
    return ExplicitModel(force_model(mechanism.tree), mechanism.tree.gravity)


def explicit_data(mechanism: Mechanism, stages: int) -> ExplicitData:
    """Room for one robot and a method with that many stages."""
    w, n = Workspace(mechanism), mechanism.nv
    return ExplicitData(
        modes=force_modes(mechanism.tree),
        links=w.links,
        screws=w.screws,
        external=w.external,
        tau=np.zeros(n),
        x=np.zeros(n),
        y=np.zeros(n),
        z=np.zeros(mechanism.nq),
        K=np.zeros((stages, 2, n)),
    )


@inline
def named_model(forces, *others):
    """The model with its names, from the plain tuple that Python passes."""
    return ExplicitModel(named_forces(forces), *others)


@inline
def named_settings(dt, tableau):
    """The settings with their names, from the plain tuple that Python passes."""
    return ExplicitSettings(dt, Tableau(*tableau))


@inline
def named_data(modes, *others):
    """The data with their names, from the plain tuple that Python passes."""
    return ExplicitData(named_modes(modes), *others)
