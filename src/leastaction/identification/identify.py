"""`leastaction.identify`: parameters of a robot from logs of its motion."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import least_squares
from scipy.sparse import csr_matrix, lil_matrix

from leastaction.errors import IdentificationError, IntegratorError
from leastaction.identification.identification import Identification
from leastaction.identification.identification_logs import checked_logs, noise_of, segments_of
from leastaction.identification.information import information_of
from leastaction.identification.inverse_dynamics_fit import InverseDynamicsFit, serves
from leastaction.identification.parameter_charts import Chart, chart_of
from leastaction.identification.prediction_errors import Noise, PredictionErrors
from leastaction.integration.default import announce, choose
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice, count, flag, positive, real_array, shown
from leastaction.mechanism.arguments import FloatArray, robot
from leastaction.parameters.parameters import parameter_names
from leastaction.trajectory.trajectory import Trajectory

SEGMENT = 25
"""Steps of a segment by default."""

WEAK = 3.0
"""Standard deviation, in units of `Chart.scale`, of the prior about the first values.

Too weak to be seen where logs say anything, strong enough that what they do not say stays where it is."""

DENSE = 500
"""Columns up to which systems are solved by a dense factorisation."""

LOSSES = ("linear", "soft_l1", "huber", "cauchy", "arctan")
"""Of SciPy's `least_squares`."""


def identify(
    mechanism: Mechanism,
    logs: Trajectory | Iterable[Trajectory],
    parameters: Iterable[str] | str,
    *,
    integrator: Integrator | None = None,
    segment: int | None = SEGMENT,
    substeps: int = 1,
    starts: str = "estimated",
    noise: Mapping[str, ArrayLike] | None = None,
    first_fit: bool = True,
    longest_delay: float | None = None,
    loss: str = "linear",
    evaluations: int = 50,
) -> Identification:
    """Parameters of a robot from logs of its motion: values, confidence intervals, and what the logs do not say.

    First, where nothing touches, inverse dynamics of the smoothed logs is fitted, which is linear in most parameters.
    From there on all segments of the logs are simulated, each from an estimate of its first state, and SciPy's
    `least_squares` makes the errors of their positions and velocities least, with derivatives of the steps. Masses and
    inertias stay those of real bodies (log-Cholesky coordinates of Rucker and Wensing 2022).

    Args:
        mechanism: the robot, with first values.
        logs: a `Trajectory` with controls, or several; of measured arrays `Trajectory.from_states(robot, q, v, dt=dt,
            u=u)` makes one. States are equally far apart, controls are held between them.
        parameters: names as for `leastaction.adjoint`: "mass:BODY", "com:BODY", "inertia:BODY", "damping:JOINT",
            "friction:JOINT", "armature:JOINT", "stiffness:NAME", "kp:NAME", "kv:NAME", "gravity", "position:JOINT",
            "friction:BODY/SHAPE", "restitution:BODY/SHAPE", ...; and beside these "body:BODY" for the first three,
            "gear:ACTUATOR", and "delay" of all controls or "delay:ACTUATOR" [s].
        integrator: `Galerkin(...)`, `Midpoint()`, `Minimal()` or `Maximal(...)`; default that of `simulate`.
        segment: steps of the logs that are simulated in one piece; None: each log in one.
        substeps: steps of the simulation for each step of the logs; delayed controls change at these.
        starts: "estimated": the first states of segments are estimated, too; "measured": they are taken from the logs.
        noise: standard deviations of the measurements, {"q": ..., "v": ...}, one number or nv of them each [rad or m,
            rad/s or m/s], infinite for what was not measured. Default: from the logs, then from what the fit leaves.
        first_fit: whether to fit inverse dynamics first.
        longest_delay: bound of delays [s]; default 20 steps. Of so much of the start of each log only the controls
            are read.
        loss: of `scipy.optimize.least_squares`, such as "soft_l1" where some of the errors are outliers.
        evaluations: most simulations of all segments.

    Returns:
        The `Identification`: `robot` with the values found, `values`, `deviations`, `interval(...)`, `undetermined`,
        `report(path)`.

    Raises:
        IdentificationError: for logs or names that do not fit the robot.
        IntegratorError: for an integrator without derivatives by parameters.
    """
    began = time.perf_counter()
    if not robot(mechanism).is_tree:
        raise IdentificationError(f"{mechanism.name!r} has loops, couplings or rolling contacts: identify its tree")
    if any(getattr(a, "activation", None) is not None for a in mechanism.actuators):
        raise IdentificationError(f"{mechanism.name!r} has actuators with activations, whose states no log has")
    checked = checked_logs(mechanism, logs)
    names = _names(parameters)
    substeps, evaluations = count(substeps, "substeps"), count(evaluations, "evaluations")
    segment = None if segment is None else count(segment, "segment")
    flag(first_fit, "first_fit")
    choice(starts, ("estimated", "measured"), "starts", IdentificationError)
    choice(loss, LOSSES, "loss", IdentificationError)
    if integrator is None:
        integrator, why = choose(mechanism)
        announce(mechanism, integrator, why)
    if not isinstance(integrator, Integrator):
        raise IntegratorError(f"expected an integrator such as leastaction.Galerkin(order=4), got {shown(integrator)}")
    most = _longest_delay(longest_delay, names, [log.dt for log in checked])
    chart = chart_of(mechanism, names, most)
    given = _noise(mechanism, noise)
    measured = given or Noise(*noise_of(mechanism, checked))
    skipped = [int(np.ceil(most / log.dt)) for log in checked]
    pieces = segments_of(checked, segment, skipped)
    errors = PredictionErrors(chart, integrator, pieces, measured, substeps, starts == "estimated")
    x, linear = chart.start, None
    before = errors.residuals(errors.first(x))
    if first_fit and serves(mechanism):
        linear = InverseDynamicsFit(chart, checked).solve()
        x = _better(errors, x, linear)
    if errors.runs(errors.first(x)) is None:
        raise IdentificationError(f"the logs cannot be simulated with the first values: {errors.failure}")
    found, spent = _fitted(errors, chart, errors.first(x), loss, evaluations)
    if given is None:
        found, more = _fitted(
            errors, chart, errors.with_noise(_noise_left(errors, found.x), found.x), loss, evaluations
        )
        spent += more
    information = information_of(errors, found.x, scaled=given is None)
    return Identification(
        chart=chart,
        x=found.x[: chart.size],
        z=found.x,
        errors=errors,
        information=information,
        linear=linear,
        rms_before=_rms(before),
        success=bool(found.status > 0),
        reason=found.message,
        evaluations=spent,
        seconds=time.perf_counter() - began,
    )


def _names(parameters: Any) -> list[str]:
    from leastaction.errors import MechanismError

    try:
        return parameter_names(parameters)
    except MechanismError as error:
        raise IdentificationError(str(error)) from None


def _longest_delay(given: float | None, names: list[str], steps: list[float]) -> float:
    """Bound of delays [s]; zero where there are none."""
    if not any(name.partition(":")[0] == "delay" for name in names):
        return 0.0
    return 20.0 * max(steps) if given is None else positive(given, "longest_delay")


def _noise(mechanism: Mechanism, given: Any) -> Noise | None:
    if given is None:
        return None
    if not isinstance(given, Mapping) or set(given) != {"q", "v"}:
        raise IdentificationError(f"noise: expected {{'q': ..., 'v': ...}}, got {shown(given)}")
    out = []
    for name in ("q", "v"):
        values = real_array(given[name])
        if values is None or values.shape not in ((), (mechanism.nv,)) or not (values > 0.0).all():
            raise IdentificationError(
                f"noise of {name}: expected one positive number or {mechanism.nv}, got {shown(given[name])}"
            )
        out.append(np.broadcast_to(values, (mechanism.nv,)).copy())
    if not np.isfinite(np.concatenate(out)).any():
        raise IdentificationError("noise: at least one coordinate must have been measured")
    return Noise(*out)


def _better(errors: PredictionErrors, x: FloatArray, other: FloatArray) -> FloatArray:
    """That of two vectors with which the segments come nearer to the logs."""
    costs = [np.nan_to_num(np.sum(errors.residuals(errors.first(y)) ** 2), nan=np.inf) for y in (x, other)]
    return other if costs[1] < costs[0] else x


def _rms(residuals: FloatArray) -> float:
    return float(np.sqrt(np.mean(residuals**2)))


def _fitted(errors: PredictionErrors, chart: Chart, z: FloatArray, loss: str, evaluations: int) -> tuple[Any, int]:
    """SciPy's result from z on, and the number of simulations of all segments."""
    n, columns = chart.size, errors.columns
    lower, upper = np.full(columns, -np.inf), np.full(columns, np.inf)
    lower[:n], upper[:n] = chart.lower, chart.upper
    pull = 1.0 / (WEAK * chart.scale)

    def residuals(z: FloatArray) -> FloatArray:
        return np.concatenate([errors.residuals(z), pull * (z[:n] - chart.start)])

    def derivatives(z: FloatArray) -> Any:
        blocks = errors.jacobians(z)
        rows = sum(len(by_x) for by_x, _ in blocks)
        J: Any = np.zeros((rows + n, columns)) if columns <= DENSE else lil_matrix((rows + n, columns))
        row, column = 0, n
        for by_x, by_start in blocks:
            J[row : row + len(by_x), :n] = by_x
            J[row : row + len(by_x), column : column + by_start.shape[1]] = by_start
            row, column = row + len(by_x), column + by_start.shape[1]
        J[np.arange(rows, rows + n), np.arange(n)] = pull
        return J if columns <= DENSE else csr_matrix(J)

    jacobian: Any = derivatives  # which SciPy's types leave out
    inside = np.minimum(1e-8 * chart.scale, 0.25 * (upper[:n] - lower[:n]))
    z = z.copy()
    z[:n] = np.clip(z[:n], lower[:n] + inside, upper[:n] - inside)
    found = least_squares(
        residuals,
        z,
        jacobian,
        bounds=(lower, upper),
        x_scale="jac",
        loss=loss,
        ftol=1e-10,
        xtol=1e-10,
        gtol=1e-10,
        max_nfev=evaluations,
    )
    return found, int(found.nfev)


def _noise_left(errors: PredictionErrors, z: FloatArray) -> Noise:
    """Standard deviations of what the fit leaves, for each coordinate."""
    rows = errors.residuals(z).reshape(-1, 2 * errors.nv) / errors.noise.weights
    free = errors.columns / max(1, 2 * errors.nv)
    spread = np.sqrt((rows**2).sum(axis=0) / max(1.0, len(rows) - free))
    floor = 1e-3 * np.concatenate([errors.noise.q, errors.noise.v])
    spread = np.maximum(spread, floor)
    return Noise(spread[: errors.nv], spread[errors.nv :])
