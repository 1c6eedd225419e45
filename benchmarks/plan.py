"""In which order all benchmarks run, and how long each may take: those that readers ask for first come first."""

import math
from dataclasses import dataclass

from benchmarks.catalogue import Entry

SLACK, COMPILING = 4.0, 300.0
"""A benchmark is stopped when it used its budget so many times, and this [s] for kernels that are not in the cache."""


@dataclass(frozen=True)
class Budget:
    """CPU seconds, with imports, of the short and of the long version, where kernels are in the cache."""

    quick: float
    full: float

    def of(self, quick: bool) -> float:
        """Of one version."""
        return self.quick if quick else self.full


BUDGETS: dict[str, Budget] = {
    "claims": Budget(17, 20),
    "races/chains": Budget(8, 180),
    "races/trees": Budget(8, 60),
    "races/loops": Budget(8, 60),
    "races/cube": Budget(6, 40),
    "races/ground": Budget(8, 90),
    "races/planning": Budget(8, 90),
    "races/balls": Budget(8, 150),
    "races/piles": Budget(8, 150),
    "villanueva2025/table6": Budget(8, 15),
    "villanueva2025/table4": Budget(6, 10),
    "villanueva2025/table3": Budget(6, 15),
    "villanueva2025/table1": Budget(5, 20),
    "villanueva2025/table5": Budget(6, 15),
    "fan2018/fig1": Budget(5, 60),
    "fan2018/fig2": Budget(30, 90),
    "fan2018/fig3": Budget(6, 60),
    "fan2018/table1": Budget(6, 10),
    "fan2018/fig4to6": Budget(18, 180),
    "bruedigam2020/fig4": Budget(10, 60),
    "bruedigam2020/fig5": Budget(6, 60),
    "bruedigam2020/fig6": Budget(4, 30),
    "bruedigam2020/fig8": Budget(5, 60),
    "bruedigam2023/fig7": Budget(6, 60),
    "bruedigam2023/fig8": Budget(4, 60),
    "bruedigam2023/fig9": Budget(8, 60),
    "bruedigam2023/fig11": Budget(4, 30),
    "bruedigam2023/fig12": Budget(6, 40),
    "bruedigam2023/fig13": Budget(5, 130),
    "bruedigam2023/fig14": Budget(5, 30),
    "sueda2021/scenes": Budget(4, 20),
    "sueda2021/adjoint": Budget(4, 20),
    "sueda2021/staggered": Budget(8, 30),
    "iftomm/precision": Budget(14, 80),
    "step_speed": Budget(30, 300),
    "reality/tosses": Budget(30, 240),
    "energy_hour": Budget(16, 16),
    "contact": Budget(10, 20),
    "flat_ground": Budget(10, 20),
    "classical": Budget(10, 20),
    "linearization": Budget(10, 20),
    "work_precision": Budget(15, 150),
    "maximal_speed": Budget(10, 25),
    "reduced_coordinates": Budget(10, 20),
    "redmax_constraints": Budget(10, 20),
    "long_chains": Budget(10, 30),
    "high_orders": Budget(6, 15),
    "interpolation": Budget(12, 60),
    "hard_chains": Budget(8, 20),
    "hard_scenes": Budget(6, 12),
    "hardship": Budget(20, 240),
    "trajectory_optimization": Budget(20, 90),
    "horizon_solver": Budget(15, 70),
    "second_derivatives": Budget(12, 90),
    "legged": Budget(12, 160),
    "many_robots": Budget(15, 60),
    "foreign_robots": Budget(30, 600),
}
"""In the order in which they run."""


def ordered(entries: list[Entry]) -> list[Entry]:
    """As `BUDGETS` has them; those that it does not know come last."""
    place = {name: k for k, name in enumerate(BUDGETS)}
    return sorted(entries, key=lambda entry: place.get(entry.name, len(place)))


def budget(name: str, quick: bool) -> float:
    """CPU seconds that a benchmark should take at most; infinite if nobody said."""
    return BUDGETS[name].of(quick) if name in BUDGETS else math.inf


def limit(name: str, quick: bool) -> float:
    """CPU seconds after which a benchmark is stopped."""
    return SLACK * budget(name, quick) + COMPILING
