"""Batches on a GPU: their arrays there, and one launch of a kernel for all steps of all robots."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

from leastaction._jit import faster_cuda
from leastaction.batch.arrays import Batch
from leastaction.batch.batch_kernels import (
    ContactScratch,
    Sizes,
    bound,
    compiled,
    contact_scratch_shapes,
    job_of,
    launch,
    literals_as,
    load,
    model_rows,
    sizes_of,
    threads_of,
)
from leastaction.batch.batch_plan import Plan
from leastaction.batch.general.gpu_runner import run_generally
from leastaction.batch.gpu_initial_states import moved_starts
from leastaction.batch.run import BatchRun
from leastaction.errors import IntegratorError
from leastaction.initial_state.unsupported_features import loose_pair, warn_of_passing
from leastaction.maximal import Maximal
from leastaction.mechanism import Mechanism
from leastaction.minimal import Galerkin, Minimal
from leastaction.minimal.contact.arrays import (
    BatchSettings,
    RobotModel,
    memory_size,
    pruned,
    robot_array_shapes,
    robot_model,
)
from leastaction.minimal.contact.batches import REASONS
from leastaction.minimal.contact.detection.constraints import cones, cones_and_shapes
from leastaction.minimal.contact.steps import FINEST
from leastaction.minimal.contact.unsupported import refuse_unknown

ATTEMPT = 12
"""Most Newton iterations before a step is divided."""

DTYPES = (np.dtype(np.float32), np.dtype(np.float64))


class GpuBatch:
    """The robots of a batch on the GPU.

    Args:
        mechanism: the robot.
        integrator: `Minimal()` or `Galerkin(order=2)`.
        dt: time step [s].
        robots: how many.
        rows: states that there is room for.
        dtype: of all numbers.
        keeps: whether runs go on from where they ended.
        mechanisms: the robots one by one, where parameters differ.

    Attributes:
        batch: arrays of the GPU.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        integrator: Any,
        dt: float,
        robots: int,
        rows: int,
        dtype: np.dtype[Any],
        *,
        keeps: bool = False,
        mechanisms: Sequence[Mechanism] = (),
    ) -> None:
        from numba import from_dtype

        cuda = load()
        _check(mechanism, integrator, dtype)
        if not cuda.is_available():
            raise IntegratorError(
                "device='cuda': no GPU was found (numba.cuda.is_available() is False); use device='cpu'"
            )
        self.mechanism, self.dtype, self.keeps = mechanism, dtype, keeps
        self.touching, self.separate = isinstance(integrator, Minimal), bool(mechanisms)
        single = dtype == np.float32
        self.number, self.dt = from_dtype(dtype), dt
        self.tolerance = max(float(integrator.tolerance), 1e3 * float(np.finfo(dtype).eps) if single else 0.0)
        self.floor, self.most = 1e-5 if single else 1e-10, min(int(integrator.max_iterations), ATTEMPT)
        self.models = [self._model(m) for m in mechanisms or (mechanism,)]
        kept = memory_size(robot_array_shapes(self.models[0], mechanism.nq)) if keeps else 1
        nq, nv, nu = mechanism.nq, mechanism.nv, mechanism.nu
        shapes = [(rows, nq, robots), (rows, nv, robots), (nv, robots), (1, nu, robots), (1, 1), (kept, robots)]
        self._bound: dict[Any, Any] = {}
        self.thread_count, room = contact_scratch_shapes(self._sizes(True), dtype, robots)
        self.roomy = room is not None
        shapes += room or [(1, 1, 1, 1)] * 2
        size = sum(int(np.prod(shape)) for shape in shapes) * dtype.itemsize / 2**30
        self.words = f"{robots} robots with {rows} states each ({size:.1f} GiB)"
        with self._room():
            *floats, square, flat = [cuda.device_array(shape, dtype) for shape in shapes]
            self.batch = Batch(*floats, *(cuda.to_device(np.full(robots, -1)) for _ in range(4)))
            self.own = tuple(map(cuda.to_device, model_rows(self.models, self.separate)))
            self.room = ContactScratch(square, flat)

    def _model(self, mechanism: Mechanism) -> RobotModel:
        return robot_model(mechanism, self.dtype, cones(mechanism)[0] if self.touching else None)

    def _compiling(self) -> AbstractContextManager[None]:
        """How kernels are compiled: large ones as functions that call each other, in half the time and no slower."""
        return faster_cuda(apart=self.touching)

    def _sizes(self, driven: bool) -> Sizes:
        """Of the kernel for these robots, with controls or without."""
        model = self.models[0] if self.separate else pruned(self.models[0], driven)
        return sizes_of(model, self.mechanism.nq, self.separate)

    @contextmanager
    def _room(self) -> Iterator[None]:
        """Say in words where the GPU has too little memory."""
        try:
            yield
        except Exception as error:
            if "OUT_OF_MEMORY" not in str(error).upper():
                raise
            raise IntegratorError(
                f"the GPU has no room for {self.words}; record fewer states (every=) or run fewer robots at once"
            ) from None

    def send(self, name: str, values: Any) -> None:
        """Replace an array of the batch by one of this side or of the GPU."""
        if hasattr(values, "__cuda_array_interface__"):
            there = load().as_cuda_array(values)
        else:
            with self._room():
                there = load().to_device(np.ascontiguousarray(values, self.dtype))
        self.batch = self.batch._replace(**{name: there})
        self._bound.clear()

    def here(self, name: str) -> Any:
        """An array of the batch, on this side."""
        there: Any = getattr(self.batch, name)
        return there.copy_to_host()

    def launch(
        self, job: Any, steps: int = 0, every: int = 1, driven: bool = True, stream: Any = 0, wait: bool = True
    ) -> float:
        """Let every robot do a job, with controls or without; returns the time it took [s]."""
        key, began = (job, steps, every, driven), time.perf_counter()
        if key in self._bound:
            self._bound[key](stream)
        else:
            kind = self.dtype.type
            numbers = (kind(self.dt), kind(self.tolerance), kind(self.floor))
            settings = BatchSettings(*numbers, self.most, steps, every, self.keeps, numbers[0])
            sizes, single = self._sizes(driven), self.dtype == np.float32
            kernel = compiled(self.mechanism.name, job, sizes, single, self.roomy)
            arguments, threads = (settings, self.batch, self.own, self.room), threads_of(self.thread_count)
            plain = tuple(map(tuple, arguments))
            known = getattr(kernel, "overloads", None)  # the first launch compiles, and makes the work space of threads
            with literals_as(self.number), self._room(), nullcontext() if known else self._compiling():
                launch(kernel, self.thread_count, threads, *plain, stream=stream)
            self._bound[key] = bound(kernel, self.thread_count, threads, plain)
        if wait:
            load().synchronize()
        return time.perf_counter() - began


def _interpolates_poses(integrator: Any) -> bool:
    return isinstance(integrator, Galerkin) and integrator.order == 2 and integrator.interpolates == "bodies"


def _check(mechanism: Mechanism, integrator: Any, dtype: np.dtype[Any]) -> None:
    """Refuse what these kernels do not know."""
    if dtype not in DTYPES:
        raise IntegratorError(f"dtype must be numpy.float64 or numpy.float32, got {dtype.name}")
    if not (_interpolates_poses(integrator) or isinstance(integrator, Minimal)):
        raise IntegratorError(
            f"batch.Simulator with device='cuda' runs Minimal and Galerkin(order=2, interpolation='bodies'), not "
            f"{integrator}; use leastaction.batch.simulate, or device='cpu'"
        )
    refuse_unknown(mechanism, "device='cuda'", "device='cpu'")
    if mechanism.prescribed:
        name = mechanism.prescribed[0]
        raise IntegratorError(f"device='cuda' knows no prescribed motions, such as that of {name!r}; use device='cpu'")
    if isinstance(integrator, Minimal) and integrator.self_collision:
        table = cones_and_shapes(mechanism, True)[2]
        for pair in table.body_pairs()[:1]:
            warn_of_passing(mechanism, table.names[pair.a][0], table.names[pair.b][0])
    for actuator in mechanism.actuators:
        if actuator.activation is not None:
            raise IntegratorError(f"actuator {actuator.name!r} has an activation, which needs device='cpu'")


def has_special_kernel(mechanism: Mechanism, integrator: Any) -> bool:
    """Whether there is a kernel made for this integrator, and for all that the mechanism has.

    It knows no contact between bodies: robots that may meet run on the general one, links of one robot pass through
    each other.
    """
    ground = isinstance(integrator, Minimal)
    if mechanism.prescribed or not (ground or _interpolates_poses(integrator)):
        return False
    if ground and integrator.self_collision and loose_pair(mechanism) is not None:
        return False
    try:
        refuse_unknown(mechanism, "", "")
        if ground:
            cones(mechanism)
    except IntegratorError:
        return False
    return True


def with_special_kernel(mechanism: Mechanism, integrator: Any) -> Any:
    """The integrator with a kernel made for the mechanism that is nearest to this one, or this one."""
    nearest = integrator
    if isinstance(integrator, Galerkin | Maximal):
        nearest = Minimal() if isinstance(integrator, Maximal) else Galerkin(order=2)
    try:
        refuse_unknown(mechanism, "", "")
    except IntegratorError:
        return Maximal() if isinstance(integrator, Minimal) else integrator
    return nearest


def reasons_of(failed: Any, why: Any) -> dict[int, str]:
    """What to say of robots that have failed, by robot."""
    words = {cause: text.format(finest=FINEST) for cause, text in REASONS.items()}
    return {int(k): f"step {failed[k]}: {words[int(why[k])]}" for k in np.flatnonzero(failed >= 0)}


def run_on_gpu(plan: Plan) -> BatchRun:
    """See `leastaction.batch.simulate`."""
    if not has_special_kernel(plan.mechanism, plan.integrator):
        return run_generally(plan)
    plan = replace(plan, q=moved_starts(plan.integrator.prepare(plan.mechanism, plan.dt), plan.q))
    rows, m = plan.steps // plan.every + 1, plan.mechanism
    card = GpuBatch(m, plan.integrator, plan.dt, len(plan.q), rows, plan.dtype, mechanisms=plan.mechanisms)
    first = card.batch.q[0], card.batch.p[0]
    for there, here in zip(first, (plan.q, plan.momenta()), strict=True):
        there.copy_to_device(np.ascontiguousarray(here.T.astype(plan.dtype)))
    card.send("v", plan.v.T)
    card.send("u", plan.u)
    card.send("policy", plan.policy_parameters)
    driven = plan.policy is not None or bool(plan.u.any())
    seconds = card.launch(job_of(plan.policy), plan.steps, plan.every, driven)
    failed, iterations = (card.here(name) for name in ("failed", "iterations"))
    reasons = reasons_of(failed, card.here("why"))
    results = (
        card.batch.q,
        card.batch.p,
        True,
        failed,
        reasons,
        iterations,
        seconds,
        plan.mechanisms,
        card.here("parts"),
    )
    return BatchRun(m, plan.integrator, plan.dt, plan.every, plan.t, *results)
