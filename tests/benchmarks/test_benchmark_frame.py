"""Results of benchmarks: written whole, made once for each version of the code, compared beyond their noise, shown."""

import json
import math
import re
import subprocess
import sys

import numpy as np
import pytest
from rich.console import Console

from benchmarks import (
    catalogue,
    compare,
    coverage,
    foreign_robots,
    machine,
    opponents,
    plan,
    render,
    report,
    runner,
    store,
    timing,
    watch,
    wins,
)
from benchmarks.report import Claim, Measure, Plot, Report, Requirement, Sheet
from leastaction.cli.commands import bench

pytest.importorskip("matplotlib")

HEAD = {
    "name": "chains",
    "quick": False,
    "fingerprint": "f",
    "seconds": 1.0,
    "peak_memory_mb": 100.0,
    "compile_seconds": 0.0,
}


def made(values=(1.0, 1.1, 1.2), count=7, error=1e-3, ratio=0.5, verdict="reproduced"):
    return Report(
        "Chains | of links",
        sheets=[Sheet("times", ["robot", "[s]"], [["arm", 0.5], ["leg", math.nan]])],
        requirements=[Requirement("ratio", ratio, 1.0)],
        claims=[Claim("Fig. 1", "it is quick", "so it is", verdict, "" if verdict == "reproduced" else "slow")],
        measures=[
            Measure("step", "time", list(values)),
            Measure("its", "count", [count]),
            Measure("off", "error", [error]),
        ],
        plots=[Plot("growth", "n", "time", {"ours": ([1, 2], [0.1, math.nan])})],
        seeds=[3],
    )


def result(**options):
    return HEAD | {"machine": machine.machine()} | made(**options).data()


@pytest.fixture
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path / "results")
    return tmp_path / "results"


def test_results_are_strict_json_and_come_back(results):
    path = store.write(store.path_of("fan/fig1"), result())
    assert path == results / "fan_fig1.json"
    data = json.loads(path.read_text(), parse_constant=pytest.fail)  # neither NaN nor Infinity
    assert data["machine"]["cores"]
    assert data["machine"]["revision"] == machine.revision()
    assert '"values": [1.0, 1.1, 1.2]' in path.read_text()
    again = Report.of(store.read(path))
    assert again.sheets[0].rows == [["arm", 0.5], ["leg", None]]
    assert again.measures[0].median == 1.1
    assert again.data() == made().data()
    assert again.requirements[0].met


def test_an_interrupted_write_leaves_the_old_result(results, monkeypatch):
    path = store.write(store.path_of("chains"), result())
    before = path.read_text()

    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(store, "text_of", stop)
    with pytest.raises(KeyboardInterrupt):
        store.write(path, result(count=8))
    assert path.read_text() == before
    assert [p.name for p in path.parent.iterdir()] == ["chains.json"]


def test_what_is_there_for_the_same_code_is_not_made_again(results):
    assert not store.is_current("chains", False, "f")
    store.write(store.path_of("chains"), result())
    assert store.is_current("chains", False, "f")
    assert not store.is_current("chains", False, "g")
    assert not store.is_current("chains", True, "f")
    store.path_of("chains").write_text('{"format": 1, "finger')
    assert not store.is_current("chains", False, "f")


def test_the_fingerprint_goes_with_the_code_that_a_benchmark_reaches(tmp_path):
    for folder in ("src", "benchmarks"):
        (tmp_path / folder).mkdir()
    files = {
        "src/package.py": "x = 1",
        "benchmarks/one.py": "from benchmarks import tools",
        "benchmarks/tools.py": "from benchmarks.deep import x",
        "benchmarks/deep.py": "x = 1",
        "benchmarks/other.py": "x = 1",
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    one = tmp_path / "benchmarks/one.py"
    marks = [machine.fingerprint(one, tmp_path)]
    for name in files:
        (tmp_path / name).write_text(files[name] + "\ny = 2")
        marks.append(machine.fingerprint(one, tmp_path))
    assert len(set(marks)) == 5
    assert marks[-1] == marks[-2]  # what it does not import


def test_a_run_goes_on_after_those_that_are_done(results, monkeypatch, capsys):
    """What fails is named and does not stop the others; what is there is not made again."""
    entries = [catalogue.available()[name] for name in ("fan2018/table1", "classical", "step_speed")]
    ran = []

    def run(_, entry, quick):
        ran.append(entry.name)
        if entry.name == "classical":
            return runner.MISSING, ""
        mark = machine.fingerprint(entry.path)
        store.write(store.path_of(entry.name, quick), result() | {"name": entry.name, "fingerprint": mark})
        return 0, ""

    monkeypatch.setattr(runner.Apart, "run", run)
    assert runner.run_all(entries, quick=False, again=False, named=True) == 1
    assert "classical: a peer is missing" in capsys.readouterr().out
    assert runner.run_all(entries, quick=False, again=False, named=True) == 1
    assert ran == [*(e.name for e in plan.ordered(entries)), "classical"]


def test_a_result_that_cannot_be_read_does_not_stop_the_others(results, monkeypatch, capsys):
    entries = [catalogue.available()[name] for name in ("fan2018/table1", "step_speed")]
    ran = []

    def run(_, entry, quick):
        ran.append(entry.name)
        store.path_of(entry.name, quick).parent.mkdir(exist_ok=True)
        store.path_of(entry.name, quick).write_text("{")
        return 0, "what it said\n"

    monkeypatch.setattr(runner.Apart, "run", run)
    assert runner.run_all(entries, quick=True, again=False, named=True, jobs=2) == 1
    told = capsys.readouterr().out
    assert sorted(ran) == ["fan2018/table1", "step_speed"]
    assert told.count("not JSON") == 2
    assert told.count("what it said") == 2


def test_a_process_that_takes_too_long_is_ended():
    """From outside, whatever it does: a limit that the system keeps makes its clock tick in milliseconds."""
    child = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    said, late = watch.ended_late(child, 0.2, every=0.1)
    assert (said, late) == ("", True)
    child = subprocess.Popen([sys.executable, "-c", "print('done')"], stdout=subprocess.PIPE, text=True)
    assert watch.ended_late(child, 60.0) == ("done\n", False)
    assert "too long" in runner.why(runner.LATE)
    assert runner.why(runner.MISSING) == "a peer is missing"


def test_a_benchmark_has_a_fine_clock(monkeypatch):
    """Steps take microseconds; the clock of a benchmark that the runner starts must see them."""
    code = "import time; t = [time.process_time() for _ in range(1000)]; print(sorted(set(t))[1] - min(t))"
    popen = subprocess.Popen
    monkeypatch.setattr(runner.subprocess, "Popen", lambda _, **kw: popen([sys.executable, "-c", code], **kw))
    status, said = runner.Apart(together=True).run(next(iter(catalogue.available().values())), quick=True)
    assert status == 0
    assert float(said) < 1e-4


def test_all_benchmarks_have_a_short_version_and_a_budget():
    """All of them fit into two hours on one core, the short ones into ten minutes on two, imports included."""
    entries = catalogue.available()
    assert [entry.name for entry in entries.values() if not entry.quick] == []
    assert set(plan.BUDGETS) == set(entries)
    corpus = {f"corpus/{table}" for table in ("maximal", "minimal", "gradients", "restart", "endurance")}
    assert {entry.name for entry in entries.values() if entry.long} == {
        "foreign_robots",
        "menagerie",
        "holding",
        *corpus,
    }
    short = sum(budget.quick for budget in plan.BUDGETS.values())
    assert short <= 2 * 10 * 60
    assert sum(plan.budget(entry.name, entry.long) for entry in entries.values()) <= 2 * 60 * 60
    ranked = [entry.name for entry in plan.ordered(list(entries.values()))]
    assert ranked == list(plan.BUDGETS)
    assert plan.budget("no such thing", quick=True) == math.inf


def test_changes_beyond_the_noise():
    old = result()
    assert compare.changes(old, result(values=(1.1, 1.15, 1.3))) == []
    (slower,) = compare.changes(old, result(values=(1.5, 1.6, 1.7)))
    assert slower.worse
    assert slower.before == "1.1 (1 to 1.2)"
    (faster,) = compare.changes(old, result(values=(0.5, 0.5, 0.6)))
    assert not faster.worse
    (count,) = compare.changes(old, result(count=8))
    assert count.worse
    assert compare.changes(old, result(error=1.5e-3)) == []
    assert [c.worse for c in compare.changes(old, result(error=3e-3))] == [True]
    assert [c.what for c in compare.changes(old, result(ratio=1.5))] == ["ratio"]
    assert [c.after for c in compare.changes(old, result(verdict="not reproduced"))] == ["not reproduced"]
    once = result(values=(1.0,))
    assert compare.changes(once, result(values=(1.2,))) == []  # its noise is not known
    assert [c.worse for c in compare.changes(once, result(values=(1.5,)))] == [True]
    elsewhere = result(values=(9.0, 9.0, 9.0))
    elsewhere["machine"] = elsewhere["machine"] | {"processor": "another"}
    assert compare.changes(old, elsewhere) == []


def test_memory_and_times_to_compile_are_compared():
    """The latter where as many kernels were compiled: those in the cache take no time."""
    old = result() | {"compile_seconds": 10.0, "kernels_compiled": 3}
    assert [c.what for c in compare.changes(old, old | {"peak_memory_mb": 130.0})] == ["memory [MB]"]
    assert [c.what for c in compare.changes(old, old | {"compile_seconds": 20.0})] == ["compiling [s]"]
    assert compare.changes(old, old | {"compile_seconds": 20.0, "kernels_compiled": 7}) == []


def test_what_is_not_compared_is_named(results, capsys):
    entries = [catalogue.available()[name] for name in ("fan2018/table1", "fan2018/fig1")]
    old = {entry.name: result() | {"name": entry.name} for entry in entries}
    store.write(
        store.path_of(entries[0].name), old[entries[0].name] | {"measures": old[entries[0].name]["measures"][1:]}
    )
    assert compare.show(Console(width=200), old, entries, quick=False) == 0
    said = capsys.readouterr().out
    assert "fan2018/table1: 1 figures are not in the new result, such as step" in said
    assert "fan2018/fig1: not compared" in said


def test_a_poorer_result_does_not_replace_a_published_one(results, tmp_path, monkeypatch, capsys):
    """A short run, or one without a peer, is published where it is asked for by name."""
    monkeypatch.setattr(render, "PAGES", tmp_path)
    monkeypatch.setattr(render, "texts", lambda _: {})
    monkeypatch.setattr(render, "published", dict)
    entry = catalogue.available()["fan2018/table1"]
    full, short = (result() | {"name": entry.name, "quick": quick} for quick in (False, True))
    alone = full | {"missing": ["Drake"]}
    target = tmp_path / "data" / "fan2018_table1.json"
    store.write(store.path_of(entry.name), full)
    render.publish([])
    for poor, quick, said in ((alone, False, "without Drake"), (short, True, "a short run")):
        store.path_of(entry.name).unlink()
        store.write(store.path_of(entry.name, quick), poor)
        render.publish([])
        assert said in capsys.readouterr().out
        assert store.read(target)["missing"] == []
        assert not store.read(target)["quick"]
    render.publish([entry])
    assert store.read(target)["quick"]


def test_every_figure_of_the_papers_has_a_benchmark():
    """The table of figures names benchmarks that exist, and each paper's benchmarks are in it."""
    named = {name for figures in coverage.FIGURES.values() for name in figures.values()}
    entries = catalogue.available()
    assert named == {name for name, entry in entries.items() if entry.folder in coverage.FIGURES}
    places = [list(entries).index(f"bruedigam2023/fig{k}") for k in (7, 8, 9, 11, 12, 13, 14)]
    assert places == sorted(places)
    assert coverage.slug("Fig. 5: open and closed chains") == "fig-5-open-and-closed-chains"


def test_comparisons_of_files_and_folders(results, capsys):
    entry = catalogue.available()["fan2018/table1"]
    path = store.write(store.path_of(entry.name), result(count=9) | {"name": entry.name})
    old = compare.collect(store.write(path.with_name("old.json"), result() | {"name": entry.name}))
    assert compare.show(Console(), old, [entry], quick=False) == 1
    assert "worse" in capsys.readouterr().out
    assert compare.show(Console(), compare.collect(path), [entry], quick=False) == 0
    with pytest.raises(ValueError, match="no results"):
        compare.collect(results.parent)
    path.write_text("[]")
    with pytest.raises(ValueError, match="not the result of a benchmark"):
        compare.collect(path)


def test_verdicts():
    assert [report.verdict(*x) for x in ((True,), (True, True), (False, True))] == [
        "reproduced",
        "better",
        "not reproduced",
    ]
    with pytest.raises(ValueError, match="nothing says why"):
        Claim("Fig. 1", "", "", report.NOT_REPRODUCED)


def test_names_of_benchmarks_and_folders():
    entries = catalogue.available()
    assert {e.folder for e in entries.values()} >= {"", "fan2018"}
    assert next(iter(catalogue.chosen(["fan2018/fig1.py", "fan2018"], entries))).name == "fan2018/fig1"
    assert len(catalogue.chosen([], entries)) == len(entries)
    with pytest.raises(KeyError, match="fan2019"):
        catalogue.chosen(["fan2019"], entries)


def test_pages_are_what_the_published_results_say():
    """`python -m benchmarks --publish` was run after the last change of results; pictures are there."""
    for path, text in render.texts(render.published()).items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run python -m benchmarks --publish"
        for file in re.findall(r"\]\(((?:benchmarks/)?(?:images|data)/[^)]+)\)", text):
            assert (path.parent / file).is_file()


def test_a_page_cannot_be_broken_by_what_a_report_says():
    (page,) = (text for name, text in render.pages({"chains": result()}).items() if name == "studies.md")
    assert "| Fig. 1 | it is quick | so it is | **reproduced** |" in page
    assert "| leg | – |" in page
    assert report.cell("a | <b>\nc") == "a \\| &lt;b> c"


def test_wins_and_losses():
    """Families of methods beside engines, at each accuracy; the page counts them."""
    from benchmarks.races.course import Course

    races = Course(
        None, dict.fromkeys(("Own(2)", "Own(4)", "MuJoCo RK4", "MuJoCo Euler", "Drake RK3")), {"Own(2)", "Own(4)"}
    )
    fine = [(2.0, 1e-4), (4.0, 1e-7)]
    races._tables(
        "arm", {"Own(2)": [(1.0, 1e-3)], "Own(4)": fine, "MuJoCo RK4": [(0.5, 1e-5)], "MuJoCo Euler": [(0.1, 0.1)]}
    )
    assert [row[2:] for row in races.leads.rows] == [
        ["Own", 2.0, "not run"],
        ["Own", 4.0, "not run"],
        ["Own", "alone", "not run"],
    ]
    text = wins.page({"races/x": HEAD | {"machine": {}} | races.report("Race", "", [0]).data()})
    assert "- **MuJoCo**, of 3: slower in 2 (2 to 4 times), alone in 1" in text
    assert "| Race | arm | 0.01 m · 0.0001 m · 1e-06 m | 2 · 4 · **alone** | – · – · – |" in text
    assert "| `Own` | 1 of 3 | – |" in text
    assert "- **MuJoCo** leads in 2 of 3: Race, arm (0.01 m: 2 times, 0.0001 m: 4 times)." in text
    assert wins.summary([0.25, 0.5, 2.0, "peer alone", "neither"]) == (
        "of 5: faster in 2 (0.25 to 0.5 of its time), slower in 1 (2 times), only the peer in 1, neither in 1"
    )


def test_the_page_of_opponents_says_where_we_lose():
    """Of each engine the method that does best, each by the scene in which it does worst; failures are infinite."""
    scenes = [
        Sheet(
            "a", ["engine", "depth", "µs"], [["Maximal", -1e-6, 9.0], ["Minimal", 1e-3, 5.0], ["MuJoCo RK4", 2.0, 1.0]]
        ),
        Sheet("b", ["scene", "engine", "depth"], [["x", "Minimal", 1e-9], ["x", "MuJoCo RK4", "bodies fly off"]]),
    ]
    deep, slow = opponents.largest(scenes, "depth"), opponents.largest(scenes[:1], "µs")
    assert deep == {"Maximal": 1e-6, "Minimal": 1e-3, "MuJoCo RK4": math.inf}
    assert opponents.beside("depth", deep)[:4] == ["depth", "1e-06 (Maximal)", "–", "not run"]
    assert opponents.beside("depth", deep)[-1] == "alone"
    assert opponents.beside("µs", slow)[-1] == "**behind** MuJoCo (5 times)"


def test_published_results_are_of_benchmarks_that_exist():
    names = {store.read(path)["name"] for path in (render.PAGES / "data").glob("*.json")}
    assert names <= set(catalogue.available())


def test_the_command_says_where_benchmarks_are_missing(tmp_path, monkeypatch, capsys):
    from typer.testing import CliRunner

    from leastaction.cli import app

    monkeypatch.setattr(bench, "checkout", lambda: None)
    found = CliRunner().invoke(app, ["bench", "step_speed"])
    assert found.exit_code == 1
    assert "not part of the installed package" in found.output


def test_the_command_hands_on_what_was_asked(tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from leastaction.cli import app

    asked = []

    def run(command, **_):
        asked.append(command)
        return type("Done", (), {"returncode": 1})

    monkeypatch.setattr(bench.subprocess, "run", run)
    (tmp_path / "old.json").write_text("{}")
    told = ["bench", "step_speed", "--quick", "--compare", str(tmp_path / "old.json")]
    assert CliRunner().invoke(app, told).exit_code == 1
    old = str((tmp_path / "old.json").resolve())
    assert asked[0][1:] == ["-m", "benchmarks", "step_speed", "--quick", "--compare", old]
    assert asked[0][0] == sys.executable
    assert CliRunner().invoke(app, ["bench", "--compare", str(tmp_path / "none.json")]).exit_code == 1
    assert len(asked) == 1


def test_plain_numbers():
    assert report.plain({"a": np.float64(1.5), "b": (np.int64(2), math.inf), "c": np.array([math.nan])}) == {
        "a": 1.5,
        "b": [2, "inf"],
        "c": [None],
    }
    assert math.isnan(report.number(None))
    assert report.number("inf") == math.inf


def test_operations_of_the_equations_and_their_linearization():
    """Counted in the code itself: linear in n, and no more than they were; with derivatives O(n²)."""
    from benchmarks.counting import counted

    found = counted("benchmarks.villanueva2025.counted", 1, 2, 4, 8)
    equations, linearized = (
        {n: sum(x[what][:2]) for n, x in found.items()} for what in ("equations", "with linearization")
    )
    assert equations["8"] - equations["4"] == 2 * (equations["4"] - equations["2"])
    for counts, most in ((equations, (398, 807, 1625, 3261)), (linearized, (1278, 2769, 6327, 15747))):
        assert all(0 < counts[n] <= bound for n, bound in zip("1248", most, strict=True)), counts


def test_newton_iterations_of_the_first_step():
    """Brüdigam 2020, Fig. 4 d: three updates, the last of them at round-off by quadratic convergence."""
    from benchmarks.bruedigam2020.fig4 import convergence

    for links in (1, 10):
        sizes = convergence(links)
        assert len(sizes) <= 3
        assert sizes[-1] < 1e-3 * sizes[-2] < 1e-6 * sizes[0]


def test_a_clock_that_moves_in_jumps(monkeypatch):
    ticks = iter(range(100))
    monkeypatch.setattr("benchmarks.timing.time.process_time", lambda: 0.01 * (next(ticks) // 7))
    assert timing.cpu_seconds(lambda: None) == pytest.approx(0.01 / 4)


def test_figures_of_files_tell_their_code_and_are_made_again_where_asked(results, monkeypatch):
    monkeypatch.setattr(foreign_robots, "fingerprint", lambda path: "old")
    kept = foreign_robots.Kept(quick=False)
    for name in ("erd/arm.urdf", "gym/ant.xml"):
        kept.add(name, {"why": "takes too long", "said": ["a warning"]})
    assert foreign_robots.Kept(quick=False).files == kept.files
    assert foreign_robots.row_of(kept.files["gym/ant.xml"])[-1] == machine.revision()
    monkeypatch.setattr(foreign_robots, "fingerprint", lambda path: "new")
    assert foreign_robots.Kept(quick=False).files == {}
    monkeypatch.setenv("FOREIGN_AGAIN", "arm,leg")
    assert list(foreign_robots.Kept(quick=False).files) == ["gym/ant.xml"]
