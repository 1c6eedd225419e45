"""The two variants of the kernels of `Maximal`: lean for most robots, whole for all others.

What a robot has is data: springs, tendons, dampers and loops that are not there are arrays without rows and flags that
are false. A robot that has none of them, and whose contacts are smooth, has None in their place: its kernels are
compiled without them, in a fraction of the time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leastaction.contact.contact_table import ContactTable
from leastaction.maximal.arrays import MaximalSettings
from leastaction.maximal.model import Model

__all__ = ["flag", "has_elements", "is_whole", "lean_model", "lean_settings"]


def is_whole(model: Model, table: ContactTable, settings: MaximalSettings) -> bool:
    """Whether a mechanism with these contacts needs the whole kernels."""
    rough = not table.is_smooth or not table.is_plain or table.turns
    return bool(settings.loops) or rough or has_elements(model)


def has_elements(model: Model) -> bool:
    """Whether there are springs, tendons or soft limits, or forces that depend on velocities."""
    return bool(len(model.paths) or len(model.sprung) or (model.resisting is not None and len(model.resisting.touched)))


def lean_model(model: Model) -> Model:
    """The same without elements, so that nothing about them is compiled."""
    return replace(model, paths=None, sprung=None, resisting=None)


def lean_settings(settings: MaximalSettings) -> MaximalSettings:
    """The same without loops, so that nothing about them is compiled."""
    return settings._replace(loops=None)


def flag(value: Any, whole: bool) -> bool | None:
    """What kernels are told of something that may be there: lean ones None."""
    return bool(value) if whole else None
