"""`leastaction version`."""

import typer

from leastaction.cli._app import verb


@verb("version")
def version() -> None:
    """Print the versions that results depend on."""
    import platform
    from importlib.metadata import version as installed

    for package in ("leastaction", "numpy", "scipy", "numba"):
        typer.echo(f"{package} {installed(package)}")
    typer.echo(f"python {platform.python_version()}")
