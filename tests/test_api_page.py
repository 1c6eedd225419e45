"""The page of all public names is made from the code, and has a sentence for each."""

import importlib.util
from pathlib import Path

import leastaction as la

ROOT = Path(__file__).parents[1]


def test_every_public_name_has_a_sentence():
    spec = importlib.util.spec_from_file_location("public_names", ROOT / "docs" / "public_names.py")
    page = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(page)
    markdown = page.on_page_markdown((ROOT / "docs" / "reference" / "api.md").read_text("utf-8"))
    for name in la.__all__:
        assert name in markdown
    for _, module in page.modules():
        for call, sentence in page.names(module):
            assert sentence, f"{module.__name__}: {call} has no docstring"
            assert f"| `{call}` | {sentence} |" in markdown
