"""The notebooks are those of the tutorial's pages, and run from the first cell to the last."""

import importlib.util
import json
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"


def maker():
    spec = importlib.util.spec_from_file_location("notebooks", DOCS / "notebooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


PAGES = maker().PAGES


def test_every_page_of_the_tutorial_has_one():
    assert {path.stem for path in (DOCS / "tutorial").glob("*.md")} == set(PAGES)
    assert {path.stem for path in (DOCS / "notebooks").glob("*.ipynb")} == set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_notebooks_are_up_to_date(page):
    """After a change of the tutorial: python docs/notebooks.py."""
    assert (DOCS / "notebooks" / f"{page}.ipynb").read_text("utf-8") == maker().written(page)


@pytest.mark.parametrize("page", PAGES)
def test_notebooks_run(page, tmp_path, monkeypatch):
    """By IPython, whose %pip the first cell has."""
    shell = pytest.importorskip("IPython.core.interactiveshell").InteractiveShell
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    runner = shell()
    for cell in json.loads((DOCS / "notebooks" / f"{page}.ipynb").read_text("utf-8"))["cells"]:
        if cell["cell_type"] == "code":
            runner.run_cell("".join(cell["source"])).raise_error()
