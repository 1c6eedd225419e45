"""The command line: `leastaction warmup`, `leastaction robots`, `leastaction version`."""

# Each command imports what it needs itself, so that `leastaction --help` answers at once.

from typing import Annotated

import typer

__all__ = ["app"]

app = typer.Typer(
    help="Simulate, differentiate and optimise robots by the principle of least action.",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
)


@app.command()
def warmup() -> None:
    """Compile every kernel now and keep the result on disk, so that later first calls start fast."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = TextColumn("{task.description:32}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns) as bar:
        task = bar.add_task("Loading", total=None)
        from leastaction._jit import cache_directory
        from leastaction._warmup import warmup as compile_kernels

        def show(part: str, done: int, parts: int) -> None:
            description = f"Compiling {part}" if done < parts else "Done"
            bar.update(task, description=description, completed=done, total=parts)

        compile_kernels(show)
    typer.echo(f"Kernels are kept in {cache_directory().parent}")


@app.command()
def robots(
    as_json: Annotated[bool, typer.Option("--json", help="Print a JSON list instead of a table.")] = False,
) -> None:
    """List the robots that come with the package."""
    from leastaction.robots import catalogue

    entries = catalogue()
    if as_json:
        import json

        fields = ("name", "dof", "mass", "origin")
        rows = [{field: getattr(entry, field) for field in fields} for entry in entries]
        typer.echo(json.dumps(rows, indent=2, ensure_ascii=False))
        return

    from rich.console import Console
    from rich.table import Table

    table = Table("robot")
    table.add_column("degrees of freedom", justify="right")
    table.add_column("mass [kg]", justify="right")
    table.add_column("origin")
    for entry in entries:
        table.add_row(entry.name, str(entry.dof), f"{entry.mass:.4g}", entry.origin)
    Console(markup=False).print(table)  # [kg] is a unit, not markup


@app.command()
def version() -> None:
    """Print the versions of the package and of what its numbers depend on."""
    import platform
    from importlib.metadata import version as installed

    for package in ("leastaction", "numpy", "scipy", "numba"):
        typer.echo(f"{package} {installed(package)}")
    typer.echo(f"python {platform.python_version()}")
