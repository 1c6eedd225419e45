"""Functions that users write: NumPy with derivatives, CasADi or JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from leastaction.errors import ProblemError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice, real_array, shown
from leastaction.optimize.functions.casadi_jax_functions import CasadiRows, JaxRows, UserRows
from leastaction.optimize.functions.motion_functions import BoolArray, Curvature, FloatArray, Function, Place, Values
from leastaction.warn import warn

STEP = 6e-6
"""Of central differences, relative to the size of a number and one: the cube root of round-off."""

KINDS = ("numpy", "casadi", "jax")


@dataclass
class UserFunctionAtKnots(Function):
    """A function f(q) of the configuration.

    Attributes:
        f: with kind "numpy": f(q) gives (values (size,), derivative along the tangent (size, nv)), or values alone, of
            which differences are taken; with "casadi" and "jax": f(q) gives values, of q (nq,) in their own types.
        kind: "numpy", "casadi" or "jax".
    """

    f: Callable[..., Any] = lambda *_: None
    kind: str = "numpy"
    arguments: ClassVar[tuple[str, ...]] = ("q",)
    place: ClassVar[str] = "at knots"

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        choice(self.kind, KINDS, f"{self.name}: kind", ProblemError)
        if not callable(self.f):
            raise ProblemError(f"{self.name}: expected a function of ({', '.join(self.arguments)}), got {self.f!r}")
        self._check_arguments()
        sizes = {"q": mechanism.nq, "v": mechanism.nv, "u": mechanism.nu}
        self.sizes = [sizes[name] for name in self.arguments]
        self.rows: UserRows | None = None
        self.compared = False  # with differences
        if self.kind == "casadi":
            self.rows = CasadiRows(self.name, self.f, self.arguments, self.sizes)
        elif self.kind == "jax":
            self.rows = JaxRows(self.name, self.f, self.arguments, self.sizes)
        neutral = {"q": mechanism.neutral(), "v": np.zeros(mechanism.nv), "u": np.zeros(mechanism.nu)}
        given = [neutral[name] for name in self.arguments]
        if self.kind == "numpy" and (plain := _plain(self.f(*given))) is not None:
            self.compared = True
            width = sum(mechanism.nv if name == "q" else n for name, n in zip(self.arguments, self.sizes, strict=True))
            warn(
                f"{self.name}: gives values without derivatives, so these are differences: {2 * width + 1} calls for "
                "each knot or step, and six digits. kind='casadi' or kind='jax' makes exact ones of the same formula, "
                "and second derivatives"
            )
            self.size = plain.size
            return
        self.size = (self.checked(given)[0] if self.rows is None else self.rows.values([x[None] for x in given])).size

    def _check_arguments(self) -> None:
        """What the function itself raises comes through, so calls that cannot be right are found out before."""
        try:
            signature = inspect.signature(self.f)
        except (TypeError, ValueError):  # some built-in functions have no signature
            return
        try:
            signature.bind(*self.arguments)
        except TypeError as error:
            wanted = ", ".join(self.arguments)
            raise ProblemError(
                f"{self.name}: is called as f({wanted}) {self.place}, but takes {signature}: {error}"
            ) from None

    @property
    def has_curvatures(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        """CasADi and JAX know second derivatives; along the tangents of ball and free joints they are not taken."""
        return self.kind != "numpy" and self.mechanism.nq == self.mechanism.nv

    def curvatures(self, place: Place, bar: FloatArray) -> Curvature | None:
        """See `Function.curvatures`."""
        assert self.rows is not None
        second, first = self.rows.second(bar, self._given(place))
        at = sum(self.sizes[: self.arguments.index("v")]) if "v" in self.arguments else 0
        return Curvature(second, first[:, at : at + self.mechanism.nv] if "v" in self.arguments else None)

    def _given(self, place: Place) -> list[FloatArray]:
        given = {"q": place.q, "v": place.v, "u": place.u}
        return [given[name] for name in self.arguments]

    def checked(self, given: list[FloatArray]) -> list[FloatArray]:
        """Values and derivatives of a NumPy function, as arrays of the shapes that were promised."""
        out = self.f(*given)
        if (plain := _plain(out)) is not None:
            return [plain, *self._differences(given)]
        arrays = [real_array(x) for x in out] if isinstance(out, tuple | list) else []
        if not arrays or any(a is None for a in arrays):
            raise ProblemError(
                f"{self.name}: a NumPy function must give its values, a number or an array, or a tuple of them and of "
                f"their derivatives by {', '.join(self.arguments)}, got {shown(out)}"
            )
        value, *slopes = cast("list[FloatArray]", arrays)
        value = np.atleast_1d(value).ravel()
        sizes = [self.mechanism.nv if name == "q" else n for name, n in zip(self.arguments, self.sizes, strict=True)]
        if len(slopes) != len(sizes):
            raise ProblemError(f"{self.name}: expected derivatives by {', '.join(self.arguments)}, got {len(slopes)}")
        for i, (name, n) in enumerate(zip(self.arguments, sizes, strict=True)):
            if slopes[i].size != len(value) * n:
                raise ProblemError(
                    f"{self.name}: the derivative by {name} must have shape ({len(value)}, {n}), got {slopes[i].shape}"
                )
            slopes[i] = slopes[i].reshape(len(value), n)
        return [value, *slopes]

    def _differences(self, given: list[FloatArray]) -> list[FloatArray]:
        """Derivatives of plain values by each argument, along the tangent of q, by central differences."""
        out = []
        for i, name in enumerate(self.arguments):
            x, columns = given[i], []
            for k in range(self.mechanism.nv if name == "q" else len(x)):
                h = STEP * (1.0 + (abs(float(x[k])) if self.mechanism.nq == self.mechanism.nv or name != "q" else 0.0))
                move = h * np.eye(self.mechanism.nv if name == "q" else len(x))[k]
                ends = [self.mechanism.integrate(x, d) if name == "q" else x + d for d in (move, -move)]
                values = [_plain(self.f(*given[:i], end, *given[i + 1 :])) for end in ends]
                if values[0] is None or values[1] is None:
                    raise ProblemError(f"{self.name}: gave values before, and now something else")
                columns.append((values[0] - values[1]) / (2.0 * h))
            out.append(np.array(columns).reshape(len(columns), -1).T)
        return out

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        given = self._given(place)
        if self.rows is not None:
            value = self.rows.values(given)
            if not slopes:
                return Values(value)
            by = self.rows.slopes(given)
            if self.mechanism.nq != self.mechanism.nv:
                by[0] = np.array([along_tangent(self.mechanism, q, J) for q, J in zip(place.q, by[0], strict=True)])
            return Values(value, **dict(zip(self.arguments, by, strict=True)))
        rows = len(place.q)
        widths = [self.mechanism.nv if name == "q" else n for name, n in zip(self.arguments, self.sizes, strict=True)]
        out = [np.empty((rows, self.size)), *(np.empty((rows, self.size, n)) for n in widths)]
        for k in range(rows):
            found = self.checked([x[k] for x in given])
            if len(found[0]) != self.size:
                raise ProblemError(f"{self.name}: gave {self.size} values before, and now {len(found[0])}")
            for array, x in zip(out, found, strict=True):
                array[k] = x
        return Values(out[0], **dict(zip(self.arguments, out[1:], strict=True)))

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        sizes = {"q": self.mechanism.nv, "v": self.mechanism.nv, "u": self.mechanism.nu}
        return {name: np.ones((self.size, sizes[name]), bool) for name in self.arguments}


@dataclass
class UserFunctionOverSteps(UserFunctionAtKnots):
    """A function f(q, v, u) in the middles of steps; the NumPy kind gives values and derivatives by q, v and u."""

    where: ClassVar[str] = "steps"
    arguments: ClassVar[tuple[str, ...]] = ("q", "v", "u")
    place: ClassVar[str] = "in the middles of steps"


def _plain(out: Any) -> FloatArray | None:
    """Values without derivatives, shape (size,); None where it is anything else, such as a tuple of both."""
    if out is None or isinstance(out, tuple | list):
        return None
    numbers = real_array(out)
    return None if numbers is None or numbers.ndim > 1 else np.atleast_1d(numbers)


def along_tangent(mechanism: Mechanism, q: FloatArray, by_entries: FloatArray) -> FloatArray:
    """Derivatives by the entries of q, shape (size, nq), to those along the tangent of `Mechanism.integrate`."""
    if mechanism.nq == mechanism.nv:
        return by_entries
    from leastaction.mechanism.configuration import quaternion_rate

    rates = np.stack([quaternion_rate(mechanism, q, e) for e in np.eye(mechanism.nv)], axis=1)
    return by_entries @ rates
