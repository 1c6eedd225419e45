"""A readable page about a mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism


def summary(mechanism: Mechanism) -> str:
    """Sizes, then the tree with its joints and masses, then loops and elements."""
    m = mechanism
    lines = [f"{m.name}: {len(m.bodies)} bodies, {m.total_mass:.6g} kg, nq {m.nq}, nv {m.nv}, nu {m.nu}", "world"]
    children: dict[int, list[int]] = {}
    for i, parent in enumerate(m.parents):
        children.setdefault(parent, []).append(i)
    stack = [(i, "", k == len(children[-1]) - 1) for k, i in reversed(list(enumerate(children[-1])))]
    while stack:
        i, indent, last = stack.pop()
        joint, body = m.joints[i], m.bodies[i]
        branch = "└─ " if last else "├─ "
        lines.append(f"{indent}{branch}{body.name}  [{joint.kind} {joint.name!r}, {body.inertia.mass:.6g} kg]")
        below = children.get(i, [])
        deeper = indent + ("   " if last else "│  ")
        stack += [(j, deeper, k == len(below) - 1) for k, j in reversed(list(enumerate(below)))]
    for loop in m.loops:
        lines.append(f"loop {loop.name!r}: {loop.kind} from {loop.parent} to {loop.child}")
    for c in m.couplings:
        lines.append(f"coupling {c.name!r}: {c.follower} = polynomial {c.coefficients} of {c.leader}")
    for s in m.springs:
        ends = f"{s.start.body} to {s.end.body}"
        lines.append(f"spring {s.name!r}: {ends}, {s.stiffness:g} N/m, {s.rest_length:g} m, {s.damping:g} N s/m")
    for c in m.cables:
        lines.append(f"cable {c.name!r}: {' - '.join(p.body for p in c.via)}, {c.stiffness:g} N/m")
    if m.actuators:
        lines.append(f"actuators: {', '.join(a.name for a in m.actuators)}")
    for w in m.wrenches:
        lines.append(f"external wrench {w.name!r} on {w.body}: {w.wrench} ({w.frame} frame)")
    if m.contacts:
        lines.append(f"contact points: {', '.join(c.name for c in m.contacts)}")
    for r in m.rollings:
        lines.append(f"rolling {r.name!r}: {r.body}, {'ball' if r.axis is None else 'disc'} of {r.radius:g} m")
    for p in m.penalties:
        lines.append(f"penalty contact {p.name!r}: {len(p.points)} points of {p.body}, {p.stiffness:g} N/m")
    if m.ground:
        lines.append(f"ground: {', '.join(shape.name or shape.kind for shape in m.ground)}")
    return "\n".join(lines)
