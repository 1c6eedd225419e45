"""What the sensors of a mechanism tell."""

from leastaction.sensing.reading import read_run, read_state

__all__ = ["read_run", "read_state"]
