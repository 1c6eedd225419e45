"""What the sensors of a mechanism tell."""

from leastaction.sensing.reading import read_run, read_state

__all__ = ["read_run", "read_state"]


def __dir__() -> list[str]:
    return [*__all__]
