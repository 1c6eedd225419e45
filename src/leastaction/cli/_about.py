"""What is known about the package itself: from its installation, or from the checkout it runs in."""

from __future__ import annotations

import re
from functools import cache
from importlib.metadata import PackageNotFoundError, metadata, version
from pathlib import Path
from typing import Any


def installed(package: str) -> str | None:
    """Version of a package, None if it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def own_version() -> str:
    """Version of this package."""
    return installed("leastaction") or f"{_project().get('version', 'unknown')} (not installed)"


def extras() -> dict[str, list[str]]:
    """The packages of each extra that users may want."""
    try:
        about = metadata("leastaction")
        lines = about.get_all("Requires-Dist") or []
        found = {
            extra: [line for line in lines if re.search(rf"extra == ['\"]{re.escape(extra)}['\"]", line)]
            for extra in about.get_all("Provides-Extra") or ()
        }
    except PackageNotFoundError:
        found = _project().get("optional-dependencies", {})
    left_out = ("all", "dev", "docs", "test")
    return {extra: [_name(line) for line in lines] for extra, lines in found.items() if extra not in left_out}


def _name(requirement: str) -> str:
    match = re.match(r"[\w.-]+", requirement)
    return match.group() if match else requirement


@cache
def _project() -> dict[str, Any]:
    """The table [project] of the checkout's pyproject.toml; empty where there is none."""
    import tomllib

    path = Path(__file__).parents[3] / "pyproject.toml"
    return tomllib.loads(path.read_text(encoding="utf-8")).get("project", {}) if path.is_file() else {}
