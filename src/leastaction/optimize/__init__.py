"""Trajectory optimisation by discrete mechanics: the dynamics are discrete Euler-Lagrange equations.

`Problem` describes what is wanted; `Problem.transcribe` turns it into a sparse nonlinear program (`Transcription`)
whose derivatives are analytic and compiled; `Problem.solve` solves that, with IPOPT (extra `optimize`) or a
method of the package's own, and gives a `Solution`. `MPC` solves it again and again, from where the robot is. `ilqr`
shoots through an integrator's own steps, contacts included.
"""

from leastaction.optimize import examples
from leastaction.optimize.constraints.contact_implicit import Touch, touch
from leastaction.optimize.constraints.feet import Foot, Phase, foot, phase
from leastaction.optimize.constraints.terrain import Terrain, flat, gaps, steps
from leastaction.optimize.functions.costs import (
    Cost,
    cost,
    differences,
    effort,
    momentum,
    reach,
    terminal,
    time,
    tracking,
    velocity,
)
from leastaction.optimize.functions.motion_constraints import (
    Constraint,
    center_of_mass,
    centroidal_momentum,
    clearance,
    constraint,
    pose,
    position,
    separation,
)
from leastaction.optimize.mpc.mpc import MPC
from leastaction.optimize.mpc.servo_track import servo_forces, servo_track
from leastaction.optimize.mpc.stance_feedback import StanceFeedback
from leastaction.optimize.mpc.tvlqr import Tracker, tvlqr
from leastaction.optimize.problem.problem import Problem
from leastaction.optimize.problem.problem_files import read_problem
from leastaction.optimize.shooting.closed_loop_rollout import rehearse
from leastaction.optimize.shooting.ilqr import Shot, ilqr
from leastaction.optimize.solution.solution import Iteration, Solution
from leastaction.optimize.solution.solution_files import load
from leastaction.optimize.solvers.complementarity_relaxation import solve_relaxed
from leastaction.optimize.solvers.multistart import multi_start
from leastaction.optimize.solvers.solve_problem import solve
from leastaction.optimize.transcriptions.transcription import Transcription

__all__ = [
    "MPC",
    "Constraint",
    "Cost",
    "Foot",
    "Iteration",
    "Phase",
    "Problem",
    "Shot",
    "Solution",
    "StanceFeedback",
    "Terrain",
    "Touch",
    "Tracker",
    "Transcription",
    "center_of_mass",
    "centroidal_momentum",
    "clearance",
    "constraint",
    "cost",
    "differences",
    "effort",
    "examples",
    "flat",
    "foot",
    "gaps",
    "ilqr",
    "load",
    "momentum",
    "multi_start",
    "phase",
    "pose",
    "position",
    "reach",
    "read_problem",
    "rehearse",
    "separation",
    "servo_forces",
    "servo_track",
    "solve",
    "solve_relaxed",
    "steps",
    "terminal",
    "time",
    "touch",
    "tracking",
    "tvlqr",
    "velocity",
]


def __dir__() -> list[str]:
    return [*__all__]
