"""Second derivatives of the Lagrangian by name."""

from __future__ import annotations

from collections.abc import Callable

from leastaction.optimize.hessians.exact_hessian import Exact
from leastaction.optimize.hessians.lagrangian_hessian import Differences, GaussNewton, Hessian
from leastaction.optimize.hessians.quasi_newton_updates import StageUpdates
from leastaction.optimize.transcriptions.transcription import Transcription

HESSIANS: dict[str, Callable[[Transcription], Hessian]] = {
    "exact": Exact,
    "differences": Differences,
    "gauss-newton": GaussNewton,
    "quasi-newton": StageUpdates,
}
"""What makes them for a program."""
