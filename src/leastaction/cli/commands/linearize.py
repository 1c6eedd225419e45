"""`leastaction linearize`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from leastaction.cli._app import verb
from leastaction.cli._model import Floating, ModelArgument, Parameters, Positions, Velocities, find_model
from leastaction.cli._show import AsJson, compiling, console, print_json
from leastaction.cli.commands.simulate import IntegratorName, Options, Order, Step, make_integrator

LARGEST = 8
"""Matrices up to this size are printed whole."""

NOTHING = 1e-9
"""Eigenvalues below this, and exponents, are zero up to round-off: double ones are known to its square root only."""


@verb(
    "linearize acrobot --q 0,0",
    "linearize double_pendulum --integrator galerkin --order 4 --dt 0.01 --save ab.npz",
    "linearize cart_pole --json",
)
def linearize(
    model: ModelArgument,
    integrator: IntegratorName = "galerkin",
    order: Order = None,
    options: Options = None,
    dt: Step = 0.01,
    q: Positions = None,
    v: Velocities = None,
    parameters: Parameters = None,
    floating: Floating = False,
    save: Annotated[Path | None, typer.Option(help="Write A, B, q, p and dt to this .npz file.")] = None,
    as_json: AsJson = False,
) -> None:
    """Linearize one step, and show its eigenvalues.

    (dq', dp') = A (dq, dp) + B du. For a robot without forces A is symplectic to round-off with the
    variational integrators.
    """
    import numpy as np

    import leastaction as la
    from leastaction._files._output import check_output, writing
    from leastaction.dynamics.legendre import momentum_of_velocity
    from leastaction.integration.registry import title

    start = find_model(model, parameters, floating, q, v)
    robot = start.robot
    method = make_integrator(integrator, order, options)
    if save is not None:
        check_output(save, (".npz",))
    with compiling():
        p = momentum_of_velocity(robot, np.array([start.q]), np.array([start.v]))[0]
        A, B = la.linearize(robot, method, start.q, p, dt=dt)
    eigenvalues = np.linalg.eigvals(A)
    eigenvalues = eigenvalues[np.argsort(-np.abs(eigenvalues), kind="stable")]
    n = robot.nv
    J = np.block([[np.zeros((n, n)), np.eye(n)], [-np.eye(n), np.zeros((n, n))]])
    # With loops A is symplectic only on the motions that they leave.
    defect = float(np.abs(A.T @ J @ A - J).max()) if robot.is_tree else None
    if save is not None:
        with writing(save) as part, part.open("wb") as file:
            np.savez(file, A=A, B=B, q=np.array(start.q), p=p, dt=dt)
    if as_json:
        pairs = [[float(x.real), float(x.imag)] for x in eigenvalues]
        print_json({"A": A, "B": B, "q": start.q, "p": p, "dt": dt, "eigenvalues": pairs, "symplectic_defect": defect})
        return
    screen = console()
    screen.print(f"{robot.name}: one step of {dt:g} s with {title(method)}")
    if len(A) <= LARGEST:
        names = [*(f"q {name}" for name in robot.velocity_names), *(f"p {name}" for name in robot.velocity_names)]
        controls = [actuator.name for actuator in robot.actuators] or list(robot.velocity_names)
        screen.print(_matrix("A", A, names, names))
        screen.print(_matrix("B", B, names, [f"u {name}" for name in controls]))
    else:
        screen.print(f"A {A.shape[0]} × {A.shape[1]}, B {B.shape[0]} × {B.shape[1]}: --save or --json for the numbers")
    screen.print("largest eigenvalues of A, their size, and how fast they grow [1/s]:")
    alive = eigenvalues[np.abs(eigenvalues) > NOTHING]
    for x in alive[:LARGEST]:
        rate = np.log(abs(x)) / dt
        screen.print(
            f"  {x.real:+.8f} {x.imag:+.8f}i   {abs(x):.8f}   {rate if abs(rate * dt) > NOTHING else 0.0:+.4g}"
        )
    if len(alive) < len(A):
        screen.print(f"{len(A) - len(alive)} eigenvalues are zero: motions that open loops, which a step does not keep")
    if defect is not None:
        screen.print(f"A is symplectic to {defect:.1e}, the largest entry of AᵀJA − J")
    if save is not None:
        screen.print(f"wrote {save}", soft_wrap=True)


def _matrix(title: str, values: Any, rows: list[str], columns: list[str]) -> Any:
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, title_justify="left")
    table.add_column("")
    for name in columns:
        table.add_column(Text(name), justify="right")
    round_off = 1e-14 * abs(values).max(initial=1.0)
    for name, row in zip(rows, values, strict=True):
        table.add_row(Text(name), *(f"{x:.5g}" if abs(x) > round_off else "0" for x in row))
    return table
