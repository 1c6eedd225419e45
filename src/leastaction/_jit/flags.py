"""Flags of kernels that are None where nothing about them is to be compiled."""

from .decorators import inline

__all__ = ["is_set"]


@inline
def is_set(flag):
    """Whether a flag is there and true."""
    if flag is None:
        return False
    return flag
