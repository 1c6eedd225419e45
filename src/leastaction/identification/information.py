"""Fisher information of parameters in logs, confidence intervals, and what the logs do not say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from leastaction.identification.parameter_charts import Chart
from leastaction.identification.prediction_errors import PredictionErrors
from leastaction.mechanism.arguments import FloatArray


@dataclass(frozen=True, eq=False)
class Information:
    """What logs say of the coordinates of a chart.

    Attributes:
        matrix: Fisher information, J'J of the errors in units of the noise with the starts eliminated, in units of
            `Chart.scale`, shape (n, n).
        variance: of the errors in units of the noise; 1 where the noise was given.
        errors: how many there are, less the unknowns.
        values, directions: eigenvalues of `matrix` in rising order, and its eigenvectors as columns.
    """

    matrix: FloatArray
    variance: float
    errors: int
    values: FloatArray
    directions: FloatArray

    @property
    def spread(self) -> FloatArray:
        """Standard deviations along `directions`, in units of `Chart.scale`; infinite where nothing is said."""
        seen = self.values > 1e-14 * max(float(self.values[-1]), 1e-300)
        return np.where(seen, np.sqrt(self.variance / np.where(seen, self.values, 1.0)), np.inf)

    @property
    def condition(self) -> float:
        """Condition number of the errors' Jacobian; infinite where a direction is not seen."""
        least, most = self.spread.min(), self.spread.max()
        return float(most / least) if np.isfinite(most) else np.inf

    def covariance(self, chart: Chart) -> FloatArray:
        """Of the coordinates of the chart, shape (n, n), with what is not said as unsure as the chart's scale."""
        # As if each coordinate had been known before to within a hundred times its scale.
        F = self.matrix / self.variance + 1e-4 * np.eye(len(self.matrix))
        inverse = np.linalg.inv(F)
        return chart.scale[:, None] * (0.5 * (inverse + inverse.T)) * chart.scale


def information_of(errors: PredictionErrors, z: FloatArray, *, scaled: bool) -> Information:
    """The information at z; the starts of segments are eliminated by orthogonal factorisations.

    Args:
        errors: of all segments.
        z: parameters and starts.
        scaled: whether the size of the noise is that of the errors, rather than as given.
    """
    n, scale = errors.chart.size, errors.chart.scale
    F = np.zeros((n, n))
    for by_x, by_start in errors.jacobians(z):
        own = by_x * scale
        if by_start.shape[1]:
            Q = np.linalg.qr(by_start)[0]
            own = own - Q @ (Q.T @ own)
        F += own.T @ own
    residuals = errors.residuals(z)
    measured = int(np.count_nonzero(np.tile(errors.noise.weights, len(residuals) // (2 * errors.nv))))
    freedom = max(1, measured - errors.columns)
    variance = float(residuals @ residuals) / freedom if scaled else 1.0
    values, directions = np.linalg.eigh(F)
    return Information(F, max(variance, 1e-30), freedom, values, directions)
