"""Brüdigam 2023, Fig. 13: a quadruped learns to walk."""

import numpy as np

from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from examples import quadruped

EPISODES, DURATION, DT = 100, 10.0, 0.001
SEEDS = (1, 2, 3)
SHORT = 8, 2.0
NOTES = """`examples/quadruped.py`: Unitree's A1 on rigid ground, five parameters of a gait, random sampling \
(Algorithms 6 and 7), 100 episodes of 10 s in steps of 1 ms, from three seeds; short version: 8 episodes of 2 s from \
one seed, with distances multiplied by five. Torques are not limited, as in the paper."""


def learn(progress, robot, seed, episodes, duration):
    """(best distances in 10 s so far, row of the table, iterations, largest opening of a joint) of one seed."""
    learning = quadruped.Learning(np.random.default_rng(seed))
    walked, records, iterations, steps, violation = [], [], 0, 0, 0.0
    for k in range(episodes):
        progress.next(f"seed {seed}, episode {k + 1}")
        parameters = learning.sample()
        motion = quadruped.walk(robot, parameters, duration, DT)
        walked.append(quadruped.distance(motion))
        learning.judge(parameters, walked[-1])
        records.append(learning.record * DURATION / duration)
        iterations, steps = iterations + int(motion.iterations.sum()), steps + motion.steps
        violation = max(violation, float(motion.constraint_violation.max()))
        progress.done()
    fell = sum(not np.isfinite(x) for x in walked)
    return records, [seed, episodes, fell, records[-1], iterations / steps], iterations, violation


def run(progress, quick=False) -> Report:
    """All seeds and episodes."""
    episodes, duration = SHORT if quick else (EPISODES, DURATION)
    seeds = SEEDS[:1] if quick else SEEDS
    progress.total(episodes * len(seeds))
    robot = quadruped.quadruped()
    runs = {seed: learn(progress, robot, seed, episodes, duration) for seed in seeds}
    columns = ["seed", "episodes", "fell", "distance in 10 s [m]", "iterations a step"]
    sheet = Sheet("Learning", columns, [row for _, row, _, _ in runs.values()])
    far = [records[-1] for records, *_ in runs.values()]
    claim = judged(
        "Brüdigam 2023, Fig. 13",
        "In 100 episodes the robot learns to walk more than 12 m in 10 s.",
        f"{', '.join(f'{x:.1f}' for x in far)} m in 10 s after {episodes} episodes of {duration:g} s from {len(seeds)} "
        "seed(s).",
        min(far) > 12.0,
        "Too few episodes." if quick else "Not from every seed.",
        better=min(far) > 15.0,
    )
    lines = {f"seed {seed}": (list(range(1, episodes + 1)), records) for seed, (records, *_) in runs.items()}
    plot = Plot("learning to walk", "episode", "best distance in 10 s so far [m]", lines, marks=False)
    measures = [Measure(f"iterations, seed {seed}", "count", [found[2]]) for seed, found in runs.items()]
    worst = max(found[3] for found in runs.values())
    requirements = [Requirement("largest opening of a joint [m]", worst, 1e-9)]
    return Report("Fig. 13: learning to walk", NOTES, [sheet], requirements, [claim], measures, [plot], list(seeds))
