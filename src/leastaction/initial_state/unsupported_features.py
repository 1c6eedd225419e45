"""What of a mechanism an integrator leaves out, said in warnings."""

from __future__ import annotations

from itertools import combinations
from pathlib import PurePath
from typing import TYPE_CHECKING

import numpy as np

from leastaction.contact.narrow_phase.convex_hulls import HOLLOW, filling
from leastaction.integration.default import default_integrator
from leastaction.integration.integrators import Stepper
from leastaction.mechanism import Mechanism, Mesh
from leastaction.mechanism.building.graph import WORLD
from leastaction.warn import warn

if TYPE_CHECKING:
    from leastaction.trajectory.trajectory import Trajectory


def warn_of_ignored(stepper: Stepper) -> None:
    """Say what of the mechanism this integrator leaves out."""
    m, own = stepper.mechanism, type(stepper.integrator).__name__
    composed = own == "Maximal" and not stepper.acts
    own = f"{own} of order {stepper.integrator.order}" if composed else own

    def better() -> str:
        return "order 2" if composed else _with_contact(m)

    shapes = any(shape.collision for body in m.bodies for shape in body.shapes)
    if m.ground and (m.contacts or shapes) and "contacts" not in stepper.acts:
        text = f"contacts do not act with {own}: {m.name!r} falls through the ground; {better()} has them"
        warn(text)
    if any(shape.collision for shape in m.ground) and not (m.contacts or m.penalties or shapes):
        text = f"nothing of {m.name!r} can touch the ground: no body has a contact point or a shape for collision"
        warn(f"{text} (were its meshes found?)")
    hollow = _concave(m) if "contacts" in stepper.acts else []
    if hollow:
        more = f" and {len(hollow) - 4} more" if len(hollow) > 4 else ""
        text = f"meshes of {m.name!r} touch as their convex hulls, hollows count as full: {', '.join(hollow[:4])}{more}"
        warn(f"{text}; leastaction.robots.decompose makes them of convex pieces where that matters")
    falls = any(m.gravity) and any(joint.kind == "free" and joint.parent == WORLD for joint in m.joints)
    if falls and m.contacts and not m.ground and "contacts" in stepper.acts:
        text = (
            f"{m.name!r} has contact points, but there is no ground: add_shape('world', Plane()) of a builder makes one"
        )
        warn(text)
    free = (*(() if "dry friction" in stepper.acts else m.joints), *(() if "loops" in stepper.acts else m.loops))
    rough = next((joint.name for joint in free if any(joint.friction)), None)
    if rough is not None:
        text = f"dry friction, such as that of joint {rough!r}, does not act with {own}; {better()} has it"
        warn(text)
    limited = next((joint.name for joint in m.loops if joint.has_rigid_limits), None)
    if limited is not None and "loops" not in stepper.acts:
        warn(f"limits of joint {limited!r}, which closes a loop, do not act with {own}; {better()} keeps them")


def _with_contact(mechanism: Mechanism) -> str:
    """The integrator with contact, limits and dry friction that suits a mechanism best."""
    own = type(default_integrator(mechanism)).__name__
    return f"leastaction.{own if own == 'Minimal' else 'Maximal'}"


def warn_of_passing(mechanism: Mechanism, one: str, other: str) -> None:
    """Say which bodies of a robot pass through each other where contact is with the ground alone."""
    warn(
        f"links pass through each other in this kernel, such as {one!r} and {other!r} of {mechanism.name!r}: "
        "integrator=la.Maximal() has contact between them on a GPU, too, and Minimal(self_collision=False) is silent"
    )


def _concave(mechanism: Mechanism) -> list[str]:
    """Meshes for collision that leave much of their convex hulls empty, as "body/mesh"."""
    owners = [(WORLD, mechanism.ground), *((body.name, body.shapes) for body in mechanism.bodies)]
    return [
        f"{owner}/{shape.name or PurePath(shape.file).name or k}"
        for owner, shapes in owners
        for k, shape in enumerate(shapes)
        if isinstance(shape, Mesh) and shape.collision and filling(shape) < 1.0 - HOLLOW
    ]


def loose_pair(mechanism: Mechanism) -> tuple[str, str] | None:
    """Two bodies with shapes for collision that no joints tie together and that may touch; None if there are none."""
    parents = {joint.child: joint.parent for joint in mechanism.joints}

    def root(name: str) -> str:
        while parents.get(name, WORLD) != WORLD:
            name = parents[name]
        return name

    shapes = [body.name for body in mechanism.bodies if any(shape.collision for shape in body.shapes)]
    apart = {frozenset(pair) for pair in mechanism.excluded_contacts}
    pairs = combinations(shapes, 2)
    return next((pair for pair in pairs if root(pair[0]) != root(pair[1]) and frozenset(pair) not in apart), None)


def warn_of_limits(run: Trajectory) -> None:
    """Say which joint has gone beyond a rigid limit that does not act."""
    m = run.mechanism
    at = 0
    for joint in m.joints:
        if joint.nq == joint.nv and not any(joint.limit_stiffness):
            q = run.q[:, at : at + joint.nq]
            beyond = np.flatnonzero(np.any((q < np.array(joint.lower)) | (q > np.array(joint.upper)), axis=1))
            # One that starts beyond its limits is meant to.
            if len(beyond) and beyond[0] > 0:
                own, t = type(run.integrator).__name__, run.t[beyond[0]]
                text = f"joint {joint.name!r} goes beyond its limits at t = {t:g} s: they do not act with {own}"
                warn(f"{text}; {_with_contact(m)} keeps them")
                return
        at += joint.nq
