"""The robots of `batch.Simulator` on a GPU."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.batch.arrays import is_there
from leastaction.batch.batch_kernels import RUN, THREADS, checks, copies, launch, load
from leastaction.batch.cuda import GpuBatch, reasons_of
from leastaction.batch.device_array import DeviceArray
from leastaction.errors import LeastActionError, MechanismError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.configuration import quaternions
from leastaction.minimal.contact import batches

FREE = np.iinfo(np.int64).max
"""More than the number of any robot."""


class SteppingGpuBatch:
    """A `GpuBatch` whose runs go on: row 0 is where robots are put, row 1 where they are.

    Attributes:
        q, p, v: positions, momenta and velocities, shapes (robots, nq), (robots, nv), on the GPU; always the same.
        failed_there: -1 for robots that go on, shape (robots,), on the GPU.
    """

    def __init__(
        self,
        mechanism: Mechanism,
        integrator: Any,
        dt: float,
        robots: int,
        dtype: np.dtype[Any],
        mechanisms: Sequence[Mechanism],
    ) -> None:
        self.card = GpuBatch(mechanism, integrator, dt, robots, 2, dtype, keeps=True, mechanisms=mechanisms)
        self.dtype = dtype
        batch = self.card.batch
        self.q, self.p, self.v = shared(batch.q[1]), shared(batch.p[1]), shared(batch.v)
        self.failed_there = DeviceArray(batch.failed, batch.failed)
        self._bad = load().to_device(np.array([FREE, FREE]))
        self._places = load().to_device(np.array([*quaternions(mechanism)] or [-1], np.int64))
        self._home: dict[str, Any] = {}

    def _there(self, values: Any) -> Any:
        cuda = load()
        if is_there(values):
            return cuda.as_cuda_array(values) if hasattr(values, "__cuda_array_interface__") else values
        return cuda.to_device(np.array(values, self.dtype if values.dtype.kind == "f" else np.int64, order="C"))

    def check_states(self, which: Any, q: Any, v: Any) -> None:
        """Refuse states on the GPU that are no states, by the number of the robot."""
        for name, values in (("q", q), ("v", v)):
            self._check_numbers(name, values, which, MechanismError)
        if len(which):
            launch(checks()[1], len(which), THREADS, self._there(q), self._places, self._bad)
            row = self._first_bad(1)
            if row < FREE:
                raise MechanismError(f"q: the quaternions of robot {which[row]} must have unit norm")

    def _check_numbers(self, name: str, values: Any, robots: Any, error: type[LeastActionError]) -> None:
        if values.shape[0] == 0 or values.shape[1] == 0:
            return
        launch(checks()[0], values.shape[0], THREADS, self._there(values), self._bad)
        row = self._first_bad(0)
        if row < FREE:
            raise error(f"{name}: robot {robots[row]} has a number that is not finite")

    def _first_bad(self, sort: int) -> int:
        """The first row that a check has found something in, or FREE; what is found is forgotten."""
        row = int(self._bad.copy_to_host()[sort])
        if row < FREE:
            self._bad = load().to_device(np.array([FREE, FREE]))
        return row

    def place(self, which: Any, q: Any, v: Any) -> None:
        """Put robots at (q, v)."""
        if len(which):
            batch, kernel, stream = self.card.batch, copies()[0], present_stream()
            given = [self._there(x) for x in (which, q, v)]
            launch(kernel, len(which), THREADS, *given, batch.q, batch.v, batch.memory, stream=stream)
            self.card.launch(batches.place, stream=stream, wait=False)

    def place_where(self, mask: Any, q: Any, v: Any) -> None:
        """Put robots at (q, v) for which a mask on the GPU holds; q and v may have one row for all of them.

        Nothing is waited for: a robot whose state is none fails.
        """
        batch, stream, given = self.card.batch, present_stream(), []
        for name, values in (("q", q), ("v", v)):
            if is_there(values):
                given.append(self._there(values))
                continue
            kept, there = self._home.get(name, (None, None))
            if kept is None or kept.shape != values.shape or (kept != values).any():
                there = self._there(values)
                self._home[name] = values.copy(), there
            given.append(there)
        own = batch.q, batch.p, batch.v, batch.failed, batch.why
        there = self._there(mask), *given, self._places, batch.memory, own
        launch(copies()[1], mask.shape[0], THREADS, *there, stream=stream)
        self.card.launch(batches.place, stream=stream, wait=False)

    def step(self, u: Any, steps: int) -> None:
        """Advance all robots with controls (robots, nu); nothing is waited for."""
        batch, stream = self.card.batch, present_stream()
        if u.shape[1]:
            own = batch.q, batch.p, batch.v, batch.failed, batch.why
            launch(copies()[2], u.shape[0], THREADS, self._there(u), batch.u, own, stream=stream)
        self.card.launch(RUN, steps, steps, stream=stream, wait=False)

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which robots have failed, on this side."""
        return self.card.here("failed") >= 0

    @property
    def reasons(self) -> dict[int, str]:
        """Why, by robot."""
        return reasons_of(self.card.here("failed"), self.card.here("why"))


_streams: dict[int, Any] = {}


def present_stream() -> Any:
    """The stream that PyTorch is on, so that kernels here are in order with its own, within a graph, too; else 0."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return 0
    number = int(torch.cuda.current_stream().cuda_stream)
    if number and number not in _streams:
        _streams[number] = load().external_stream(number)
    return _streams[number] if number else 0


def shared(there: Any) -> Any:
    """A view of an array (n, robots) of the GPU with the number of the robot first, for other libraries."""
    if not hasattr(there, "__cuda_array_interface__"):  # the simulator's
        return there.T
    return DeviceArray(turned(there), there)


class _Interface:
    """What other libraries need to know of an array of the GPU."""

    def __init__(self, interface: dict[str, Any]) -> None:
        self.__cuda_array_interface__ = interface


def turned(there: Any, axes: tuple[int, int] | None = None) -> Any:
    """A view of an array (n, robots) of the GPU with the number of the robot first; Numba's own `.T` makes a copy.

    With `axes`, the first of the two is split into axes of these lengths.
    """
    if not hasattr(there, "__cuda_array_interface__"):  # the simulator's
        return there.T if axes is None else there.copy_to_host().T.reshape(-1, *axes)
    interface = dict(there.__cuda_array_interface__)
    rows, columns = interface["shape"]
    size = np.dtype(interface["typestr"]).itemsize
    interface |= {"shape": (columns, rows), "strides": (size, size * columns)}
    if axes is not None:
        interface |= {"shape": (columns, *axes), "strides": (size, size * columns * axes[1], size * columns)}
    view = load().as_cuda_array(_Interface(interface))
    view.whole = there  # whose memory it is
    return view
