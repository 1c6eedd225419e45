"""`leastaction optimize`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from leastaction.cli._app import fail, verb
from leastaction.cli._show import AsJson, compiling, console, print_json
from leastaction.cli.commands.simulate import complete_integrator


@verb(
    "optimize",
    "optimize cart_pole --plot swing_up.png",
    "optimize acrobot --steps 80 --log --save acrobot.npz",
    "optimize double_pendulum --integrator galerkin:4 --steps 30",
    "optimize nao --hessian gauss-newton --view",
    "optimize problem.toml --save swing_up.npz",
)
def optimize(
    name: Annotated[
        str | None,
        typer.Argument(help="Of the problem, or a .toml file that describes it; without one all are listed."),
    ] = None,
    steps: Annotated[int | None, typer.Option(help="Number of time steps.")] = None,
    integrator: Annotated[
        str | None,
        typer.Option(
            "--integrator",
            "-i",
            help="Whose equations are the dynamics: midpoint, galerkin:4, hermite-simpson, ...; default midpoint.",
            autocompletion=complete_integrator,
        ),
    ] = None,
    solver: Annotated[str, typer.Option(help="ipopt, or horizon: the package's own.")] = "ipopt",
    hessian: Annotated[str, typer.Option(help="exact, differences, gauss-newton, quasi-newton or l-bfgs.")] = "exact",
    tolerance: Annotated[float, typer.Option(help="Of the solver.")] = 1e-8,
    max_iterations: Annotated[int, typer.Option(help="At most so many.")] = 500,
    time_limit: Annotated[float | None, typer.Option(help="[s].")] = None,
    log: Annotated[bool, typer.Option("--log", help="A line for each iteration, on stderr.")] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the motion into this file (.png, .pdf, .svg).")] = None,
    save: Annotated[Path | None, typer.Option(help="Write the solution to this .npz file.")] = None,
    view: Annotated[bool, typer.Option("--view", help="Show the motion in the browser.")] = False,
    as_json: AsJson = False,
) -> None:
    """Solve a problem of trajectory optimisation.

    The dynamics are the discrete Euler-Lagrange equations of the integrator. Exit code 1 means that no solution was
    found, and why; Ctrl-C gives the best motion so far.
    """
    from leastaction import optimize as package
    from leastaction._files._output import check_output
    from leastaction.integration import registry

    if name is None:
        _list(as_json)
        return
    if save is not None:
        check_output(save, (".npz",))
    if plot is not None:
        check_output(plot, (".png", ".pdf", ".svg"))
    options: dict[str, Any] = {} if steps is None else {"steps": steps}
    if integrator is not None:
        options["integrator"] = registry.parse(integrator)
    read = package.read_problem if name.endswith(".toml") else package.examples.get
    problem = read(name, **options)
    with compiling():
        solution = problem.solve(
            solver=solver,
            hessian=hessian,
            tolerance=tolerance,
            max_iterations=max_iterations,
            time_limit=time_limit,
            log=_line if log else False,
        )
    if save is not None:
        solution.save(save)
    if plot is not None:
        solution.plot().savefig(plot, dpi=150)
    if as_json:
        print_json(_figures(name, solution))
    else:
        console().print(str(solution), soft_wrap=True)
        console().print(f"duration {solution.duration:.4g} s, {len(solution.u)} steps")
        for file in filter(None, (save, plot)):
            console().print(f"wrote {file}", soft_wrap=True)
    if view:
        import leastaction as la

        la.view(solution.trajectory)
    if not solution.success:
        fail(solution.reason)


def _line(iteration: Any) -> None:
    text = f"{iteration.number:5d}  cost {iteration.cost:14.6e}  violation {iteration.violation:9.2e}"
    typer.echo(text, err=True)


def _figures(name: str, solution: Any) -> dict[str, Any]:
    return {
        "problem": name,
        "success": solution.success,
        "reason": solution.reason,
        "cost": solution.cost,
        "violation": solution.violation,
        "duration": solution.duration,
        "steps": len(solution.u),
        "iterations": len(solution.iterations) - 1,
        "seconds": solution.seconds,
    }


def _list(as_json: bool) -> None:
    from leastaction import optimize as package

    found = package.examples.catalogue()
    if as_json:
        print_json([{"name": example.name, "text": example.text} for example in found])
        return
    from rich.table import Table
    from rich.text import Text

    table = Table("name", "what it is")
    for example in found:
        table.add_row(example.name, Text(example.text))
    console().print(table)
