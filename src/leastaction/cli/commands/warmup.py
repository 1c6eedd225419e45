"""`leastaction warmup`."""

import typer

from leastaction.cli._app import verb


@verb("warmup")
def warmup() -> None:
    """Compile every kernel now, so that first calls are fast."""
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
    typer.echo(f"Kernels are kept in {cache_directory()}")
