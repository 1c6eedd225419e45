"""Calls of compiled functions with packed arguments: an array of 64-bit words in Numba's argument layout.

A function of a few instructions advances the words that depend on the row and passes all to the compiled function.
"""

import ctypes
import struct
import threading
from collections.abc import Callable
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as lir
import numpy as np
from numba import types

__all__ = ["FastCall"]

_GIVEN = 4
"""Most words of a result."""

_AHEAD, _COUNT, _GROWTH = range(_GIVEN + 1, _GIVEN + 4)
"""Word indices: number of rows to advance, number of row-dependent words, address of their indices and increments."""

_HEAD = _GIVEN + 4
"""Words before those of the arguments: address of the compiled function, its result, and these three."""

_WORD = lir.IntType(64)


class FastCall:
    """Calls a compiled entry point for consecutive rows of arrays.

    Args:
        compiled: Numba's compile result.
        first: its constant first arguments.
        rows: the other arguments for rows 1, 2 and 3, which must be affine in the row, else TypeError.
        other: the first arguments with another value of one 64-bit number, at all its places, for `set`.
    """

    def __init__(
        self, compiled: Any, first: tuple[Any, ...], rows: list[tuple[Any, ...]], other: tuple[Any, ...] | None = None
    ) -> None:
        kinds = compiled.signature.args
        count = _words_given(compiled.signature.return_type)
        fixed = words(first, kinds[: len(first)])
        one, two, three = (words(row, kinds[len(first) :]) for row in rows)
        if count is None or fixed is None or one is None or two is None or three is None:
            raise TypeError
        growth = np.array(two, np.int64) - np.array(one, np.int64)
        if (np.array(three, np.int64) - np.array(two, np.int64) != growth).any():
            raise TypeError
        address = compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name)
        moving = np.flatnonzero(growth)
        self._growth = np.column_stack([_HEAD + len(fixed) + moving, growth[moving]])
        about = 1, len(moving), self._growth.ctypes.data
        block = np.array([address, *[0] * _GIVEN, *about, *fixed, *one], np.int64)
        self._block, self._address, self._row = block, block.ctypes.data, 1
        self._result, self._single = block[1 : 1 + count], count == 1
        changed = fixed if other is None else words(other, kinds[: len(first)])
        self._numbers = block.view(np.float64)
        self._changing = _HEAD + np.flatnonzero(np.array(changed, np.int64) != np.array(fixed, np.int64))
        self._rows = rows  # keeps the arrays alive
        self._call = _caller(compiled)

    def set(self, number: float) -> None:
        """Set another value of the number in the first arguments, see `other`."""
        self._numbers[self._changing] = number

    def again(self) -> Any:
        """Call the entry point once more, where no argument depends on the row; returns its result."""
        return self(self._row + 1)

    def __call__(self, row: int) -> Any:
        """Call the entry point for a row; returns its result, or NotImplemented where it raised an exception."""
        if row != self._row + 1:
            self._block[_AHEAD] = row - self._row
        self._row = row
        if self._call(self._address):
            return NotImplemented
        return self._result.item() if self._single else tuple(self._result.tolist())


def words(values: tuple[Any, ...], kinds: tuple[Any, ...]) -> list[int] | None:
    """Words of values of these Numba types, in the layout of compiled functions; None for unsupported types."""
    out: list[int] = []
    for value, kind in zip(values, kinds, strict=True):
        if isinstance(kind, types.Array):
            # Meminfo (none: not reference counted), parent object, item count, item size, data, shape, strides.
            place = value.__array_interface__["data"][0]
            out += [0, 0, value.size, value.itemsize, place, *value.shape, *value.strides]
        elif isinstance(kind, types.BaseTuple):
            inner = words(tuple(value), tuple(kind))  # pyright: ignore[reportArgumentType]
            if inner is None:
                return None
            out += inner
        elif kind is types.float64:
            out += struct.unpack("q", struct.pack("d", value))
        elif isinstance(kind, types.Boolean) or kind in types.signed_domain:
            out.append(int(value))
        elif isinstance(kind, types.NoneType):
            out.append(0)
        else:
            return None
    return out


def _words_given(kind: Any) -> int | None:
    """Number of 64-bit integers in a function's result; None for any other result."""
    if kind == types.none:
        return 0
    if kind == types.int64:
        return 1
    plain = isinstance(kind, types.UniTuple) and kind.dtype == types.int64 and kind.count <= _GIVEN
    return kind.count if plain else None


def _caller(compiled: Any) -> Any:
    """Function of the address of packed arguments, see `_calling`."""
    with _ONE:  # another thread may be running the code
        if id(compiled) not in _CALLERS:
            _CALLERS[id(compiled)] = _new_caller(compiled)
    return _CALLERS[id(compiled)][0]


_ONE = threading.Lock()

_CALLERS: dict[int, Any] = {}
"""Such functions and their code, by the id of the compile result; none of these is ever freed (`bound`)."""


def _new_caller(compiled: Any) -> tuple[Any, Any]:
    """(Function of the address of packed arguments, its code)."""
    context, fndesc = compiled.target_context, compiled.fndesc
    kind = context.call_conv.get_function_type(fndesc.restype, fndesc.argtypes)
    name = f"leastaction_walk_{len(_CALLERS)}"
    module = llvm.parse_assembly(str(_calling(lir.Module(name), name, kind)))
    module.triple = triple = llvm.get_process_triple()
    # Without optimisation: LLVM would spend long on merging the hundreds of loads.
    machine = llvm.Target.from_triple(triple).create_target_machine(opt=0, jit=True)
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    return ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(engine.get_function_address(name)), engine


def _calling(module: Any, name: str, kind: Any) -> Any:
    """Build a function of the address of words in a module: it advances them, calls the function at the first word's
    address, and returns its status."""
    function = lir.Function(module, lir.FunctionType(lir.IntType(32), [_WORD.as_pointer()]), name)
    builder = lir.IRBuilder(function.append_basic_block("entry"))

    def place(k: int) -> Any:
        return builder.gep(function.args[0], [lir.Constant(_WORD, k)], inbounds=True)

    def argument(k: int, own: Any) -> Any:
        word = builder.load(place(k))
        if isinstance(own, lir.PointerType):
            return builder.inttoptr(word, own)
        if isinstance(own, lir.DoubleType):
            return builder.bitcast(word, own)
        return word if own == _WORD else builder.trunc(word, own)

    result, raised, *others = kind.args
    slot = builder.alloca(raised.pointee)
    _grow(builder, place)
    arguments = [argument(_HEAD + k, own) for k, own in enumerate(others)]
    called = builder.inttoptr(builder.load(place(0)), kind.as_pointer())
    builder.ret(builder.call(called, [builder.bitcast(place(1), result), slot, *arguments]))
    return module


def _grow(builder: Any, place: Callable[[int], Any]) -> None:
    """Emit a loop words[index] += rows to advance * increment; it resets the rows to advance to one."""
    before, loop, after = builder.block, builder.append_basic_block("grow"), builder.append_basic_block("call")
    zero, one, two = (lir.Constant(_WORD, k) for k in range(3))
    block, ahead = place(0), builder.load(place(_AHEAD))
    builder.store(one, place(_AHEAD))
    end = builder.mul(two, builder.load(place(_COUNT)))
    pairs = builder.inttoptr(builder.load(place(_GROWTH)), _WORD.as_pointer())
    builder.cbranch(builder.icmp_signed(">", end, zero), loop, after)
    builder.position_at_end(loop)
    k = builder.phi(_WORD)
    word = builder.gep(block, [builder.load(builder.gep(pairs, [k]))])
    growth = builder.load(builder.gep(pairs, [builder.add(k, one)]))
    builder.store(builder.add(builder.load(word), builder.mul(ahead, growth)), word)
    following = builder.add(k, two)
    k.add_incoming(zero, before)
    k.add_incoming(following, loop)
    builder.cbranch(builder.icmp_signed("<", following, end), loop, after)
    builder.position_at_end(after)
