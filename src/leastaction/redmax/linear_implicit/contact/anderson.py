"""Anderson's acceleration of a fixed-point iteration (Anderson 1965; Walker and Ni 2011)."""

from __future__ import annotations

import numpy as np

from leastaction.mechanism.arguments import FloatArray

DEPTH = 6
"""Iterates that are looked back to."""


class Anderson:
    """The next guess for x = f(x), from the guesses and values so far; exact in few steps where f is linear."""

    def __init__(self) -> None:
        self._guesses: list[FloatArray] = []
        self._values: list[FloatArray] = []

    def next(self, x: FloatArray, f: FloatArray) -> FloatArray:
        """The next guess after f = f(x).

        Args:
            x: guess, shape (n,).
            f: the value there, shape (n,).
        """
        self._guesses, self._values = [*self._guesses, x][-DEPTH:], [*self._values, f][-DEPTH:]
        values = np.array(self._values)
        residuals = values - np.array(self._guesses)
        if len(values) < 2:
            return f
        slopes = np.diff(residuals, axis=0).T
        weights = np.linalg.lstsq(slopes, residuals[-1], rcond=1e-10)[0]
        return f - np.diff(values, axis=0).T @ weights
