"""Small models as text, and what it means that two mechanisms are the same."""

from dataclasses import fields, is_dataclass

import numpy as np

MASS = '<mass value="{mass}"/><inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/>'


def link(name, inside="", mass=1.0):
    inertial = f"<inertial>{MASS.format(mass=mass)}</inertial>" if mass is not None else ""
    return f'<link name="{name}">{inertial}{inside}</link>\n'


def joint(name, kind, parent, child, inside=""):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>\n'


def urdf(*parts, name="robot"):
    return f'<robot name="{name}">\n' + "".join(parts) + "</robot>\n"


def arm(inside="", kind="continuous"):
    """Two links and one joint, which holds `inside`."""
    return urdf(link("base"), link("tip"), joint("hinge", kind, "base", "tip", inside))


def mjcf(world, rest="", before=""):
    return f'<mujoco model="robot">\n{before}\n<worldbody>\n{world}\n</worldbody>\n{rest}\n</mujoco>\n'


def write(folder, text, name="model.urdf"):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def assert_same(a, b, tolerance=1e-15, where="robot"):
    """Equal in everything but rounding (`tolerance` times the size) and the names of mesh files."""
    assert type(a) is type(b), where
    if isinstance(a, float):
        assert a == b or abs(a - b) <= tolerance * max(1.0, abs(a)), f"{where}: {a} != {b}"
    elif isinstance(a, tuple):
        assert len(a) == len(b), f"{where}: {len(a)} != {len(b)} entries"
        if a and all(isinstance(x, float) and np.isfinite(x) for x in a):
            tolerance *= max(1.0, max(map(abs, a)))  # a vector rounds with its largest entry
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            assert_same(x, y, tolerance, f"{where}[{getattr(x, 'name', '') or k}]")
    elif isinstance(a, np.ndarray):
        np.testing.assert_allclose(a, b, rtol=0, atol=tolerance, err_msg=where)
    elif is_dataclass(a):
        for f in fields(a):
            x, y = getattr(a, f.name), getattr(b, f.name)
            if f.name == "quaternion":
                # q and -q are the same rotation.
                y = tuple(-z for z in y) if np.dot(x, y) < 0.0 else y
            if f.name not in ("strict", "file"):
                assert_same(x, y, tolerance, f"{where}.{f.name}")
    else:
        assert a == b, where
