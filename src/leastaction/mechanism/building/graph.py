"""From bodies and joints to a spanning tree and the joints that close loops."""

from __future__ import annotations

from collections.abc import Sequence

from leastaction.errors import MechanismError
from leastaction.mechanism._check import suggestion
from leastaction.mechanism.joints import Joint

WORLD = "world"


def spanning_tree(bodies: Sequence[str], joints: Sequence[Joint]) -> tuple[list[str], list[Joint], list[Joint]]:
    """Depth-first body order, the joint that carries each body, and the joints that close loops.

    Deterministic: sweeping over the joints in the order given, a joint carries its child when its parent already
    hangs on the world and its child does not; sweeps repeat until nothing changes. Joints marked `loop` never carry.
    Bodies are then numbered depth first (so a parent comes before its children and every branch is contiguous),
    children in the order in which their joints were given.
    """
    known = {WORLD, *bodies}
    for joint in joints:
        for role, name in (("parent", joint.parent), ("child", joint.child)):
            if name not in known:
                hint = suggestion(name, [*bodies, WORLD])
                raise MechanismError(f"joint {joint.name!r}: unknown {role} body {name!r}{hint}")
    carrier: dict[str, Joint] = {}
    waiting = [joint for joint in joints if not joint.loop]
    progress = True
    while progress and waiting:
        progress, rest = False, []
        for joint in waiting:
            if joint.parent != WORLD and joint.parent not in carrier:
                rest.append(joint)
            elif joint.child not in carrier:
                carrier[joint.child] = joint
                progress = True
        waiting = rest
    _check_all_reached(bodies, joints, carrier)
    children: dict[str, list[str]] = {name: [] for name in known}
    position = {joint.name: k for k, joint in enumerate(joints)}
    for joint in sorted(carrier.values(), key=lambda joint: position[joint.name]):
        children[joint.parent].append(joint.child)
    order: list[str] = []
    stack = list(reversed(children[WORLD]))
    while stack:
        name = stack.pop()
        order.append(name)
        stack.extend(reversed(children[name]))
    carriers = {id(joint) for joint in carrier.values()}
    loops = [joint for joint in joints if id(joint) not in carriers]
    return order, [carrier[name] for name in order], loops


def _check_all_reached(bodies: Sequence[str], joints: Sequence[Joint], carrier: dict[str, Joint]) -> None:
    lost = [name for name in bodies if name not in carrier]
    if not lost:
        return
    name = lost[0]
    incoming = [joint for joint in joints if joint.child == name and not joint.loop]
    if not incoming:
        hint = f"give it a joint, or let it fly with builder.free(parent='world', child={name!r})"
        raise MechanismError(f"body {name!r}: no joint carries it; {hint}")
    # Follow parents upwards: they end in a cycle or in a body that nothing carries.
    seen = [name]
    while True:
        parents = [joint.parent for joint in joints if joint.child == seen[-1] and not joint.loop]
        if not parents:
            raise MechanismError(f"body {seen[-1]!r}: no joint carries it, so {name!r} does not hang on the world")
        if parents[0] in seen:
            cycle = " -> ".join(reversed([*seen[seen.index(parents[0]) :], parents[0]]))
            raise MechanismError(f"bodies {cycle} carry each other in a cycle that is not joined to the world")
        seen.append(parents[0])
