"""Kernels that came with the wheel: compiled for a common processor level, read where they fit, never written.

They fit where Python, Numba, llvmlite and NumPy are those they were made with, which their names state, and where the
processor has every feature they use. `LEASTACTION_SHIPPED=0` leaves them alone, so that kernels are compiled for the
very processor at hand.
"""

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

__all__ = ["FOLDER", "fits", "prebuilt_target"]

FOLDER = Path(__file__).resolve().parents[1] / "_kernels"
"""Where a wheel has them; a checkout has none."""

Target = tuple[str, str, str]
"""Triple, name of the processor and its features, in LLVM's words."""


@cache
def prebuilt_target(folder: Path = FOLDER) -> Target | None:
    """What the kernels in a folder were compiled for; None without kernels, or if this processor cannot run them."""
    if os.environ.get("LEASTACTION_SHIPPED", "1") in ("", "0"):
        return None
    try:
        triple, processor, features = json.loads((folder / "target.json").read_text(encoding="utf-8"))
    except (OSError, TypeError, ValueError):  # there are none, or they are damaged
        return None
    target = (str(triple), str(processor), str(features))
    return target if fits(target, llvm.get_process_triple(), llvm.get_host_cpu_features()) else None


def fits(target: Target, triple: str, features: Mapping[str, bool]) -> bool:
    """Whether a machine, by its triple and features, runs code that was compiled for a target."""
    needed = [word[1:] for word in target[2].split(",") if word.startswith("+")]
    return _machine(target[0]) == _machine(triple) and all(features.get(name, False) for name in needed)


def _machine(triple: str) -> str:
    """A triple without the version of the system that macOS writes behind it."""
    return triple.rstrip("0123456789.")
