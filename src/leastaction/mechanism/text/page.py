"""A robot as a page: sizes, its tree with joints and masses, loops and what acts on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastaction._files import _page as page
from leastaction.mechanism.text.summary import branches

if TYPE_CHECKING:
    from leastaction.mechanism import Mechanism

COLUMNS = ("body", "joint", "kind", "mass [kg]", "limits [rad or m]")


def describe(mechanism: Mechanism) -> page.Page:
    """The page of a mechanism."""
    m = mechanism
    facts = [
        ("bodies", f"{len(m.bodies)}, {m.total_mass:.6g} kg"),
        ("coordinates", f"nq {m.nq}, nv {m.nv}, controls nu {m.nu}"),
        ("gravity", f"({', '.join(f'{x:g}' for x in m.gravity)}) m/s²"),
    ]
    remarks = m.summary().splitlines()[2 + len(m.bodies) :]  # below the tree: loops and all other elements
    rows = _rows(m)
    used = COLUMNS if any(row[-1] for row in rows) else COLUMNS[:-1]
    return page.Page(m.name, facts, used, [row[: len(used)] for row in rows], remarks)


def _rows(m: Mechanism) -> list[Any]:
    """One row per body, indented as in the tree."""
    rows = []
    for branch, body, joint in zip(branches(m), m.bodies, m.joints, strict=True):
        # A joint with one coordinate lends it its name; of others the names are not plain.
        names = list(joint.coordinate_names())
        kind = joint.kind if len(names) <= 1 else f"{joint.kind} ({names[0]} … {names[-1].rpartition('.')[2]})"
        rows.append((branch + body.name, joint.name, kind, f"{body.inertia.mass:.4g}", _limits(joint)))
    return rows


def _limits(joint: Any) -> str:
    if len(joint.lower) != 1 or abs(joint.lower[0]) == abs(joint.upper[0]) == float("inf"):
        return ""
    return f"{joint.lower[0]:.4g} … {joint.upper[0]:.4g}"


def html(mechanism: Mechanism) -> str:
    """For notebooks."""
    return page.html(describe(mechanism))


def panel(mechanism: Mechanism) -> Any:
    """For rich."""
    return page.panel(describe(mechanism))
