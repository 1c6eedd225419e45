"""`Identification`: what was found, how sure it is, and what it predicts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

import numpy as np
from scipy.stats import t as student

from leastaction.errors import IdentificationError
from leastaction.identification.base_parameters import natural_number
from leastaction.identification.identification_logs import checked_logs, segments_of
from leastaction.identification.information import Information
from leastaction.identification.parameter_charts import Chart
from leastaction.identification.prediction_errors import PredictionErrors
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import count as whole
from leastaction.mechanism._check import number, text
from leastaction.mechanism.arguments import FloatArray
from leastaction.trajectory.trajectory import Trajectory

UNKNOWN = 1.0
"""Standard deviation of an entry, in units of its size, beyond which it counts as not determined."""

SHARE = 0.25
"""Share of a direction that an entry has, below which it is not named."""


@dataclass(frozen=True, eq=False)
class Identification:
    """Parameters found by `leastaction.identify`, with their uncertainty.

    Attributes:
        chart: coordinates in which they were found.
        x: coordinates found, shape (n,).
        z: the same with the starts of all segments.
        errors: prediction errors of the segments.
        information: what the logs say of the coordinates.
        linear: coordinates that the fit of inverse dynamics found, or None.
        rms_before: error of the segments with the first values, in units of the noise; NaN where they do not run.
        success: whether the search ended at a minimum.
        reason: why it ended.
        evaluations: simulations of all segments.
        seconds: wall time [s].
    """

    chart: Chart
    x: FloatArray
    z: FloatArray
    errors: PredictionErrors
    information: Information
    linear: FloatArray | None
    rms_before: float
    success: bool
    reason: str
    evaluations: int
    seconds: float

    @cached_property
    def robot(self) -> Mechanism:
        """The robot with the values found; delays are none of its own, see `delays`."""
        return self.chart.robot_at(self.x)

    @property
    def labels(self) -> list[str]:
        """Of all entries of the parameters, such as "com:link1[x]"."""
        return self.chart.labels

    @property
    def values(self) -> dict[str, FloatArray]:
        """Values found, by the names of parameters."""
        return self.chart.values(self.x)

    @property
    def first(self) -> dict[str, FloatArray]:
        """Values before."""
        return self.chart.values(self.chart.start)

    @property
    def delays(self) -> FloatArray:
        """Of all controls [s], shape (nu,)."""
        return self.chart.delays(self.x)

    @cached_property
    def covariance(self) -> FloatArray:
        """Of all entries (see `labels`) in their own units, shape (n, n); from the Fisher information.

        Linear about the values found. What the logs do not say is as unsure as a hundred times its size.
        """
        T = self.chart.slopes(self.x)
        return T @ self.information.covariance(self.chart) @ T.T

    @property
    def deviations(self) -> dict[str, FloatArray]:
        """Standard deviations of the values, by name."""
        return self.chart.by_name(np.sqrt(np.diag(self.covariance)))

    @property
    def correlation(self) -> FloatArray:
        """Of all entries, shape (n, n)."""
        size = np.sqrt(np.diag(self.covariance))
        return self.covariance / np.outer(size, size)

    def interval(self, level: float = 0.95) -> dict[str, tuple[FloatArray, FloatArray]]:
        """Confidence intervals (lower, upper) of the values, by name.

        Those of masses are symmetric in their logarithms; those of other entries about the value.

        Args:
            level: probability that an interval holds the value, between 0 and 1.
        """
        if not 0.0 < number(level, "level") < 1.0:
            raise IdentificationError(f"level must be between 0 and 1, got {level}")
        factor = float(student.ppf(0.5 + 0.5 * level, self.information.errors))
        out, entries = {}, self.chart.entries(self.x)
        size = np.sqrt(np.diag(self.covariance))
        low, high = entries - factor * size, entries + factor * size
        for piece in self.chart.pieces:
            if piece.kind == "mass":
                share = factor * size[piece.rows] / entries[piece.rows]
                low[piece.rows] = entries[piece.rows] * np.exp(-share)
                high[piece.rows] = entries[piece.rows] * np.exp(share)
        lows, highs = self.chart.by_name(low), self.chart.by_name(high)
        for name in self.chart.names:
            out[name] = lows[name], highs[name]
        return out

    @property
    def relative_deviations(self) -> FloatArray:
        """Standard deviations of all entries in units of their sizes: masses by themselves, moments by the largest of
        their body, places by 0.1 m, others by their first value; shape (n,)."""
        return np.sqrt(np.diag(self.covariance)) / self.chart.sizes(self.x)

    @property
    def undetermined(self) -> list[str]:
        """Entries that the logs say nothing of: they stay near their first values.

        Their standard deviation is larger than their size, alone or because only a combination of them acts on the
        motion; see `relative_deviations` and `directions`.
        """
        return [label for label, size in zip(self.labels, self.relative_deviations, strict=True) if size > UNKNOWN]

    def directions(self, count: int | None = None) -> list[tuple[float, dict[str, float]]]:
        """Combinations of entries, least known first: standard deviation and shares of the entries in them.

        In units of the sizes of the entries, so that above 1 nothing is known.

        Args:
            count: how many; default those that are not determined.
        """
        chart, known = self.chart, self.information
        count = int((known.spread > UNKNOWN).sum()) if count is None else natural_number(count, "count")
        T = self.chart.slopes(self.x) * chart.scale / chart.sizes(self.x)[:, None]
        out = []
        for k in range(min(count, len(known.spread))):
            along = T @ known.directions[:, k]
            size = float(np.linalg.norm(along))
            named = {x: float(c) for x, c in zip(self.labels, along / size, strict=True) if abs(c) > SHARE * size}
            out.append((float(known.spread[k]) * size, named))
        return out

    @property
    def noise(self) -> dict[str, FloatArray]:
        """Standard deviations of the measurements [rad or m, rad/s or m/s], given or found, shape (nv,) each."""
        scale = np.sqrt(self.information.variance)
        return {"q": self.errors.noise.q * scale, "v": self.errors.noise.v * scale}

    @cached_property
    def rms(self) -> float:
        """Error of the segments with the values found, in units of the noise: 1 where the model is right."""
        return float(np.sqrt(np.mean(self.errors.residuals(self.z) ** 2)))

    def runs(self) -> list[Trajectory]:
        """The segments as they are simulated with the values found."""
        found = self.errors.runs(self.z)
        assert found is not None
        return found

    def validate(self, logs: Trajectory | Iterable[Trajectory], *, segment: int | None = 25) -> dict[str, FloatArray]:
        """Errors on logs that were not fitted, with first values and with those found.

        Each segment is simulated from the start that fits it best.

        Args:
            logs: a `Trajectory` or several, as for `leastaction.identify`.
            segment: steps of the segments; None: each log in one.

        Returns:
            "q", "v": root mean squares of the errors of each degree of freedom, shape (nv,); "q_before", "v_before":
            the same with the first values.
        """
        checked = checked_logs(self.chart.robot, logs)
        segment = None if segment is None else whole(segment, "segment")
        delay = max(
            float(self.chart.upper[piece.rows][0]) if piece.kind == "delay" else 0.0 for piece in self.chart.pieces
        )
        pieces = segments_of(checked, segment, [int(np.ceil(delay / log.dt)) for log in checked])
        own = self.errors
        out = {}
        for suffix, x in (("_before", self.chart.start), ("", self.x)):
            errors = PredictionErrors(self.chart, own.integrator, pieces, own.noise, own.substeps, own.free)
            z = errors.with_best_starts(errors.first(x))
            rows = errors.residuals(z).reshape(-1, 2 * errors.nv) / np.where(
                own.noise.weights > 0.0, own.noise.weights, 1.0
            )
            size = np.sqrt(np.mean(rows**2, axis=0))
            out[f"q{suffix}"], out[f"v{suffix}"] = size[: errors.nv], size[errors.nv :]
        return out

    def report(self, path: str | PathLike[str], *, title: str | None = None) -> Path:
        """Write a page with the values, their uncertainty and plots: one HTML file, read without a network.

        Args:
            path: of the file, `.html`.
            title: its heading.
        """
        from leastaction.identification.identification_report import write_report

        return write_report(self, path, None if title is None else text(title, "title"))

    def __str__(self) -> str:
        from leastaction._files._page import text as plain_text
        from leastaction.identification.identification_report import page

        return plain_text(page(self))

    def _repr_html_(self) -> str:
        from leastaction._files._page import html
        from leastaction.identification.identification_report import page

        return html(page(self))

    def __repr__(self) -> str:
        how = "" if self.success else ", the search has not converged"
        return f"<Identification of {self.chart.robot.name!r}: {self.chart.size} numbers, error {self.rms:.3g}{how}>"
