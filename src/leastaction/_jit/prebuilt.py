"""Prebuilt kernels of the wheel: compiled for a common processor level, used where compatible, never written.

They are compatible where Python, Numba, llvmlite and NumPy have the versions in their names and the processor has every
feature that they use. With `LEASTACTION_SHIPPED=0` they are ignored, so that kernels are compiled for the exact
processor.
"""

import json
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

__all__ = ["FOLDER", "fits", "prebuilt_target"]

FOLDER = Path(__file__).resolve().parents[1] / "_kernels"
"""Their directory in a wheel; absent in a checkout."""

Target = tuple[str, str, str]
"""LLVM's target triple, processor name and features."""


@cache
def prebuilt_target(folder: Path = FOLDER) -> Target | None:
    """Target of the kernels in a folder; None without kernels, or if this processor cannot run them."""
    if os.environ.get("LEASTACTION_SHIPPED", "1") in ("", "0"):
        return None
    try:
        triple, processor, features = json.loads((folder / "target.json").read_text(encoding="utf-8"))
    except (OSError, TypeError, ValueError):  # missing or damaged
        return None
    target = (str(triple), str(processor), str(features))
    return target if fits(target, llvm.get_process_triple(), llvm.get_host_cpu_features()) else None


def fits(target: Target, triple: str, features: Mapping[str, bool]) -> bool:
    """Whether a machine with this triple and these features runs code compiled for a target."""
    needed = [word[1:] for word in target[2].split(",") if word.startswith("+")]
    return _machine(target[0]) == _machine(triple) and all(features.get(name, False) for name in needed)


def _machine(triple: str) -> str:
    """A triple without the system version that macOS appends."""
    return triple.rstrip("0123456789.")
