"""The two variants of the kernels of `Maximal`: lean for most robots, whole for all others.

In whole kernels, features that a robot lacks (springs, tendons, dampers, loops) are arrays without rows and flags that
are false. A robot that has none of them, and smooth contacts only, has None in their place: its kernels are compiled
without this code, in a fraction of the time.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from leastaction.contact.contact_table import ContactTable
from leastaction.maximal.arrays import MaximalSettings
from leastaction.maximal.maximal_records import BALL
from leastaction.maximal.model import Model

__all__ = ["flag", "has_elements", "has_soft_balls", "is_whole", "lean_model", "lean_settings", "pushes_bodies"]


def is_whole(model: Model, table: ContactTable, settings: MaximalSettings) -> bool:
    """Whether a mechanism with these contacts needs the whole kernels."""
    rough = not table.is_smooth or not table.is_plain or table.turns
    return bool(settings.loops) or rough or has_elements(model)


def has_elements(model: Model) -> bool:
    """Whether there are springs, tendons or soft limits, or forces on bodies or on balls."""
    return bool(len(model.paths) or len(model.sprung)) or pushes_bodies(model) or has_soft_balls(model)


def pushes_bodies(model: Model) -> bool:
    """Whether any force or control acts on bodies, except those of `Model.paths` and `Model.sprung`."""
    forces, resisting = model.forces, model.resisting
    elements = (forces.wrenches, forces.penalties, forces.drags, forces.tendons, forces.balls)
    own = forces.user is not None or any(x is not None and len(x) for x in elements)
    return own or bool(resisting is not None and len(resisting.touched)) or bool((forces.drives.dof < 0).any())


def has_soft_balls(model: Model) -> bool:
    """Whether any ball or free joint has a spring, a damper or, between two bodies, armature."""
    balls = model.coordinates[model.coordinates.kind >= BALL]
    return bool(balls.damping.any() or balls.armature.any() or balls.stiffness.any())


def lean_model(model: Model) -> Model:
    """The model without these elements, so that their code is not compiled."""
    return replace(model, paths=None, sprung=None, resisting=None)


def lean_settings(settings: MaximalSettings) -> MaximalSettings:
    """The settings without loops, so that their code is not compiled."""
    return settings._replace(loops=None)


def flag(value: Any, whole: bool) -> bool | None:
    """A feature flag for the kernels: None for lean ones."""
    return bool(value) if whole else None
