"""`leastaction robots`."""

from leastaction.cli._app import verb
from leastaction.cli._show import AsJson, console, print_json


@verb("robots", "robots --json")
def robots(as_json: AsJson = False) -> None:
    """List the robots that come with the package."""
    from leastaction.robots import catalogue

    entries = catalogue()
    if as_json:
        print_json([{field: getattr(e, field) for field in ("name", "dof", "mass", "origin")} for e in entries])
        return

    from rich.table import Table

    table = Table("robot")
    table.add_column("degrees of freedom", justify="right")
    table.add_column("mass [kg]", justify="right")
    table.add_column("origin")
    for entry in entries:
        table.add_row(entry.name, str(entry.dof), f"{entry.mass:.4g}", entry.origin)
    console().print(table)
