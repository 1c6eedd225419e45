"""Feature flags of kernels; None where the code of the feature is not compiled."""

from .decorators import inline

__all__ = ["is_set"]


@inline
def is_set(flag):
    """Whether a flag is not None and true."""
    if flag is None:
        return False
    return flag
