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
    "claims": Budget(21, 20),
    "races/chains": Budget(7, 180),
    "races/trees": Budget(8, 39),
    "races/loops": Budget(7, 40),
    "races/cube": Budget(5, 27),
    "races/ground": Budget(6, 60),
    "races/planning": Budget(7, 260),
    "races/balls": Budget(7, 150),
    "races/piles": Budget(8, 60),
    "villanueva2025/table6": Budget(7, 15),
    "villanueva2025/table4": Budget(5, 7),
    "villanueva2025/table3": Budget(6, 15),
    "villanueva2025/table1": Budget(6, 8),
    "villanueva2025/table5": Budget(5, 8),
    "fan2018/fig1": Budget(5, 60),
    "fan2018/fig2": Budget(6, 60),
    "fan2018/fig3": Budget(7, 40),
    "fan2018/table1": Budget(4, 10),
    "fan2018/fig4to6": Budget(5, 100),
    "bruedigam2020/fig4": Budget(13, 50),
    "bruedigam2020/fig5": Budget(7, 60),
    "bruedigam2020/fig6": Budget(5, 15),
    "bruedigam2020/fig8": Budget(5, 20),
    "bruedigam2023/fig7": Budget(6, 50),
    "bruedigam2023/fig8": Budget(4, 50),
    "bruedigam2023/fig9": Budget(10, 30),
    "bruedigam2023/fig11": Budget(4, 10),
    "bruedigam2023/fig12": Budget(11, 90),
    "bruedigam2023/fig13": Budget(6, 150),
    "bruedigam2023/fig14": Budget(6, 10),
    "sueda2021/scenes": Budget(4, 8),
    "sueda2021/adjoint": Budget(4, 8),
    "sueda2021/staggered": Budget(8, 30),
    "iftomm/precision": Budget(14, 45),
    "step_speed": Budget(25, 300),
    "reality/tosses": Budget(38, 130),
    "experts/simbenchmark": Budget(40, 300),
    "experts/robots": Budget(10, 240),
    "experts/residuals": Budget(10, 80),
    "experts/hard_contact": Budget(10, 60),
    "experts/erez2015": Budget(12, 60),
    "experts/issues": Budget(10, 120),
    "energy_hour": Budget(6, 16),
    "contact": Budget(11, 21),
    "flat_ground": Budget(11, 20),
    "contact_speed": Budget(9, 48),
    "classical": Budget(9, 24),
    "linearization": Budget(8, 20),
    "work_precision": Budget(11, 150),
    "maximal_speed": Budget(12, 23),
    "reduced_coordinates": Budget(8, 18),
    "redmax_constraints": Budget(9, 20),
    "long_chains": Budget(9, 28),
    "high_orders": Budget(5, 13),
    "interpolation": Budget(11, 63),
    "hard_chains": Budget(10, 21),
    "corpus/maximal": Budget(7, 60),
    "corpus/minimal": Budget(10, 200),
    "corpus/gradients": Budget(18, 450),
    "corpus/restart": Budget(8, 40),
    "corpus/endurance": Budget(30, 200),
    "viewer": Budget(30, 90),
    "accuracy": Budget(15, 60),
    "contact_gradients": Budget(12, 40),
    "crocoddyl_plans": Budget(40, 130),
    "contact_planning": Budget(80, 700),
    "local_minima": Budget(8, 25),
    "identification": Budget(8, 170),
    "trajectory_optimization": Budget(12, 40),
    "horizon_solver": Budget(12, 90),
    "second_derivatives": Budget(7, 110),
    "legged": Budget(5, 390),
    "step_at_a_time": Budget(9, 15),
    "inverse_kinematics": Budget(6, 40),
    "backpropagation": Budget(13, 40),
    "many_robots": Budget(36, 60),
    "foreign_robots": Budget(13, 600),
    "manipulation": Budget(12, 40),
    "menagerie": Budget(12, 900),
    "holding": Budget(30, 900),
}
"""In the order in which they run."""


ALONE = frozenset({"many_robots"})
"""Those that take all cores and look at the clock: nothing else runs beside them."""


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
