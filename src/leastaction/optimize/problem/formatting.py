"""A problem as text, written like its mathematics, for `repr`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from leastaction.integration import registry

if TYPE_CHECKING:
    from leastaction.optimize.functions.costs import Cost
    from leastaction.optimize.functions.motion_constraints import Constraint
    from leastaction.optimize.problem.problem import Problem

MANY = 4
"""Conditions of one kind beyond are counted, not listed."""


def as_mathematics(problem: Problem) -> str:
    """The problem in a few lines: what is minimised, over which motions, such that what holds."""
    m, N = problem.mechanism, problem.steps
    costs = " + ".join(_cost(c) for c in problem.costs) or "0"
    low, high = problem.duration_range
    T = f"T = {low:g} s" if low == high else f"{low:g} <= T <= {high:g} s"
    lines = [
        f"minimise   {costs}",
        f"over       q_0 ... q_{N} of {m.name!r} ({m.nv} degrees of freedom), controls u ({m.nu}), {T}",
        f"such that  {registry.title(problem.integrator)} moves it",
    ]
    lines += [f"           {line}" for line in _conditions(problem)]
    return "<Problem\n  " + "\n  ".join(lines) + ">"


def _number(values: Any) -> str:
    values = np.unique(np.asarray(values, float))
    return f"{values[0]:.4g}" if len(values) == 1 else "w"


def _cost(cost: Cost) -> str:
    f, weight = cost.function, _number(cost.weights)
    body = f"|{f.name}|^2" if cost.squares else f.name
    body = f"integral of {body} dt" if cost.integral else body
    at = "" if f.at is None else f" at {f.where[:-1]} {f.at}"
    return f"{'' if weight == '1' else weight + ' '}{body}{at}"


def _conditions(problem: Problem) -> list[str]:
    m, out = problem.mechanism, []
    for name, q, v in (
        ("0", problem.start_position, problem.start_velocity),
        ("T", problem.finish_position, problem.finish_velocity),
    ):
        parts = [f"{what}({name}) = {_vector(x)}" for what, x in (("q", q), ("v", v)) if x is not None]
        if parts:
            out.append(", ".join(parts))
    for what, names, (lower, upper) in (
        ("q", m.velocity_names, problem.q_bounds),
        ("u", problem.control_names, problem.u_bounds),
    ):
        out += _bounds(what, names, lower, upper)
    out += [_constraint(c) for c in problem.constraints]
    if problem.schedule.phases:
        out.append(
            "feet stand in phases of " + ", ".join(str(phase.steps) for phase in problem.schedule.phases) + " steps"
        )
    if problem.schedule.touches:
        out.append("contact where and when it pays: " + ", ".join(t.name for t in problem.schedule.touches))
    if problem.schedule.shift is not None:
        out.append(f"q(T) = q(0) + {_vector(problem.schedule.shift)}, v(T) = v(0)")
    return out


def _vector(x: Any) -> str:
    x = np.asarray(x, float)
    if not x.any():
        return "0"
    return "(" + ", ".join("free" if np.isnan(y) else f"{y:.4g}" for y in x) + ")"


def _bounds(what: str, names: Any, lower: Any, upper: Any) -> list[str]:
    found = [k for k in range(len(lower)) if np.isfinite(lower[k]) or np.isfinite(upper[k])]
    if not found:
        return []
    if len(found) > MANY:
        return [f"bounds on {what} of {len(found)} of {len(lower)} degrees of freedom"]
    return [f"{lower[k]:.4g} <= {what}[{names[k]!r}] <= {upper[k]:.4g}" for k in found]


def _constraint(c: Constraint) -> str:
    f, (lower, upper) = c.function, c.limits
    at = "" if f.at is None else f" at {f.where[:-1]} {f.at}"
    if (lower == upper).all():
        return f"{f.name} = {_vector(lower)}{at}"
    return f"{_vector(lower)} <= {f.name} <= {_vector(upper)}{at}"
