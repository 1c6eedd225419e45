"""Values in files: what is read is what was written, and no file runs code."""

import math

import numpy as np
import pytest

from leastaction._files._values import read_values, write_values

VALUES = [
    None,
    True,
    -3,
    10**30,
    0.1,
    math.inf,
    "text ☃",
    b"\x00\xff",
    [1, [2.5, None], ("a", ())],
    {"x": 1, 2: {"y": [False]}, (3, 4): "pair"},
    {
        "array": np.arange(6.0).reshape(2, 3),
        "none": np.zeros((0, 3)),
        "number": np.float32(0.3),
        "names": np.array(["a", "bc"]),
    },
]


def same(a, b):
    if isinstance(a, np.ndarray | np.generic):
        return type(a) is type(b) and a.dtype == b.dtype and a.shape == b.shape and (a == b).all()
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return type(a) is type(b) and len(a) == len(b) and all(same(x, y) for x, y in zip(a, b, strict=True))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("value", VALUES, ids=str)
def test_values_come_back(tmp_path, value):
    write_values(tmp_path / "value.npz", value)
    assert same(value, read_values(tmp_path / "value.npz"))


def test_nan_comes_back(tmp_path):
    write_values(tmp_path / "value.npz", [math.nan])
    assert math.isnan(read_values(tmp_path / "value.npz")[0])


def test_what_cannot_be_kept_is_named(tmp_path):
    with pytest.raises(TypeError, match=r"the result\['f'\]\[1\] is a function"):
        write_values(tmp_path / "value.npz", {"f": [1, lambda: 1]})
    with pytest.raises(TypeError, match="array of object"):
        write_values(tmp_path / "value.npz", np.array([{}], dtype=object))


def test_a_pickle_is_refused(tmp_path):
    """An array of objects, which NumPy would unpickle, and so run what is in it."""
    path = tmp_path / "value.npz"
    np.savez(path, structure=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="expected numbers or text"):
        read_values(path)
