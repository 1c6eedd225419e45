"""The coefficients of the exponential chart."""

import numpy as np

from leastaction.spatial.exponential import UNTURNED, coefficients


def test_coefficients_without_a_turn():
    np.testing.assert_allclose(UNTURNED, coefficients((0.0, 0.0, 0.0)), rtol=1e-15)
