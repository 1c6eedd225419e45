"""`python -m benchmarks [names]`: runs benchmarks, prints tables, writes benchmarks/results/<name>.json."""

import argparse
import importlib
import pkgutil
import sys
from inspect import signature

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

import benchmarks


def available() -> dict:
    """Benchmarks by name: the modules of this package that have a function `run`."""
    names = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name != "__main__"]
    modules = {name: importlib.import_module(f"benchmarks.{name}") for name in names}
    return {name: module for name, module in modules.items() if hasattr(module, "run")}


def main() -> int:
    modules = available()
    listing = "\n".join(f"  {name:12} {module.__doc__.splitlines()[0]}" for name, module in modules.items())
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
        short = {"quick": True} if arguments.quick and "quick" in signature(modules[name].run).parameters else {}
        with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
            report = modules[name].run(Steps(bar, name), **short)
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
