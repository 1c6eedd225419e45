"""How kernels that make no arrays become LLVM code: less of it than Numba's own lowering writes.

- Bundles (named tuples that hold arrays: model, data, ...) are passed by reference. Numba takes them apart at every
  call and puts them together again behind it, some hundred numbers each.
- A call of a function that cannot fail is not followed by a look at what it raised.
- Variables are not cleared at the end of their lives: there are no references to give back.
"""

from collections import Counter
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as lir
from numba import types
from numba.core import cgutils, ir
from numba.core.compiler_machinery import register_pass
from numba.core.datamodel import models, register_default
from numba.core.imputils import user_function
from numba.core.lowering import Lower
from numba.core.typed_passes import NativeLowering

__all__ = ["LeanLowering", "borrowed", "caller_of"]

_BYTES = lir.IntType(8).as_pointer()


def _is_bundle(kind: Any) -> bool:
    """Whether a type is a named tuple that holds arrays, maybe in tuples of its own."""
    return isinstance(kind, (types.NamedTuple, types.NamedUniTuple)) and any(map(_holds_arrays, kind))  # pyright: ignore


def _holds_arrays(kind: Any) -> bool:
    return isinstance(kind, types.Array) or (isinstance(kind, types.BaseTuple) and any(map(_holds_arrays, kind)))  # pyright: ignore


class Borrowed(types.Type):
    """A bundle that is somewhere in memory and stays as it is during a call: what parameters of kernels are."""

    def __init__(self, bundle: Any) -> None:
        self.bundle = bundle
        super().__init__(f"Borrowed({bundle})")


def borrowed(kinds: Any) -> tuple[Any, ...]:
    """Types of arguments, as kernels pass them on."""
    return tuple(Borrowed(kind) if _is_bundle(kind) else kind for kind in kinds)


@register_default(Borrowed)
class _BorrowedModel(models.PrimitiveModel):
    """Passes the address. Values know it by an attribute `home`; others are put into memory for the call."""

    def __init__(self, manager: Any, kind: Borrowed) -> None:
        super().__init__(manager, kind, _BYTES)
        self._bundle = manager.lookup(kind.bundle)

    def as_argument(self, builder: Any, value: Any) -> Any:
        home = getattr(value, "home", None)
        if home is None:
            home = builder.bitcast(cgutils.alloca_once_value(builder, value), _BYTES)
        return home

    def from_argument(self, builder: Any, value: Any) -> Any:
        return _value_in_entry(builder, value, self._bundle.get_value_type())


def _value_in_entry(builder: Any, home: Any, lltype: Any) -> Any:
    """The value at an address, which remembers it; to be called in the entry block."""
    value = builder.load(builder.bitcast(home, lltype.as_pointer()))
    value.home = home
    return value


class _LeanLower(Lower):
    """Lowers one function that counts no references."""

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
        self._drop_unused_values()
        self.library.fails = any(_fails(block.terminator) for block in self.function.blocks)

    def setup_function(self, fndesc: Any) -> None:
        super().setup_function(fndesc)
        place = 2  # after those of the result and of what was raised
        packer = self.context.get_arg_packer
        for kind in fndesc.argtypes:
            if isinstance(kind, Borrowed):
                for attribute in self.function.args[0].attributes:  # not aliased, not captured
                    self.function.args[place].add_attribute(attribute)
            place += len(packer((kind,)).argument_types)

    def _drop_unused_values(self) -> None:
        """Remove the loads of whole bundles that only their addresses, or single fields, were taken of."""
        used = {id(x) for block in self.function.blocks for inst in block.instructions for x in inst.operands}
        block = self.entry_block
        loads = [x for x in block.instructions if hasattr(x, "home") and id(x) not in used]
        needless = {id(x) for x in loads} | {id(x.operands[0]) for x in loads}
        block.instructions[:] = [x for x in block.instructions if id(x) not in needless]

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        if isinstance(ty, types.Dispatcher) and isinstance(inst.value, (ir.Global, ir.FreeVar)):
            return self.context.get_dummy_value()  # calls know what they call: the address of Python's object is no use
        return super().lower_assign(ty, inst)

    # ------------------------------------------------------------------ variables

    def lower_expr(self, resty: Any, expr: Any) -> Any:
        if expr.op == "getattr" and _is_bundle(kind := self.typeof(expr.value.name)):
            home = getattr(self.loadvar(expr.value.name), "home", None)
            if home is not None:
                index = kind.fields.index(expr.attr)
                return self.context.cast(self.builder, self._field(home, kind, index), kind[index], resty)
        return super().lower_expr(resty, expr)

    def _field(self, home: Any, kind: Any, index: int) -> Any:
        """A field of the bundle at an address, read once at the beginning of the function."""
        key = id(home), index
        if key not in self._fields:
            offset = _offsets(self.context, kind)[index]
            lltype = self.context.get_value_type(kind[index])
            with self.builder.goto_entry_block():
                place = self.builder.gep(home, [lir.Constant(lir.IntType(64), offset)], inbounds=True)
                if _is_bundle(kind[index]):
                    value = _value_in_entry(self.builder, place, lltype)
                else:
                    value = self.builder.load(self.builder.bitcast(place, lltype.as_pointer()))
            self._fields[key] = value, home  # kept: an id may be given again
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
            self._singly_assigned_vars.discard(name)  # it is deleted before it is assigned: in a loop

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        return cgutils.alloca_once(self.builder, lltype, name=name)


def _fails(terminator: Any) -> bool:
    """Whether a block may leave the function with something raised."""
    if not isinstance(terminator, lir.Ret):
        return False
    code = terminator.operands[0]
    return not (isinstance(code, lir.Constant) and code.constant == 0)


_OFFSETS: dict[Any, list[int]] = {}


def _offsets(context: Any, kind: Any) -> list[int]:
    """Where the fields of a bundle begin [bytes]."""
    if kind not in _OFFSETS:
        lltype, data = context.get_value_type(kind), context.codegen().target_data
        if isinstance(lltype, lir.ArrayType):  # all fields are of one type
            size = lltype.element.get_abi_size(data)
            _OFFSETS[kind] = [size * i for i in range(len(kind))]
        else:
            module = lir.Module()
            lir.GlobalVariable(module, lltype, "bundle")
            with llvm.parse_assembly(str(module)) as parsed:
                struct = parsed.get_global_variable("bundle").global_value_type
                _OFFSETS[kind] = [data.get_element_offset(struct, i) for i in range(len(kind))]
    return _OFFSETS[kind]


def caller_of(fndesc: Any, library: Any) -> Any:
    """Writes calls of a function that was lowered here; takes the place of Numba's `user_function`."""
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
    """`NativeLowering` of a function that counts no references."""

    _name = "leastaction_lowering"

    def __init__(self) -> None:
        super().__init__()

    @property
    def lowering_class(self) -> Any:
        return _LeanLower
