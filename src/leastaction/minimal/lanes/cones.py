"""The cones of a mechanism: which of its shapes touch planes, which joints have limits and dry friction."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from leastaction.contact.records import BOX, CAPSULE, MESH, PLANE, SPHERE
from leastaction.contact.shapes import ContactTable, collect
from leastaction.errors import IntegratorError
from leastaction.mechanism import Mechanism
from leastaction.minimal.lanes.arrays import CONTACT, DRY, LANE_CONE, LIMIT

KNOWN = (SPHERE, CAPSULE, BOX, MESH)


def cones(mechanism: Mechanism) -> tuple[Any, ContactTable]:
    """`LANE_CONE` records of a mechanism, and its shapes; refuses contacts that these cannot hold."""
    tree = mechanism.tree
    table = collect(mechanism, tree.frames, bodies=False)
    found = [*_contacts(table, tree), *_stops(mechanism)]
    out = np.zeros(len(found), LANE_CONE).view(np.recarray)
    row = 0
    for record, values in zip(out, found, strict=True):
        record.row = row
        for name, value in values.items():
            record[name] = value
        row += 3 if record.kind == CONTACT else 1
    return out, table


def _contacts(table: ContactTable, tree: Any) -> Any:
    """A ball for each sphere, two for a capsule, the corners of boxes and hulls, over each plane."""
    for pair in table.ground:
        ground, shape = table.shapes[pair.a], table.shapes[pair.b]
        body, name = table.names[pair.b]
        if ground.kind != PLANE or shape.kind not in KNOWN:
            raise IntegratorError(
                f"Grounded knows spheres, capsules, boxes, meshes and contact points on planes; {name!r} of body "
                f"{body!r} is no such shape, or may touch ground that is no plane; use leastaction.Maximal"
            )
        if pair.restitution > 0.0:
            raise IntegratorError(f"Grounded knows no restitution, which {name!r} of {body!r} has; use Maximal")
        if pair.spin > 0.0 or pair.roll > 0.0:
            raise IntegratorError(
                f"Grounded knows no friction against spinning and rolling, which {name!r} of {body!r} has; use Maximal"
            )
        frame, com = ground.R.reshape(3, 3), tree.nodes[shape.body].com
        for centre in _centres(table, shape):
            yield {
                "kind": CONTACT,
                "node": shape.body,
                "arm": centre - com,
                "radius": shape.radius,
                "friction": pair.friction,
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


def _stops(mechanism: Mechanism) -> Any:
    """Rigid limits and dry friction of joint coordinates."""
    tree = mechanism.tree
    at = 0
    for joint in mechanism.joints:
        rigid = not any(joint.limit_stiffness)
        for k in range(joint.nq if joint.nq == joint.nv else 0):
            iq = at + k
            node = next(i for i, node in enumerate(tree.nodes) if node.nv == 1 and node.iq == iq)
            common = {"node": node, "dof": tree.nodes[node].iv, "iq": iq}
            if rigid and (np.isfinite(joint.lower[k]) or np.isfinite(joint.upper[k])):
                bounds = np.clip((joint.lower[k], joint.upper[k]), -1e30, 1e30)
                yield common | {"kind": LIMIT, "lower": bounds[0], "upper": bounds[1]}
            if joint.friction[k]:
                yield common | {"kind": DRY, "friction": joint.friction[k]}
        at += joint.nq
