"""Contact properties of pairs of shapes: combined from both shapes unless overridden by the mechanism."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.contact.laws.soft_contact import in_series
from leastaction.contact.records import PAIR, records
from leastaction.mechanism.shapes import COEFFICIENTS

if TYPE_CHECKING:
    from leastaction.mechanism.contact_pairs import ContactPair

FRICTION = 0.5
"""Coefficient of friction between two shapes that specify none."""

FEATURES = 1 << 32
"""Number of keys reserved for each pair of shapes."""

LEAST = {"friction": 3, "restitution": 0, "spinning": 4, "rolling": 6, "static_friction": 3}
"""Smallest `Shape.condim` at which a coefficient acts."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Surface properties of all shapes, and of pairs of shapes.

    Attributes:
        values: `COEFFICIENTS` of each shape, NaN where unspecified; shape (7, n).
        condim: kinds of friction that each shape allows, NaN where unspecified.
        priority: of each shape, see `Shape`.
        keys: sorted keys of pairs with overrides: smaller index times n plus larger one.
        overrides: their coefficients, as `values`; shape (keys, 7).
        always: keys of pairs that touch regardless of any exclusion.
    """

    values: Floats
    condim: Floats
    priority: Integers
    keys: Integers
    overrides: Floats
    always: Integers

    @cached_property
    def turns(self) -> bool:
        """Whether any pair may have torsional or rolling friction."""
        said = np.nan_to_num(self.values[2:4]) > 0.0
        return bool((said.any() and (self.condim >= 4).any()) or (np.nan_to_num(self.overrides[:, 2:4]) > 0.0).any())

    def key(self, a: Any, b: Any) -> Any:
        """Keys of pairs of shapes, in either order."""
        return np.minimum(a, b) * self.values.shape[1] + np.maximum(a, b)

    def pairs(self, pairs: Any) -> Any:
        """`PAIR` records of pairs of shapes."""
        table = records(len(pairs), PAIR)
        if len(pairs) == 0:
            return table
        a, b = np.array(pairs).T
        table.a, table.b = a, b
        table.key = (a * self.values.shape[1] + b) * FEATURES
        size = self._combined(self.condim, a, b, True)
        overrides = self._overrides(a, b)
        fields = ("friction", "restitution", "spin", "roll", "static")
        for k, (name, field) in enumerate(zip(COEFFICIENTS, fields, strict=False)):
            found = self._combined(self.values[k], a, b, name != "restitution")
            found = np.nan_to_num(found, nan=FRICTION if name == "friction" else 0.0)
            found = np.where(size < LEAST[name], 0.0, found)  # false for NaN: then every coefficient acts
            table[field] = np.where(np.isnan(overrides[:, k]), found, overrides[:, k])
        table.static = np.maximum(table.static, table.friction)
        table.restitution[self.softness(a, b)[:, 0] > 0.0] = 0.0
        return table

    def softness(self, a: Any, b: Any) -> Floats:
        """Compliance [m/N] (0: rigid) and relaxation time [s] of pairs of shapes, shape (pairs, 2)."""
        out = in_series(self.values[5:, a], self.values[5:, b])
        own = self._overrides(a, b)[:, 5:]
        return np.where(np.isnan(own), out.T, own)

    def _overrides(self, a: Any, b: Any) -> Floats:
        """Overrides of the mechanism for pairs, shape (pairs, 7); NaN where unspecified."""
        if not len(self.keys):
            return np.full((len(a), len(COEFFICIENTS)), np.nan)
        key = self.key(a, b)
        at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return np.where((self.keys[at] == key)[:, None], self.overrides[at], np.nan)

    def _combined(self, values: Floats, a: Integers, b: Integers, ranked: bool) -> Floats:
        """The larger of two values, or that of higher priority; if one is NaN (unspecified), the other."""
        x, y = values[a], values[b]
        if ranked and self.priority.any():
            ahead = self.priority[a] - self.priority[b]
            x, y = (
                np.where(ahead < 0, np.where(np.isnan(y), x, y), x),
                np.where(ahead > 0, np.where(np.isnan(x), y, x), y),
            )
        return np.asarray(np.fmax(x, y))

    def without(self, pairs: Iterable[tuple[int, int]]) -> Surfaces:
        """The same properties without contact between these pairs."""
        keys = [int(self.key(a, b)) for a, b in pairs]
        return replace(self, always=self.always[~np.isin(self.always, keys)])


def surfaces(items: Sequence[Any], pairs: Sequence[ContactPair]) -> Surfaces:
    """Surfaces of shapes that are being collected, see `contact_shapes`; pairs: of the mechanism, the last one wins."""
    values = np.array([[np.nan if (x := getattr(i, name)) is None else x for i in items] for name in COEFFICIENTS])
    values = values.reshape(len(COEFFICIENTS), len(items))
    implied = np.where(np.isnan(values[0]), np.nan, 3.0)
    implied = np.where(values[2] > 0.0, 4.0, implied)
    implied = np.where(values[3] > 0.0, 6.0, implied)
    condim = np.array([implied[k] if item.condim is None else item.condim for k, item in enumerate(items)], float)
    found: dict[int, tuple[list[float], bool]] = {}
    count = len(items)
    for pair in pairs:
        overrides = [np.nan if (x := getattr(pair, name)) is None else x for name in COEFFICIENTS]
        for a in _named(items, pair.first, pair.shapes[0]):
            for b in _named(items, pair.second, pair.shapes[1]):
                found[min(a, b) * count + max(a, b)] = overrides, pair.always
    keys = sorted(found)
    return Surfaces(
        values,
        condim.reshape(-1),
        np.array([item.priority for item in items], np.int64),
        np.array(keys, np.int64),
        np.array([found[key][0] for key in keys], float).reshape(-1, len(COEFFICIENTS)),
        np.array([key for key in keys if found[key][1]], np.int64),
    )


def _named(items: Sequence[Any], body: str, shape: str) -> list[int]:
    """Indices of a body's shapes by name; contact points count under the names of the shapes that they replace."""
    own = [k for k, item in enumerate(items) if item.body == body]
    return [k for k in own if not shape or items[k].name == shape or shape in items[k].stands_for]
