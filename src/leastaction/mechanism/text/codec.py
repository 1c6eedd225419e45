"""A mechanism as JSON, and back: for files that must not run code when they are read."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from leastaction.errors import FormatError
from leastaction.mechanism import contact_pairs, elements, frames, inertia, joints, mechanism, pose, sensors, shapes
from leastaction.mechanism.drives import actuators, muscles, tendons

_TYPES: dict[str, type] = {
    cls.__name__: cls
    for module in (
        actuators,
        contact_pairs,
        elements,
        frames,
        inertia,
        joints,
        mechanism,
        muscles,
        pose,
        sensors,
        shapes,
        tendons,
    )
    for cls in vars(module).values()
    if isinstance(cls, type) and is_dataclass(cls)
}

_OLDER = {"placement": "pose", "child_placement": "child_pose"}
"""Names of fields in older files."""

_DTYPES = {np.dtype(kind).str: np.dtype(kind) for kind in (np.float64, np.int64)}
"""Of the arrays in a mechanism."""


def to_json(value: Any) -> Any:
    """A JSON value for a mechanism or any part of one."""
    if is_dataclass(value) and not isinstance(value, type):
        return {"type": type(value).__name__} | {f.name: to_json(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, np.ndarray):
        return {"type": "array", "dtype": value.dtype.str, "values": value.tolist()}
    if isinstance(value, joints.Motion):
        return {"type": "motion", "code": int(value)}
    if isinstance(value, tuple | list):
        return [to_json(x) for x in value]
    return value


def from_json(value: Any) -> Any:
    """What `to_json` wrote."""
    if isinstance(value, list):
        return tuple(from_json(x) for x in value)
    if not isinstance(value, dict):
        return value
    kind = value.get("type")
    if kind == "array":
        if value["dtype"] not in _DTYPES:
            raise FormatError(f"unknown kind of numbers {value['dtype']!r} in a stored mechanism")
        return np.array(value["values"], dtype=_DTYPES[value["dtype"]])
    if kind == "motion":
        return joints.Motion(value["code"])
    if kind not in _TYPES:
        raise FormatError(f"unknown part {kind!r} in a stored mechanism")
    return _TYPES[kind](
        **{_OLDER.get(str(name), str(name)): from_json(x) for name, x in value.items() if name != "type"}
    )
