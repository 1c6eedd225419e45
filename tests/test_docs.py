"""The code of README and documentation runs as it stands, its claims (assertions) included, and its pictures exist."""

import re
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

import pytest

import leastaction as la

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
PAGES = [path.relative_to(ROOT).as_posix() for path in (ROOT / "README.md", *sorted(DOCS.rglob("*.md")))]
HEAVY = ("torch", "jax", "stable_baselines3")
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
    assert all(set(kinds) <= {"python", "", "sh", "toml"} for kinds in fences.values()), fences
    assert sum(len(blocks(page)) for page in PAGES) > 30


@pytest.mark.parametrize("page", PAGES)
def test_links_and_pictures_exist_and_are_small(page):
    path = ROOT / page
    links = re.findall(r"\]\((?!https?://|#)([^)#\s]+)(?:#[^)]*)?\)", path.read_text("utf-8"))
    for link in links:
        target = (path.parent / link).resolve()
        assert target.is_file(), link
        assert target.suffix != ".png" or 1000 < target.stat().st_size < 250_000, link


def titles() -> dict[Path, set[str]]:
    """Titles of the pages, as they and the navigation say them, and their headings, in small letters."""
    nav = re.findall(r'- "?(.*?)"?: (\S+\.md)$', (ROOT / "mkdocs.yml").read_text("utf-8"), re.MULTILINE)
    found = {(ROOT / page).resolve(): set() for page in PAGES}
    for path, names in found.items():
        names |= {
            re.sub(r"[`*]|^\d\. ", "", x).strip().lower()
            for x in re.findall("^#+ (.*)$", path.read_text("utf-8"), re.M)
        }
        names |= {title.lower() for title, page in nav if (DOCS / page).resolve() == path}
    return found


@pytest.mark.parametrize("page", [page for page in PAGES if "benchmarks" not in page])
def test_links_say_the_title_of_their_page(page):
    """A link in capital letters is a title: of the page, or of a part of it."""
    known, path = titles(), ROOT / page
    text = re.sub("```.*?```", "", path.read_text("utf-8"), flags=re.DOTALL)
    for words, link in re.findall(r"\[([A-Z][^\]`]*?\s[^\]`]*?)\]\(([^)#\s]+\.md)(?:#[^)]*)?\)", text):
        title = " ".join(words.split()).lower()
        target = (path.parent / link).resolve()
        if words.startswith(("The ", "How to", "Fig.", "PyTorch")) or target not in known:
            continue
        assert any(title in name for name in known[target]), f"{words!r} is no title of {link}"


def test_names_in_the_text_exist():
    """Every `la.something` of a page is there after nothing but `import leastaction as la`."""
    text = "".join((ROOT / page).read_text("utf-8") for page in PAGES)
    names = sorted(set(re.findall(r"\bla\.(\w+(?:\.\w+)*)", text)))
    code = f"import functools, leastaction as la\nfor n in {names}: functools.reduce(getattr, n.split('.'), la)"
    subprocess.run([sys.executable, "-c", code], check=True)


def is_module(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # its parent is no module
        return False


def find(name: str):
    """The thing of a dotted name."""
    if is_module(name):
        return import_module(name)
    parent, _, attribute = name.rpartition(".")
    return getattr(find(parent), attribute)


def shown_in_the_reference() -> list:
    """What the pages of the reference name, and the public names of the modules among it."""
    shown = []
    for page in (DOCS / "reference").glob("*.md"):
        for name in re.findall(r"^::: ([\w.]+)$", page.read_text("utf-8"), re.MULTILINE):
            thing = find(name)
            shown.append(thing)
            if isinstance(thing, ModuleType):
                own = [n for n, x in vars(thing).items() if n[0] != "_" and getattr(x, "__module__", "") == name]
                # Where a module has the name of a function, the module is shown.
                shown += [getattr(thing, n) for n in getattr(thing, "__all__", own) if not is_module(f"{name}.{n}")]
    return shown


@pytest.mark.parametrize("module", ["", *sorted(n for n in la.__all__ if isinstance(getattr(la, n), ModuleType))])
def test_every_public_name_is_in_the_reference(module):
    """With a docstring: without one it is not shown."""
    home = getattr(la, module) if module else la
    things = {name: getattr(home, name) for name in home.__all__}
    shown = shown_in_the_reference()
    missing = [name for name, thing in things.items() if not any(thing is other for other in shown)]
    assert [name for name in missing if module or not isinstance(things[name], ModuleType)] == []
    assert all(thing.__doc__ for thing in things.values())
