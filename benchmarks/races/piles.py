"""Piles of balls that fall on each other: how deep they sink in against CPU time, beside peers."""

import numpy as np

import leastaction as la
from benchmarks.races import course, free_bodies

RADIUS, FRICTION = 0.1, 0.5
SIZES, FEW = (5, 10, 20), (5,)
COUNTS, DURATION = (50, 100, 200, 400), 1.0
SEEDS = (0, 1)
ACCURACIES = (1e-2, 1e-3, 1e-6)
OURS = {"Maximal(1)": la.Maximal(order=1), "Maximal(2)": la.Maximal()}

NOTES = f"""Balls of {RADIUS} m and 1 kg, friction {FRICTION}, dropped above each other at random, {DURATION:g} s. \
Final positions are chaotic, so the error is the largest penetration of two balls, or of a ball and the ground, at any \
step. Peers use their default contacts (Drake: 1e5 N/m); Pinocchio has none."""


def deepest(scene, walk):
    """Largest penetration [m] of a run."""
    depth = scene.size - walk[:, :, 2].min()
    i, j = np.triu_indices(walk.shape[1], 1)
    for x in walk:
        depth = max(depth, 2.0 * scene.size - np.linalg.norm(x[i] - x[j], axis=1).min())
    return np.array([max(float(depth), 1e-12)])


def pile(count, seed):
    """Balls in layers of four, a little apart."""
    rng = np.random.default_rng(seed)
    k = np.arange(count)
    x = np.stack([(k % 2) - 0.5, (k // 2 % 2) - 0.5, k // 4 + 0.5], axis=1) * 2.4 * RADIUS
    x += rng.uniform(-0.15, 0.15, x.shape) * RADIUS
    return free_bodies.Scene("ball", RADIUS, FRICTION, x, np.zeros((count, 3)))


def run(progress, quick=False):
    """All sizes and contenders."""
    sizes, counts, seeds = (FEW, COUNTS[1:2], SEEDS[:1]) if quick else (SIZES, COUNTS, SEEDS)
    progress.total(len(sizes) * len(counts))
    races = course.Course(progress, free_bodies.contenders(OURS, deepest), OURS, ACCURACIES)
    for count in sizes:
        scenes = [pile(count, seed) for seed in seeds]
        races.race_scenes(f"{count} balls", scenes, DURATION, counts, [np.zeros(1) for _ in scenes])
    return races.report("Piles of balls", NOTES, seeds, errors="")
