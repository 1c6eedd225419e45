"""The robots of `batch.Simulator` on a GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction.batch.arrays import is_there
from leastaction.batch.batch_kernels import RUN, checks, copies, launch, load
from leastaction.batch.cuda import THREADS, Card
from leastaction.errors import IntegratorError, LeastActionError, MechanismError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.configuration import quaternions
from leastaction.minimal.contact import batches

FREE = np.iinfo(np.int64).max
"""More than the number of any robot."""


class SteppingCard:
    """A `Card` whose runs go on: row 0 is where robots are put, row 1 where they are.

    Attributes:
        q, p: positions and momenta, shapes (robots, nq) and (robots, nv), on the GPU.
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
        self.card = Card(mechanism, integrator, dt, robots, 2, dtype, keeps=True, mechanisms=mechanisms)
        self.dtype = dtype
        batch = self.card.batch
        self.q, self.p, self._v = turned(batch.q[1]), turned(batch.p[1]), turned(batch.v)
        self._bad = load().to_device(np.array([FREE, FREE]))

    def _there(self, values: Any) -> Any:
        cuda = load()
        if is_there(values):
            return cuda.as_cuda_array(values) if hasattr(values, "__cuda_array_interface__") else values
        return cuda.to_device(np.array(values, self.dtype if values.dtype.kind == "f" else np.int64, order="C"))

    def check_states(self, which: Any, q: Any, v: Any) -> None:
        """Refuse states on the GPU that are no states, by the number of the robot."""
        for name, values in (("q", q), ("v", v)):
            self._check_numbers(name, values, which, MechanismError)
        places = np.array(quaternions(self.card.mechanism), np.int64)
        if len(which) and len(places):
            launch(checks()[1], len(which), THREADS, self._there(q), load().to_device(places), self._bad)
            row = self._first_bad(1)
            if row < FREE:
                raise MechanismError(f"q: the quaternions of robot {which[row]} must have unit norm")

    def check_controls(self, u: Any) -> None:
        """Refuse controls on the GPU that are not finite, by the number of the robot."""
        self._check_numbers("controls", u, range(len(u)), IntegratorError)

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
            batch, (kernel, _) = self.card.batch, copies()
            given = (self._there(x) for x in (which, q, v))
            launch(kernel, len(which), THREADS, *given, batch.q, batch.v, batch.memory)
            self.card.launch(batches.place)

    def step(self, u: Any, steps: int) -> None:
        """Advance all robots with controls (robots, nu)."""
        batch, (_, kernel) = self.card.batch, copies()
        if u.shape[1]:
            launch(kernel, u.shape[0], THREADS, self._there(u), batch.u)
        self.card.launch(RUN, steps, steps)

    @property
    def v(self) -> Any:
        """Velocities, shape (robots, nv), on the GPU."""
        self.card.launch(batches.tell_velocity)
        return self._v

    @property
    def failed(self) -> NDArray[np.bool_]:
        """Which robots have failed, on this side."""
        return self.card.here("failed") >= 0


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
