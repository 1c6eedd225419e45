"""The code of README and documentation runs as it stands, its claims (assertions) included, and its pictures exist."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [path.relative_to(ROOT).as_posix() for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))]
HEAVY = ("torch", "jax")
"""Libraries that not every machine has: blocks that import them are left out there."""

pytest.importorskip("matplotlib")


def blocks(page: str) -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


def can_run(block: str) -> bool:
    wanted = [name for name in HEAVY if re.search(rf"^import {name}\b", block, re.MULTILINE)]
    return all(find_spec(name) for name in wanted)


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)])
def test_code(page, tmp_path, monkeypatch):
    """The blocks of a page, one after the other, in one name space and an empty folder."""
    if page == "docs/how-to/view.md":
        pytest.importorskip("viser")
        pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for k, block in enumerate(blocks(page)):
        if can_run(block):
            exec(compile(block, f"{page}, block {k + 1}", "exec"), names)


def test_pages_without_code_are_few():
    """Nothing slips through because of a misspelt fence."""
    fences = {page: re.findall(r"^```(.*)$", (ROOT / page).read_text("utf-8"), re.MULTILINE)[::2] for page in PAGES}
    assert all(set(kinds) <= {"python", "", "sh"} for kinds in fences.values()), fences
    assert sum(len(blocks(page)) for page in PAGES) > 30


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_exist_and_are_small(page):
    path = ROOT / page
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)", path.read_text("utf-8"))
    for link in links:
        target = (path.parent / link).resolve()
        assert target.is_file(), link
        assert target.suffix != ".png" or 1000 < target.stat().st_size < 250_000, link
