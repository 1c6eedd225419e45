"""The command line `leastaction`: one file per verb.

Each verb imports what it needs itself, so that `leastaction --help` answers at once. Exit codes: 0 all went well,
1 refused or failed (one line on stderr says why), 2 the command itself was mistyped, 130 stopped by the keyboard.
"""

# Importing a verb adds it; this is the order in which `--help` lists them.
from leastaction.cli._app import app
from leastaction.cli.commands import (
    bench,
    compare,
    demo,
    doctor,
    export,
    inspect,
    integrators,
    linearize,
    optimize,
    robots,
    simulate,
    version,
    view,
    warmup,
)

__all__ = [
    "app",
    "bench",
    "compare",
    "demo",
    "doctor",
    "export",
    "inspect",
    "integrators",
    "linearize",
    "optimize",
    "robots",
    "simulate",
    "version",
    "view",
    "warmup",
]
