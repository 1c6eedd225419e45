"""Exciting motions for the identification of a robot: Fourier series within its limits (Swevers et al. 1997)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import null_space
from scipy.optimize import minimize

from leastaction.dynamics import inverse_dynamics, passive_forces
from leastaction.errors import IdentificationError
from leastaction.identification.base_parameters import natural_number
from leastaction.identification.inverse_dynamics_fit import InverseDynamicsFit, Samples, required_forces, serves
from leastaction.identification.parameter_charts import Chart, chart_of
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import choice, count, positive
from leastaction.mechanism.arguments import FloatArray, configuration, robot
from leastaction.parameters.parameters import parameter_names

SAMPLES = 40
"""States at which the information and the limits are looked at."""

INSIDE = 0.95
"""Share of the limits that is used: between samples a motion goes a little further."""

RANDOM = 10
"""Random motions, the best of which the search goes on from."""

SPEED, REACH = 3.0, 1.5
"""Where a joint has no limit of its velocity [rad/s or m/s] or of its position [rad or m] about the middle."""

FORCE = 1e-2
"""Noise of a force, as a share of the largest that the joint needs in a random motion."""


@dataclass(frozen=True, eq=False)
class Excitation:
    """A motion from rest to rest at the same place, and the controls that make it with the model's values.

    Attributes:
        t: times [s], shape (steps + 1,).
        q, v, a: positions, velocities and accelerations, shape (steps + 1, nv).
        controls: held over each step, shape (steps, nu).
        information: logarithm of the determinant of the information, per number that is identified.
        first_information: that of a random motion within the same limits.
        condition: condition number of the regressor in units of the parameters' sizes.
        first_condition: that of the random motion.
        dt: [s].
    """

    t: FloatArray
    q: FloatArray
    v: FloatArray
    a: FloatArray
    controls: FloatArray
    information: float
    first_information: float
    condition: float
    first_condition: float
    dt: float


def design_excitation(
    mechanism: Mechanism,
    parameters: Iterable[str] | str,
    *,
    duration: float = 5.0,
    dt: float = 0.01,
    harmonics: int = 4,
    q: ArrayLike | None = None,
    criterion: str = "information",
    evaluations: int = 40,
    seed: int = 0,
) -> Excitation:
    """A motion that excites parameters well, within limits of positions, velocities and efforts.

    Each joint follows a Fourier series that starts and ends at rest at q. Its coefficients are those with the most
    information of inverse dynamics, or the least condition number, found by L-BFGS from random ones.

    Args:
        mechanism: a robot whose joints all have one axis and an actuator each, such as an arm.
        parameters: names as for `leastaction.identify`.
        duration: of the motion [s].
        dt: time step of its samples [s].
        harmonics: of the series; the slowest has the period `duration`.
        q: where it starts and ends; default the middle of the limits, `mechanism.home()` where there are none.
        criterion: "information", log det of the information, or "condition", the condition number of the regressor.
        evaluations: iterations of the search.
        seed: of the random coefficients.

    Raises:
        IdentificationError: for robots with other joints or without actuators, or unknown names.
    """
    duration, dt = positive(duration, "duration"), positive(dt, "dt")
    harmonics, evaluations = count(harmonics, "harmonics"), count(evaluations, "evaluations")
    if harmonics < 2:
        raise IdentificationError("harmonics: expected 2 or more, a motion that starts and ends at rest needs them")
    choice(criterion, ("information", "condition"), "criterion", IdentificationError)
    _check_robot(mechanism)
    chart = chart_of(mechanism, parameter_names(parameters), 0.0)
    if any(piece.kind == "delay" for piece in chart.pieces):
        raise IdentificationError("delays do not act on what a motion takes: leave them out")
    lower, upper = _limits(mechanism)
    centre = 0.5 * (lower + upper) if q is None else configuration(mechanism, q)
    if not ((lower <= centre) & (centre <= upper)).all():
        raise IdentificationError("q is beyond the limits of the joints")
    series = FourierSeries(centre, duration, harmonics)
    search = Search(chart, series, (lower, upper), criterion)
    rng = np.random.default_rng(natural_number(seed, "seed"))
    random = [search.within_limits(rng.normal(size=series.size)) for _ in range(RANDOM)]
    search.set_noise(random[0])
    first = search.information(random[0])
    c = min(random, key=lambda c: search.score(search.information(c)))
    found = minimize(search.cost, c, jac=search.slope, method="L-BFGS-B", options={"maxiter": evaluations})
    best = min((search.within_limits(found.x), c), key=lambda c: search.score(search.information(c)))
    steps = max(4, round(duration / dt))
    t = np.asarray(dt * np.arange(steps + 1), np.float64)
    Q, V, A = series.at(best, t)
    last = search.information(best)
    return Excitation(
        t,
        Q,
        V,
        A,
        _controls(mechanism, Q, V, A),
        _log_det(last),
        _log_det(first),
        _condition(last),
        _condition(first),
        dt,
    )


class FourierSeries:
    """Motions q(t) from rest to rest that start and end at the centre without acceleration.

    Args:
        centre: [rad or m], shape (nv,).
        duration: [s].
        harmonics: of each joint.
    """

    def __init__(self, centre: FloatArray, duration: float, harmonics: int) -> None:
        self.centre, self.duration = centre, duration
        self.w = 2.0 * np.pi / duration * np.arange(1, harmonics + 1)
        # Coefficients of sines and cosines: positions, velocities and accelerations at the start vanish.
        conditions = np.zeros((3, 2 * harmonics))
        conditions[0, harmonics:], conditions[1, :harmonics] = 1.0, self.w
        conditions[2, harmonics:] = -(self.w**2)
        self.basis = null_space(conditions)

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return self.basis.shape[1] * len(self.centre)

    def functions(self, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Positions, velocities and accelerations of unit coefficients of a joint, shape (times, coefficients)."""
        angle = np.outer(t, self.w)
        sin, cos = np.sin(angle), np.cos(angle)
        rows = [sin, cos], [self.w * cos, -self.w * sin], [-(self.w**2) * sin, -(self.w**2) * cos]
        position, velocity, acceleration = (np.concatenate(row, axis=1) @ self.basis for row in rows)
        return position, velocity, acceleration

    def at(self, c: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Positions, velocities and accelerations, shape (times, nv)."""
        C = c.reshape(len(self.centre), -1).T
        q, v, a = (f @ C for f in self.functions(t))
        return self.centre + q, v, a


class Search:
    """The information of a motion as a function of its coefficients, with limits as penalties.

    Args:
        chart: of the parameters.
        series: of the motion.
        limits: of the positions, lower and upper, shape (nv,).
        criterion: "information" or "condition".
    """

    def __init__(
        self, chart: Chart, series: FourierSeries, limits: tuple[FloatArray, FloatArray], criterion: str
    ) -> None:
        self.chart, self.series, self.limits, self.criterion = chart, series, limits, criterion
        self.t = np.linspace(0.0, series.duration, SAMPLES, endpoint=False)
        m = chart.robot
        self.speed = _limit_of(m, "velocity_limit", SPEED)
        self.effort = _efforts(m)
        self.force = np.ones(m.nv)
        self.slopes: FloatArray | None = None
        """Of the natural parameters by the coordinates of the chart, which depend on no motion."""

    def set_noise(self, c: FloatArray) -> None:
        """Noise of the forces [N m or N], a share of those of a motion."""
        tau = np.abs(self.forces(c)).max(axis=0)
        self.force = FORCE * np.maximum(tau, 1e-3 * tau.max(initial=1e-12))

    def forces(self, c: FloatArray) -> FloatArray:
        """Generalised forces of a motion, shape (samples, nv)."""
        q, v, a = self.series.at(c, self.t)
        return required_forces(self.chart.robot, Samples(q, v, a, [len(q)]))

    def within_limits(self, c: FloatArray) -> FloatArray:
        """The coefficients, scaled down: each joint for its positions and velocities, all of them for efforts."""
        q, v, _ = self.series.at(c, self.t)
        room = np.where(
            q > self.series.centre, self.limits[1] - self.series.centre, self.series.centre - self.limits[0]
        )
        used = np.maximum(np.abs(q - self.series.centre) / np.maximum(room, 1e-12), np.abs(v) / self.speed)
        share = np.maximum(used.max(axis=0) / INSIDE, 1e-12)
        C = c.reshape(len(share), -1) / share[:, None]
        for _ in range(30):
            over = (np.abs(self.forces(C.ravel())) / self.effort).max(initial=0.0)
            if over <= INSIDE:
                break
            C = 0.9 * C
        return C.ravel()

    def information(self, c: FloatArray) -> FloatArray:
        """Of the coordinates of the chart in units of their sizes, per sample, shape (n, n)."""
        q, v, a = self.series.at(c, self.t)
        fit = DesignFit(self.chart, Samples(q, v, a, [len(q)]))
        if self.slopes is None:
            self.slopes = fit.slopes()
        Phi = (fit.columns / self.force[None, :, None]) @ self.slopes * self.chart.scale
        Phi = Phi.reshape(-1, self.chart.size)
        return Phi.T @ Phi / len(q)

    def score(self, F: FloatArray) -> float:
        """What is made least."""
        return np.log(_condition(F)) if self.criterion == "condition" else -_log_det(F)

    def cost(self, c: FloatArray) -> float:
        """The score, with penalties beyond limits."""
        q, v, _ = self.series.at(c, self.t)
        beyond = np.maximum(q - self.limits[1], 0.0) + np.maximum(self.limits[0] - q, 0.0)
        fast = np.maximum(np.abs(v) / self.speed - 1.0, 0.0)
        strong = np.maximum(np.abs(self.forces(c)) / self.effort - 1.0, 0.0)
        width = self.limits[1] - self.limits[0]
        penalty = np.sum((beyond / width) ** 2) + np.sum(fast**2) + np.sum(strong**2)
        return self.score(self.information(c)) + 1e2 * float(penalty)

    def slope(self, c: FloatArray) -> FloatArray:
        """Gradient of the cost by forward differences."""
        here, h = self.cost(c), 1e-5
        return np.array([(self.cost(c + h * e) - here) / h for e in np.eye(len(c))])


class DesignFit(InverseDynamicsFit):
    """`InverseDynamicsFit` of a motion that was not made yet: its controls are those that it takes."""

    def __init__(self, chart: Chart, samples: Samples) -> None:
        super().__init__(chart, [], samples)

    def slowest(self) -> FloatArray:
        """See `InverseDynamicsFit.slowest`."""
        return 1e-9 + 0.01 * np.abs(self.samples.v).max(axis=0)

    def driven_forces(self, m: Mechanism, delays: FloatArray | None = None, name: str | None = None) -> FloatArray:
        """See `InverseDynamicsFit.driven_forces`."""
        u = required_forces(self.robot, self.samples) @ np.linalg.pinv(_control_matrix(self.robot)).T
        if name is not None:
            u = u * np.array([a.name == name for a in m.actuators])
        return u @ _control_matrix(m).T

    def slopes(self) -> FloatArray:
        """Derivatives of the natural parameters by the coordinates of the chart, shape (columns, n)."""
        x, rows = self.chart.start, []
        for k, h in enumerate(1e-5 * np.diag(self.chart.scale)):
            low, high = np.maximum(x - h, self.chart.lower), np.minimum(x + h, self.chart.upper)
            rows.append((self.natural(high) - self.natural(low)) / (high[k] - low[k]))
        return np.array(rows).T


def _log_det(F: FloatArray) -> float:
    """Logarithm of the determinant per parameter; a floor keeps what is never seen from hiding the rest."""
    values = np.linalg.eigvalsh(F)
    return float(np.mean(np.log(np.maximum(values, 1e-10))))


def _condition(F: FloatArray) -> float:
    """Condition number of the regressor among what is seen."""
    values = np.linalg.eigvalsh(F)
    seen = values[values > 1e-10 * values[-1]]
    return float(np.sqrt(seen[-1] / seen[0]))


def _check_robot(m: Mechanism) -> None:
    if not serves(robot(m)):
        raise IdentificationError(f"{m.name!r}: excitations are for trees that touch nothing, with plain actuators")
    if m.nq != m.nv or not m.nv:
        raise IdentificationError(f"{m.name!r}: excitations are for joints with one axis, such as those of an arm")
    idle = [name for name, column in zip(m.velocity_names, _control_matrix(m), strict=True) if not column.any()]
    if idle:
        raise IdentificationError(f"{m.name!r}: no actuator drives {idle[0]!r}, so no motion can be asked of it")


def _control_matrix(m: Mechanism) -> FloatArray:
    """Generalised forces of unit controls, shape (nv, nu)."""
    return np.column_stack([m.generalized_forces(e, m.home()) for e in np.eye(m.nu)])


def _controls(m: Mechanism, Q: FloatArray, V: FloatArray, A: FloatArray) -> FloatArray:
    """Held over each step: those in the middle of it, shape (steps, nu)."""
    q, v, a = (0.5 * (x[1:] + x[:-1]) for x in (Q, V, A))
    G = np.linalg.pinv(_control_matrix(m))
    tau = [inverse_dynamics(m, *x) - passive_forces(m, *x[:2]) for x in zip(q, v, a, strict=True)]
    return np.array(tau) @ G.T


def _limit_of(m: Mechanism, name: str, otherwise: float) -> FloatArray:
    values = np.concatenate([np.array(getattr(joint, name)) for joint in m.joints])
    return np.where(np.isfinite(values), values, otherwise)


def _limits(m: Mechanism) -> tuple[FloatArray, FloatArray]:
    lower, upper = (np.concatenate([np.array(getattr(joint, x)) for joint in m.joints]) for x in ("lower", "upper"))
    home = m.home()
    return np.where(np.isfinite(lower), lower, home - REACH), np.where(np.isfinite(upper), upper, home + REACH)


def _efforts(m: Mechanism) -> FloatArray:
    """Largest forces of the joints: their limits, or what their actuators can exert; infinite where there are none."""
    own = _limit_of(m, "effort_limit", np.inf)
    G, most = (
        np.abs(_control_matrix(m)),
        np.array([max(abs(a.lower), abs(a.upper)) for a in m.actuators] or [np.inf] * m.nu),
    )
    with np.errstate(invalid="ignore"):
        driven = np.where(G > 0.0, G * most, 0.0).sum(axis=1)
    return np.minimum(own, np.where(np.isfinite(driven), driven, np.inf))
