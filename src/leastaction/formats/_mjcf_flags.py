"""What the flags of an MJCF file's `<option>` switch off."""

from __future__ import annotations

from typing import Any

from leastaction._extras import require
from leastaction.formats._files import Notes

OFF = {
    "CONTACT": ("geom_contype", "geom_conaffinity"),
    "LIMIT": ("jnt_limited", "tendon_limited"),
    "FRICTIONLOSS": ("dof_frictionloss", "tendon_frictionloss"),
    "EQUALITY": ("eq_active0",),
    "SPRING": ("jnt_stiffness", "tendon_stiffness"),
    "DAMPER": ("dof_damping", "tendon_damping"),
}
"""Arrays of a compiled model whose zeros mean the same as a flag."""

CONSTRAINTS = ("CONTACT", "LIMIT", "FRICTIONLOSS", "EQUALITY")
"""What the flag `constraint` stands for."""


def switch_off(model: Any, notes: Notes) -> None:
    """Clear in a compiled model what its flags disable, so that nobody else has to look at them."""
    bits = require("mujoco", "mjcf").mjtDisableBit

    def disabled(name: str) -> bool:
        return bool(model.opt.disableflags & int(getattr(bits, f"mjDSBL_{name}", 0)))

    for name, arrays in OFF.items():
        if disabled(name) or (name in CONSTRAINTS and disabled("CONSTRAINT")):
            for array in arrays:
                getattr(model, array)[:] = 0
    if disabled("GRAVITY"):
        model.opt.gravity[:] = 0.0
    if disabled("ACTUATION"):
        notes.add("flags", 'actuation="disable"; do not use the controls')
