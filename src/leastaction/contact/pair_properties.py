"""What holds where two shapes touch: their coefficients combined, unless the mechanism says something of the pair."""

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
"""Coefficient of friction between shapes that both say nothing about it."""

FEATURES = 1 << 32
"""Keys that belong to one pair of shapes."""

LEAST = {"friction": 3, "restitution": 0, "spinning": 4, "rolling": 6, "static_friction": 3}
"""Least `Shape.condim` with which a coefficient acts."""

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Surfaces:
    """Surfaces of all shapes, and of pairs of them.

    Attributes:
        values: what each shape says of the `COEFFICIENTS`, NaN where nothing; shape (7, n).
        condim: which frictions each lets act, NaN for one that says nothing of any friction.
        priority: of each, see `Shape`.
        keys: of the pairs of which the mechanism says something: smaller index times n plus larger one, sorted.
        overrides: what it says of them, as `values`; shape (keys, 7).
        always: keys of those that touch whatever else says that they do not.
    """

    values: Floats
    condim: Floats
    priority: Integers
    keys: Integers
    overrides: Floats
    always: Integers

    @cached_property
    def turns(self) -> bool:
        """Whether friction against spinning or rolling may act."""
        said = np.nan_to_num(self.values[2:4]) > 0.0
        return bool((said.any() and (self.condim >= 4).any()) or (np.nan_to_num(self.overrides[:, 2:4]) > 0.0).any())

    def key(self, a: Any, b: Any) -> Any:
        """Of pairs of shapes, in either order."""
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
            found = np.where(size < LEAST[name], 0.0, found)  # NaN is not less: then all acts
            table[field] = np.where(np.isnan(overrides[:, k]), found, overrides[:, k])
        table.static = np.maximum(table.static, table.friction)
        table.restitution[self.softness(a, b)[:, 0] > 0.0] = 0.0
        return table

    def softness(self, a: Any, b: Any) -> Floats:
        """Compliance [m/N], 0 where rigid, and relaxation time [s] of pairs of shapes, shape (pairs, 2)."""
        out = in_series(self.values[5:, a], self.values[5:, b])
        own = self._overrides(a, b)[:, 5:]
        return np.where(np.isnan(own), out.T, own)

    def _overrides(self, a: Any, b: Any) -> Floats:
        """What the mechanism says of pairs, shape (pairs, 7); NaN where nothing."""
        if not len(self.keys):
            return np.full((len(a), len(COEFFICIENTS)), np.nan)
        key = self.key(a, b)
        at = np.minimum(np.searchsorted(self.keys, key), len(self.keys) - 1)
        return np.where((self.keys[at] == key)[:, None], self.overrides[at], np.nan)

    def _combined(self, values: Floats, a: Integers, b: Integers, ranked: bool) -> Floats:
        """The larger of two values, or that of the higher priority; the only one given. NaN is not given."""
        x, y = values[a], values[b]
        if ranked and self.priority.any():
            ahead = self.priority[a] - self.priority[b]
            x, y = (
                np.where(ahead < 0, np.where(np.isnan(y), x, y), x),
                np.where(ahead > 0, np.where(np.isnan(x), y, x), y),
            )
        return np.asarray(np.fmax(x, y))

    def without(self, pairs: Iterable[tuple[int, int]]) -> Surfaces:
        """The same where these pairs touch no more."""
        keys = [int(self.key(a, b)) for a, b in pairs]
        return replace(self, always=self.always[~np.isin(self.always, keys)])


def surfaces(items: Sequence[Any], pairs: Sequence[ContactPair]) -> Surfaces:
    """Surfaces of shapes on their way into the records, see `shapes`; pairs: of the mechanism, the last one counts."""
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
    """Shapes of a body by their name; contact points count as the shapes that hold them."""
    own = [k for k, item in enumerate(items) if item.body == body]
    return [k for k in own if not shape or items[k].name == shape or shape in items[k].stands_for]
