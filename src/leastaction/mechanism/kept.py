"""What others make of a mechanism and keep with it, so that each run need not make it anew."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from leastaction.mechanism.mechanism import Mechanism

Settings = ParamSpec("Settings")
Made = TypeVar("Made")


def kept_with_mechanism(
    make: Callable[Concatenate[Mechanism, Settings], Made],
) -> Callable[Concatenate[Mechanism, Settings], Made]:
    """Decorator of a function of a mechanism and settings: it is called once for each mechanism and its settings.

    What it makes goes when the mechanism goes, and is neither copied nor pickled with it. Nobody writes into it.
    """

    @wraps(make)
    def known(mechanism: Mechanism, *args: Settings.args, **kwargs: Settings.kwargs) -> Made:
        own: dict[Any, Made] = mechanism.__dict__.setdefault("_kept", {})
        key = make, args, *kwargs.items()
        if key not in own:
            own[key] = make(mechanism, *args, **kwargs)
        return own[key]

    return known
