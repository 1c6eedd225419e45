"""A page about something: facts, one table and remarks; drawn by rich in terminals and as HTML in notebooks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from typing import Any

LONGEST = 40
"""Rows of a table that are shown; of longer ones the middle is omitted."""


@dataclass
class Page:
    """The contents of a page.

    Attributes:
        title: one line.
        facts: (what, value), one line each.
        columns: headings of the table; those that end in "]" or start with "#" hold numbers.
        rows: of the table, text.
        remarks: one line each.
    """

    title: str
    facts: list[tuple[str, str]] = field(default_factory=list)
    columns: Sequence[str] = ()
    rows: list[Sequence[str]] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def shown(self) -> list[Sequence[str]]:
        """The rows, the middle of a long table omitted."""
        if len(self.rows) <= LONGEST:
            return self.rows
        half = LONGEST // 2
        gap = [f"… {len(self.rows) - 2 * half} more", *[""] * (len(self.columns) - 1)]
        return [*self.rows[:half], gap, *self.rows[-half:]]


def _numeric(heading: str) -> bool:
    return heading.endswith("]") or heading.startswith("#")


def panel(page: Page) -> Any:
    """The page for rich."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[Any] = [Text(page.title, style="bold")]
    if page.facts:
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="dim")
        facts.add_column()
        for what, value in page.facts:
            facts.add_row(Text(what), Text(value))
        parts.append(facts)
    if page.rows:
        table = Table(box=SIMPLE_HEAD, header_style="bold", pad_edge=False)
        for k, heading in enumerate(page.columns):  # as Text, or [kg] would be taken for markup
            side = "right" if _numeric(heading) else "left"
            table.add_column(Text(heading.lstrip("#")), justify=side, no_wrap=k == 0)
        for row in page.shown():
            table.add_row(*(Text(cell) for cell in row))
        parts.append(table)
    parts += [Text(remark) for remark in page.remarks]
    return Group(*parts)


def text(page: Page) -> str:
    """The page as plain text, for `print`."""
    import io

    from rich.console import Console

    screen = Console(file=io.StringIO(), width=200, color_system=None)
    screen.print(panel(page))
    return "\n".join(line.rstrip() for line in screen.file.getvalue().rstrip().splitlines())  # type: ignore[attr-defined]


def html(page: Page) -> str:
    """The page for a notebook."""
    parts = [f"<div><b>{escape(page.title)}</b>"]
    if page.facts:
        cells = "".join(
            f'<tr><td style="text-align:left;opacity:0.7">{escape(what)}</td>'
            f'<td style="text-align:left">{escape(value)}</td></tr>'
            for what, value in page.facts
        )
        parts.append(f"<table>{cells}</table>")
    if page.rows:
        sides = ["right" if _numeric(heading) else "left" for heading in page.columns]
        head = "".join(
            f'<th style="text-align:{side}">{escape(heading.lstrip("#"))}</th>'
            for heading, side in zip(page.columns, sides, strict=True)
        )
        body = "".join(
            "<tr>"
            + "".join(
                f'<td style="text-align:{side};white-space:pre">{escape(cell)}</td>'
                for cell, side in zip(row, sides, strict=True)
            )
            + "</tr>"
            for row in page.shown()
        )
        parts.append(f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>")
    parts += [f"<div>{escape(remark)}</div>" for remark in page.remarks]
    return "".join(parts) + "</div>"
