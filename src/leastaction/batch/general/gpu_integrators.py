"""Which integrators run on a GPU, and what each family needs there: bundles, rows of a record, the start of a run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import numpy as np

from leastaction.batch.batch_plan import Plan
from leastaction.batch.general.arrays import UNSOLVED
from leastaction.batch.general.gpu_runs import ActionRows, MaximalRows, action_run, loop_run, maximal_run
from leastaction.batch.general.ground_runs import FULL as NO_ROOM
from leastaction.batch.general.ground_runs import GroundRows, arrays_for, ground_run, room_for
from leastaction.batch.general.policy_controls import (
    PolicyScratch,
    controls_of,
    momentum_policy_scratch,
    reduced_policy_scratch,
    velocity_of_rates,
)
from leastaction.batch.general.reduced_runs import reduced_rows, reduced_run
from leastaction.batch.gpu_initial_states import moved_starts
from leastaction.errors import IntegratorError, MechanismError
from leastaction.integration.integrators import FloatArray
from leastaction.maximal.arrays import contact_data
from leastaction.maximal.coordinates.placement import momenta_of, place
from leastaction.maximal.step.maximal_rollout import EXHAUSTED, FAILED, FULL, REPLAN
from leastaction.maximal.stepper import MaximalStepper
from leastaction.minimal.contact.stepper import GroundStepper
from leastaction.minimal.galerkin_bodies.constrained_stepper import GalerkinBodiesLoopStepper
from leastaction.minimal.galerkin_bodies.stepper import GalerkinBodiesStepper
from leastaction.minimal.galerkin_joints.stepper import VariationalStepper
from leastaction.minimal.loop_stepper import LoopStepper
from leastaction.redmax.step.energies import energies_of
from leastaction.redmax.stepper import ReducedStepper
from leastaction.step_control.bisection import FINEST, LAST

ROOM = 64
"""Most contacts that a robot has room for at once."""

SMOOTH, CORNERS = 2, 8
"""Contacts of one pair of shapes that there is room for: of balls and capsules, and of shapes with corners."""

LOGGED = 32
"""Parts of a step for whose contacts there is room in a log that nobody reads."""


COARSE, FLOOR = 1e-4, 1e-5
"""Least tolerance of Newton's method in numbers of 32 bits, and updates of `Minimal` that are round-off there."""


def is_single(plan: Plan) -> bool:
    """Whether numbers have 32 bits."""
    return plan.dtype == np.float32


@dataclass(frozen=True)
class Problem:
    """What a kernel is made of.

    Attributes:
        job: what one thread does with the bundles, see `gpu_runs`.
        reads: bundles that are only read, those of all robots where they differ, else of one.
        writes: bundles of one robot, as they are at the start, but for its state.
        q, second, third: the states at the start, shapes (robots, n).
        extra: what else runs start from, shape (robots, k).
        ahead: whether the step after the last one is looked at, for the momenta at its start.
        reasons: why a step may have no solution, by the codes of the kernel.
        publish: from states of the kernel, shapes (rows, n, robots), to positions and velocities; None if they are.
    """

    job: Any
    reads: tuple[Sequence[Any], ...]
    writes: tuple[Any, ...]
    q: FloatArray
    second: FloatArray
    third: FloatArray
    extra: FloatArray
    ahead: bool
    reasons: dict[int, str]
    publish: Callable[[FloatArray, FloatArray, FloatArray], tuple[FloatArray, FloatArray]] | None = None


def refuse_without_kernel(plan: Plan) -> None:
    """Refuse what there is no kernel for."""
    if plan.mechanism.prescribed:
        name = plan.mechanism.prescribed[0]
        raise IntegratorError(f"device='cuda' knows no prescribed motions, such as that of {name!r}; use device='cpu'")
    stepper = plan.integrator.prepare(plan.mechanism, plan.dt)
    if is_single(plan) and isinstance(stepper, MaximalStepper) and stepper.contact is not None:
        raise IntegratorError(
            f"device='cuda' runs {type(plan.integrator).__name__} in numpy.float32 where nothing touches, and no joint "
            f"of {plan.mechanism.name!r} has limits or dry friction; use numpy.float64, or Minimal"
        )
    if type(stepper) not in _families():
        loops = "" if plan.mechanism.is_tree else " with loops; Galerkin of bodies, Maximal and BDF run these"
        raise IntegratorError(f"device='cuda' does not run {plan.integrator}{loops}; use device='cpu'")


def problem_of(plan: Plan) -> Problem:
    """The problem of a batch."""
    if is_single(plan):
        given: Any = plan.integrator
        plan = replace(plan, integrator=replace(given, tolerance=max(given.tolerance, COARSE)))
    steppers = [plan.integrator.prepare(m, plan.dt) for m in plan.mechanisms or (plan.mechanism,)]
    return _families()[type(steppers[0])](plan, steppers)


def _families() -> dict[Any, Callable[[Plan, Sequence[Any]], Problem]]:
    """How problems are made, by the stepper."""
    return {
        GalerkinBodiesStepper: _action,
        GalerkinBodiesLoopStepper: _action,
        VariationalStepper: _action,
        GroundStepper: _ground,
        MaximalStepper: _maximal,
        ReducedStepper: _reduced,
    }


@lru_cache(maxsize=64)
def _job(run: Any, *given: Any) -> Any:
    """One function for each loop and policy, so that kernels that were compiled with it are found again."""
    return run(*given)


def _policy_scratch(plan: Plan) -> tuple[list[Any], PolicyScratch | None]:
    """What a policy reads of each robot, or of one for all, and writes, where states have momenta; or Nones."""
    if plan.policy is None:
        return [None] * max(1, len(plan.mechanisms)), None
    asking = [momentum_policy_scratch(m) for m in plan.mechanisms or (plan.mechanism,)]
    return [reads for reads, _ in asking], asking[0][1]


def _action(plan: Plan, steppers: Sequence[Any]) -> Problem:
    loops = [stepper.rollout(FINEST) for stepper in steppers]
    model, settings, data = (list(bundles) for bundles in zip(*(loop.first for loop in loops), strict=True))
    one, m = steppers[0], plan.mechanism
    record, controls = one.record(1), np.zeros((1, len(one.control_nodes), m.nu))
    multipliers = record["multipliers"] if "multipliers" in one.written else None
    q, p, iterations, divided = (record[name] for name in ActionRows._fields[1:5])
    rows = ActionRows(controls, q, p, iterations, divided, multipliers)
    why = f"no solution, or only with spurious energy, not even in up to {FINEST} parts"
    none = np.zeros((len(plan.q), 0))
    states = (plan.q, plan.momenta(), none, none)
    if multipliers is not None:
        q, p, redundant = closed_states(plan, steppers)
        states = (q, p, none, redundant[:, None])
    reads, asking = _policy_scratch(plan)
    run = action_run if multipliers is None else loop_run
    job = _job(run, loops[0].entry, controls_of(plan.policy))
    writes = (data[0], None, rows, asking)
    return Problem(job, (model, settings, reads), writes, *states, False, {UNSOLVED: why})


def closed_states(plan: Plan, steppers: Sequence[Any]) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Positions and momenta of robots with loops at the start, and 1 where their equations depend on each other."""
    q, p, redundant = plan.q.copy(), plan.momenta(), np.zeros(len(plan.q))
    for k in range(len(q)):
        own = steppers[k if plan.mechanisms else 0]
        try:
            q[k] = own.prepare_start(q[k])
            p[k] = own.prepare_momentum(q[k], p[k], False)
        except MechanismError as error:
            raise MechanismError(f"robot {k}: {error}") from None
        redundant[k] = own.system.redundant[0] if isinstance(own, LoopStepper) else 0.0
    return q, p, redundant


def _ground(plan: Plan, steppers: Sequence[GroundStepper]) -> Problem:
    one = steppers[0]
    q = moved_starts(one, plan.q)
    placed = replace(plan, q=q)
    p, none = placed.momenta(), np.zeros((len(q), 0))
    if not plan.mechanism.is_tree:
        q, p, _ = closed_states(placed, steppers)
    settings = [own.settings._replace(floor=FLOOR) if is_single(plan) else own.settings for own in steppers]
    reads, asking = _policy_scratch(plan)
    room = room_for(one, plan.contacts)
    writes = (arrays_for(one, room), None, GroundRows(np.zeros((1, 1, plan.mechanism.nu))), asking)
    reasons = {
        UNSOLVED: f"Newton did not converge in parts of it, to dt / {LAST} or to where round-off is all that is left",
        NO_ROOM: f"there is room for {room} contacts at once only, beside those with planes; give more by contacts=",
    }
    job = _job(ground_run, controls_of(plan.policy))
    models = [own.model for own in steppers]
    return Problem(job, (models, settings, reads), writes, q, p, none, plan.v, False, reasons)


def _maximal(plan: Plan, steppers: Sequence[MaximalStepper]) -> Problem:
    one, m = steppers[0], plan.mechanism
    q = moved_starts(one, plan.q)
    p = replace(plan, q=q).momenta()
    robots = len(q)
    if not m.is_tree:
        q, p, _ = closed_states(replace(plan, q=q), steppers)
    starts = []
    for k in range(robots):
        own = steppers[k if plan.mechanisms else 0]
        Z, twists, rates = place(own.model, q[k], plan.v[k])
        momenta = momenta_of(own.model, Z, twists, rates)
        # Spins beyond the chart of the first guess, half a turn in a step, are left to Newton.
        fast = 0.5 * plan.dt * np.linalg.norm(twists[:, :3], axis=1) > 0.9
        twists[fast, :3] = 0.0
        starts.append(np.concatenate([Z.ravel(), momenta.ravel(), twists.ravel()]))
    for own in steppers:
        own.plan_widely(starts[0][: 7 * len(one.model.bodies)].reshape(-1, 7))
    contact, near = None, [None] * len(steppers)
    if one.contact is not None:
        usual = min(ROOM, (SMOOTH if not one.near.features else CORNERS) * max(1, len(one.near.pairs)))
        room = plan.contacts or usual
        count = len(one.model.coordinates)
        size, turning = len(one.data.fixed), one.near.turning
        contact = contact_data(one.model.bodies.group, len(one.near.pairs), room, count, LOGGED * room, size, turning)
        near = [own.near for own in steppers]
    record = one.record(1)
    rows = MaximalRows(
        np.zeros((1, len(one.control_nodes), m.nu)),
        one.rows(record, 0, 1),
        one.substeps,
    )
    reads, asking = _policy_scratch(plan)
    given = list(zip(near, reads, strict=True))
    reads = ([own.arrays for own in steppers], [own.settings for own in steppers], given)
    reasons = {
        FAILED: "Newton's method found no solution, not even of the finest part of the step",
        FULL: f"there is room for {0 if contact is None else len(contact.contacts)} contacts at once only; give more "
        "by contacts=",
        REPLAN: "bodies met that were not planned to",
        EXHAUSTED: f"the step takes more than {one.settings.max_work} iterations",
    }
    ahead = contact is not None and one.halves < 1.0
    none = np.zeros((robots, 0))
    writes = (one.data, contact, rows, asking)
    job = _job(maximal_run, controls_of(plan.policy))
    return Problem(job, reads, writes, q, p, none, np.stack(starts), ahead, reasons)


def _reduced(plan: Plan, steppers: Sequence[ReducedStepper]) -> Problem:
    one, m = steppers[0], plan.mechanism
    q = np.stack([one.prepare_start(x) for x in plan.q]) if not m.is_tree else plan.q
    for own in steppers[1:]:
        own.keep(one.kept)
    c = one.reduced.coordinates
    charts = np.zeros((len(q), 0), np.int64)
    r, rd = q, plan.v
    if not c.identical:
        charts = np.stack([c.first_charts(x) for x in q])
        r, rd = c.to_reduced(q, plan.v, charts)

    def publish(R: FloatArray, RD: FloatArray, C: FloatArray) -> tuple[FloatArray, FloatArray]:
        count, _, robots = R.shape
        if c.identical:
            return R, RD
        flat = [np.moveaxis(x, 2, 0).reshape(robots * count, -1) for x in (R, RD, C)]
        good = np.isfinite(flat[0]).all(axis=1) & np.isfinite(flat[1]).all(axis=1)
        out = np.full((robots * count, m.nq), np.nan), np.full((robots * count, m.nv), np.nan)
        flat = [x.astype(float) for x in flat]
        out[0][good], out[1][good] = c.to_mechanism(flat[0][good], flat[1][good], flat[2][good].astype(np.int64))
        first, second = (np.moveaxis(x.reshape(robots, count, -1), 0, 2).astype(plan.dtype) for x in out)
        return first, second

    most = one.settings.max_iterations
    why = f"the Newton updates did not fall below {one.settings.tolerance:g} within {most} iterations, or only with "
    why += f"spurious energy, not even in up to {FINEST} parts"
    energies = energies_of(one, is_single(plan))[1] if one.passive else None
    reads, asking = (None, None) if plan.policy is None else reduced_policy_scratch(m, c)
    given = [(energies_of(own, is_single(plan))[0] if one.passive else None, reads) for own in steppers]
    read = ([own.reduced.model for own in steppers], [own.settings for own in steppers], given)
    writes = (one.data, energies, reduced_rows(one), asking)
    states = (r, rd, charts.astype(float), np.zeros((len(q), 0)))
    return Problem(
        _job(reduced_run, controls_of(plan.policy, velocity_of_rates)),
        read,
        writes,
        *states,
        False,
        {UNSOLVED: why},
        publish,
    )
