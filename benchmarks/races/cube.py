"""A cube that slides to rest and one that falls flat: error from the closed form against CPU time, beside peers."""

import numpy as np

import leastaction as la
from benchmarks.races import course, free_bodies

EDGE, FRICTION, SPEED, HEIGHT = 0.5, 0.2, 2.0, 0.4
COUNTS, DURATION = (15, 30, 75, 150, 300, 750, 1500), 1.5
SEEDS = (0, 1, 2)
ACCURACIES = (1e-2, 1e-3, 1e-5)
OURS = {"Maximal(1)": la.Maximal(order=1), "Maximal(2)": la.Maximal()}

NOTES = f"""A cube of {EDGE} m and 1 kg, friction {FRICTION}, {DURATION:g} s. Sliding: from {SPEED:g} m/s in random \
directions; it stops after v² / (2 µ g). Falling: flat, from {HEIGHT:g} m, without bounce; it rests on the ground. \
Peers use their default contacts (Drake: corners of 1e5 N/m; DART: friction pyramid along x and y, which stops oblique \
sliding too early). Pinocchio has no contact."""


def last(_, walk):
    return walk[-1]


def scenes(seed):
    """{name: (scene, where it ends)}."""
    angle = np.random.default_rng(seed).uniform(0.0, 2.0 * np.pi)
    way, up = np.array([np.cos(angle), np.sin(angle), 0.0]), np.array([0.0, 0.0, 0.5 * EDGE])
    still, high = np.zeros((1, 3)), up + [0.0, 0.0, HEIGHT]
    far = SPEED**2 / (2.0 * FRICTION * free_bodies.GRAVITY)
    return {
        "sliding": (free_bodies.Scene("box", EDGE, FRICTION, up[None], SPEED * way[None]), (up + far * way)[None]),
        "falling": (free_bodies.Scene("box", EDGE, FRICTION, high[None], still), up[None]),
    }


def run(progress, quick=False):
    """Both motions and all contenders."""
    counts, seeds = (COUNTS[1:4:2], SEEDS[:1]) if quick else (COUNTS, SEEDS)
    progress.total(2 * len(counts))
    races = course.Course(progress, free_bodies.contenders(OURS, last), OURS, ACCURACIES)
    for name in ("sliding", "falling"):
        made = [scenes(seed)[name] for seed in (seeds if name == "sliding" else seeds[:1])]
        races.race_scenes(name, [scene for scene, _ in made], DURATION, counts, [end for _, end in made])
    return races.report(
        "A cube on the ground", NOTES, seeds, errors="Error: final distance of the cube from that position."
    )
