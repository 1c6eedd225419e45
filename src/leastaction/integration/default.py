"""Which integrator a run takes when none is named: the one that the robot needs."""

from __future__ import annotations

import os
import sys
from itertools import combinations

from leastaction.dynamics.loops import prescribed_freedoms
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import robot

__all__ = ["default_integrator"]

_SAID: set[str] = set()
"""Names of the integrators of which has been said that they were chosen."""


def default_integrator(mechanism: Mechanism) -> Integrator:
    """The integrator that `simulate` takes for a robot when none is named.

    Where contacts, limits or dry friction can act, or motions are prescribed: `Minimal()` for robots that are trees of
    joints, with few loose bodies about them, and where contacts give way; `Maximal()` for loose bodies alone, heaps,
    loops, springs and cables; see `minimal_is_quicker`. Else `Galerkin(order=4)`; `BDF(order=2)` for parts that these
    cannot run, such as joints along splines.
    """
    return choose(mechanism)[0]


def choose(mechanism: Mechanism) -> tuple[Integrator, str]:
    """(`default_integrator`, why in a few words)."""
    import leastaction as la  # which imports the family that is chosen, and not the others

    needs = one_sided_parts(robot(mechanism))
    kinds = ("prescribed motion", "moving surface")
    needs += [f"{kind}s" for kind in kinds if kind in mechanism.special_parts]
    choice: Integrator = la.Galerkin(order=4)
    if needs:
        minimal, soft = la.Minimal(), "soft contact" in mechanism.special_parts
        choice = minimal if soft or minimal_is_quicker(mechanism, minimal) else la.Maximal()
    why = f"it has {' and '.join(needs)}" if needs else "nothing touches, and no joint has limits or dry friction"
    for what, name in mechanism.special_parts.items():
        if what not in choice.handles:
            return la.BDF(order=2), f"it has the {what} {name!r}"
    return choice, why


FACE = 12
"""Impulses of two things that touch, as counted below: four corners of a face, three each."""


def minimal_is_quicker(mechanism: Mechanism, minimal: Integrator) -> bool:
    """Whether `Minimal` runs a mechanism with fewer multiplications in a step than `Maximal`, as counted here.

    `Minimal` goes over the trees of joints, with six blocks of 6 x 6 for each degree of freedom, and solves a dense
    problem of all impulses that may hang together: of faces of each thing with the world and with each other one.
    `Maximal` eliminates, for each body, its block and the equations of its joint, and the faces one by one. `Minimal`
    takes half of the iterations (`benchmarks/corpus`: quadrupeds that drop 2.4 and 4.7, a cube 1.6 and 2.1). Arms and
    legs on the world count as one thing. Left to `Maximal` are loops, springs and cables between bodies, where the two
    are as quick as each other and it fails in fewer random scenes, and loose bodies alone, of which it is hardly slower
    and keeps the energy better (thrown boxes gain 2e-6 of the largest kinetic energy in a step at most, not 4e-4).
    """
    tied = mechanism.springs or mechanism.cables
    if not mechanism.is_tree or tied or minimal.unknown_part(mechanism):
        return False
    given, trees = set(prescribed_freedoms(mechanism)), list[list[int]]()
    for node in mechanism.tree.nodes:  # depth first: each tree begins with its root
        if node.parent < 0:
            trees.append([])
        if not given.issuperset(range(node.iv, node.iv + node.nv)):
            trees[-1].append(int(node.nv))
    moving = [nv for tree in trees for nv in tree]
    if all(nv == 6 for nv in moving):
        return False
    standing = [len(tree) > 1 and tree[0] < 6 for tree in trees]
    things = sum(bool(tree) for tree in trees) - max(0, sum(standing) - 1)
    faces = things * (things + 1) // 2
    dense = 6 * 36 * sum(moving) + (FACE * faces) ** 3 / 3
    sparse = sum(300 + 180 * (6 - nv) for nv in moving) + 1700 * faces
    return bool(dense <= 2 * sparse)


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
