"""`leastaction version`."""

import typer

from leastaction.cli._app import verb


@verb("version")
def version() -> None:
    """Print the versions that results depend on."""
    import platform

    from leastaction.cli._about import installed, own_version

    typer.echo(f"leastaction {own_version()}")
    for package in ("numpy", "scipy", "numba"):
        typer.echo(f"{package} {installed(package)}")
    typer.echo(f"python {platform.python_version()}")
