"""Brüdigam 2023, Fig. 13: a quadruped learns to walk."""

import numpy as np

from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged
from examples import quadruped

EPISODES, DURATION, DT, SEED = 100, 10.0, 0.001, 1
SHORT = 8, 2.0
NOTES = """`examples/quadruped.py`: Unitree's A1 on rigid ground, five parameters of a gait, random sampling \
(Algorithms 6 and 7), 100 episodes of 10 s in steps of 1 ms; short version 8 episodes of 2 s, whose distances are \
taken times five. Torques are not limited, as in the paper."""


def run(progress, quick=False) -> Report:
    """All episodes."""
    episodes, duration = SHORT if quick else (EPISODES, DURATION)
    progress.total(episodes)
    robot, learning = quadruped.quadruped(), quadruped.Learning(np.random.default_rng(SEED))
    walked, records, iterations, steps, violation = [], [], 0, 0, 0.0
    for k in range(episodes):
        progress.next(f"episode {k + 1}")
        parameters = learning.sample()
        motion = quadruped.walk(robot, parameters, duration, DT)
        walked.append(quadruped.distance(motion))
        learning.judge(parameters, walked[-1])
        records.append(learning.record * DURATION / duration)
        iterations, steps = iterations + int(motion.iterations.sum()), steps + motion.steps
        violation = max(violation, float(motion.constraint_violation.max()))
        progress.done()
    sheet = Sheet("Learning", ["episodes", "fell", "distance in 10 s [m]", "iterations a step"])
    fell = sum(not np.isfinite(x) for x in walked)
    sheet.rows.append([episodes, fell, records[-1], iterations / steps])
    claim = judged(
        "Brüdigam 2023, Fig. 13",
        "In 100 episodes the robot learns to walk more than 12 m in 10 s.",
        f"{records[-1]:.1f} m in 10 s after {episodes} episodes of {duration:g} s; {fell} fell.",
        records[-1] > 12.0,
        "Too few episodes." if quick else "Another gait was found.",
        better=records[-1] > 15.0,
    )
    plot = Plot(
        "learning to walk",
        "episode",
        "best distance in 10 s [m]",
        {"best so far": (list(range(1, episodes + 1)), records)},
    )
    measures = [Measure("iterations of all episodes", "count", [iterations])]
    requirements = [Requirement("largest opening of a joint [m]", violation, 1e-9)]
    return Report("Fig. 13: learning to walk", NOTES, [sheet], requirements, [claim], measures, [plot], [SEED])
