"""Which integrator a run takes when none is named: the one that the robot needs."""

from __future__ import annotations

import os
import sys
from itertools import combinations

from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import robot

__all__ = ["default_integrator"]

_SAID: set[str] = set()
"""Names of the integrators of which has been said that they were chosen."""


def default_integrator(mechanism: Mechanism) -> Integrator:
    """The integrator that `simulate` takes for a robot when none is named.

    `Maximal()` where contacts, limits or dry friction can act, or motions are prescribed, and `Minimal()` where
    contacts give way; else `Galerkin(order=4)`; `BDF(order=2)` for parts that these cannot run, such as joints along
    splines.
    """
    return choose(mechanism)[0]


def choose(mechanism: Mechanism) -> tuple[Integrator, str]:
    """(`default_integrator`, why in a few words)."""
    import leastaction as la  # which imports the family that is chosen, and not the others

    needs = one_sided_parts(robot(mechanism))
    kinds = ("prescribed motion", "moving surface")
    needs += [f"{kind}s" for kind in kinds if kind in mechanism.special_parts]
    soft = "soft contact" in mechanism.special_parts
    choice: Integrator = (la.Minimal() if soft else la.Maximal()) if needs else la.Galerkin(order=4)
    why = f"it has {' and '.join(needs)}" if needs else "nothing touches, and no joint has limits or dry friction"
    for what, name in mechanism.special_parts.items():
        if what not in choice.handles:
            return la.BDF(order=2), f"it has the {what} {name!r}"
    return choice, why


def announce(mechanism: Mechanism, integrator: Integrator, why: str) -> None:
    """Say on stderr which integrator was chosen, once for each; `LEASTACTION_QUIET=1` keeps it quiet."""
    from leastaction.integration.registry import title

    name = title(integrator)
    quiet = os.environ.get("LEASTACTION_QUIET", "0") not in ("", "0")
    if name not in _SAID and not quiet and sys.stderr is not None:
        _SAID.add(name)
        text = f"leastaction: {name} for {mechanism.name!r}: {why} (integrator=... takes another)"
        print(text, file=sys.stderr, flush=True)


def one_sided_parts(mechanism: Mechanism) -> list[str]:
    """What of contacts, joint limits and dry friction can act in a mechanism, in words."""
    joints = (*mechanism.joints, *mechanism.loops)
    limited = any(joint.has_rigid_limits for joint in joints)
    found = {
        "contacts": can_touch(mechanism),
        "joint limits": limited,
        "dry friction": any(any(joint.friction) for joint in joints),
    }
    return [what for what, there in found.items() if there]


def can_touch(mechanism: Mechanism) -> bool:
    """Whether a body can touch the ground, or another body that no joint connects it with."""
    shapes = [body.name for body in mechanism.bodies if any(shape.collision for shape in body.shapes)]
    if mechanism.ground and (mechanism.contacts or shapes):
        return True
    apart = {frozenset((joint.parent, joint.child)) for joint in (*mechanism.joints, *mechanism.loops)}
    apart |= {frozenset(pair) for pair in mechanism.excluded_contacts}
    return any(frozenset(pair) not in apart for pair in combinations(shapes, 2))
