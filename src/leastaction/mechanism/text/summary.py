"""A readable page about a mechanism."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastaction.mechanism.drives.tendons import Wrap

if TYPE_CHECKING:
    from leastaction.mechanism.mechanism import Mechanism


SHOWN = 6
"""Pairs of bodies without contact that are named."""


def branches(mechanism: Mechanism) -> list[str]:
    """The lines of a drawn tree that lead to each body, such as "│  └─ ". Bodies stand in depth-first order."""
    parents, last = mechanism.parents, {parent: i for i, parent in enumerate(mechanism.parents)}
    drawn: list[str] = []
    below: list[str] = []  # what goes before the branches of a body's own children
    for i, parent in enumerate(parents):
        before = below[parent] if parent >= 0 else ""
        ends = last[parent] == i
        drawn.append(before + ("└─ " if ends else "├─ "))
        below.append(before + ("   " if ends else "│  "))
    return drawn


def _point(item: Any) -> str:
    return f"around a {item.kind} of {item.body}" if isinstance(item, Wrap) else item.body


def summary(mechanism: Mechanism) -> str:
    """Sizes, then the tree with its joints and masses, then loops and elements."""
    m = mechanism
    count = f"{len(m.bodies)} {'body' if len(m.bodies) == 1 else 'bodies'}"
    lines = [f"{m.name}: {count}, {m.total_mass:.6g} kg, nq {m.nq}, nv {m.nv}, nu {m.nu}", "world"]
    for branch, joint, body in zip(branches(m), m.joints, m.bodies, strict=True):
        lines.append(f"{branch}{body.name}  [{joint.kind} {joint.name!r}, {body.inertia.mass:.6g} kg]")
    for loop in m.loops:
        lines.append(f"loop {loop.name!r}: {loop.kind} from {loop.parent} to {loop.child}")
    for c in m.couplings:
        lines.append(f"coupling {c.name!r}: {c.follower} = {_formula(c.coefficients, c.leader)}")
    for s in m.springs:
        ends = f"{s.start.body} to {s.end.body}"
        lines.append(f"spring {s.name!r}: {ends}, {s.stiffness:g} N/m, {s.rest_length:g} m, {s.damping:g} N s/m")
    for c in m.cables:
        lines.append(f"cable {c.name!r}: {' - '.join(p.body for p in c.via)}, {c.stiffness:g} N/m")
    for t in m.tendons:
        along = t.joints if t.joints else tuple(a for a in t.via if not isinstance(a, float))
        names = (f"{a[1]:g} {a[0]}" if isinstance(a, tuple) else _point(a) for a in along)
        lines.append(f"tendon {t.name!r}: {' + '.join(names) if t.joints else ' - '.join(names)}, {t.stiffness:g} N/m")
    if m.actuators:
        lines.append(f"actuators: {', '.join(a.name for a in m.actuators)}")
    for w in m.wrenches:
        lines.append(f"external wrench {w.name!r} on {w.body}: {w.wrench} ({w.frame} frame)")
    if m.contacts:
        lines.append(f"contact points: {', '.join(c.name for c in m.contacts)}")
    if m.excluded_contacts:
        pairs, more = m.excluded_contacts[:SHOWN], len(m.excluded_contacts) - SHOWN
        named = ", ".join(f"{first} and {second}" for first, second in pairs)
        lines.append(f"no contact between {named}{f' and {more} other pairs' if more > 0 else ''}")
    if m.contact_pairs:
        lines.append(f"contact of its own between {', '.join(pair.name for pair in m.contact_pairs)}")
    if m.prescribed:
        lines.append(f"prescribed motions: {', '.join(m.prescribed)}")
    for r in m.rollings:
        lines.append(f"rolling {r.name!r}: {r.body}, {'ball' if r.axis is None else 'disc'} of {r.radius:g} m")
    for p in m.penalties:
        lines.append(f"penalty contact {p.name!r}: {len(p.points)} points of {p.body}, {p.stiffness:g} N/m")
    for f in m.forces:
        numbers = ", ".join(f"{name} {getattr(f, name):g}" for name in f.PARAMETERS)
        lines.append(f"{f.KIND} {f.name!r} on {f.body}: {numbers}")
    if m.frames:
        lines.append(f"frames: {', '.join(f'{f.name} on {f.body}' for f in m.frames)}")
    if m.sensors:
        lines.append(f"sensors: {', '.join(f'{s.name} ({s.kind} of {s.target})' for s in m.sensors)}")
    if m.ground:
        lines.append(f"ground: {', '.join(shape.name or shape.kind for shape in m.ground)}")
    return "\n".join(lines)


def _formula(coefficients: tuple[float, ...], x: str) -> str:
    """A polynomial as it is written: 0.1 - 2 x + 3 x^2."""
    out = ""
    for k, c in enumerate(coefficients):
        if not c:
            continue
        power = ("", x)[k] if k < 2 else f"{x}^{k}"
        size = f"{abs(c):g}"
        term = power if power and size == "1" else f"{size} {power}".rstrip()
        sign = " - " if c < 0.0 else " + "
        out += sign + term if out else f"-{term}" if c < 0.0 else term
    return out or "0"
