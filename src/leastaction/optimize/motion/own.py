"""Functions that users write: NumPy with derivatives, CasADi or JAX."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, cast

import numpy as np

from leastaction._extras import require
from leastaction.errors import ProblemError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import real_array, shown
from leastaction.optimize import arguments
from leastaction.optimize.motion.functions import Bends, BoolArray, FloatArray, Function, Place, Values

KINDS = ("numpy", "casadi", "jax")


@dataclass
class OwnAtKnots(Function):
    """A function f(q) of the configuration.

    Attributes:
        f: with kind "numpy": f(q) gives (values (size,), derivative along the tangent (size, nv)); with "casadi" and
            "jax": f(q) gives values, of q (nq,) in their own types.
        kind: "numpy", "casadi" or "jax".
    """

    f: Callable[..., Any] = lambda *_: None
    kind: str = "numpy"
    arguments: ClassVar[tuple[str, ...]] = ("q",)
    place: ClassVar[str] = "at knots"

    def prepare(self, mechanism: Mechanism, steps: int) -> None:
        """See `Function.prepare`."""
        super().prepare(mechanism, steps)
        arguments.choice(self.kind, KINDS, f"{self.name}: kind")
        if not callable(self.f):
            raise ProblemError(f"{self.name}: expected a function of ({', '.join(self.arguments)}), got {self.f!r}")
        self._check_arguments()
        sizes = {"q": mechanism.nq, "v": mechanism.nv, "u": mechanism.nu}
        self.sizes = [sizes[name] for name in self.arguments]
        self.derived = {"numpy": lambda: self.f, "casadi": self._by_casadi, "jax": self._by_jax}[self.kind]()
        self.size = len(self._checked(mechanism.neutral(), np.zeros(mechanism.nv), np.zeros(mechanism.nu))[0])

    def _check_arguments(self) -> None:
        """What the function itself raises comes through, so calls that cannot be right are found out before."""
        try:
            signature = inspect.signature(self.f)
        except (TypeError, ValueError):  # some built-in functions tell nothing
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

    def curvatures(self, place: Place, bar: FloatArray) -> Bends | None:
        """See `Function.curvatures`."""
        given = {"q": place.q, "v": place.v, "u": place.u}
        arguments = [given[name] for name in self.arguments]
        rows = [self._second(bar[k], *(x[k] for x in arguments)) for k in range(len(bar))]
        n = sum(self.sizes)
        second = np.array([H for H, _ in rows]).reshape(-1, n, n)
        at = sum(self.sizes[: self.arguments.index("v")]) if "v" in self.arguments else 0
        by_v = np.array([g[at : at + self.mechanism.nv] for _, g in rows]) if "v" in self.arguments else None
        return Bends(second, by_v)

    @cached_property
    def _second(self) -> Callable[..., Any]:
        """(Hessian, gradient) of bar . f by all arguments together."""
        if self.kind == "casadi":
            ca = require("casadi", "optimize")
            x, y = ca.MX.sym("x", sum(self.sizes)), ca.MX.sym("y", self.size)
            value = ca.vertcat(self.f(*ca.vertsplit(x, [0, *np.cumsum(self.sizes).tolist()])))
            H, g = ca.hessian(ca.dot(y, value), x)
            function = ca.Function("second", [y, x], [ca.densify(H), ca.densify(g)])
            return lambda bar, *a: [np.array(out.full()).ravel() for out in function.call([bar, np.concatenate(a)])]
        jax = require("jax", "jax")
        jax.config.update("jax_enable_x64", True)
        ends = np.cumsum(self.sizes)[:-1].tolist()

        def scalar(x: Any, y: Any) -> Any:
            return y @ jax.numpy.atleast_1d(self.f(*jax.numpy.split(x, ends))).ravel()

        hessian, gradient = jax.jit(jax.hessian(scalar)), jax.jit(jax.grad(scalar))
        return lambda bar, *a: [np.asarray(f(np.concatenate(a), bar)) for f in (hessian, gradient)]

    def _by_casadi(self) -> Callable[..., Any]:
        ca = require("casadi", "optimize")
        symbols = [ca.MX.sym(name, n) for name, n in zip(self.arguments, self.sizes, strict=True)]
        value = ca.vertcat(self.f(*symbols))
        function = ca.Function("own", symbols, [value, *(ca.jacobian(value, s) for s in symbols)])

        def derived(*arguments: FloatArray) -> list[FloatArray]:
            value, *slopes = function.call(arguments)
            return [np.array(value).ravel(), *(np.array(s.full() if hasattr(s, "full") else s) for s in slopes)]

        return derived

    def _by_jax(self) -> Callable[..., Any]:
        jax = require("jax", "jax")
        jax.config.update("jax_enable_x64", True)

        def flat(*arguments: Any) -> Any:
            return jax.numpy.atleast_1d(self.f(*arguments)).ravel()

        value = jax.jit(flat)
        slopes = jax.jit(jax.jacfwd(flat, argnums=tuple(range(len(self.sizes)))))
        return lambda *arguments: [np.asarray(value(*arguments)), *map(np.asarray, slopes(*arguments))]

    def _checked(self, q: FloatArray, v: FloatArray, u: FloatArray) -> list[FloatArray]:
        """Values and derivatives, those by q along the tangent, as arrays of the shapes that were promised."""
        given = {"q": q, "v": v, "u": u}
        out = self.derived(*(given[name] for name in self.arguments))
        arrays = [real_array(x) for x in out] if isinstance(out, tuple | list) else []
        if not arrays or any(a is None for a in arrays):
            raise ProblemError(
                f"{self.name}: a NumPy function must give its values and its derivatives by "
                f"{', '.join(self.arguments)}, got {shown(out)}"
            )
        value, *slopes = cast("list[FloatArray]", arrays)
        value = np.atleast_1d(value).ravel()
        if self.kind != "numpy":
            slopes[0] = along_tangent(self.mechanism, q, slopes[0].reshape(len(value), -1))
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

    def evaluate(self, place: Place, slopes: bool) -> Values:
        """See `Function.evaluate`."""
        nothing = np.zeros(0)
        rows = [
            self._checked(
                place.q[k],
                place.v[k] if "v" in self.arguments else nothing,
                place.u[k] if "u" in self.arguments else nothing,
            )
            for k in range(len(place.q))
        ]
        columns = [np.array(x) for x in zip(*rows, strict=True)]
        return Values(columns[0], **dict(zip(self.arguments, columns[1:], strict=True)))

    def pattern(self) -> dict[str, BoolArray]:
        """See `Function.pattern`."""
        sizes = {"q": self.mechanism.nv, "v": self.mechanism.nv, "u": self.mechanism.nu}
        return {name: np.ones((self.size, sizes[name]), bool) for name in self.arguments}


@dataclass
class OwnOverSteps(OwnAtKnots):
    """A function f(q, v, u) in the middles of steps; the NumPy kind gives values and derivatives by q, v and u."""

    where: ClassVar[str] = "steps"
    arguments: ClassVar[tuple[str, ...]] = ("q", "v", "u")
    place: ClassVar[str] = "in the middles of steps"


def along_tangent(mechanism: Mechanism, q: FloatArray, by_entries: FloatArray) -> FloatArray:
    """Derivatives by the entries of q, shape (size, nq), to those along the tangent of `Mechanism.integrate`."""
    if mechanism.nq == mechanism.nv:
        return by_entries
    from leastaction.mechanism.configuration import quaternion_rate

    rates = np.stack([quaternion_rate(mechanism, q, e) for e in np.eye(mechanism.nv)], axis=1)
    return by_entries @ rates
