"""Readings of the sensors of a mechanism."""

from leastaction.sensing.reading import SensorReader, read_run

__all__ = ["SensorReader", "read_run"]


def __dir__() -> list[str]:
    return [*__all__]
