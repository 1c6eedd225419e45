"""Short runs of every integrator, and derivatives, whose numbers are kept in `data/recorded_runs.npz`.

    python -m tests.recorded.recorded_runs                # largest difference of every case from the record
    python -m tests.recorded.recorded_runs bdf cube       # of the cases with these words in their names
    python -m tests.recorded.recorded_runs --write        # make the record anew; with words: only those cases of it

Runs are kept at steps 1, 10, 30 and 100 (or their last), together with how much a small change of gravity has grown by
then: round-off grows alike, so that is how far runs of the same method may differ.
"""

from __future__ import annotations

import argparse
import json
import math
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from tests.recorded import recorded_derivatives  # noqa: F401 (it adds to the cases)
from tests.recorded.recorded_cases import CASES, Arrays

FILE = Path(__file__).parents[1] / "data" / "recorded_runs.npz"
CHANGE = 1e-9
"""Change of gravity, relative to 9.81 m/s^2, whose effect is measured."""
KINDS = {"floats": np.float64, "counts": np.uint16}
"""Types of the numbers in the file."""


def measured(name: str, change: float = 0.0) -> Arrays:
    """The arrays of a case, gravity changed by a share of 9.81 m/s^2."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what an integrator leaves out of a scene is no matter here
        return CASES[name].measure(9.81 * change * np.array([0.6, -0.3, 0.7]))


def differences(new: Arrays, old: Arrays) -> np.ndarray:
    """Largest difference relative to the size of each field, by recorded step; one number for plain arrays.

    A field that is next to zero beside the others, such as the derivative by what does not act, counts by them.
    """
    rows = []
    largest = max(float(np.abs(x).max(initial=0.0)) for key, x in old.items() if key not in ("growth", "iterations"))
    for key, values in old.items():
        if key in ("growth", "iterations"):
            continue
        assert new[key].shape == values.shape, f"{key}: shape {new[key].shape}, recorded {values.shape}"
        scale = max(float(np.abs(values).max(initial=0.0)), 1e-6 * largest) or 1.0
        apart = np.where(np.isfinite(new[key]), np.abs(new[key] - values), np.inf) / scale
        rows.append(
            apart.reshape(len(values), -1).max(axis=1, initial=0.0) if "growth" in old else apart.max(initial=0.0)
        )
    return np.max(rows, axis=0)


def recorded() -> dict[str, Arrays]:
    """The record: case, field, numbers."""
    out: dict[str, Arrays] = {}
    with np.load(FILE) as file:
        numbers = {kind: file[kind] for kind in KINDS}
        layout = json.loads(str(file["layout"]))
    at = dict.fromkeys(KINDS, 0)
    for name, field, kind, shape in layout:
        first = at[kind]
        at[kind] += math.prod(shape)
        out.setdefault(name, {})[field] = numbers[kind][first : at[kind]].reshape(shape)
    return out


def _save(record: dict[str, Arrays]) -> None:
    """All numbers in one array of each kind: a file of many small arrays would be mostly headers."""
    layout: list[Any] = []
    numbers: dict[str, list[np.ndarray]] = {kind: [] for kind in KINDS}
    for name in CASES:
        for field, values in record.get(name, {}).items():
            kind = "counts" if field == "iterations" else "floats"
            layout.append((name, field, kind, values.shape))
            numbers[kind].append(values.ravel())
    arrays: Any = {kind: np.concatenate(numbers[kind]).astype(KINDS[kind]) for kind in KINDS}
    FILE.parent.mkdir(exist_ok=True)
    np.savez_compressed(FILE, layout=np.array(json.dumps(layout)), **arrays)


def allowed(name: str, old: Arrays) -> Any:
    """Tolerance by recorded step: that of the case, grown as a change of gravity grows."""
    return CASES[name].tolerance * np.maximum(1.0, old.get("growth", np.zeros(())))


def _write(names: list[str]) -> None:
    record = recorded() if FILE.exists() else {}
    for name in names:
        new = measured(name)
        if CASES[name].steps:
            probe = {**new, "growth": np.zeros(len(new["q"]))}
            new["growth"] = differences(measured(name, CHANGE), probe) / CHANGE
        record[name] = new
        print(f"{name:45s} growth {np.array2string(np.asarray(new.get('growth', 0.0)), precision=1)}", flush=True)
    _save(record)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="*", help="only cases with one of these in their names")
    parser.add_argument("--write", action="store_true", help="record instead of comparing")
    parser.add_argument("--list", action="store_true", help="only name the cases")
    options = parser.parse_args()
    names = [name for name in CASES if not options.words or any(word in name for word in options.words)]
    if options.list:
        print("\n".join(names))
    elif options.write:
        _write(names)
    else:
        record = recorded()
        for name in names:
            apart, bound = differences(measured(name), record[name]), allowed(name, record[name])
            verdict = "" if np.all(apart <= bound) else "  <-- differs"
            print(f"{name:45s} {np.max(apart):.1e} of {np.max(bound):.1e}{verdict}", flush=True)


if __name__ == "__main__":
    main()
