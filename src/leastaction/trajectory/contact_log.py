"""The log of contacts with names for its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.errors import LeastActionError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray
from leastaction.mechanism.building.graph import WORLD

LOGGING = ("Maximal", "Minimal")
"""Integrators whose runs have a log of contacts, be it an empty one."""


def missing_log(integrator: Any) -> LeastActionError:
    """The error for a run of this integrator that has no log of contacts."""
    own, none = type(integrator).__name__, "has no log of contacts: batches keep none"
    if own in LOGGING:
        return LeastActionError(f"this run of `{own}` {none}; run that robot alone with `leastaction.simulate`")
    return LeastActionError(f"this run {none}, runs of `leastaction.simulate` with `Maximal` and `Minimal` have one")


def contact_table(mechanism: Mechanism, log: FloatArray) -> Any:
    """A record array of the contacts in a log.

    Its fields: `step`, `first` and `second` (names of the bodies, or "world"), `point` [m] and `force` on the second
    [N] in the world (3 numbers each), and `gap` [m].

    Args:
        mechanism: the robot.
        log: rows (step, two bodies, point, force on the second, gap), shape (n, 10).
    """
    names = np.array([*mechanism.body_names, WORLD])  # index -1 is the last
    fields = [("step", "i8"), ("first", names.dtype), ("second", names.dtype), ("point", "f8", 3), ("force", "f8", 3)]
    out = np.zeros(len(log), [*fields, ("gap", "f8")]).view(np.recarray)
    out.step = log[:, 0]
    out.first, out.second = names[log[:, 1].astype(int)], names[log[:, 2].astype(int)]
    out.point, out.force, out.gap = log[:, 3:6], log[:, 6:9], log[:, 9]
    return out
