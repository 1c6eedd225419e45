"""leastaction: simulate, differentiate and optimise robots by the principle of least action."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leastaction import (
        batch,
        cluster,
        derivatives,
        dynamics,
        errors,
        forces,
        formats,
        gym,
        identification,
        kinematics,
        maximal,
        mechanism,
        optimize,
        plot,
        redmax,
        robots,
    )
    from leastaction.collocation import HermiteSimpson, ImplicitTrapezoidal
    from leastaction.derivatives import adjoint, linearize
    from leastaction.errors import (
        AccuracyWarning,
        ConvergenceError,
        EnergyWarning,
        FormatError,
        IdentificationError,
        IntegratorError,
        LeastActionError,
        LeastActionWarning,
        MechanismError,
        MissingExtraError,
        ProblemError,
        SingularMatrixError,
    )
    from leastaction.explicit.integrators import DOP853, ExplicitEuler, Heun, RungeKutta, SemiImplicitEuler
    from leastaction.formats import load, load_string
    from leastaction.identification import identify
    from leastaction.integration.default import default_integrator
    from leastaction.maximal import Maximal
    from leastaction.mechanism import Mechanism, MechanismBuilder
    from leastaction.minimal import Galerkin, Grounded, Midpoint, Minimal
    from leastaction.redmax import (
        BDF,
        SDIRK2,
        ConstrainedEuler,
        LinearlyImplicitEuler,
        MaximalEuler,
        StaggeredProjections,
    )
    from leastaction.simulation.simulate import simulate
    from leastaction.simulation.simulator import Simulator
    from leastaction.simulation.stepping import State, step
    from leastaction.trajectory.trajectory import Trajectory
    from leastaction.view import ViewModule

    view: ViewModule

# Public names and where they live. They load on first use, so that `import leastaction` stays quick.
_MODULES = (
    "batch",
    "cluster",
    "derivatives",
    "dynamics",
    "errors",
    "forces",
    "formats",
    "gym",
    "identification",
    "kinematics",
    "maximal",
    "mechanism",
    "optimize",
    "plot",
    "redmax",
    "robots",
    "view",
)
_NAMES = {
    "AccuracyWarning": "errors",
    "BDF": "redmax",
    "ConstrainedEuler": "redmax",
    "ConvergenceError": "errors",
    "DOP853": "explicit.integrators",
    "EnergyWarning": "errors",
    "ExplicitEuler": "explicit.integrators",
    "FormatError": "errors",
    "Galerkin": "minimal",
    "Grounded": "minimal",
    "HermiteSimpson": "collocation",
    "Heun": "explicit.integrators",
    "IdentificationError": "errors",
    "ImplicitTrapezoidal": "collocation",
    "IntegratorError": "errors",
    "LeastActionError": "errors",
    "LeastActionWarning": "errors",
    "Maximal": "maximal",
    "LinearlyImplicitEuler": "redmax",
    "MaximalEuler": "redmax",
    "Mechanism": "mechanism",
    "MechanismBuilder": "mechanism",
    "MechanismError": "errors",
    "Midpoint": "minimal",
    "Minimal": "minimal",
    "MissingExtraError": "errors",
    "ProblemError": "errors",
    "RungeKutta": "explicit.integrators",
    "SDIRK2": "redmax",
    "SemiImplicitEuler": "explicit.integrators",
    "Simulator": "simulation.simulator",
    "SingularMatrixError": "errors",
    "StaggeredProjections": "redmax",
    "State": "simulation.stepping",
    "Trajectory": "trajectory.trajectory",
    "adjoint": "derivatives",
    "default_integrator": "integration.default",
    "identify": "identification",
    "linearize": "derivatives",
    "load": "formats",
    "load_string": "formats",
    "simulate": "simulation.simulate",
    "step": "simulation.stepping",
}

__all__ = [
    "BDF",
    "DOP853",
    "SDIRK2",
    "AccuracyWarning",
    "ConstrainedEuler",
    "ConvergenceError",
    "EnergyWarning",
    "ExplicitEuler",
    "FormatError",
    "Galerkin",
    "Grounded",
    "HermiteSimpson",
    "Heun",
    "IdentificationError",
    "ImplicitTrapezoidal",
    "IntegratorError",
    "LeastActionError",
    "LeastActionWarning",
    "LinearlyImplicitEuler",
    "Maximal",
    "MaximalEuler",
    "Mechanism",
    "MechanismBuilder",
    "MechanismError",
    "Midpoint",
    "Minimal",
    "MissingExtraError",
    "ProblemError",
    "RungeKutta",
    "SemiImplicitEuler",
    "Simulator",
    "SingularMatrixError",
    "StaggeredProjections",
    "State",
    "Trajectory",
    "adjoint",
    "batch",
    "cluster",
    "default_integrator",
    "derivatives",
    "dynamics",
    "errors",
    "forces",
    "formats",
    "gym",
    "identification",
    "identify",
    "kinematics",
    "linearize",
    "load",
    "load_string",
    "maximal",
    "mechanism",
    "optimize",
    "plot",
    "redmax",
    "robots",
    "simulate",
    "step",
    "view",
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"leastaction.{name}")
    if name in _NAMES:
        value = getattr(import_module(f"leastaction.{_NAMES[name]}"), name)
        globals()[name] = value
        return value
    if name == "__version__":
        from importlib.metadata import version

        return version("leastaction")
    from leastaction._public import unknown

    raise unknown(sys.modules[__name__], name)


def __dir__() -> list[str]:
    return sorted([*__all__, *(name for name in globals() if name.startswith("__"))])


class _Package(ModuleType):
    """The package as functions take it to other processes."""

    def __reduce__(self) -> Any:
        """By name, as other modules: functions that use it go to other processes."""
        return import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package
