"""Parts of runs: cut out, joined, and sampled at other times."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.errors import MechanismError
from leastaction.mechanism import Mechanism, Motion
from leastaction.mechanism._check import real_array, shown
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.trajectory.trajectory import Trajectory


OF_STEPS = ("u", "commands")
"""What has a row for each step; the log "contacts" names steps; other arrays of that length have a row per state."""
OF_RUN = ("nodes", "complementarity", "cuts", "shift", "accuracy")
"""What belongs to no one step."""
OF_STEP_BEFORE = ("iterations", "divided", "substeps")
"""What a row records of the step that led to its state, zero at a start."""
CUTS = "cuts"
"""Rows of a run at which it goes on from a state alone, without what came before it."""

CLOSE = 1e-9
"""Difference of states, relative to their size, up to which one run continues another."""

BERNOULLI = {1: 1 / 2, 2: 1 / 12, 4: -1 / 720, 6: 1 / 30240, 8: -1 / 1209600, 10: 1 / 47900160}
"""Coefficients of the series of dexp^-1."""


def cut(run: Trajectory, part: Any) -> Trajectory:
    """The states of a slice, and all that is stored of them and of the steps between them."""
    if not isinstance(part, slice):
        raise MechanismError(
            f"runs are cut by slices, run[5:20], got {shown(part)}; states are rows of run.q and run.v"
        )
    try:
        first, end, stride = part.indices(len(run))
    except (TypeError, ValueError):
        raise MechanismError(f"runs are cut by slices of whole numbers, got {shown(part)}") from None
    if stride != 1:
        raise MechanismError(f"a slice of a run takes every state, got every {stride}th; see `resample`")
    if end <= first:
        raise MechanismError(f"run[{first}:{end}] holds none of the {len(run)} states")
    stored = {}
    for name, values in run.stored.items():
        if name == "contacts":
            log = values[(values[:, 0] >= first) & (values[:, 0] < end - 1)].copy()
            log[:, 0] -= first
            stored[name] = log
        elif name in OF_STEPS:
            stored[name] = values[first : end - 1]
        elif name != CUTS:
            stored[name] = values[first:end] if _of_states(run, name) else values
    if first:
        for name in OF_STEP_BEFORE:
            if name in stored:
                stored[name] = stored[name].copy()
                stored[name][0] = 0
    at = run.stored.get(CUTS, np.zeros(0, np.int64))
    at = np.unique([*(at[(at >= first) & (at < end - 1)] - first), *([0] if first else [])]).astype(np.int64)
    if len(at):
        stored[CUTS] = at
    t = run.t[first:end]
    dt = run.dt if run.uniform or len(t) < 2 else float(np.diff(t).mean())
    return type(run)(run.mechanism, run.integrator, dt, t, run.q[first:end], stored)


def join(run: Trajectory, other: Trajectory) -> Trajectory:
    """A run and one that begins where it ends, as one."""
    from leastaction.integration import registry

    if not isinstance(other, type(run)):
        raise MechanismError(f"join needs another run, got {shown(other)}")
    if other.mechanism != run.mechanism:
        raise MechanismError(f"join: the runs are of two robots, {run.mechanism.name!r} and {other.mechanism.name!r}")
    even = run.uniform and other.uniform
    if even and other.dt != run.dt:
        raise MechanismError(f"join: the runs have steps of {run.dt:g} and of {other.dt:g} s")
    if registry.to_json(other.integrator) != registry.to_json(run.integrator):
        raise MechanismError(f"join: the runs are of two integrators, {run.integrator!r} and {other.integrator!r}")
    m = run.mechanism
    gaps = {"q": m.difference(run.q[-1], other.q[0]), "v": other.v[0] - run.v[-1]}
    for name, gap in gaps.items():
        size = max(1.0, float(np.abs(run.q[-1] if name == "q" else run.v[-1]).max(initial=0.0)))
        if np.abs(gap).max(initial=0.0) > CLOSE * size:
            worst = m.velocity_names[int(np.argmax(np.abs(gap)))]
            raise MechanismError(
                f"join: the second run does not begin where the first ends: {name} of {worst!r} differs by "
                f"{np.abs(gap).max():.3g}"
            )
    whole = _with_controls(run, other), _with_controls(other, run)
    stored: dict[str, Any] = {}
    for name, first in whole[0].items():
        if name not in whole[1] or name == CUTS:
            continue
        second = whole[1][name]
        if first.shape[1:] != second.shape[1:]:
            raise MechanismError(
                f"join: {name!r} of the runs has rows of shape {first.shape[1:]} and {second.shape[1:]}"
            )
        if name == "contacts":
            log = second.copy()
            log[:, 0] += run.steps
            stored[name] = np.concatenate([first, log])
        elif name in OF_STEPS:
            stored[name] = np.concatenate([first, second])
        elif _of_states(run, name) and _of_states(other, name):
            stored[name] = np.concatenate([first, second[1:]])
        else:
            stored[name] = first
    at = [*run.stored.get(CUTS, ()), *(other.stored.get(CUTS, np.zeros(0, np.int64)) + run.steps), run.steps]
    if CUTS in other.stored and other.stored[CUTS][0] == 0 and _goes_on(run, other):
        at = [k for k in at if k != run.steps]
    at = [k for k in at if k < run.steps + other.steps]
    if at:
        stored[CUTS] = np.unique(at).astype(np.int64)
    # A run that goes on at its own time keeps its times to the last bit.
    late = run.t[-1] - other.t[0]
    t = np.concatenate([run.t, other.t[1:] + (0.0 if abs(late) <= CLOSE * run.dt else late)])
    dt = run.dt if even else float(np.diff(t).mean())
    return type(run)(m, run.integrator, dt, t, np.concatenate([run.q, other.q[1:]]), stored)


def _of_states(run: Trajectory, name: str) -> bool:
    values = run.stored[name]
    return name not in OF_RUN and values.ndim > 0 and len(values) == len(run)


def _goes_on(run: Trajectory, other: Trajectory) -> bool:
    """Whether the last state of a run, with all that is stored of it, is the first of another."""
    names = [name for name in run.stored if name in other.stored and name not in OF_STEP_BEFORE]
    rows = [(run.q, other.q)] + [(run.stored[n], other.stored[n]) for n in names if _of_states(run, n)]
    return all(len(a) == len(run) and np.array_equal(a[-1], b[0]) for a, b in rows)


def _with_controls(run: Trajectory, other: Trajectory) -> dict[str, NDArray[Any]]:
    """What is stored of a run, with controls also where there were none but `other` has some."""
    stored = dict(run.stored)
    if "u" in other.stored:
        stored.setdefault("u", np.zeros((run.steps, *other.stored["u"].shape[1:])))
    if "commands" in other.stored:
        stored.setdefault("commands", stored["u"])
    return stored


# ---------------------------------------------------------------------- other times


def resample(run: Trajectory, times: Any) -> Trajectory:
    """Positions and velocities at other times, see `Trajectory.resample`."""
    t = real_array(times)
    if t is None or t.ndim != 1 or not len(t) or not np.isfinite(t).all():
        raise MechanismError(f"resample needs an array of times [s], got {shown(times)}")
    t = np.asarray(t, np.float64)
    slack = CLOSE * run.dt
    if (np.diff(t) <= 0.0).any():
        raise MechanismError("resample: times must grow")
    if t[0] < run.t[0] - slack or t[-1] > run.t[-1] + slack:
        span = f"{run.t[0]:g} to {run.t[-1]:g} s"
        raise MechanismError(f"resample: the run goes from {span}, and has nothing at {t[0]:g} to {t[-1]:g} s")
    if run.steps == 0:
        return type(run)(run.mechanism, None, run.dt, t, run.q.copy(), {"v": run.v.copy()})
    k = np.clip(np.searchsorted(run.t, t, side="right") - 1, 0, run.steps - 1)
    h = run.t[k + 1] - run.t[k]
    s = np.clip((t - run.t[k]) / h, 0.0, 1.0)
    q, v = _between(run.mechanism, run.q[k], run.q[k + 1], run.v[k], run.v[k + 1], h, s)
    for rows, at in ((s == 0.0, k), (s == 1.0, k + 1)):  # states of the run itself, to the last bit
        q[rows], v[rows] = run.q[at[rows]], run.v[at[rows]]
    dt = float(np.mean(np.diff(t))) if len(t) > 1 else run.dt
    return type(run)(run.mechanism, None, dt, t, q, {"v": v})


def _between(
    m: Mechanism, q0: FloatArray, q1: FloatArray, v0: FloatArray, v1: FloatArray, h: FloatArray, s: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Cubic Hermite interpolation in the coordinates x of q = q0 exp(x), rows of (q0, q1) at fractions s of h."""
    h, s = h[:, None], s[:, None]
    x1 = m.difference(q0, q1)
    d0, d1 = h * v0, h * _rate(m, x1, v1)
    a, b = 3.0 * x1 - 2.0 * d0 - d1, d0 + d1 - 2.0 * x1
    x = s * (d0 + s * (a + s * b))
    dx = (d0 + s * (2.0 * a + s * 3.0 * b)) / h
    return m.integrate(q0, x), _velocity(m, x, dx)


def _rate(m: Mechanism, x: FloatArray, v: FloatArray) -> FloatArray:
    """dx/dt at a velocity v in the moved frame: dexp^-1 at -x, Hairer, Lubich, Wanner 2006, Eq. III.4.11."""
    out, term = v.copy(), v
    for n in range(1, max(BERNOULLI) + 1):
        term = _bracket(m, x, term)
        out += BERNOULLI.get(n, 0.0) * term
    return out


def _velocity(m: Mechanism, x: FloatArray, dx: FloatArray) -> FloatArray:
    """The velocity in the moved frame at a rate dx: dexp at -x."""
    out, term = dx.copy(), dx
    for n in range(1, 16):
        term = -_bracket(m, x, term)
        out += term / math.factorial(n + 1)
    return out


def _bracket(m: Mechanism, x: FloatArray, y: FloatArray) -> FloatArray:
    """Lie bracket of rows of tangent vectors: zero but for balls and free motions."""
    out = np.zeros_like(y)
    for group in m.coordinate_groups:
        w, lin = slice(group.iv, group.iv + 3), slice(group.iv + 3, group.iv + 6)
        if group.kind in (Motion.SPHERICAL, Motion.FREE):
            out[:, w] = np.cross(x[:, w], y[:, w])
        if group.kind == Motion.FREE:
            out[:, lin] = np.cross(x[:, w], y[:, lin]) + np.cross(x[:, lin], y[:, w])
    return out
