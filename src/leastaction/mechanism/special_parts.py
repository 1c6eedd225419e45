"""Parts of mechanisms that only some integrators can run."""

from __future__ import annotations

from typing import TYPE_CHECKING

from leastaction.mechanism.drives.actuators import Servo
from leastaction.mechanism.drives.muscles import Muscle
from leastaction.mechanism.drives.tendons import has_range
from leastaction.mechanism.joints import SPLINES

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism


def special_parts(m: Mechanism) -> dict[str, str]:
    """What they are, and the name of the first of each; see `Mechanism.special_parts`."""
    owners = [("world", m.ground), *((body.name, body.shapes) for body in m.bodies)]
    shapes = [(s.name or f"{owner}/{k}", s) for owner, own in owners for k, s in enumerate(own)]
    surfaces = [*((p.name, p) for p in m.contacts), *shapes, *((pair.name, pair) for pair in m.contact_pairs)]
    found = {
        "spline joint": [j.name for j in m.joints if any(p.motion in SPLINES for p in j.primitives)],
        "penalty contact": [p.name for p in m.penalties],
        "limit spring of joint": [j.name for j in m.joints if any(j.limit_stiffness)],
        "isotropic spring": [s.name for s in m.springs if s.isotropic],
        "cable without clipping": [c.name for c in m.cables if not c.clip],
        "prescribed motion": list(m.prescribed),
        "moving surface": [name for name, s in shapes if any(s.surface_velocity or ())],
        "static friction": [name for name, x in surfaces if x.static_friction is not None],
        "soft contact": [name for name, x in surfaces if x.compliance],
        "tendon of joints": [t.name for t in m.tendons if t.joints and t.acts],
        "limit of tendon": [t.name for t in m.tendons if t.is_limited and t.limit_stiffness],
        "rigid limit of tendon": [t.name for t in m.tendons if t.is_limited and not t.limit_stiffness],
        "force range of servo": [a.name for a in m.actuators if isinstance(a, Servo) and has_range(a)],
        "force range of tendon": [t.name for t in m.tendons if t.force_limits is not None],
        "muscle": [a.name for a in m.actuators if isinstance(a, Muscle)],
    }
    return {what: names[0] for what, names in found.items() if names}
