"""The exceptions of the package: every one is a `LeastActionError`. Warnings are `LeastActionWarning`s."""

from __future__ import annotations

import re
from collections.abc import Sequence
from os import PathLike, fspath
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leastaction.trajectory.trajectory import Trajectory

__all__ = [
    "AccuracyWarning",
    "ConvergenceError",
    "EnergyWarning",
    "FormatError",
    "IdentificationError",
    "IntegratorError",
    "LeastActionError",
    "LeastActionWarning",
    "MatrixError",
    "MechanismError",
    "MissingExtraError",
    "ProblemError",
    "ReplayWarning",
    "SingularMatrixError",
]


def __dir__() -> list[str]:
    return [*__all__]


# Attributes are optional keywords and the message stays as it was given, so that exceptions survive pickling
# (worker processes send them home); `__str__` puts the two together.


_LONG = re.compile(r"(\S{100})\S{100,}(\S{20})")
"""Words that nobody reads to their end."""


class LeastActionError(Exception):
    """Base of every exception that the package raises on purpose."""

    def __str__(self) -> str:
        """The message; words of files that go on for hundreds of characters are cut short."""
        return _LONG.sub(r"\1…\2", super().__str__())


class LeastActionWarning(UserWarning):
    """A result stands, but there is reason to doubt it; the message says which and what to change."""


class AccuracyWarning(LeastActionWarning):
    """The steps of a run are far too long for its motion."""


class EnergyWarning(LeastActionWarning):
    """A run has gained energy that no force accounts for."""


class ReplayWarning(LeastActionWarning):
    """A plan does not play back: the run of its own integrator leaves it, as a step of it is too long."""


class MechanismError(LeastActionError):
    """A mechanism, or a state meant for it, is not valid; the message names the body, joint or loop."""


class FormatError(LeastActionError):
    """A robot description cannot be read or written.

    Attributes:
        file: path of the file, or None for text that came from elsewhere.
        line: line in the file, counted from 1, or None when unknown.
        element: the offending element as its author would recognise it, e.g. `joint "knee"`.
    """

    def __init__(
        self,
        message: str,
        *,
        file: str | PathLike[str] | None = None,
        line: int | None = None,
        element: str | None = None,
    ) -> None:
        super().__init__(message)
        self.file = None if file is None else fspath(file)
        self.line = line
        self.element = element

    def __str__(self) -> str:
        """Return `file:line: element: message`, without the parts that are unknown."""
        line = None if self.line is None else f"{self.line}" if self.file else f"line {self.line}"
        place = ":".join(part for part in (self.file, line) if part)
        element = None if self.element is None else _LONG.sub(r"\1…\2", self.element)
        return ": ".join(part for part in (place, element, super().__str__()) if part)


class IntegratorError(LeastActionError):
    """An integrator cannot run this mechanism or these settings; the message names a method that can."""


class ConvergenceError(IntegratorError):
    """A step's equations were not solved to tolerance. What was computed up to then is kept.

    Attributes:
        time: time at the start of the failed step [s].
        step: index of the failed step, counted from 0.
        residuals: norm of the residual before each Newton iteration and after the last one.
        trajectory: the run up to the last step that converged, or None where there is none.
    """

    def __init__(
        self,
        message: str,
        *,
        time: float | None = None,
        step: int | None = None,
        residuals: Sequence[float] = (),
        trajectory: Trajectory | None = None,
    ) -> None:
        super().__init__(message)
        self.time = time
        self.step = step
        self.residuals = tuple(float(residual) for residual in residuals)
        self.trajectory = trajectory

    def __str__(self) -> str:
        """Return `step k, t = … s: message (residual a → b in n iterations)`."""
        where = ", ".join(
            part
            for part in (
                None if self.step is None else f"step {self.step}",
                None if self.time is None else f"t = {self.time:.6g} s",
            )
            if part
        )
        text = ": ".join(part for part in (where, super().__str__()) if part)
        if not self.residuals:
            return text
        first, last, iterations = self.residuals[0], self.residuals[-1], len(self.residuals) - 1
        plural = "" if iterations == 1 else "s"
        return f"{text} (residual {first:.3g} → {last:.3g} in {iterations} iteration{plural})"


class MissingExtraError(LeastActionError, ImportError):
    """An optional dependency is not installed; the message is the command that installs it.

    Attributes:
        name: the module that could not be imported.
        extra: the extra of this package that brings it.
    """

    def __init__(self, message: str, *, name: str | None = None, extra: str | None = None) -> None:
        super().__init__(message, name=name)
        self.extra = extra


class ProblemError(LeastActionError):
    """A problem of trajectory optimisation is not well posed; the message names the cost, bound or constraint."""


class IdentificationError(LeastActionError):
    """Parameters cannot be identified from these logs; the message names the log or the parameter."""


class MatrixError(LeastActionError, ValueError):
    """A matrix, its graph or a right-hand side cannot be taken; the message names the argument."""


class SingularMatrixError(LeastActionError):
    """A matrix cannot be factored: a pivot vanishes.

    Attributes:
        node: the node of the graph whose pivot block is singular, or None when unknown.
    """

    def __init__(self, message: str, *, node: int | None = None) -> None:
        super().__init__(message)
        self.node = node
