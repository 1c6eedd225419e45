"""Controls of a run: read from what the user gives, and checked."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.integration.integrators import Stepper
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import real_array, shown
from leastaction.mechanism.arguments import FloatArray


def control_table(stepper: Stepper, controls: Any, steps: int) -> FloatArray:
    """Controls at the nodes of all steps, shape (steps, nodes, nu); a view of one row if constant.

    Args:
        stepper: reads them at its nodes, and knows when the run starts.
        controls: as for `leastaction.simulate`.
        steps: of the run.
    """
    mechanism, nodes = stepper.mechanism, stepper.control_nodes
    nu = mechanism.nu
    shape = (steps, len(nodes), nu)
    if controls is None:
        return np.broadcast_to(np.zeros(nu), shape)
    if callable(controls):
        check_call(controls, "controls", ("t",))
        times = stepper.start_time + stepper.dt * np.arange(steps)
        fractions = np.array(nodes) * stepper.dt
        table = np.array([[control_at(mechanism, controls(t + f), t + f) for f in fractions] for t in times])
        return table.reshape(shape)
    refuse_names(mechanism, controls)
    values = _numbers(controls)
    if values is None:
        raise IntegratorError("controls must be finite numbers, or a function of time [s]")
    if values.shape == (nu,) or (values.ndim == 0 and nu == 1):
        return np.broadcast_to(values, shape)
    if values.shape == (steps, nu):
        return np.broadcast_to(values[:, None, :], shape)
    if values.shape == shape:  # as runs and plans have them
        return values
    raise IntegratorError(
        f"controls: expected shape ({nu},) or ({steps}, {nu}), a row for each step, got {values.shape}"
    )


def check_call(function: Any, what: str, arguments: tuple[str, ...]) -> None:
    """Refuse what cannot be called with these arguments."""
    call = f"{what}({', '.join(arguments)})"
    if not callable(function):
        raise IntegratorError(f"{what} must be a function that can be called as {call}, got {function!r}")
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # some built-in functions have no signature
        return
    try:
        signature.bind(*arguments)
    except TypeError as error:
        raise IntegratorError(f"{what} must be a function that can be called as {call}: {error}") from None


def control_at(mechanism: Mechanism, value: Any, t: float) -> FloatArray:
    """Controls of the time t [s] as an array of shape (nu,)."""
    refuse_names(mechanism, value)
    u = _numbers(value)
    u = None if u is None else u.reshape(-1)
    if u is None or u.shape != (mechanism.nu,):
        raise IntegratorError(f"controls at t = {t:g} s: expected {mechanism.nu} finite numbers, got {shown(value)}")
    return u


def refuse_names(mechanism: Mechanism, value: Any) -> None:
    """Refuse controls given by name, and name their order."""
    if isinstance(value, Mapping):
        expected = f"{mechanism.nu} numbers in the order of mechanism.control_names"
        raise IntegratorError(f"controls take no names, but {expected}; got {shown(value)}")


def _numbers(value: Any) -> FloatArray | None:
    """`value` as an array of finite floats, or None if it is anything else."""
    a = real_array(value)
    return a if a is not None and np.isfinite(a).all() else None
