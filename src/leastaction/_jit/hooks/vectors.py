"""Functions whose straight code LLVM may put into vector registers: sums of short rows, side by side.

Numba leaves that out by default (LLVM's SLP vectoriser), for it takes longer to compile and gains nothing in most code.
Small dense blocks, whose loops have no more than six turns and are unrolled, take half the time with it.
"""

from typing import Any

from .libraries import Part
from .pipeline import PartCompiler

__all__ = ["VectorPartCompiler"]


class VectorPart(Part):
    """The code of one function, with what it inlines, to be linked into an entry point."""

    def _optimize_final_module(self) -> None:
        """Numba's passes, with those that make vectors."""
        codegen: Any = self._codegen
        cheap = {
            "loop_vectorize": codegen._loopvect,
            "slp_vectorize": False,
            "opt": codegen._opt_level,
            "cost": "cheap",
        }
        for options in (cheap, {"slp_vectorize": True}):
            passes, builder = codegen._module_pass_manager(**options)
            passes.run(self._final_module, builder)


class VectorPartCompiler(PartCompiler):
    """`PartCompiler` for such functions."""

    _library = VectorPart
