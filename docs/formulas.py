"""Hook of MkDocs: formulas become MathML when the pages are built, so that browsers draw them without a network."""

import re
from html import unescape

from latex2mathml.converter import convert

_FORMULA = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)


def on_page_content(html: str, **_: object) -> str:
    """Called by MkDocs with the body of each page."""
    return _FORMULA.sub(_mathml, html)


def _mathml(found: re.Match[str]) -> str:
    block = found[1] == "div"
    return convert(unescape(found[2]).strip(), display="block" if block else "inline")
