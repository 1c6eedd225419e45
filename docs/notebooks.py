"""Makes the notebooks of the tutorial from its pages: python docs/notebooks.py.

Text becomes Markdown cells, code becomes code cells, and plots and pages that a cell writes are shown below it. The
first cell installs the package where it is missing, as on Colab. tests/test_notebooks.py holds them up to date.
"""

import json
import re
from pathlib import Path

DOCS = Path(__file__).parent
PAGES = ("pendulum", "loop", "contact", "gradient", "swing_up")

INSTALL = """\
import importlib.util

if importlib.util.find_spec("leastaction") is None:  # as on Colab
    %pip install --quiet "leastaction[view,optimize]"\
"""

SHOW_PLOT = 'from IPython.display import Image\n\nImage("{name}")'
SHOW_PAGE = """\
import html
from pathlib import Path

from IPython.display import HTML

page = html.escape(Path("{name}").read_text("utf-8"))
HTML(f'<div><iframe srcdoc="{{page}}" width="100%" height="520"></iframe></div>')\
"""


def notebook(page: str) -> dict:
    """A page of the tutorial as a notebook of format 4.5."""
    text = (DOCS / "tutorial" / f"{page}.md").read_text("utf-8")
    cells = [code(INSTALL, "install")]
    for k, part in enumerate(re.split(r"^```python\n(.*?)^```\n", text, flags=re.DOTALL | re.MULTILINE)):
        part = part.strip("\n")
        if not part:
            continue
        if k % 2 == 0:
            cells.append({"cell_type": "markdown", "id": f"text{k}", "metadata": {}, "source": lines(words(part))})
            continue
        cells.append(code(part, f"code{k}"))
        written = re.findall(r'"(\w+\.(?:png|html))"', part)
        shown = [(SHOW_PLOT if name.endswith("png") else SHOW_PAGE).format(name=name) for name in written]
        cells += [code(source, f"show{k}-{j}") for j, source in enumerate(shown)]
    about = {"kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"}}
    about["language_info"] = {"name": "python"}
    return {"cells": cells, "metadata": about, "nbformat": 4, "nbformat_minor": 5}


def words(text: str) -> str:
    """Markdown without the pictures and the links that a notebook elsewhere does not reach."""
    text = re.sub(r"^!\[[^]]*\]\([^)]*\)\n?", "", text, flags=re.MULTILINE)
    return re.sub(r"\[([^]]*)\]\((?!https?:)[^)]*\)", r"\1", text).strip("\n")


def code(source: str, name: str) -> dict:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": name,
        "metadata": {},
        "outputs": [],
        "source": lines(source),
    }


def lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def written(page: str) -> str:
    """The text of a notebook's file."""
    return json.dumps(notebook(page), indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    for name in PAGES:
        (DOCS / "notebooks" / f"{name}.ipynb").write_text(written(name), "utf-8")
