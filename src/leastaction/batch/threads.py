"""Batches on the cores of the CPU: each thread has a stepper of its own and takes one robot after the other."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from leastaction.actuation.actuation import Actuation
from leastaction.batch.batch_plan import Plan
from leastaction.batch.cpu_chunks import RobotChunk, robots_at_once, shares
from leastaction.batch.run import BatchRun
from leastaction.dynamics.legendre import velocity_of_momentum
from leastaction.errors import IntegratorError, LeastActionError, MechanismError
from leastaction.initial_state.initial_motions import motion_table
from leastaction.initial_state.start import first_state
from leastaction.integration.integrators import Stepper
from leastaction.integration.settings import is_count
from leastaction.mechanism._check import shown
from leastaction.mechanism.arguments import FloatArray
from leastaction.simulation.energy_monitor import warn_of_energies
from leastaction.warn import Gathered

PIECE = 4096
"""Steps of a robot that are in memory at once."""


class PolicyError(IntegratorError):
    """A mistake in a policy, of all robots alike: the batch ends."""


class Cores:
    """One batch on the CPU.

    Attributes:
        momentum: whether its integrator solves for momenta.
        momenta: at the start, shape (robots, nv); None where each robot finds its own.
        by_chunks: whether robots can be run by `RobotChunk`: those that start where the user says.
    """

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.local = threading.local()
        one, m = plan.integrator.prepare(plan.mechanism, plan.dt), plan.mechanism  # what it cannot run, it refuses here
        self.momentum, alike = one.momentum, not plan.mechanisms and not m.prescribed and m.is_tree
        # Momenta of all starts at once, of use where these stay as they are.
        self.second = plan.momenta() if one.momentum and alike else plan.v
        self.momenta = self.second if one.momentum and alike and "limits" not in one.acts else None
        self.by_chunks = (
            alike
            and plan.policy is None
            and 0 < plan.steps <= PIECE
            and type(one).chunk_runner is not Stepper.chunk_runner
        )
        if not plan.mechanisms:
            self._keep(one)

    def _keep(self, stepper: Stepper) -> None:
        """Let a stepper be that of this thread."""
        stepper.logs_contacts = False
        self.local.stepper, self.local.memory = stepper, stepper.memory()
        self.local.actuation = self._actuation(stepper)

    def stepper(self, robot: int) -> Stepper:
        """A stepper of this thread, fresh for a robot."""
        plan = self.plan
        if plan.mechanisms:
            return plan.integrator.prepare(plan.mechanisms[robot], plan.dt)
        if not hasattr(self.local, "stepper"):
            self._keep(plan.integrator.prepare(plan.mechanism, plan.dt))
        self.local.stepper.restore_memory(self.local.memory)
        return self.local.stepper

    def chunk_runner(self, count: int) -> RobotChunk | None:
        """That of this thread, for so many robots at once; None where the stepper has none."""
        if not hasattr(self.local, "chunk_runner"):
            chunk_runner = RobotChunk(self.plan, self.stepper(0), count, self.second)
            self.local.chunk_runner = None if chunk_runner.run is None else chunk_runner
        return self.local.chunk_runner

    def run(self, robot: int, Q: Any, S: Any) -> tuple[int, str, int]:
        """All steps of one robot into Q (rows, nq) and S (rows, nv): the step that failed or -1, why, iterations."""
        plan, stepper, every, steps = self.plan, self.stepper(robot), self.plan.every, self.plan.steps
        if plan.mechanism.prescribed:
            stepper.motions = motion_table(stepper.mechanism, plan.motions, plan.q[robot], 0.0, plan.dt, steps)
        v, p = (plan.v[robot], None) if self.momenta is None else (None, self.momenta[robot])
        first = first_state(stepper, plan.q[robot], v, p, False)
        u = plan.u[:, :, robot if plan.u.shape[2] > 1 else 0]
        states = first.states()
        Q[0], S[0] = first.q[0], first.second[0]
        done, iterations = 0, 0
        actuation = self._actuation(stepper) if plan.mechanisms else self.local.actuation
        activation = actuation.start(None)
        while done < steps:
            count, row = min(PIECE if plan.policy is None else 1, steps - done), int(done > 0)
            record = stepper.record(count + row)
            stepper.start_time = (done - row) * plan.dt  # of the record, by which prescribed motions are looked up
            for name, rows in states.items():
                record[name][: row + 1] = rows[-row - 1 :]
            if plan.policy is not None:
                try:
                    u = self.asked(robot, done, stepper, record.q[row], record.second[row])
                except (MechanismError, PolicyError):
                    raise
                except LeastActionError as error:  # of this robot alone, which is as far as it got
                    return done, str(error), iterations
            controls = np.broadcast_to(u[done : done + count] if len(u) > 1 else u, (count, u.shape[1]))
            nodes = len(stepper.control_nodes)
            table = np.repeat(controls[:, None, :], nodes, axis=1)
            if not actuation.plain:
                table, activations = actuation.run(table, activation)
                activation = activations[-1]
            reached = stepper.advance(record, row, row + count, table)
            good = reached - row
            counts = record.get("iterations")
            iterations += 0 if counts is None else int(counts[row + 1 : reached + 1].sum())
            if good == count and done + count == steps:
                stepper.finish(record)
            if row and done % every == 0:  # a step may add to the momentum at its start
                S[done // every] = record.second[row]
            kept = np.arange(done + 1, done + good + 1)
            kept = kept[kept % every == 0]
            Q[kept // every], S[kept // every] = record.q[kept - done + row], record.second[kept - done + row]
            if good < count:
                return done + good, str(stepper.failure(done + good, record)), iterations
            done += count
            names = ("q", "p" if stepper.momentum else "v", *stepper.carries)
            states = {name: record[name][-2:].copy() for name in names if name in record}
        return -1, "", iterations

    def _actuation(self, stepper: Stepper) -> Actuation:
        return Actuation(stepper.mechanism, self.plan.dt, stepper.control_nodes)

    def asked(self, robot: int, done: int, stepper: Stepper, q: FloatArray, second: FloatArray) -> FloatArray:
        """Controls (1, nu) that the policy asks for in a state, after so many steps."""
        plan, m = self.plan, stepper.mechanism
        v = velocity_of_momentum(m, q[None], second[None])[0] if stepper.momentum else second.copy()
        own, u = plan.policy_parameters, np.zeros(m.nu)
        assert plan.policy is not None
        try:
            plan.policy(done * plan.dt, q.copy(), v, own[:, robot if own.shape[1] > 1 else 0], u)
        except IndexError as error:
            sizes = f"q has {m.nq} numbers, v {m.nv}, own (policy_parameters) {len(own)}, u {m.nu}"
            raise PolicyError(f"the policy reads or writes what is not there: {error}; {sizes}") from error
        if not np.isfinite(u).all():
            raise IntegratorError(f"step {done}: the policy asks for controls that are not finite")
        return u[None]


def number_of_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def on_all_cores(function: Callable[[Any], Any], jobs: Sequence[Any], workers: int | None = None) -> list[Any]:
    """Results of a function that spends its time in compiled code, for each job, in threads on all cores."""
    count = min(workers or number_of_cores(), len(jobs))
    if count <= 1:
        return [function(job) for job in jobs]
    numbers, out = iter(range(len(jobs))), [None] * len(jobs)

    def work() -> None:
        # A thread takes the next number by itself: a future for each job would cost as much as a short run.
        try:
            for k in numbers:
                out[k] = function(jobs[k])
        except BaseException:
            list(numbers)  # the others end, too
            raise

    with ThreadPoolExecutor(count - 1) as pool:
        try:
            others = [pool.submit(work) for _ in range(count - 1)]
            work()  # this thread is one of them
            for other in others:
                other.result()
        except BaseException:
            list(numbers)
            raise
    return out


def run_on_cores(plan: Plan) -> BatchRun:
    """See `leastaction.batch.simulate`."""
    workers, mechanism = plan.workers, plan.mechanism
    if workers is not None and not is_count(workers):
        raise IntegratorError(f"workers must be a whole number of at least 1, got {shown(workers)}")
    robots, rows = len(plan.q), len(plan.t)
    cores = Cores(plan)
    Q, S = np.full((robots, rows, mechanism.nq), np.nan), np.full((robots, rows, mechanism.nv), np.nan)
    failed, iterations, reasons = np.full(robots, -1), np.zeros(robots, np.int64), {}

    gathered = Gathered()

    def run_robot(k: int) -> None:
        try:
            with gathered.of(k):
                failed[k], why, iterations[k] = cores.run(k, Q[k], S[k])
        except MechanismError as error:
            raise MechanismError(f"robot {k}: {error}") from None
        except PolicyError:
            raise
        except LeastActionError as error:
            failed[k], why = 0, str(error)
        if failed[k] >= 0:
            reasons[k] = why

    count = workers or number_of_cores()
    size = robots_at_once(plan, count)

    def run_range(own: range) -> None:
        chunk_runner = cores.chunk_runner(size) if cores.by_chunks else None
        with Gathered().of(0):  # who has something to say, is run by itself
            others = list(own) if chunk_runner is None else chunk_runner.advance(own, Q, S, iterations)
        for k in others:
            run_robot(k)  # again, to say why

    began = time.perf_counter()
    run_range(range(1))  # compiles, once
    on_all_cores(run_range, shares(1, robots, size if cores.by_chunks else 1, count), workers)
    gathered.give()
    arrays = (np.moveaxis(Q, 0, 2), np.moveaxis(S, 0, 2))
    results = (failed, dict(sorted(reasons.items())), iterations, time.perf_counter() - began, plan.mechanisms)
    run = BatchRun(mechanism, plan.integrator, plan.dt, plan.every, plan.t, *arrays, cores.momentum, *results)
    if plan.policy is None:
        warn_of_energies(run, plan.u)
    return run
