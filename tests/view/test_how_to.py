"""The code of docs/how-to/view.md runs as it stands."""

import re
from pathlib import Path

import pytest

GUIDE = Path(__file__).parents[2] / "docs" / "how-to" / "view.md"


def test_code_of_the_guide(tmp_path, monkeypatch):
    pytest.importorskip("viser")
    pytest.importorskip("PIL")
    monkeypatch.chdir(tmp_path)
    text = GUIDE.read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == 5
    exec("\n".join(blocks), {})
    assert {path.name for path in tmp_path.iterdir()} == {"run.html", "run.png", "compare.html", "run.gif"}


def test_pictures_of_the_guide_exist_and_are_small():
    links = re.findall(r"\]\((\.\./images/[^)]+)\)", GUIDE.read_text("utf-8"))
    assert len(links) == 5
    assert all(1000 < (GUIDE.parent / link).stat().st_size < 200_000 for link in links)
