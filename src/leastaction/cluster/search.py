"""`search`: the best of sampled parameters, generation by generation, on all cores of a computer or of a cluster."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike

from leastaction._extras import require
from leastaction.cluster.sweep import connected, sweep
from leastaction.errors import LeastActionError
from leastaction.integration.settings import is_count, is_number
from leastaction.mechanism._check import choice, real_array, shown
from leastaction.typing import FloatArray


class Sampler(Protocol):
    """A way to sample parameters and to learn from how good they were."""

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """Parameters to try next, shape (count, n)."""
        ...

    def learn(self, samples: FloatArray, scores: FloatArray) -> None:
        """Take notice of scores, -inf where a sample has none."""
        ...


class CrossEntropy:
    """A normal distribution that moves to the best share of its samples (Rubinstein 1999).

    Args:
        mean: of the first samples, shape (n,).
        spread: their standard deviation, shape (n,).
        elite: share of the samples that is learned from.
        floor: least spread, relative to that at the start.
    """

    def __init__(self, mean: FloatArray, spread: FloatArray, elite: float = 0.25, floor: float = 0.05) -> None:
        self.mean, self.spread, self.elite, self.least = mean.copy(), spread.copy(), elite, floor * spread

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """See `Sampler.sample`."""
        return self.mean + self.spread * rng.standard_normal((count, len(self.mean)))

    def learn(self, samples: FloatArray, scores: FloatArray) -> None:
        """See `Sampler.learn`; a generation in which all failed is forgotten."""
        order = np.argsort(-scores, kind="stable")[: max(2, round(self.elite * len(scores)))]
        best = samples[order[np.isfinite(scores[order])]]
        if len(best):
            self.mean = best.mean(axis=0)
        if len(best) > 1:
            self.spread = np.maximum(best.std(axis=0, ddof=1), self.least)


class RandomSearch:
    """Samples about the best so far, nearer to it after each generation without a better one.

    The sampling of Brüdigam et al. (2023, Algorithm 7) with many samples at a time: half of a generation goes on in the
    direction of the last gain.

    Args:
        mean: of the first samples, shape (n,).
        spread: their standard deviation, shape (n,).
        shrink: factor of the spread after a generation without a gain.
    """

    def __init__(self, mean: FloatArray, spread: FloatArray, shrink: float = 0.7) -> None:
        self.best, self.spread, self.shrink = mean.copy(), spread.copy(), shrink
        self.record, self.explore, self.gain = -math.inf, 1.0, np.zeros(len(mean))

    def sample(self, rng: np.random.Generator, count: int) -> FloatArray:
        """See `Sampler.sample`."""
        samples = self.best + self.explore * self.spread * rng.standard_normal((count, len(self.best)))
        samples[: count // 2] += self.gain
        return samples

    def learn(self, samples: FloatArray, scores: FloatArray) -> None:
        """See `Sampler.learn`."""
        k = int(np.argmax(scores))
        if scores[k] > self.record:
            self.gain = 0.5 * (samples[k] - self.best) if math.isfinite(self.record) else np.zeros(len(self.best))
            self.best, self.record = samples[k].copy(), float(scores[k])
        else:
            self.gain, self.explore = np.zeros(len(self.best)), self.explore * self.shrink


METHODS: dict[str, Callable[[FloatArray, FloatArray], Sampler]] = {"cem": CrossEntropy, "random": RandomSearch}


@dataclass(frozen=True, eq=False)
class Search:
    """What a search found.

    Attributes:
        best: parameters with the highest score, shape (n,).
        score: theirs; -inf where none had one.
        records: highest score so far after each generation, shape (generations,).
        samples: all that was tried, shape (generations, population, n).
        scores: of these, -inf where a job raised or gave something that is not finite.
        failures: what was raised, by (generation, number of the sample).
    """

    best: FloatArray
    score: float
    records: FloatArray
    samples: FloatArray
    scores: FloatArray
    failures: dict[tuple[int, int], str]


def search(
    score: Callable[[FloatArray], float],
    mean: ArrayLike,
    spread: ArrayLike,
    folder: str | Path,
    *,
    method: str = "cem",
    population: int = 32,
    generations: int = 10,
    seed: int = 0,
    progress: bool = True,
    timeout: float | None = None,
    **options: Any,
) -> Search:
    """Look for parameters with a high score by sampling, with Ray; each generation is a `sweep`.

    Samples follow from the seed and from the scores before, so a search that was stopped goes on where it was when it
    is called again with the same folder, and computes nothing twice; more generations continue it.

    Args:
        score: of parameters, shape (n,): a number, higher is better. -inf, NaN and what it raises count as failures.
        mean: where to look first, shape (n,).
        spread: standard deviation of the first samples, a number or shape (n,).
        folder: where scores are kept, a folder for each generation.
        method: "cem" (`CrossEntropy`) or "random" (`RandomSearch`).
        population: samples of a generation.
        generations: how many.
        seed: of the samples.
        progress: whether to show a bar on stderr for each generation.
        timeout: longest time of one score [s], as for `sweep`; None: no limit.
        options: of `ray.init`, as for `sweep`.

    Raises:
        LeastActionError: for wrong arguments.
        FormatError: the folder holds scores of other samples.
    """
    ray = require("ray", "cluster")
    if not callable(score):
        raise LeastActionError(f"search: score must be callable, got {shown(score)}")
    choice(method, METHODS, "search: method", LeastActionError)
    for name, value in (("population", population), ("generations", generations)):
        if not is_count(value):
            raise LeastActionError(f"search: {name} must be a whole number of at least 1, got {shown(value)}")
    if not (is_count(seed) or (isinstance(seed, int) and seed == 0)):
        raise LeastActionError(f"search: seed must be a whole number of at least 0, got {shown(seed)}")
    first, width = _centre(mean, spread)
    sampler, rng = METHODS[method](first, width), np.random.default_rng(seed)
    samples, scores = np.zeros((generations, population, len(first))), np.full((generations, population), -math.inf)
    failures: dict[tuple[int, int], str] = {}
    with connected(ray, options):
        for g in range(generations):
            samples[g] = sampler.sample(rng, population)
            out = sweep(
                score, list(samples[g]), Path(folder) / f"generation{g:04d}", progress=progress, timeout=timeout
            )
            failures |= {(g, k): why for k, why in out.failures.items()}
            scores[g] = [value if is_number(value) else -math.inf for value in out.results]
            sampler.learn(samples[g], scores[g])
    g, k = divmod(int(np.argmax(scores)), population)
    records = np.maximum.accumulate(scores.max(axis=1))
    return Search(samples[g, k].copy(), float(scores[g, k]), records, samples, scores, failures)


def _centre(mean: Any, spread: Any) -> tuple[FloatArray, FloatArray]:
    """Mean and spread of the first samples, shape (n,)."""
    first, width = real_array(mean), real_array(spread)
    if first is None or first.ndim != 1 or not first.size or not np.isfinite(first).all():
        raise LeastActionError(f"search: mean must be finite numbers, shape (n,), got {shown(mean)}")
    fits = width is not None and width.shape in ((), first.shape)
    if not fits or width is None or not np.isfinite(width).all() or not (width > 0.0).all():
        raise LeastActionError(f"search: spread must be positive, a number or {first.size}, got {shown(spread)}")
    return first.astype(float), np.broadcast_to(width, first.shape).astype(float)
