"""`python -m benchmarks [names]`: runs benchmarks, prints tables, writes benchmarks/results/<name>.json."""

import argparse
import ast
import importlib
import sys
from inspect import signature
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import benchmarks


def available() -> dict[str, str]:
    """What benchmarks are about, by name: the modules of this package that have a function `run`.

    They are read, not imported: peers that are missing stop those alone that need them.
    """
    found = {}
    for path in sorted(Path(benchmarks.__path__[0]).glob("*.py")):
        tree = ast.parse(path.read_text())
        if any(isinstance(part, ast.FunctionDef) and part.name == "run" for part in tree.body):
            found[path.stem] = (ast.get_docstring(tree) or "").partition("\n")[0]
    return found


def main() -> int:
    modules = available()
    listing = "\n".join(f"  {name:12} {what}" for name, what in modules.items())
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description=f"Benchmarks:\n{listing}",
        epilog="Exit status 1 means that a required figure was not met.",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true", help="shorter runs, of benchmarks that know such")
    parser.add_argument("names", nargs="*", choices=[[], *modules], metavar="name", help="default: all of them")
    console, met = Console(), True
    columns = TextColumn("{task.description:36}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    arguments = parser.parse_args()
    for name in arguments.names or modules:
        try:
            module = importlib.import_module(f"benchmarks.{name}")
        except ModuleNotFoundError as missing:
            console.print(f"{name}: not run, for {missing.name} is not installed", style="red")
            met = False
            continue
        short = {"quick": True} if arguments.quick and "quick" in signature(module.run).parameters else {}
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            report = module.run(Steps(bar, name), **short)
        report.show(console)
        console.print(f"written to {report.save(name)}\n", highlight=False)
        met = met and all(r.met for r in report.requirements)
    return 0 if met else 1


class Steps:
    """The progress bar of one benchmark."""

    def __init__(self, bar: Progress, name: str) -> None:
        self.bar, self.name = bar, name
        self.task = bar.add_task(name, total=None)

    def total(self, count: int) -> None:
        """How many steps there will be."""
        self.bar.update(self.task, total=count)

    def next(self, what: str) -> None:
        """What comes next."""
        self.bar.update(self.task, description=f"{self.name}: {what}")

    def done(self) -> None:
        """One more step is done."""
        self.bar.advance(self.task)


if __name__ == "__main__":
    sys.exit(main())
