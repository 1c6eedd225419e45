"""Kernels of a GPU from the bundles of arrays that a stepper hands to its compiled loop.

On the CPU the arrays of a robot come from Python. A thread of a GPU needs its own, and named tuples of them that are
built where it runs. Numba does not get through functions that build nested tuples recursively, so the text of one flat
function is written for the bundles at hand: it makes an array of the thread for each one that the loop writes, takes
those that it only reads from the arguments of the kernel, and names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import inline
from leastaction.batch import batch_kernels
from leastaction.errors import IntegratorError

MOST_MEMORY = 500_000
"""Bytes that the arrays of one thread may take; a GPU has room for 512 KiB."""


@inline
def own_row(robot, a):
    """The row of a robot in an array that has one for each, or one for all."""
    return min(robot, a.shape[0] - 1)


def narrowed(dtype: Any, number: np.dtype[Any]) -> Any:
    """A type of arrays with `number` in place of numbers of 64 bits, in fields of records, too."""
    if dtype.subdtype is not None:
        inner, shape = dtype.subdtype
        return np.dtype((narrowed(inner, number), shape))
    if dtype.names:
        kinds = [(name, narrowed(dtype.fields[name][0], number)) for name in dtype.names]
        return np.dtype((np.record, np.dtype(kinds, align=dtype.isalignedstruct)))
    return number if dtype == np.float64 else dtype


class Writer:
    """Writes the text that builds bundles in a kernel.

    Args:
        number: type of the numbers of the kernel, of 64 or 32 bits.

    Attributes:
        lines: of the text.
        names: what it refers to.
        shared: arrays that are only read; rows of robots first where they differ.
        floats, integers: numbers, shape (robots or 1, n) in the end.
        memory: bytes of the arrays of one thread.
    """

    def __init__(self, number: np.dtype[Any]) -> None:
        self.number = number
        self.lines: list[str] = []
        self.names: dict[str, Any] = {"own_row": own_row}
        self.shared: list[NDArray[Any]] = []
        self.floats: list[list[float]] = []
        self.integers: list[list[int]] = []
        self.memory = 0
        self._made: dict[int, str] = {}
        self._kept: list[Any] = []  # so that no other array gets the id of one of them

    def read(self, robots: Sequence[Any]) -> str:
        """The name of a bundle that is only read, from those of all robots, or one for all."""
        return self._bundle(robots, False)

    def write(self, bundle: Any) -> str:
        """The name of a bundle that belongs to a thread; its arrays begin with what they hold."""
        return self._bundle((bundle,), True)

    def _bundle(self, robots: Sequence[Any], own: bool) -> str:
        first = robots[0]
        if not isinstance(first, tuple):
            return self._leaf(robots, own)
        parts = [self._bundle([bundle[k] for bundle in robots], own) for k in range(len(first))]
        inner = ", ".join(parts)
        if hasattr(first, "_fields"):
            kind = type(first)
            self.names[kind.__name__] = kind
            text = f"{kind.__name__}({inner})"
        else:
            text = f"({inner},)" if parts else "()"
        return self._line(text, "bundle")

    def _line(self, text: str, kind: str) -> str:
        name = f"{kind}{len(self.lines)}"
        self.lines.append(f"{name} = {text}")
        return name

    def _leaf(self, robots: Sequence[Any], own: bool) -> str:
        x = robots[0]
        if x is None:
            return "None"
        if isinstance(x, bool | np.bool_ | int | np.integer):
            self.integers.append([int(value) for value in robots])
            text = f"integers[own_row(robot, integers), {len(self.integers) - 1}]"
            return f"{text} != 0" if isinstance(x, bool | np.bool_) else text
        if isinstance(x, float | np.floating):
            self.floats.append([float(value) for value in robots])
            return f"floats[own_row(robot, floats), {len(self.floats) - 1}]"
        if id(x) not in self._made:
            narrow = [self._narrow(one) for one in robots]
            self._made[id(x)] = self._own_array(narrow[0]) if own and x.size else self._shared_array(narrow)
            self._kept.append(x)
        return self._made[id(x)]

    def _narrow(self, x: NDArray[Any]) -> NDArray[Any]:
        """An array as the kernel has it."""
        kind = narrowed(x.dtype, self.number)
        if kind == x.dtype:
            return x
        out = np.empty(x.shape, kind)
        if not kind.names:
            out[...] = x
            return out
        for name in kind.names:
            out[name] = x[name]
        return out.view(np.recarray)

    def _shared_array(self, robots: Sequence[NDArray[Any]]) -> str:
        x = np.ascontiguousarray(robots[0])
        if all(np.array_equal(_bytes(x), _bytes(other)) for other in robots[1:]):
            self.shared.append(x)
            return self._line(f"shared[{len(self.shared) - 1}]", "read")
        stacked = np.stack(robots)
        self.shared.append(stacked.view(np.recarray) if x.dtype.names else stacked)
        return self._line(f"shared[{len(self.shared) - 1}][robot]", "read")

    def _own_array(self, x: NDArray[Any]) -> str:
        from numba import config, from_dtype

        self.memory += x.nbytes
        if self.memory > MOST_MEMORY:
            raise IntegratorError(
                f"device='cuda': the arrays of one robot take more than {MOST_MEMORY} bytes, for which a thread of a "
                "GPU has no room; use device='cpu'"
            )
        kind = f"kind{len(self.names)}"
        # The simulator of CUDA needs records whose fields are attributes.
        self.names[kind] = x.dtype if config.ENABLE_CUDASIM else from_dtype(x.dtype)  # pyright: ignore
        shape = repr(x.shape if x.ndim > 1 else x.shape[0])
        name = self._line(f"cuda.local.array({shape}, {kind})", "own")
        index = ", ".join(f"i{k}" for k in range(x.ndim))
        if not _bytes(x).any() and not x.dtype.names:
            value = "False" if x.dtype == np.bool_ else "0"
        else:
            value = f"{self._shared_array((x,))}[{index}]"
        for k, n in enumerate(x.shape):
            self.lines.append("    " * k + f"for i{k} in range({n}):")
        self.lines.append("    " * x.ndim + f"{name}[{index}] = {value}")
        return name

    def kernel(self, job: Any, bundles: Sequence[str]) -> Any:
        """The function of the kernel: (floats, integers, shared, batch) for `job(*bundles, batch, robot)`."""
        lines = "\n    ".join(self.lines)
        text = (
            "def kernel(floats, integers, shared, batch):\n"
            "    robot = cuda.grid(1)\n"
            "    if robot >= batch[0].shape[batch[0].ndim - 1]:\n"
            "        return\n"
            f"    {lines}\n"
            f"    job({', '.join(bundles)}, batch, robot)\n"
        )
        names = self.names | {"cuda": batch_kernels.load(), "job": job}
        exec(compile(text, "<kernel of a batch>", "exec"), names)
        return names["kernel"], text

    def numbers(self) -> tuple[NDArray[np.floating], NDArray[np.int64]]:
        """`floats` and `integers` as the kernel takes them."""
        return _table(self.floats, self.number), _table(self.integers, np.int64)


def _bytes(x: NDArray[Any]) -> NDArray[np.uint8]:
    return np.ascontiguousarray(x).view(np.ndarray).reshape(-1).view(np.uint8)


def _table(columns: Sequence[Sequence[Any]], kind: Any) -> NDArray[Any]:
    """Numbers with a row for each robot, or one for all where they agree."""
    if not columns:
        return np.zeros((1, 1), kind)
    rows = max(map(len, columns))
    return np.array([column if len(column) == rows else [*column] * rows for column in columns], kind).T.copy()
