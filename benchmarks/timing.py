"""Repeated measurements, in turns: whatever else the machine does meets all contenders alike."""

import time
from collections.abc import Callable

from benchmarks.report import Measure

REPEATS = 7


def cpu_seconds(function: Callable[[], object], least: float = 0.0) -> float:
    """CPU seconds of one call; repeated until `least` [s] have passed and a coarse clock has moved, then the mean."""
    spent, calls = 0.0, 0
    while calls == 0 or spent < least or spent == 0.0:
        began = time.process_time()
        function()
        spent, calls = spent + time.process_time() - began, calls + 1
    return spent / calls


def in_turns(
    functions: dict[str, Callable[[], object]], repeats: int = REPEATS, least: float = 0.0
) -> dict[str, list[float]]:
    """CPU seconds of each function, `repeats` times each, one after the other; first calls are not counted."""
    for function in functions.values():
        function()
    found: dict[str, list[float]] = {name: [] for name in functions}
    for _ in range(repeats):
        for name, function in functions.items():
            found[name].append(cpu_seconds(function, least))
    return found


def ratio(what: str, seconds: list[float], others: list[float]) -> Measure:
    """Ratios of times that were measured in the same turns."""
    return Measure(what, "ratio", [a / b for a, b in zip(seconds, others, strict=True)])
