"""Functions whose straight-line code LLVM may vectorise (SLP): sums of short rows, side by side.

Numba disables this by default, as it takes longer to compile and gains nothing in most code. Small dense blocks, whose
loops have at most six iterations and are unrolled, take half the time with it.
"""

from .libraries import Part
from .pipeline import PartCompiler

__all__ = ["VectorPartCompiler"]


class VectorPart(Part):
    """The code of one function, with what it inlines, to be linked into an entry point."""

    vectors = True


class VectorPartCompiler(PartCompiler):
    """`PartCompiler` for such functions."""

    _library = VectorPart
