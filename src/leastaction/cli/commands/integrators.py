"""`leastaction integrators`."""

from leastaction.cli._app import verb
from leastaction.cli._show import AsJson, console, print_json


@verb("integrators", "integrators --json")
def integrators(as_json: AsJson = False) -> None:
    """List the integrators with their options.

    `simulate` takes them as --integrator NAME with --option NAME=VALUE, `compare` as NAME:ORDER or NAME:OPTION=VALUE.
    """
    from leastaction.integration import registry

    rows = []
    for name in sorted(registry.names()):
        cls = registry.find(name)
        # Those that take objects of Python, such as forces, cannot be typed.
        options = {key: value for key, value in registry.options(cls).items() if value != ()}
        rows.append({"name": name, "options": options, "about": (cls.__doc__ or "").splitlines()[0]})
    if as_json:
        print_json(rows)
        return

    from rich.table import Table

    table = Table("integrator", "options and defaults", "about", show_lines=True)
    for row in rows:
        table.add_row(row["name"], "\n".join(f"{k}={v}" for k, v in row["options"].items()), row["about"])
    console().print(table)
