"""Lengths with implicit tension in the Newton matrix: tendons with springs or soft limits, and soft joint limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction.forces.arrays import ForceModel
from leastaction.forces.points import zeroed
from leastaction.forces.tendons import tendon_records
from leastaction.maximal.maximal_records import SPRUNG, filled
from leastaction.maximal.model import Model
from leastaction.mechanism import Mechanism

LAW = ("offset", "stiffness", "shortest", "longest", "lower", "upper", "limit_stiffness")
"""Fields of `TENDON` records that lengths share."""

ITEM_NAMES = tendon_records.ITEM.names or ()


def sprung_lengths(mechanism: Mechanism, forces: ForceModel, axes: tendon_records.Axes) -> tuple[Any, Any]:
    """(`SPRUNG` records, `ITEM` records) of the tendons with springs or soft limits and of soft limits of joints.

    Args:
        mechanism, forces: the robot and its force model.
        axes: data with which tendons measure joints with one axis.
    """
    laws: list[dict[str, Any]] = []
    items: list[Any] = []
    stiffest = np.maximum(forces.tendons.stiffness, forces.tendons.limit_stiffness)
    for tendon in forces.tendons[stiffest > 0.0]:
        laws.append({name: tendon[name] for name in LAW} | {"first": len(items), "count": int(tendon.count)})
        items += list(forces.items[tendon.first : tendon.first + tendon.count])
    soft = np.concatenate([np.zeros(0), *(joint.limit_stiffness for joint in mechanism.joints)])
    ends = [(low, high) for joint in mechanism.joints for low, high in zip(joint.lower, joint.upper, strict=True)]
    for iv in np.flatnonzero(soft > 0.0).tolist():
        law = {"lower": ends[iv][0], "upper": ends[iv][1], "limit_stiffness": soft[iv]}
        laws.append(law | {"first": len(items), "count": 1})
        items.append({"third": tendon_records.NOBODY, "weight": 1.0, **axes[iv]})
    own = zeroed(len(items), tendon_records.ITEM)
    for record, item in zip(own, items, strict=True):
        for name in item if isinstance(item, dict) else ITEM_NAMES:
            record[name] = item[name]
    return filled(laws, SPRUNG), own


def with_lengths(model: Model, lengths: tuple[Any, Any], edge: Any, seldom: Any) -> None:
    """Add the lengths of `sprung_lengths` to a model.

    Args:
        edge: gives the number of the graph edge between two bodies; seldom: the same for an edge whose blocks are zero
            most of the time, as for a tendon with limits alone that is slack.
    """
    sprung, model.strings = lengths
    bodies: list[int] = []
    edges: list[int] = []
    for law in sprung:
        items = model.strings[law.first : law.first + law.count]
        own = [int(i) for i in np.unique([items.node, items.other]) if i >= 0]
        law.begin, law.bodies, law.edges = len(bodies), len(own), len(edges)
        bodies += own
        number = edge if law.stiffness > 0.0 else seldom
        edges += [number(i, j) for i in own for j in own]
    model.sprung_bodies, model.sprung_edges = np.array(bodies, np.int64), np.array(edges, np.int64)
    model.sprung = sprung
