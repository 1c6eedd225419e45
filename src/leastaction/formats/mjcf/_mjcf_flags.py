"""What the flags of an MJCF file's `<option>` switch off, and what else of a file has no counterpart."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._extras import require
from leastaction.formats._files import Notes
from leastaction.formats.mjcf._mjcf_softness import is_said

OFF = {
    "CONTACT": ("geom_contype", "geom_conaffinity", "pair_dim"),
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


def note_left_out(model: Any, notes: Notes) -> None:
    """Note what no other reader looks at: soft bodies, plugins, fluid forces and margins of geoms, and the softness of
    limits and equality constraints."""
    for what, count in (("flexible bodies", model.nflex), ("plugins", model.nplugin)):
        if count:
            notes.add(what, str(count))
    for g in np.flatnonzero(model.geom_fluid[:, 0]):
        notes.add("fluid forces of geoms", model.geom(g).name or f"geom {g}")
    for g in np.flatnonzero(model.geom_margin):
        notes.add("margins of geoms", model.geom(g).name or f"geom {g}")
    for j in np.flatnonzero(model.jnt_limited):
        if is_said(model.jnt_solref[j], model.jnt_solimp[j]):
            notes.add("softness of joint limits (solreflimit, solimplimit)", model.joint(j).name or f"joint {j}")
    for k in range(model.neq):
        if is_said(model.eq_solref[k], model.eq_solimp[k]):
            notes.add("softness of equality constraints (solref, solimp)", model.equality(k).name or f"equality {k}")
