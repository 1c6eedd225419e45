"""Constraints of a mechanism present in each step: contacts with planes, joint limits, dry friction, ties, loops."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from leastaction.contact.broad_phase import reach_of_bodies
from leastaction.contact.collision_filter import (
    Carriers,
    HomePose,
    exclude_pairs,
    exclude_prescribed_pairs,
    warn_of_remarks,
)
from leastaction.contact.contact_shapes import collect
from leastaction.contact.contact_table import ContactTable
from leastaction.contact.penetration.penetration_search import Search
from leastaction.contact.records import BOX, CAPSULE, MESH, PLANE, SPHERE
from leastaction.contact.solver.cone_kinds import CONTACT, DRY, LIMIT, LOOP, PLAIN, TIE, TURNING
from leastaction.dynamics import body_poses, body_twists
from leastaction.dynamics.loops import prescribed_freedoms
from leastaction.errors import IntegratorError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.kept import kept_with_mechanism
from leastaction.mechanism.pose import Pose
from leastaction.minimal.contact.arrays import RobotShapes
from leastaction.minimal.contact.forces.spring_arrays import loops, ties
from leastaction.minimal.contact.robot_records import GIVEN, ROBOT_CONE

KNOWN = (SPHERE, CAPSULE, BOX, MESH)

FEW = 8
"""Most corners of a hull whose contacts with planes are permanent constraints, one per corner; other hulls use contact
detection, since only a few corners near the plane are active, while each takes time and memory in every step."""


def cones(mechanism: Mechanism) -> tuple[Any, ContactTable]:
    """`ROBOT_CONE` records of a mechanism, and its shapes; raises for contacts that need detection."""
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
    return _records(mechanism, table, table.ground), table


def cones_and_shapes(mechanism: Mechanism, bodies: bool) -> tuple[Any, RobotShapes | None, ContactTable]:
    """`ROBOT_CONE` records of a mechanism, the pairs for contact detection (with `bodies`: between bodies), all shapes.

    Warns of pairs that are excluded although they overlap.
    """
    found = _cones_and_shapes(mechanism, bodies)
    warn_of_remarks(found[2])
    return found


@kept_with_mechanism
def _cones_and_shapes(mechanism: Mechanism, bodies: bool) -> tuple[Any, RobotShapes | None, ContactTable]:
    frames = centred_frames(mechanism)
    table = exclude_prescribed_pairs(collect(mechanism, frames, bodies=bodies), prescribed_nodes(mechanism))
    table = exclude_pairs(_at_home(mechanism, frames), table)
    shapes, lists = table.shapes.view(np.ndarray), None  # fields of a recarray are slow
    few = ~((shapes["kind"] == MESH) & (shapes["rows"] > FEW))
    ground = table.ground.view(np.ndarray)
    plain = np.array([few[pair["b"]] and _is_plain(table, pair) for pair in ground], bool)
    pairs = np.concatenate([table.ground[~plain], table.body_pairs()]).view(np.recarray)
    if len(pairs):
        bound = table.shapes.bound[table.movers]
        reach = reach_of_bodies(table.shapes, len(mechanism.tree.nodes))
        skin = max(0.5 * float(np.median(bound)) if len(bound) else 0.0, 1e-3)
        known, (one, two) = _masses(mechanism), shapes["body"][np.array([pairs["a"], pairs["b"]])].tolist()
        masses = np.array([_mass_of(known, i, j) for i, j in zip(one, two, strict=True)])
        softness = table.surfaces.softness(pairs["a"], pairs["b"])
        convex = None if table.is_plain else True
        lists = RobotShapes(table.shapes, pairs, table.data, masses, softness, reach, skin, convex)
    return _records(mechanism, table, table.ground[plain]), lists, table


@kept_with_mechanism
def starts_apart(mechanism: Mechanism, bodies: bool) -> Search:
    """See `contact.penetration.penetration_resolution.clear_start`; limits are those among the constraints."""
    cones, _, table = _cones_and_shapes(mechanism, bodies)
    limits = [(int(c.iq), int(c.dof), float(c.lower), float(c.upper)) for c in cones[cones.kind == LIMIT]]
    return Search(_at_home(mechanism, centred_frames(mechanism)), limits, table)


def centred_frames(mechanism: Mechanism) -> dict[str, tuple[int, Pose]]:
    """For each body: its node and its pose in the node's frame at the centre of mass."""
    nodes = mechanism.tree.nodes
    return {name: (i, X if i < 0 else Pose(tuple(-nodes[i].com)) * X) for name, (i, X) in mechanism.tree.frames.items()}


def _at_home(mechanism: Mechanism, frames: dict[str, tuple[int, Pose]]) -> HomePose:
    """The mechanism at its home pose for `collision_filter`; nodes without a body stay at the origin."""
    tree, count = mechanism.tree, len(mechanism.tree.nodes)
    poses = Carriers(mechanism, frames, count)

    def twists(q: Any, v: Any) -> Any:
        out, X, placed = np.zeros((count, 6)), poses(q), body_poses(mechanism, q)
        for V, body, name in zip(body_twists(mechanism, q, v), placed, mechanism.body_names, strict=True):
            i = frames[name][0]
            if i >= 0:
                w = body[:3, :3] @ V[:3]
                out[i] = *w, *(body[:3, :3] @ V[3:] + np.cross(w, X[i, 9:] - body[:3, 3]))
        return out

    links = [(int(node.parent), i, int(node.iv), int(node.nv)) for i, node in enumerate(tree.nodes)]
    return HomePose(mechanism, mechanism.home(), links, frozenset(_locked(mechanism)), poses, twists)


def _locked(mechanism: Mechanism) -> Any:
    """Yields degrees of freedom that are prescribed, or whose limits coincide."""
    yield from prescribed_freedoms(mechanism)
    at = 0
    for joint in mechanism.joints:
        if joint.nq == joint.nv:
            yield from (at + k for k in range(joint.nv) if joint.upper[k] - joint.lower[k] < 1e-9)
        at += joint.nv


def _records(mechanism: Mechanism, table: ContactTable, ground: Any) -> Any:
    """`ROBOT_CONE` records, including those of plain pairs with the ground."""
    found = [*_contacts(table, ground, _masses(mechanism)), *_stops(mechanism), *_ties(mechanism)]
    out = np.zeros(len(found), ROBOT_CONE)
    out["other"] = out["found"] = -1
    out["width"] = 1
    for record, values in zip(out, found, strict=True):
        for name, value in values.items():
            record[name] = value
    out["row"] = np.cumsum(out["width"]) - out["width"]
    return out.view(np.recarray)


def _refuse(table: ContactTable, pairs: Any) -> None:
    """Raise for pairs with torsional or rolling friction, which the GPU does not support."""
    for pair in pairs[(pairs.spin > 0.0) | (pairs.roll > 0.0)][:1]:
        body, name = table.names[pair.b]
        raise IntegratorError(
            f"device='cuda' knows no friction against spinning and rolling, which {name!r} of {body!r} has; use "
            "device='cpu'"
        )


def _masses(mechanism: Mechanism) -> dict[int, tuple[int, float]]:
    """For each node, and -1 for the world: its kinematic tree and the mass of that [kg].

    Nodes with prescribed motion belong to the world, whose mass counts as infinite.
    """
    nodes = mechanism.tree.nodes.view(np.ndarray)
    tree = np.cumsum(nodes["parent"] < 0) - 1  # depth first: each tree begins with its root
    total = np.bincount(tree, nodes["mass"]) if len(nodes) else np.zeros(0)
    masses = {-1: (-1, 0.0)} | {i: (int(t), float(total[t])) for i, t in enumerate(tree)}
    return masses | dict.fromkeys(prescribed_nodes(mechanism), (-1, 0.0))


def _mass_of(masses: dict[int, tuple[int, float]], one: int, two: int) -> float:
    """Mass [kg] of the kinematic trees of two nodes, see `_masses`; for two trees the reduced mass."""
    there = [mass for mass in dict((masses[one], masses[two])).values() if mass > 0.0]
    return 1.0 / sum(1.0 / mass for mass in there) if there else 0.0


def _is_plain(table: ContactTable, pair: Any) -> bool:
    """Whether a pair with the ground is spheres over a plane, without moving surfaces or a separate static friction,
    which depend on the contact state at the start of a step and hence need detected contacts."""
    shapes = table.shapes.view(np.ndarray)
    ground, shape = shapes[pair["a"]], shapes[pair["b"]]
    return bool(
        ground["kind"] == PLANE
        and shape["kind"] in KNOWN
        and not (ground["belt"].any() or shape["belt"].any() or pair["static"] > pair["friction"])
    )


def _contacts(table: ContactTable, ground: Any, masses: dict[int, tuple[int, float]]) -> Any:
    """Contacts of spheres over each plane: one for a sphere, two for a capsule, the corners of boxes and hulls."""
    shapes = table.shapes.view(np.ndarray)
    for pair in ground.view(np.ndarray):
        plane, shape = shapes[pair["a"]], shapes[pair["b"]]
        frame, node = plane["R"].reshape(3, 3), int(shape["body"])
        ((compliance, relaxation),) = table.surfaces.softness([pair["a"]], [pair["b"]])
        common = {
            "kind": CONTACT,
            "width": TURNING if pair["spin"] > 0.0 or pair["roll"] > 0.0 else PLAIN,
            "node": node,
            "radius": shape["radius"],
            "friction": pair["friction"],
            "restitution": pair["restitution"],
            "compliance": compliance,
            "relaxation": relaxation,
            "mass": _mass_of(masses, node, -1),
            "spin": pair["spin"],
            "roll": pair["roll"],
            "first": frame[:, 0],
            "second": frame[:, 1],
            "normal": frame[:, 2],
            "offset": frame[:, 2] @ plane["p"] + shape["radius"],
            "shape": pair["b"],
        }
        for centre in _centres(table, shape):
            yield common | {"arm": centre}


def _centres(table: ContactTable, shape: Any) -> Any:
    """Centres of the spheres that represent a shape, in its node's frame [m]."""
    kind, R, p = shape["kind"], shape["R"].reshape(3, 3), shape["p"]
    if kind == SPHERE:
        return [p]
    if kind == CAPSULE:
        return [p + R @ shape["half"], p - R @ shape["half"]]
    if kind == BOX:
        return [p + R @ (np.array(signs) * shape["half"]) for signs in product((-1.0, 1.0), repeat=3)]
    return table.data[shape["first"] : shape["first"] + 3 * shape["rows"]].reshape(-1, 3)


def _ties(mechanism: Mechanism) -> Any:
    """Yields the constraint values of ties (springs, cables, tendons and drags implicit at the end) and of loops."""
    for kind, found in ((TIE, ties), (LOOP, loops)):
        for tie, axis, node, other in found(mechanism):
            yield {"kind": kind, "tie": tie, "axis": axis, "node": node, "other": other}


def prescribed_nodes(mechanism: Mechanism) -> set[int]:
    """Nodes whose motion is completely prescribed, so that no force moves them."""
    given, dofs = set[int](), set(prescribed_freedoms(mechanism))
    for i, node in enumerate(mechanism.tree.nodes if dofs else ()):
        if dofs.issuperset(range(node.iv, node.iv + node.nv)) and (node.parent < 0 or node.parent in given):
            given.add(i)
    return given


def _stops(mechanism: Mechanism) -> Any:
    """Yields rigid limits and dry friction of joint coordinates, and locks of prescribed ones."""
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
