"""Names of runs that are shown together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leastaction.errors import LeastActionError
from leastaction.integration import registry
from leastaction.mechanism._check import shown


def run_names(runs: Sequence[Any], labels: Sequence[str] | str | None, what: str) -> list[str]:
    """A name for each run: its label, or its integrator; a wrong number of labels is refused in the name of `what`."""
    if labels is None:
        made = [getattr(run, "integrator", None) for run in runs]
        return [registry.title(how) or f"run {k + 1}" for k, how in enumerate(made)]
    several = isinstance(labels, Sequence) and all(isinstance(label, str) for label in labels)
    if not several or isinstance(labels, bytes):
        raise LeastActionError(f"{what}: labels must be names, one for each run, got {shown(labels)}")
    names = [labels] if isinstance(labels, str) else list(labels)
    if len(names) != len(runs):
        raise LeastActionError(f"{what}: expected {len(runs)} labels, one for each run, got {len(names)}")
    return names
