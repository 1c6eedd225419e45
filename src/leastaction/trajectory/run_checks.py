"""Checking the arrays of a run before anything uses them: sizes, kinds of numbers, finite values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import IntegratorError, MechanismError
from leastaction.mechanism import Mechanism, Motion
from leastaction.mechanism._check import shown
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.integration.integrators import Stepper
    from leastaction.trajectory.trajectory import Trajectory


FLOATS = ("p", "v", "poses", "u", "commands", "activation", "contacts", "violation", "work")
"""Arrays of a run that hold floats, whatever they came as."""
WHOLE = ("iterations", "divided", "cuts")
"""Those that hold whole numbers."""
OF_STATES = (
    "divided",
    "substeps",
    "work",
    "goals",
    "multipliers",
    "momenta",
    "velocities",
    "rigid_poses",
    "before",
    "impulses",
    "places",
) + ("r", "rd", "chart", "body_frames", "body_twists", "joint_friction", "normal_forces", "friction_forces")
"""Those with a row for each state, of a width that the integrator alone knows."""
LARGEST = 1e100
"""Size beyond which no number of a run is taken from a file: the squares of such, and their products, overflow."""


def numbers(value: Any, what: str) -> NDArray[Any]:
    """`value` as an array of real numbers: floats of 64 bits, unless it holds whole numbers."""
    try:
        a = np.asarray(value)
    except (TypeError, ValueError):
        a = np.array(None)
    if a.dtype.kind not in "fiub":
        raise MechanismError(f"{what}: expected an array of numbers, got {shown(value)}")
    return np.asarray(a, np.float64) if a.dtype.kind == "f" else a


def stored_numbers(value: Any, name: str) -> NDArray[Any]:
    """An array of a run, of the kind of numbers that its name stands for."""
    values = numbers(value, name)
    if name in FLOATS:
        return np.asarray(values, np.float64)
    if name in WHOLE and (values.dtype.kind == "f" or (values.dtype.kind == "u" and (values > 2**62).any())):
        raise MechanismError(f"{name}: expected whole numbers, got {shown(value)}")
    return np.asarray(values, np.int64) if name in WHOLE else values


def check_shapes(m: Mechanism, t: FloatArray, q: FloatArray, stored: Mapping[str, NDArray[Any]]) -> None:
    """Refuse arrays of a run of `m` that do not fit it or one another; see `Trajectory` for their shapes."""
    if t.ndim != 1 or not len(t):
        raise MechanismError(f"t: expected the times of one state or more, shape (steps + 1,), got {t.shape}")
    states, steps = len(t), len(t) - 1
    expected = {
        "q": (states, m.nq),
        "p": (states, m.nv),
        "v": (states, m.nv),
        "poses": (states, len(m.bodies), 7),
        "u": (steps, None, m.nu),
        "commands": (steps, None, m.nu),
        "activation": (states, m.nu),
        "contacts": (None, 10),
        "iterations": (states,),
        "violation": (states,),
        "cuts": (None,),
    }
    for name, values in ({"q": q} | dict(stored)).items():
        shape = expected.get(name)
        if name in OF_STATES and (values.ndim == 0 or len(values) != states):
            raise MechanismError(f"{name}: expected a row for each of the {states} states, got shape {values.shape}")
        if shape is None:
            continue
        fits = len(shape) == values.ndim and all(a in (None, b) for a, b in zip(shape, values.shape, strict=True))
        if not fits:
            words = ", ".join("..." if n is None else str(n) for n in shape)
            raise MechanismError(f"{name}: expected shape ({words}) for {m.name!r}, got {values.shape}")


def check_values(m: Mechanism, dt: float, t: FloatArray, q: FloatArray, stored: Mapping[str, NDArray[Any]]) -> None:
    """Refuse values that no run has: NaN and infinity, quaternions that are none, contacts of bodies there are not."""
    if not (np.isfinite(dt) and dt > 0.0):
        raise MechanismError(f"dt: expected a positive, finite time step [s], got {dt}")
    for name, values in ({"t": t, "q": q} | dict(stored)).items():
        if not np.isfinite(values).all():
            raise MechanismError(f"{name}: holds numbers that are not finite")
        if values.dtype.kind == "f" and np.abs(values).max(initial=0.0) > LARGEST:
            raise MechanismError(f"{name}: holds numbers beyond {LARGEST:g}")
    if (np.diff(t) <= 0.0).any():
        raise MechanismError("t: times must grow")
    for group in m.coordinate_groups:
        if group.kind in (Motion.SPHERICAL, Motion.FREE):
            i = group.iq + (3 if group.kind == Motion.FREE else 0)
            if (np.abs(np.linalg.norm(q[:, i : i + 4], axis=1) - 1.0) > 1e-3).any():
                raise MechanismError(f"q: the quaternion at {m.coordinate_names[i]!r} must have unit norm")
    for name in ("iterations", "cuts"):
        rows = stored.get(name, np.zeros(0, np.int64))
        if (rows < 0).any() or (name == "cuts" and ((rows >= len(t)).any() or (np.diff(rows) <= 0).any())):
            raise MechanismError(f"{name}: holds numbers that no run has")
    log = stored.get("contacts")
    if log is not None:
        step, bodies = log[:, 0], log[:, 1:3]
        wrong = (log[:, :3] != np.round(log[:, :3])).any() or (step < 0).any() or (step >= len(t) - 1).any()
        if wrong or (bodies < -1).any() or (bodies >= len(m.bodies)).any():
            raise MechanismError("contacts: names steps or bodies that there are not")


def check_widths(run: Trajectory) -> None:
    """Refuse rows of another width than the run's integrator writes; what it does not write is not looked at."""
    if run.integrator is None:
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the run has said what of the robot does not act
        rows = run.integrator.prepare(run.mechanism, run.dt).record(0).states()
    for name in run.stored.keys() & rows.keys():
        values = run.stored[name]
        if values.shape[1:] != rows[name].shape[1:]:
            expected = (len(values), *rows[name].shape[1:])
            raise MechanismError(f"{name}: expected shape {expected} for {run.integrator}, got {values.shape}")


def checked_record(stepper: Stepper, run: Trajectory) -> dict[str, NDArray[Any]]:
    """The arrays of a run by name; refuses those that this stepper would not have written, before it goes back."""
    name, steps = type(stepper.integrator).__name__, run.steps
    if "accuracy" in run.stored or not run.uniform:
        raise IntegratorError("gradients go back over steps of one length: run it again with dt and without accuracy")
    stored = {"q": run.q, **run.stored}
    for key, rows in stepper.record(steps).states().items():
        if key in stepper.lacking:
            stored.setdefault(key, rows)
        if key not in stored:
            raise IntegratorError(
                f"the run has no {key!r}, so it is not one of {name}, not a whole one, or one of an earlier version "
                "with other steps; run it again"
            )
        values = stored[key]
        if values.shape != rows.shape or values.dtype != rows.dtype:
            raise IntegratorError(
                f"the run's {key!r} has shape {values.shape} of {values.dtype}, which is not what {name} writes: "
                f"{rows.shape} of {rows.dtype}"
            )
    shape = (steps, len(stepper.control_nodes), stepper.mechanism.nu)
    if "u" in stored and stored["u"].shape != shape:
        raise IntegratorError(f"the run's controls have shape {stored['u'].shape}; {name} reads {shape}")
    return stored
