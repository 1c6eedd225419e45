"""Which benchmark makes which figure or table of the papers: all but drawings of robots, graphs and matrices."""

import re
import unicodedata
from typing import Any

from benchmarks.report import BETTER, NOT_REPRODUCED, REPRODUCED, Report

FIGURES: dict[str, dict[str, str]] = {
    "fan2018": {
        "Fig. 1 a to c": "fan2018/fig1",
        "Fig. 2 a to c": "fan2018/fig2",
        "Table 1": "fan2018/table1",
        "Fig. 3 a to c": "fan2018/fig3",
        "Figs. 4 to 6": "fan2018/fig4to6",
    },
    "bruedigam2020": {
        "Fig. 4 a to d": "bruedigam2020/fig4",
        "Fig. 5 a, b": "bruedigam2020/fig5",
        "Fig. 6": "bruedigam2020/fig6",
        "Fig. 8 a to c": "bruedigam2020/fig8",
    },
    "bruedigam2023": {
        "Fig. 7 a to d": "bruedigam2023/fig7",
        "Fig. 8 a": "bruedigam2020/fig5",
        "Fig. 8 b": "bruedigam2023/fig8",
        "Fig. 9 a": "bruedigam2020/fig6",
        "Fig. 9 b to d": "bruedigam2023/fig9",
        "Fig. 10 a to c": "bruedigam2020/fig8",
        "Fig. 11 a, b": "bruedigam2023/fig11",
        "Fig. 12 a to d": "bruedigam2023/fig12",
        "Fig. 13": "bruedigam2023/fig13",
        "Fig. 14 c, d": "bruedigam2023/fig14",
    },
    "villanueva2025": {
        "Tables 1 and 2, Fig. 2": "villanueva2025/table1",
        "Table 3": "villanueva2025/table3",
        "Table 4": "villanueva2025/table4",
        "Table 5": "villanueva2025/table5",
        "Table 6": "villanueva2025/table6",
    },
    "sueda2021": {
        "scenes": "sueda2021/scenes",
        "adjoint method (Sect. 3.5)": "sueda2021/adjoint",
        "BISP beside SP (Algorithms 7, 8)": "sueda2021/staggered",
    },
    "iftomm": {"A01 to A05": "iftomm/precision"},
}
"""By the folder of the paper."""


def slug(title: str) -> str:
    """The anchor of a heading, as Python-Markdown makes it."""
    plain = unicodedata.normalize("NFKD", title).encode("ascii", "ignore").decode("ascii")
    return re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip().lower())


def link(name: str, results: dict[str, dict[str, Any]], text: str) -> str:
    """To the section of a benchmark."""
    return f"[{text}]({name.rpartition('/')[0]}.md#{slug(results[name]['title'])})"


def verdicts(name: str, paper: str, results: dict[str, dict[str, Any]]) -> str:
    """How many claims of a paper a benchmark found reproduced, better, not reproduced."""
    year = paper[-4:]
    claims = Report.of(results[name]).claims
    mine = [claim for claim in claims if not year.isdigit() or year in claim.where]
    counts = {v: sum(claim.verdict == v for claim in mine) for v in (REPRODUCED, BETTER, NOT_REPRODUCED)}
    told = [f"{count} {v}" if v != NOT_REPRODUCED else f"**{count} {v}**" for v, count in counts.items() if count]
    return ", ".join(told) or "no claim"


def table(results: dict[str, dict[str, Any]], title: Any) -> list[str]:
    """Every figure with its command and verdicts; `title(paper)`: that of its page."""
    parts = ["## Every figure and table", "", "| paper | figure | claims | command |", "| --- | --- | --- | --- |"]
    for paper, figures in FIGURES.items():
        for figure, name in figures.items():
            if name in results:
                told = f"{link(name, results, figure)} | {verdicts(name, paper, results)}"
            else:
                told = f"{figure} | not run"
            parts.append(f"| {title(paper)} | {told} | `python -m benchmarks {name}` |")
    return [*parts, ""]


def elsewhere(paper: str, results: dict[str, dict[str, Any]]) -> list[str]:
    """Figures of a paper that stand on another's page, as a sentence."""
    others = {figure: name for figure, name in FIGURES.get(paper, {}).items() if name.rpartition("/")[0] != paper}
    told = [link(name, results, figure) for figure, name in others.items() if name in results]
    return [f"On other pages, for the same experiment: {', '.join(told)}.", ""] if told else []
