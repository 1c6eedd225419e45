"""Counts the kernels that robots need: variants of each entry point by the types of the arguments that a robot fixes.

    python tools/count_kernels.py [folder of models ...]

Every robot of the zoo, and every URDF and MJCF file below the folders, is simulated up to its first step, which is not
compiled. What differs between two variants is told by the fields that are None in one of them.
"""

from __future__ import annotations

import contextlib
import sys
import warnings
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numba

import leastaction as la
from leastaction._jit.bound import Bound
from leastaction._jit.fingerprint import describe_types

INTEGRATORS = (la.Galerkin(order=2), la.Maximal(), la.Minimal(), la.BDF(order=2), la.RungeKutta(order=4))


def robots(folders: list[str]) -> Iterator[tuple[str, Any]]:
    """Name and robot, those of the zoo first; files that cannot be loaded are told of."""
    for entry in la.robots.catalogue():
        yield entry.name, la.robots.get(entry.name)
    for folder in folders:
        for file in sorted([*Path(folder).rglob("*.urdf"), *Path(folder).rglob("*.xml")]):
            if file.name.startswith("scene"):
                continue
            try:
                yield f"{file.parent.name}/{file.name}", la.load(file)
            except Exception as error:
                print(f"{file}: {str(error).splitlines()[0][:80]}", file=sys.stderr)


class FirstStepReachedError(Exception):
    """In place of a step."""


def call_or_stop(self: Bound, *others: Any) -> Any:
    """Call an entry point that is needed for the start; end at one that steps."""
    if any(word in self.entry.__name__ for word in ("rollout", "runge_kutta")):
        raise FirstStepReachedError
    return self.entry(*self.first, *others)


def missing(value: Any, name: str = "") -> Iterator[str]:
    """Names of the fields of a bundle that are None."""
    if value is None:
        yield name
    elif isinstance(value, tuple):
        names = getattr(value, "_fields", range(len(value)))
        for field, one in zip(names, value, strict=True):
            yield from missing(one, f"{name}.{field}".strip("."))


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    found: dict[str, dict[str, tuple[str, set[str]]]] = defaultdict(dict)
    count = 0
    created: list[Bound] = []
    ordinary = Bound.__init__

    def record(self: Bound, *args: Any) -> None:
        ordinary(self, *args)
        created.append(self)

    for name, robot in robots(sys.argv[1:]):
        count += 1
        for integrator in INTEGRATORS:
            created.clear()
            with (
                mock.patch.object(Bound, "__init__", record),
                mock.patch.object(Bound, "__call__", call_or_stop),
                contextlib.suppress(FirstStepReachedError, la.LeastActionError),  # such as a robot that is refused
            ):
                la.simulate(robot, dt=0.001, steps=1, integrator=integrator, progress=False)
            for bound in created:
                kinds = describe_types(tuple(map(numba.typeof, bound.first)))
                where = f"{type(integrator).__name__}: {bound.entry.__module__}.{bound.entry.__name__}"
                found[where].setdefault(kinds, (name, set(missing(bound.first))))
    print(f"{count} robots\n\n| entry point | variants |\n| --- | ---: |")
    for where, variants in sorted(found.items()):
        print(f"| {where} | {len(variants)} |")
    for where, variants in sorted(found.items()):
        if len(variants) > 1:
            always = set.intersection(*(fields for _, fields in variants.values()))
            print(f"\n{where}")
            for name, fields in variants.values():
                print(f"  {name}: without {', '.join(sorted(fields - always)) or 'nothing more'}")


if __name__ == "__main__":
    main()
