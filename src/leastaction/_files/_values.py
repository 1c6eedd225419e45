"""Values of any shape as a NumPy archive and back: numbers, text, arrays, and lists, tuples and dictionaries of these.

Reading runs no code of the file, unlike a pickle. The structure is JSON, in which each list `["kind", ...]` says what
it stands for; arrays are members of the archive.
"""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._files._archive import FORMAT, check_format, read_archive

__all__ = ["read_values", "structure", "write_values"]


def write_values(path: Path, value: Any) -> None:
    """Write a value to a `.npz` file.

    Raises:
        TypeError: there is something in it that cannot be written; says where and what.
    """
    arrays: dict[str, Any] = {}
    tree = structure(value, arrays)
    text = json.dumps({"format": FORMAT, "value": tree})
    np.savez(path, structure=np.array(text), **arrays)


def read_values(path: Path) -> Any:
    """What `write_values` wrote.

    Raises:
        ValueError, or another of `leastaction._files._archive.UNREADABLE`: where anything is wrong with the file.
    """
    arrays = read_archive(path)
    about = json.loads(str(arrays["structure"]))
    check_format(about)
    return _value(about["value"], arrays)


def structure(value: Any, arrays: dict[str, NDArray[Any]], where: str = "the result") -> Any:
    """A value as JSON; its arrays are added to `arrays`."""
    if value is None or isinstance(value, bool | str):
        return value
    if type(value) in (int, float):
        return value if type(value) is int or np.isfinite(value) else ["float", repr(value)]
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.kind not in "fiubU" or not array.dtype.itemsize:
            raise TypeError(f"{where} is an array of {array.dtype}: only numbers and text can be kept")
        name = f"a{len(arrays)}"
        arrays[name] = array
        return ["array" if isinstance(value, np.ndarray) else "scalar", name]
    if isinstance(value, bytes):
        return ["bytes", base64.b64encode(value).decode("ascii")]
    if type(value) in (list, tuple):
        parts = [structure(part, arrays, f"{where}[{k}]") for k, part in enumerate(value)]
        return ["list" if type(value) is list else "tuple", parts]
    if type(value) is dict:
        pairs = [
            [structure(key, arrays, f"a key of {where}"), structure(part, arrays, f"{where}[{key!r}]")]
            for key, part in value.items()
        ]
        return ["dict", pairs]
    raise TypeError(
        f"{where} is a {type(value).__name__}, which cannot be kept: return numbers, text, arrays, and lists, tuples "
        "and dictionaries of these (of a run, its arrays, or the path to which it was saved)"
    )


def _value(tree: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    if not isinstance(tree, list):
        return tree
    kind, held = tree
    if kind == "array":
        return arrays[held]
    if kind == "scalar":
        return arrays[held][()]
    if kind == "float":
        return float(held)
    if kind == "bytes":
        return base64.b64decode(held, validate=True)
    if kind == "list":
        return [_value(part, arrays) for part in held]
    if kind == "tuple":
        return tuple(_value(part, arrays) for part in held)
    if kind == "dict":
        return {_value(key, arrays): _value(part, arrays) for key, part in held}
    raise ValueError(f"unknown kind of value {kind!r:.40}")
