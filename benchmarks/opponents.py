"""The page docs/benchmarks/opponents.md: every test beside every engine, from published results and printed figures."""

import math
from typing import Any

from benchmarks.report import Report, cell, shown
from benchmarks.wins import EXPLICIT

TIMES = "CPU ms to an accuracy"
"""Title of the tables of races that this page is made of."""

INTRODUCTION = """# Comparison with all engines

One row per test, one column per engine: its best figure, with the method. The command above each table measures the
figures, CPU times of one run on one machine; *printed* figures are from publications, on other machines,
and were not run here. "–": the accuracy is not reached, "not run": the engine cannot run the test here, or was not
measured. The verdict compares the structure-preserving methods of this package, without its
explicit `RungeKutta`, with the peers; [Wins and losses](wins.md) lists all ratios.
"""


def best(rows: list[list[Any]], k: int, chosen) -> tuple[float, str]:
    """(least number in column k, method) of the rows of chosen methods; infinite where none gets there."""
    found = [(row[k], row[1]) for row in rows if chosen(row[1]) and isinstance(row[k], float | int)]
    return min(found, default=(math.inf, ""))


def is_ours(method: str) -> bool:
    """Whether a method is of this package: those have arguments."""
    return "(" in method


def told(value: float, method: str, raced: bool) -> str:
    """A cell."""
    if not raced:
        return "not run"
    return f"{value:.3g} ({method})" if math.isfinite(value) else "–"


def verdict(mine: float, theirs: dict[str, float]) -> str:
    """Of one row: least is best."""
    finite = {engine: x for engine, x in theirs.items() if math.isfinite(x)}
    if not math.isfinite(mine):
        return f"**behind** {', '.join(finite)}: not reached" if finite else "nobody gets there"
    quicker = sorted((x, engine) for engine, x in finite.items() if x < mine)
    if quicker:
        return "**behind** " + ", ".join(f"{engine} ({mine / x:.2g} times)" for x, engine in quicker)
    return "ahead of all" if finite else "alone"


def line(*cells: str) -> str:
    """A row of a table."""
    return f"| {' | '.join(cells)} |"


def table(columns: list[str], rows: list[list[str]]) -> list[str]:
    """A table in Markdown."""
    return [line(*columns), line(*("---" for _ in columns)), *(line(*map(cell, row)) for row in rows), ""]


def races(results: dict[str, dict[str, Any]]) -> list[str]:
    """All races at their middle accuracies."""
    parts = ["## Time to an accuracy [CPU ms]", ""]
    for name, result in results.items():
        report = Report.of(result)
        sheet = next((s for s in report.sheets if s.title.startswith(TIMES)), None)
        if sheet is None or not name.startswith("races/"):
            continue
        unit, k = sheet.title.partition("[")[2].rstrip("]"), 3
        peers = list(dict.fromkeys(row[1].split()[0] for row in sheet.rows if not is_ours(row[1])))
        rows = []
        for robot in dict.fromkeys(row[0] for row in sheet.rows):
            some = [row for row in sheet.rows if row[0] == robot]
            raced = {row[1].split()[0] for row in some}
            mine, method = best(some, k, lambda m: is_ours(m) and not m.startswith(EXPLICIT))
            explicit = best(some, k, lambda m: m.startswith(EXPLICIT))
            theirs = {e: best(some, k, lambda m, e=e: m.split()[0] == e) for e in peers}
            cells = [told(*theirs[e], e in raced) for e in peers]
            verdicts = verdict(mine, {e: x for e, (x, _) in theirs.items()})
            rows.append(
                [
                    f"{robot}, {sheet.columns[k]} {unit}",
                    told(mine, method, True),
                    told(*explicit, explicit[0] < math.inf),
                    *cells,
                    verdicts,
                ]
            )
        parts += [f"`python -m benchmarks {name}`: {report.title}", ""]
        parts += table(["to an accuracy", "leastaction", f"its {EXPLICIT}", *peers, "verdict"], rows)
    return parts


def claims(results: dict[str, dict[str, Any]]) -> list[str]:
    """Energy, loops and landing beside MuJoCo's integrators."""
    if "claims" not in results:
        return []
    parts = ["## Energy, loops, landing", "", "`python -m benchmarks claims`", ""]
    for sheet in Report.of(results["claims"]).sheets:
        ours = [row for row in sheet.rows if not row[0].startswith("MuJoCo")]
        theirs = [row for row in sheet.rows if row[0].startswith("MuJoCo")]
        rows = [[str(row[0]), *(shown(x) for x in row[1:])] for row in (*ours, *theirs)]
        exact, fast = min(row[1] for row in ours), min(row[-1] for row in ours)
        says = "leastaction is more accurate" if exact < min(row[1] for row in theirs) else "MuJoCo is more accurate"
        slow = fast / min(row[-1] for row in theirs)
        says += f"; its fastest step takes {slow:.2g} times that of MuJoCo's fastest"
        parts += [f"**{sheet.title}**: {says}.", "", *table(list(map(str, sheet.columns)), rows)]
    return parts


ENGINES = ("MuJoCo", "Drake", "PyBullet", "DART")
"""Peers of the experts' tests."""

EXPERTS = (
    ("SimBenchmark, rolling", "experts/simbenchmark", (0,), "error of velocities"),
    ("SimBenchmark, bouncing", "experts/simbenchmark", (1,), "energy, change"),
    ("SimBenchmark, 666", "experts/simbenchmark", (2,), "depth [mm]"),
    ("SimBenchmark, elastic 666", "experts/simbenchmark", (3,), "energy, change"),
    ("SimBenchmark, Kapla", "experts/simbenchmark", (4,), "moved [mm]"),
    ("SimBenchmark, ANYmal PD", "experts/robots", (0,), "depth [mm]"),
    ("SimBenchmark, ANYmal momentum", "experts/robots", (1,), "angular"),
    ("SimBenchmark, ANYmal energy", "experts/robots", (2,), "change"),
    ("SimBenchmark, Atlas", "experts/robots", (3,), "depth [mm]"),
    ("ContactBench, Signorini's law", "experts/residuals", range(7), "Signorini, largest"),
    ("ContactBench, Coulomb's cone", "experts/residuals", range(7), "cone, largest"),
    ("ContactBench, maximum dissipation", "experts/residuals", range(7), "dissipation, largest"),
    ("Erez 2015, chain, itself at 0.25 ms [m]", "experts/erez2015", (0,), "8 ms"),
    ("Erez 2015, humanoid, itself at 0.25 ms [m]", "experts/erez2015", (1,), "8 ms"),
    ("Erez 2015, slip of a grasped capsule [µm]", "experts/erez2015", (3,), "8 ms"),
    ("Erez 2015, 27 capsules", "experts/erez2015", (4,), "depth [mm], 2 ms"),
    ("Painlevé's rod", "experts/hard_contact", (0,), "off"),
    ("Elastic tumbling", "experts/hard_contact", (2,), "energy, change"),
)
"""What each test is, its benchmark, the tables that its scenes are in, and the column that counts."""


def largest(sheets: list[Any], column: str) -> dict[str, float]:
    """For each method the largest size in a column over the scenes it was raced in; infinite where it failed in one."""
    out: dict[str, float] = {}
    for sheet in sheets:
        at = next(k for k, name in enumerate(sheet.columns) if "engine" in name)
        for row in sheet.rows:
            value = row[sheet.columns.index(column)]
            size = abs(value) if isinstance(value, float | int) else math.inf
            out[row[at]] = max(out.get(row[at], 0.0), size)
    return out


def beside(what: str, sizes: dict[str, float]) -> list[str]:
    """The best of each engine, and the verdict."""
    named = {e: {m: x for m, x in sizes.items() if m.split()[0] == e} for e in ENGINES}
    mine = {m: x for m, x in sizes.items() if m.split()[0] in OURS}
    bests = {e: min(((x, m) for m, x in of.items()), default=(math.inf, "")) for e, of in named.items()}
    own = min((x, m) for m, x in mine.items())
    cells = [told(*bests[e], bool(named[e])) for e in ENGINES]
    return [what, told(*own, True), *cells, verdict(own[0], {e: x for e, (x, _) in bests.items()})]


OURS = ("Maximal", "Minimal", "Galerkin(4)")
"""Our methods in the experts' tests."""


def experts(results: dict[str, dict[str, Any]]) -> list[str]:
    """The experts' tests: what they measure, and what a step takes."""
    figures, times = [], []
    for what, name, places, column in EXPERTS:
        if name not in results:
            continue
        sheets = [Report.of(results[name]).sheets[k] for k in places]
        command = f"`{name.partition('/')[2]}`"
        figures.append(
            [
                command,
                *beside(what if "[m]" in what or "[µm]" in what else f"{what}: {column}", largest(sheets, column)),
            ]
        )
        time = next((c for c in sheets[0].columns if c.startswith("µs")), None)
        if time is not None and all(time in sheet.columns for sheet in sheets) and len(sheets) == 1:
            times.append([command, *beside(what, largest(sheets, time))])
    if not figures:
        return []
    columns = ["command", "test", "leastaction", *ENGINES, "verdict"]
    parts = ["## Experts' tests", ""]
    parts += [
        "The command is `python -m benchmarks experts/` followed by the name in the first column;",
        "[Experts' tests](experts.md) has the scenes, all figures and the issues of peers.",
        "For each engine: its method with the smallest worst-case figure over all scenes.",
        "",
    ]
    return parts + table(columns, figures) + ["**Time of a step [µs]**", ""] + table(columns, times)


def whole(results: dict[str, dict[str, Any]], name: str, heading: str, says: str, sheets=(0,)) -> list[str]:
    """Tables of one benchmark as they are, with what was required of it."""
    if name not in results:
        return []
    report = Report.of(results[name])
    parts = [f"## {heading}", "", f"`python -m benchmarks {name}`: {says}", ""]
    for sheet in (report.sheets[k] for k in sheets if k < len(report.sheets)):
        parts += [f"**{cell(sheet.title)}**", ""]
        parts += table(sheet.columns, [[shown(x) for x in row] for row in sheet.rows])
    missed = [r for r in report.requirements if not r.met]
    verdicts = [f"{r.what}: {r.value:.3g}, wanted at most {r.bound:g}" for r in missed]
    parts += [f"**Missed**: {'; '.join(map(cell, verdicts))}." if missed else "All requirements are met.", ""]
    return parts


PRINTED = [
    ["a step of a chain, 4, 8, 16, 32, 64, 128 dof [µs]", "DART 7, variational", "68, 98, 202, 378, 1740, 2660"],
    ["energy band of 10 links, 1e5 steps of 1 ms", "DART 7, variational", "1.1 %"],
    ["state Jacobian at 5, 9, 18, 32 dof [ms]", "DART 7, variational", "0.025, 0.045, 0.143, 0.394"],
    ["the same in contact, 1 to 32 free bodies [ms]", "DART 7", "0.075 to 10.3"],
    ["A and B in contact, 7-joint arm, 36-dof humanoid [µs]", "Simple (arXiv:2409.07107)", "5, 95"],
    ["six nested loops, 64 worlds, GPU [ms a frame]", "Kamino (Newton PR 2998)", "23.5"],
    ["Gymnasium's humanoid, ant, cheetah, H200 [M steps/s]", "mujoco-torch, MJX", "3.03, 1.64, 4.48"],
    ["contact-implicit MPC of two arms, 20 dof [Hz]", "idto", "more than 100"],
]


FREE = "Minimal", "Galerkin(2)"
"""Engines whose derivatives without contact stand beside those that are printed."""


def printed(results: dict[str, dict[str, Any]]) -> list[str]:
    """What others print."""
    parts = ["## Printed figures", "", "Figures of engines that do not run here, or not in that version.", ""]
    rows = [[what, who, f"*{figure}*", ours(what, results)] for what, who, figure in PRINTED]
    return parts + table(["test", "by", "printed", "leastaction, measured here"], rows)


def ours(what: str, results: dict[str, dict[str, Any]]) -> str:
    """What our own results say of the same; the machine is another."""
    if what.startswith("a step of a chain") and "races/chains" in results:
        sheet = Report.of(results["races/chains"]).sheets[2]
        some = [(row[0], 1e3 * row[3] / row[2]) for row in sheet.rows if row[1] == "Galerkin(2)"]
        return "`Galerkin(order=2)`: " + ", ".join(f"{us:.3g} at {robot}" for robot, us in some)
    if "contact_gradients" in results:
        touching, free = Report.of(results["contact_gradients"]).sheets[:2]
        if "state Jacobian" in what:
            times = {name: [f"{1e-3 * row[2]:.3g}" for row in free.rows if row[1] == name] for name in FREE}
            return "a call of `la.linearize`: " + "; ".join(f"`{k}` {', '.join(x)}" for k, x in times.items())
        if "in contact" in what:
            arms = "7-joint" in what
            rows = [row for row in touching.rows if ("balls" in row[0]) != arms and row[1] == "Minimal"]
            unit = 1.0 if arms else 1e-3
            return "`Minimal`, derivative alone / with the step from Python: " + ", ".join(
                f"{unit * row[5]:.3g} / {unit * row[7]:.3g} ({row[0]})" for row in rows
            )
    return "not measured"


def page(results: dict[str, dict[str, Any]]) -> str:
    """The whole page."""
    parts = [
        INTRODUCTION,
        *claims(results),
        *experts(results),
        *races(results),
        *whole(
            results,
            "accuracy",
            "Error control: accuracy requested and achieved",
            "the measured error over the requested one; below 1 the request is met. CENIC's contacts "
            "are compliant and its friction regularised, so in contact it converges to a different contact law.",
            (0, 2, 3),
        ),
        *whole(
            results,
            "contact_gradients",
            "Derivatives through contact",
            "A and B of one step, by the compiled function alone and by a user's call, which also solves the step; the "
            "printed figures of Simple and DART are below.",
        ),
        *whole(
            results,
            "local_minima",
            "Trajectory optimisation",
            "IPOPT and the package's own solver, from the same initial guess.",
            (0, 1),
        ),
        *whole(
            results,
            "crocoddyl_plans",
            "Trajectory optimisation compared with Crocoddyl",
            "motions without contact. Crocoddyl's time is that of its C++ code alone, ours that of the whole user's "
            "call. Its wheel 3.2.1 with Pinocchio 4.1.0 ignores gravity and velocities unless an armature is set, as "
            "it is here.",
            (0,),
        ),
        *whole(
            results,
            "contact_planning",
            "Plans through contact",
            "idto's spinner and hopper. idto itself has no wheel and was not run; its files specify 200 and 100 Hz.",
            (0, 2),
        ),
        *whole(
            results,
            "identification",
            "System identification",
            "shares of logs whose confidence intervals contain the true value. With dry friction, which MuJoCo models "
            "differently, they are too narrow, since they do not include errors of the model.",
            (0, 1),
        ),
        *printed(results),
    ]
    return "\n".join(parts).rstrip() + "\n"
