"""The application that verbs add themselves to, and how their errors look."""

from __future__ import annotations

import inspect
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Annotated, Any, NoReturn

import typer

from leastaction.errors import LeastActionError

app = typer.Typer(
    epilog="First steps: leastaction robots; leastaction simulate double_pendulum; leastaction compare double_pendulum",
    no_args_is_help=True,
    pretty_exceptions_show_locals=False,
    rich_markup_mode=None,  # [kg] is a unit, not markup
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from leastaction.cli._about import own_version

        typer.echo(f"leastaction {own_version()}")
        raise typer.Exit


@app.callback()
def leastaction(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Simulate, differentiate and optimise robots by the principle of least action.

    MODEL is the name of a robot that comes with the package (`leastaction robots` lists them), or the path of a URDF or
    MJCF file. All units are SI: metres, seconds, kilograms, radians.
    """


def verb(*examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Add a function to the application as a command, with examples at the end of its help."""

    def add(function: Callable[..., None]) -> Callable[..., None]:
        @wraps(function)
        def run(*args: Any, **kwargs: Any) -> None:
            with plain_errors():
                function(*args, **kwargs)

        lines = [f"  leastaction {example}" for example in examples]
        # \b keeps the lines as they are.
        run.__doc__ = f"{inspect.cleandoc(function.__doc__ or '')}\n\n\b\nExamples:\n" + "\n".join(lines)
        app.command()(run)
        return run

    return add


def fail(message: str, code: int = 1) -> NoReturn:
    """One line on stderr, and out."""
    typer.echo(f"leastaction: {' '.join(message.split())}", err=True)
    raise typer.Exit(code)


@contextmanager
def plain_errors() -> Iterator[None]:
    """Refusals, failures and warnings as one line each, without a traceback; a bug still shows its own."""
    with warnings.catch_warnings():
        warnings.showwarning = _warn
        try:
            yield
        except LeastActionError as error:
            # What is an argument in Python is an option here.
            fail(re.sub(r"pass project=True.*", "--project mends it", str(error)))
        except BrokenPipeError:  # the reader of a pipe has seen enough; keep Python from flushing into it at exit
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            raise typer.Exit(1) from None
        except OSError as error:
            fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
        except KeyboardInterrupt:
            fail("stopped", 130)
        except MemoryError:
            fail("not enough memory; take fewer steps")


def _warn(message: Warning | str, *_: Any, **__: Any) -> None:
    typer.echo(f"leastaction: warning: {' '.join(str(message).split())}", err=True)
