"""What others make of a mechanism and keep with it, so that each run need not make it anew."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

from leastaction.mechanism.mechanism import Mechanism


def kept_with(mechanism: Mechanism, key: Hashable, make: Callable[[], Any]) -> Any:
    """What `make` made for this key and this mechanism, once; nobody writes into it.

    It goes when the mechanism goes, and is neither copied nor pickled with it.
    """
    known = mechanism.__dict__.setdefault("_kept", {})
    if key not in known:
        known[key] = make()
    return known[key]
