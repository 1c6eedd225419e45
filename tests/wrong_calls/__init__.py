"""Every public function, class and method with a valid call, and what is wrong for each of its arguments."""

from tests.wrong_calls.algebra import algebra
from tests.wrong_calls.builders import builders, built
from tests.wrong_calls.elements import elements
from tests.wrong_calls.gradients import derivatives
from tests.wrong_calls.identified import identification
from tests.wrong_calls.kinds import WRONG, Call
from tests.wrong_calls.models import formats, robots
from tests.wrong_calls.optimal import optimal
from tests.wrong_calls.parts import parts
from tests.wrong_calls.pictures import pictures
from tests.wrong_calls.reduced import linear_algebra, redmax
from tests.wrong_calls.simulation import dynamics, integrators, mechanisms, runs
from tests.wrong_calls.stepwise import batches, stepwise

__all__ = [
    "GROUPS",
    "WRONG",
    "Call",
    "built",
]

GROUPS = (
    parts,
    elements,
    builders,
    mechanisms,
    dynamics,
    integrators,
    runs,
    derivatives,
    robots,
    redmax,
    linear_algebra,
    pictures,
    formats,
    algebra,
    stepwise,
    batches,
    optimal,
    identification,
)
