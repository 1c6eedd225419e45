"""The cones of a mechanism: which of its shapes touch planes, which joints have limits and dry friction."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from leastaction.contact.broad_phase import reach_of_bodies
from leastaction.contact.collision_filter import AtHome, leave_out, leave_out_given, poses_in
from leastaction.contact.contact_shapes import collect
from leastaction.contact.contact_table import ContactTable
from leastaction.contact.penetration.penetration_search import Search
from leastaction.contact.records import BOX, CAPSULE, MESH, PLANE, SPHERE
from leastaction.dynamics import body_poses, body_twists
from leastaction.dynamics.loops import prescribed_freedoms
from leastaction.errors import IntegratorError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.pose import Pose
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.minimal.contact.forces.spring_arrays import loops, ties
from leastaction.minimal.contact.robot_records import CONTACT, DRY, GIVEN, LANE_CONE, LIMIT, LOOP, PLAIN, TIE, TURNING

KNOWN = (SPHERE, CAPSULE, BOX, MESH)


def cones(mechanism: Mechanism) -> tuple[Any, ContactTable]:
    """`LANE_CONE` records of a mechanism, and its shapes; refuses contacts that these cannot hold."""
    table = collect(mechanism, centred_frames(mechanism), bodies=False)
    _refuse(table, table.ground)
    for pair in table.ground:
        if not _is_plain(table, pair):
            body, name = table.names[pair.b]
            raise IntegratorError(
                f"device='cuda' knows spheres, capsules, boxes, meshes and contact points on planes; {name!r} of body "
                f"{body!r} is no such shape, may touch ground that is no plane, or has a surface that moves; use "
                "device='cpu'"
            )
    return _records(mechanism, table), table


def cones_and_shapes(mechanism: Mechanism, bodies: bool) -> tuple[Any, RobotShapes | None, ContactTable]:
    """`LANE_CONE` records of a mechanism, what else may touch, with `bodies` each other, and all of its shapes."""
    frames = centred_frames(mechanism)
    table = leave_out_given(collect(mechanism, frames, bodies=bodies), given_nodes(mechanism))
    table = leave_out(_at_home(mechanism, frames), table)
    plain = np.array([_is_plain(table, pair) for pair in table.ground], bool)
    pairs = np.concatenate([table.ground[~plain], table.body_pairs()]).view(np.recarray)
    shapes = None
    if len(pairs):
        bound = table.shapes.bound[table.movers]
        reach = reach_of_bodies(table.shapes, len(mechanism.tree.nodes))
        skin = max(0.5 * float(np.median(bound)) if len(bound) else 0.0, 1e-3)
        masses = np.array([_mass_of(mechanism, *table.shapes.body[[pair.a, pair.b]]) for pair in pairs])
        shapes = RobotShapes(table.shapes, pairs, table.data, masses, reach, skin, None if table.is_plain else True)
    return _records(mechanism, table), shapes, table


def starts_apart(mechanism: Mechanism, cones: Any, table: ContactTable) -> Search:
    """See `contact.penetration.penetration_resolution.clear_start`; limits are those among the cones."""
    limits = [(int(c.iq), int(c.dof), float(c.lower), float(c.upper)) for c in cones[cones.kind == LIMIT]]
    return Search(_at_home(mechanism, centred_frames(mechanism)), limits, table)


def centred_frames(mechanism: Mechanism) -> dict[str, tuple[int, Pose]]:
    """For each body its node and its pose from the node's centre of mass."""
    nodes = mechanism.tree.nodes
    return {name: (i, X if i < 0 else Pose(tuple(-nodes[i].com)) * X) for name, (i, X) in mechanism.tree.frames.items()}


def _at_home(mechanism: Mechanism, frames: dict[str, tuple[int, Pose]]) -> AtHome:
    """The mechanism as `by_design` looks at it; nodes that no body is part of are left at the origin."""
    tree, count = mechanism.tree, len(mechanism.tree.nodes)
    poses = poses_in(mechanism, frames, count)

    def twists(q: Any, v: Any) -> Any:
        out, X, placed = np.zeros((count, 6)), poses(q), body_poses(mechanism, q)
        for V, body, name in zip(body_twists(mechanism, q, v), placed, mechanism.body_names, strict=True):
            i = frames[name][0]
            if i >= 0:
                w = body[:3, :3] @ V[:3]
                out[i] = *w, *(body[:3, :3] @ V[3:] + np.cross(w, X[i, 9:] - body[:3, 3]))
        return out

    links = [(int(node.parent), i, int(node.iv), int(node.nv)) for i, node in enumerate(tree.nodes)]
    return AtHome(mechanism, mechanism.home(), links, frozenset(_locked(mechanism)), poses, twists)


def _locked(mechanism: Mechanism) -> Any:
    """Degrees of freedom that are prescribed, or whose limits leave them no room."""
    yield from prescribed_freedoms(mechanism)
    at = 0
    for joint in mechanism.joints:
        if joint.nq == joint.nv:
            yield from (at + k for k in range(joint.nv) if joint.upper[k] - joint.lower[k] < 1e-9)
        at += joint.nv


def _records(mechanism: Mechanism, table: ContactTable) -> Any:
    found = [*_contacts(mechanism, table), *_stops(mechanism), *_ties(mechanism)]
    out = np.zeros(len(found), LANE_CONE).view(np.recarray)
    out.other = out.found = -1
    out.width = 1
    row = 0
    for record, values in zip(out, found, strict=True):
        record.row = row
        for name, value in values.items():
            record[name] = value
        row += record.width
    return out


def _refuse(table: ContactTable, pairs: Any) -> None:
    """Refuse pairs with friction that no contact here knows."""
    for pair in pairs[(pairs.spin > 0.0) | (pairs.roll > 0.0)][:1]:
        body, name = table.names[pair.b]
        raise IntegratorError(
            f"device='cuda' knows no friction against spinning and rolling, which {name!r} of {body!r} has; use "
            "device='cpu'"
        )


def _mass_of(mechanism: Mechanism, one: int, two: int) -> float:
    """Mass [kg] of the trees of joints that carry two nodes, -1 for the world: the reduced mass of two of them.

    What moves as prescribed is as heavy as the world.
    """
    nodes, roots, masses, given = mechanism.tree.nodes, [-1], [0.0], given_nodes(mechanism)
    for i in (one, two):
        i = -1 if i in given else i
        while i >= 0 and nodes[i].parent >= 0:
            i = int(nodes[i].parent)
        if i >= 0 and i not in roots:
            last = next((j for j in range(i + 1, len(nodes)) if nodes[j].parent < 0), len(nodes))  # depth first
            roots.append(i)
            masses.append(float(nodes.mass[i:last].sum()))
    there = [mass for mass in masses if mass > 0.0]
    return 1.0 / sum(1.0 / mass for mass in there) if there else 0.0


def _is_plain(table: ContactTable, pair: Any) -> bool:
    """Whether a pair with the ground is one of balls over a plane, neither with a surface that moves, nor with a static
    friction of its own: what a contact does at the start of a step is a matter of contacts that are looked for."""
    ground, shape = table.shapes[pair.a], table.shapes[pair.b]
    return (
        ground.kind == PLANE
        and shape.kind in KNOWN
        and not (ground.belt.any() or shape.belt.any() or pair.static > pair.friction)
    )


def _contacts(mechanism: Mechanism, table: ContactTable) -> Any:
    """A ball for each sphere, two for a capsule, the corners of boxes and hulls, over each plane."""
    for pair in table.ground:
        if not _is_plain(table, pair):
            continue
        ground, shape = table.shapes[pair.a], table.shapes[pair.b]
        frame = ground.R.reshape(3, 3)
        for centre in _centres(table, shape):
            yield {
                "kind": CONTACT,
                "width": TURNING if pair.spin > 0.0 or pair.roll > 0.0 else PLAIN,
                "node": shape.body,
                "arm": centre,
                "radius": shape.radius,
                "friction": pair.friction,
                "restitution": pair.restitution,
                "mass": _mass_of(mechanism, shape.body, -1),
                "spin": pair.spin,
                "roll": pair.roll,
                "first": frame[:, 0],
                "second": frame[:, 1],
                "normal": frame[:, 2],
                "offset": frame[:, 2] @ ground.p + shape.radius,
                "shape": pair.b,
            }


def _centres(table: ContactTable, shape: Any) -> Any:
    """Centres of the balls that stand for a shape, in its node's frame [m]."""
    R, p = shape.R.reshape(3, 3), shape.p
    if shape.kind == SPHERE:
        return [p]
    if shape.kind == CAPSULE:
        return [p + R @ shape.half, p - R @ shape.half]
    if shape.kind == BOX:
        return [p + R @ (np.array(signs) * shape.half) for signs in product((-1.0, 1.0), repeat=3)]
    return table.data[shape.first : shape.first + 3 * shape.rows].reshape(-1, 3)


def _ties(mechanism: Mechanism) -> Any:
    """What of springs, cables and tendons looks at the end of a step, and equations of loops."""
    for kind, found in ((TIE, ties), (LOOP, loops)):
        for tie, axis, node, other in found(mechanism):
            yield {"kind": kind, "tie": tie, "axis": axis, "node": node, "other": other}


def given_nodes(mechanism: Mechanism) -> set[int]:
    """Nodes all of whose motion is prescribed: nothing can push them."""
    given, dofs = set[int](), set(prescribed_freedoms(mechanism))
    for i, node in enumerate(mechanism.tree.nodes if dofs else ()):
        if dofs.issuperset(range(node.iv, node.iv + node.nv)) and (node.parent < 0 or node.parent in given):
            given.add(i)
    return given


def _stops(mechanism: Mechanism) -> Any:
    """Rigid limits and dry friction of joint coordinates, and locks of those that are prescribed."""
    tree, given = mechanism.tree, set(prescribed_freedoms(mechanism))
    for i, node in enumerate(tree.nodes if given else ()):
        for k in range(node.nv):
            if node.iv + k in given:
                yield {"node": i, "dof": node.iv + k, "iq": node.iq + k, "kind": DRY, "friction": GIVEN}
    at = 0
    for joint in mechanism.joints:
        rigid = not any(joint.limit_stiffness)
        for k in range(joint.nq if joint.nq == joint.nv else 0):
            iq = at + k
            node = next(i for i, node in enumerate(tree.nodes) if node.nv == 1 and node.iq == iq)
            common = {"node": node, "dof": tree.nodes[node].iv, "iq": iq}
            if common["dof"] in given:
                continue
            if rigid and (np.isfinite(joint.lower[k]) or np.isfinite(joint.upper[k])):
                bounds = np.clip((joint.lower[k], joint.upper[k]), -1e30, 1e30)
                yield common | {"kind": LIMIT, "lower": bounds[0], "upper": bounds[1]}
            if joint.friction[k]:
                yield common | {"kind": DRY, "friction": joint.friction[k]}
        at += joint.nq
