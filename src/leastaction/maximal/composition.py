"""Steps of high order as compositions of symmetric steps of order 2."""

import numpy as np
from numpy.typing import NDArray


def composition(order: int) -> NDArray[np.float64]:
    """Fractions of dt of the order-2 steps that compose one step of a higher order.

    Order 4 after Suzuki (1990), order 6 after Yoshida (1990), solution A: both symmetric, so the composed step keeps
    momenta and constraints as its substeps do.
    """
    if order <= 2:
        return np.ones(1)
    if order == 4:
        a = 1.0 / (4.0 - 4.0 ** (1.0 / 3.0))
        return np.array([a, a, 1.0 - 4.0 * a, a, a])
    w = (0.784513610477560, 0.235573213359357, -1.17767998417887)
    return np.array([*w, 1.0 - 2.0 * sum(w), *reversed(w)])
