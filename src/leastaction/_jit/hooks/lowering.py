"""Lowering to LLVM IR of kernels that allocate no arrays: less code than Numba's own lowering emits.

- Named tuples with arrays (model, data, ...) are passed by reference. Numba unpacks and repacks them at each call, some
  hundred numbers each. The offset of a field does not depend on the other fields: code that reads it is valid for
  tuples that differ in other fields (`reads`).
- After the call of a function that cannot fail, its status is not tested.
- Variables are not cleared at the end of their lifetime, as there are no references to release.
"""

from collections import Counter
from typing import Any

import llvmlite.ir as lir
from numba import types
from numba.core import cgutils, ir
from numba.core.compiler_machinery import register_pass
from numba.core.datamodel import models, register_default
from numba.core.imputils import user_function
from numba.core.lowering import Lower
from numba.core.registry import cpu_target
from numba.core.typed_passes import NativeLowering

__all__ = ["LeanLowering", "borrowed", "caller_of", "is_bundle"]

_BYTES = lir.IntType(8).as_pointer()
_WORD = lir.IntType(64)

_ROOM = 13 * 8
"""Bytes of each field: enough for an array with four indices. Named tuples with arrays, and larger values, are stored
by their address."""


def is_bundle(kind: Any) -> bool:
    """Whether a type is a named tuple that contains arrays, possibly in nested tuples."""
    return isinstance(kind, (types.NamedTuple, types.NamedUniTuple)) and any(map(_holds_arrays, kind))  # pyright: ignore


def _holds_arrays(kind: Any) -> bool:
    return isinstance(kind, types.Array) or (isinstance(kind, types.BaseTuple) and any(map(_holds_arrays, kind)))  # pyright: ignore


class Borrowed(types.Type):
    """Type of a named tuple in memory that is constant during a call, as parameters of kernels are."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        super().__init__(f"Borrowed({bundle})")


def borrowed(kinds: Any) -> tuple[Any, ...]:
    """Argument types as kernels pass them."""
    return tuple(Borrowed(kind) if is_bundle(kind) else kind for kind in kinds)


@register_default(Borrowed)
class _BorrowedModel(models.PrimitiveModel):
    """Passes the address, the attribute `home` of a value; values without one are stored in memory for the call."""

    def __init__(self, manager: Any, kind: Borrowed) -> None:
        super().__init__(manager, kind, _BYTES)
        self._bundle, self._type = kind.bundle, manager.lookup(kind.bundle).get_value_type()

    def as_argument(self, builder: Any, value: Any) -> Any:
        home = getattr(value, "home", None)
        return _stored(builder, value, self._bundle) if home is None else home

    def from_argument(self, builder: Any, value: Any) -> Any:
        return _Lying(self._type, value, self._bundle)


class _Lying(lir.values.Value):  # pyright: ignore[reportAttributeAccessIssue]
    """A named tuple in memory, loaded only where more than its address and single fields is used."""

    loaded: Any = None

    def __init__(self, lltype: Any, home: Any, kind: Any) -> None:
        self.type, self.home, self.kind = lltype, home, kind

    def get_reference(self) -> str:
        return self.loaded.get_reference()


def _place(builder: Any, home: Any, index: int) -> Any:
    """Address of a field of a named tuple."""
    return builder.gep(home, [lir.Constant(_WORD, index * _ROOM)], inbounds=True)


def _stored(builder: Any, value: Any, kind: Any) -> Any:
    """Store a value in memory; returns its address."""
    if not is_bundle(kind):
        with builder.goto_entry_block():
            place = builder.alloca(value.type)
        builder.store(value, place)
        return builder.bitcast(place, _BYTES)
    with builder.goto_entry_block():
        home = builder.bitcast(builder.alloca(lir.ArrayType(_WORD, len(kind) * _ROOM // 8)), _BYTES)
    for index, field in enumerate(kind):
        one = builder.extract_value(value, index)
        if _lies_apart(field):
            one = _stored(builder, one, field)
        builder.store(one, builder.bitcast(_place(builder, home, index), one.type.as_pointer()))
    return home


def _read(builder: Any, home: Any, kind: Any, index: int, lltype: Any) -> Any:
    """Load a field of the named tuple at an address."""
    field, place = kind[index], _place(builder, home, index)
    if _lies_apart(field):
        place = builder.load(builder.bitcast(place, _BYTES.as_pointer()))
    if is_bundle(field):
        return _Lying(lltype, place, field)
    return builder.load(builder.bitcast(place, lltype.as_pointer()))


def _loaded(builder: Any, bundle: _Lying) -> Any:
    """Load all fields of a named tuple in memory."""
    value = lir.Constant(bundle.type, lir.Undefined)
    for index in range(len(bundle.kind)):
        one = _read(builder, bundle.home, bundle.kind, index, bundle.type.elements[index])
        value = builder.insert_value(value, _loaded(builder, one) if isinstance(one, _Lying) else one, index)
    return value


def _lies_apart(kind: Any) -> bool:
    """Whether a field of this type is stored by its address."""
    return is_bundle(kind) or _size(kind) > _ROOM


_SIZES: dict[Any, int] = {}


def _size(kind: Any) -> int:
    """Size of a value in memory [bytes]."""
    if kind not in _SIZES:
        context: Any = cpu_target.target_context
        _SIZES[kind] = context.get_abi_sizeof(context.get_value_type(kind))
    return _SIZES[kind]


class _LeanLower(Lower):
    """Lowers one function without reference counting."""

    def __init__(self, context: Any, library: Any, fndesc: Any, func_ir: Any, metadata: Any = None) -> None:
        library.argtypes = fndesc.argtypes
        if library.borrows:
            fndesc.argtypes = borrowed(fndesc.argtypes)
        super().__init__(context, library, fndesc, func_ir, metadata)
        self._fields: dict[Any, Any] = {}
        self._kept: dict[str, Any] = {}
        assigns = (inst for block in func_ir.blocks.values() for inst in block.find_insts(ir.Assign))
        self._assignments = Counter(inst.target.name for inst in assigns)

    def lower_normal_function(self, fndesc: Any) -> None:
        super().lower_normal_function(fndesc)
        self._load_whole_bundles()
        self.library.fails = any(_fails(block.terminator) for block in self.function.blocks)

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        place = 2  # after the pointers to the result and to the exception
        packer = self.context.get_arg_packer
        for kind in fndesc.argtypes:
            if isinstance(kind, Borrowed):
                for attribute in self.function.args[0].attributes:  # not aliased, not captured
                    self.function.args[place].add_attribute(attribute)
            place += len(packer((kind,)).argument_types)

    def _load_whole_bundles(self) -> None:
        """Load the tuples of which more than addresses and single fields are used, at the end of the first block."""
        users = [user for block in self.function.blocks for user in block.instructions]
        phis = [one for user in users if isinstance(user, lir.PhiInstr) for one, _ in user.incomings]
        used = [*phis, *(one for user in users for one in user.operands)]
        with self.builder.goto_block(self.entry_block):
            for one in used:
                if isinstance(one, _Lying) and one.loaded is None:
                    one.loaded = _loaded(self.builder, one)

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        if isinstance(ty, types.Dispatcher) and isinstance(inst.value, (ir.Global, ir.FreeVar)):
            return self.context.get_dummy_value()  # calls use the symbol, not the address of the Python object
        return super().lower_assign(ty, inst)

    # ------------------------------------------------------------------ variables

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op == "getattr" and is_bundle(kind := self.typeof(expr.value.name)):
            home = getattr(self.loadvar(expr.value.name), "home", None)
            if home is not None:
                index = kind.fields.index(expr.attr)
                return self.context.cast(self.builder, self._field(home, kind, index), kind[index], resty)
        return super().lower_expr(resty, expr)

    def _field(self, home: Any, kind: Any, index: int) -> Any:
        """A field of the named tuple at an address, loaded once at the beginning of the function."""
        key = id(home), index
        if key not in self._fields:
            lltype = self.context.get_value_type(kind[index])
            with self.builder.goto_entry_block():
                value = _read(self.builder, home, kind, index, lltype)
            self._fields[key] = value, home  # keeps `home` alive, so that its id is not reused
        return self._fields[key][0]

    def storevar(self, value: Any, name: str, argidx: Any = None) -> None:
        if hasattr(value, "home") and self._assignments[name] == 1 and name not in self.varmap:
            self._kept[name] = value
        elif name in self._singly_assigned_vars:
            super().storevar(value, name, argidx)
        else:
            self._alloca_var(name, self.typeof(name))
            self.builder.store(value, self.getvar(name))

    def loadvar(self, name: str) -> Any:
        return self._kept[name] if name in self._kept else super().loadvar(name)

    def delvar(self, name: str) -> None:
        if name not in self._blk_local_varmap:
            self._singly_assigned_vars.discard(name)  # deleted before it is assigned: in a loop

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        return cgutils.alloca_once(self.builder, lltype, name=name)


def _fails(terminator: Any) -> bool:
    """Whether a block may return an exception."""
    if not isinstance(terminator, lir.Ret):
        return False
    code = terminator.operands[0]
    return not (isinstance(code, lir.Constant) and code.constant == 0)


def caller_of(fndesc: Any, library: Any) -> Any:
    """Emitter of calls of a function that was lowered here; replaces Numba's `user_function`."""
    ordinary: Any = user_function(fndesc, [library])

    def call(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        caller = builder.function
        if library.fails or len(caller.args) < 2 or caller.args[1].name != "excinfo":
            return ordinary(context, builder, sig, args)
        callee = context.declare_function(builder.module, fndesc)
        result = callee.args[0].type.pointee
        place = cgutils.alloca_once(builder, result)
        arguments = context.get_arg_packer(fndesc.argtypes).as_arguments(builder, args)
        builder.call(callee, [place, caller.args[1], *arguments])
        return context.get_returned_value(builder, fndesc.restype, builder.load(place))

    call.signature = library.argtypes
    call.libs = (library,)
    return call


@register_pass(mutates_CFG=True, analysis_only=False)
class LeanLowering(NativeLowering):
    """`NativeLowering` of a function without reference counting."""

    _name = "leastaction_lowering"

    def __init__(self) -> None:
        super().__init__()

    @property
    def lowering_class(self) -> Any:
        return _LeanLower
