"""Villanueva 2025, Tables 1 and 2, Fig. 2: operations of the DEL equations and their derivatives, counted."""

import numpy as np

from benchmarks.counting import counted
from benchmarks.report import Measure, Plot, Report, Requirement, Sheet, judged

SIZES, FEW = tuple(range(1, 51)), (1, 2, 5, 10, 20, 35, 50)
PAPER = {"dense": (345_917_700, 305_599_650), "sparse": (121_569_975, 107_366_475)}
"""Table 1: multiplications and additions, added up over serial robots with 1 to 50 joints."""

NOTES = """Serial arms with 1 to 50 joints, the midpoint rule in joint coordinates (`Midpoint()`). The kernels run as \
plain Python with every addition and multiplication counted (`benchmarks/counting.py`); subtractions count as \
additions. Table 2 of the paper gives polynomials in the index i of a link for single terms; their sum over the links \
of a robot is the line "paper, Table 2". Short version: seven robots, and the sum from the polynomial of degree two \
that fits them exactly."""


def paper_table_2(n):
    """Multiplications of all second-order terms by Table 2, for a robot with n joints."""
    i = np.arange(1, n + 1)
    return int(sum((84 + 78 + 15 + 12 + 6) * i**2 + (36 * 5) * i + 36))


def fitted(sizes, values):
    """Polynomial of degree two through the values, and the largest distance from it relative to them."""
    p = np.polyfit(sizes, values, 2)
    return p, float(np.abs(np.polyval(p, sizes) - values).max() / max(values))


def run(progress, quick=False) -> Report:
    """Count all."""
    sizes = FEW if quick else SIZES
    progress.total(1)
    progress.next("counting")
    found = counted("benchmarks.villanueva2025.counted", *sizes)
    rows = {n: found[str(n)]["with linearization"] for n in sizes}
    bare = {n: found[str(n)]["equations"] for n in sizes}
    progress.done()
    tail = [n for n in sizes if n >= 2]
    fits = [fitted(tail, [rows[n][k] for n in tail]) for k in (0, 1)]
    total = [round(rows[1][k] + sum(np.polyval(fits[k][0], n) for n in range(2, 51))) for k in (0, 1)]
    if not quick:
        total = [sum(rows[n][k] for n in sizes) for k in (0, 1)]
    growth = max(fits[0][1], fits[1][1])
    sums = Sheet("Sums over 1 to 50 joints (Table 1)", ["", "multiplications", "additions"])
    sums.rows = [
        ["paper, forced DEL", *PAPER["dense"]],
        ["paper, exploiting sparsity", *PAPER["sparse"]],
        ["here", *total],
    ]
    sheet = Sheet(
        "Operations (Fig. 2)", ["joints", "equations: ×", "+", "with linearization: ×", "+", "÷", "paper, Table 2: ×"]
    )
    sheet.rows = [[n, *bare[n][:2], *rows[n], paper_table_2(n)] for n in sizes if n in FEW]
    lines = {
        "paper, Table 2": (list(sizes), [paper_table_2(n) for n in sizes]),
        "here, with linearization": (list(sizes), [rows[n][0] for n in sizes]),
        "here, equations": (list(sizes), [bare[n][0] for n in sizes]),
    }
    reduction = 100.0 * (1.0 - total[0] / PAPER["dense"][0])
    claims = [
        judged(
            "Villanueva 2025, Table 1",
            "Exploiting sparsity takes 64.8 % less operations: 121.6 instead of 345.9 million multiplications.",
            f"{total[0] / 1e6:.2f} million multiplications and {total[1] / 1e6:.2f} million additions, "
            f"{reduction:.1f} % less than the "
            f"345.9 and {PAPER['sparse'][0] / total[0]:.0f} times less than the 121.6 million.",
            total[0] < PAPER["sparse"][0],
            "More operations.",
            better=total[0] < 0.5 * PAPER["sparse"][0],
        ),
        judged(
            "Villanueva 2025, Fig. 2 and Table 2",
            "Terms of a link cost O(i²), so those of a robot O(n³).",
            f"O(n²): a polynomial of degree two fits to {growth:.0e}; 50 joints take {rows[50][0]} "
            "multiplications, by Table 2 "
            f"{paper_table_2(50)}.",
            growth < 1e-6,
            "The count is no polynomial of degree two.",
            better=rows[50][0] < paper_table_2(50),
        ),
    ]
    measures = [
        Measure(f"{n} joints: multiplications and additions", "count", [sum(rows[n][:2])]) for n in sizes if n in FEW
    ]
    requirements = [Requirement("multiplications of ours / those of the paper", total[0] / PAPER["sparse"][0], 0.5)]
    plots = [Plot("multiplications", "joints", "number", lines, "y")]
    return Report("Tables 1 and 2, Fig. 2: operations", NOTES, [sums, sheet], requirements, claims, measures, plots)
