"""A robot as a page: sizes, its tree with joints and masses, loops and what acts on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leastaction._display import page

if TYPE_CHECKING:
    from leastaction.mechanism import Mechanism

COLUMNS = ("body", "joint", "kind", "mass [kg]", "coordinates", "limits")


def describe(mechanism: Mechanism) -> page.Page:
    """The page of a mechanism."""
    m = mechanism
    facts = [
        ("bodies", f"{len(m.bodies)}, {m.total_mass:.6g} kg"),
        ("coordinates", f"nq {m.nq}, nv {m.nv}, controls nu {m.nu}"),
        ("gravity", f"({', '.join(f'{x:g}' for x in m.gravity)}) m/s²"),
    ]
    remarks = m.summary().splitlines()[2 + len(m.bodies) :]  # below the tree: loops and all other elements
    return page.Page(m.name, facts, COLUMNS, _rows(m), remarks)


def _rows(m: Mechanism) -> list[Any]:
    """One row per body, indented as in the tree."""
    depth = [len(ancestors) for ancestors in m.ancestors]
    rows = []
    for i, (body, joint) in enumerate(zip(m.bodies, m.joints, strict=True)):
        # The last of its siblings when nothing after its own branch hangs on the same parent.
        after = i + m.subtree_sizes[i]
        branch = "├─" if after < len(depth) and depth[after] == depth[i] else "└─"
        indent = "   " * depth[i] + branch + " "
        rows.append(
            (
                indent + body.name,
                joint.name,
                joint.kind,
                f"{body.inertia.mass:.4g}",
                _some(joint.coordinate_names()),
                _limits(joint),
            )
        )
    return rows


def _some(names: Any) -> str:
    names = list(names)
    if len(names) <= 2:
        return ", ".join(names)
    return f"{names[0]} … {names[-1]} ({len(names)})"


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
