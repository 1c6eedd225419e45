"""`leastaction doctor`."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from leastaction.cli._about import extras, installed, own_version
from leastaction.cli._app import verb
from leastaction.cli._show import AsJson, compiling, console, print_json, stopwatch


@verb("doctor", "doctor --json", "doctor --no-self-test")
def doctor(
    self_test: Annotated[bool, typer.Option(help="Check a few conservation laws by short runs.")] = True,
    as_json: AsJson = False,
) -> None:
    """Check the installation, and a few conservation laws.

    Prints versions, extras that are missing with the command that installs them, GPU and kernel cache. Exits
    with 1 if a law is broken.
    """
    report: dict[str, Any] = {"versions": _versions(), "extras": _extras(), "gpu": _gpu(), "cache": _cache()}
    if self_test:
        report["laws"] = _laws()
    if as_json:
        print_json(report)
    else:
        _show(report)
    if not all(law["kept"] for law in report.get("laws", ())):
        raise typer.Exit(1)


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version(), "system": f"{platform.system()} {platform.machine()}"}
    found |= {"processors": str(os.cpu_count()), "leastaction": own_version()}
    for package in ("numpy", "scipy", "numba", "llvmlite", "rich", "typer"):
        found[package] = installed(package) or "not installed"
    return found


def _extras() -> list[dict[str, Any]]:
    """Each extra with the versions of its packages, and the command that installs what is missing."""
    rows = []
    for extra, names in extras().items():
        packages = {name: installed(name) for name in names}
        rows.append({"extra": extra, "present": all(packages.values()), "packages": packages})
        if not rows[-1]["present"]:
            rows[-1]["install"] = f'pip install "leastaction[{extra}]"'
    return rows


def _gpu() -> dict[str, Any]:
    """What CUDA kernels would run on."""
    if find_spec("numba_cuda") is None and find_spec("numba.cuda") is None:
        return {"present": False, "about": "Numba's CUDA target is not installed"}
    try:
        from numba import cuda

        if not cuda.is_available():
            return {"present": False, "about": "no CUDA device found"}
        device = cuda.get_current_device()
        name = device.name.decode() if isinstance(device.name, bytes) else str(device.name)
        return {"present": True, "about": f"{name}, compute capability {device.compute_capability}"}
    except Exception as error:  # a broken driver must not keep the rest of the report from being shown
        return {"present": False, "about": f"CUDA does not answer: {' '.join(str(error).split())}"}


def _cache() -> dict[str, Any]:
    from leastaction._jit import cache_directory
    from leastaction._jit.folders import functions_directory, stock_directory
    from leastaction._jit.hooks import why_stock
    from leastaction._jit.prebuilt import FOLDER, prebuilt_target

    root = cache_directory()
    files = [*root.rglob("*.nbc"), *functions_directory().glob("*.part"), *stock_directory().rglob("*.nbc")]
    nearest = next(folder for folder in (root, *root.parents) if folder.exists())
    return {
        "folder": str(root),
        "kernels": sum(path.suffix == ".nbc" for path in files),
        "megabytes": sum(path.stat().st_size for path in files) / 1e6,
        "writable": os.access(nearest, os.W_OK),
        "shipped": 0 if prebuilt_target() is None else len(list(FOLDER.glob("*.nbc"))),
        "stock": why_stock(),
    }


def _laws() -> list[dict[str, Any]]:
    """Short runs that must keep something, with how well they did."""
    laws: list[tuple[str, Callable[[], float], float]] = [
        ("energy of a double pendulum stays bounded over 60 s, relative", _energy, 1e-2),
        ("momentum of a free body in free fall is kept over 10 s, relative", _momentum, 1e-10),
        ("a step forth and a step back meet the start", _reversal, 1e-9),
    ]
    rows = []
    with compiling() as clock:
        for what, measure, bound in laws:
            before = clock.compiling
            with stopwatch() as spent:
                value = measure()
            seconds = spent[0] - clock.compiling + before
            rows.append({"law": what, "value": value, "bound": bound, "kept": value <= bound, "seconds": seconds})
    return rows


def _energy() -> float:
    """Change of the mean energy from the first to the last tenth, relative to how deep the pendulum falls."""
    import leastaction as la

    robot = la.robots.double_pendulum()
    run = la.simulate(robot, la.robots.home(robot), dt=0.01, duration=60.0, progress=False)
    tenth = len(run) // 10
    drift = run.energy[-tenth:].mean() - run.energy[:tenth].mean()
    return float(abs(drift) / (run.potential_energy.max() - run.potential_energy.min()))


def _momentum() -> float:
    import numpy as np

    import leastaction as la
    from leastaction.cli._laws import momentum_drift

    robot = la.robots.free_body()
    run = la.simulate(robot, v=np.arange(1.0, 7.0), dt=0.01, duration=10.0, progress=False)
    return float(momentum_drift(run) or 0.0) / float(np.abs(run.momentum[0]).max())


def _reversal() -> float:
    """Variational integrators are symmetric: reverse the momentum, and the run goes back."""
    import numpy as np

    import leastaction as la

    robot = la.robots.double_pendulum()
    there = la.simulate(robot, q=la.robots.home(robot), dt=0.01, steps=100, progress=False)
    back = la.simulate(robot, q=there.q[-1], p=-there.p[-1], dt=0.01, steps=100, progress=False)
    return float(np.abs(back.q[-1] - there.q[0]).max())


def _show(report: dict[str, Any]) -> None:
    from rich.table import Table
    from rich.text import Text

    screen = console()
    facts = Table.grid(padding=(0, 2))
    for name, value in report["versions"].items():
        facts.add_row(name, value)
    gpu, cache = report["gpu"], report["cache"]
    facts.add_row("GPU", gpu["about"])
    state = f"{cache['kernels']} kernels, {cache['megabytes']:.1f} MB"
    state += "" if cache["writable"] else ", NOT writable: set LEASTACTION_CACHE_DIR"
    state += f", and {cache['shipped']} of the wheel" if cache["shipped"] else ""
    facts.add_row("kernel cache", f"{cache['folder']} ({state})")
    if cache["stock"]:
        facts.add_row("compilation", f"stock Numba, which takes three to six times as long: {cache['stock']}")
    screen.print(facts)
    table = Table("extra", "state", "packages", title="Optional parts", title_justify="left")
    for row in report["extras"]:
        packages = ", ".join(f"{name} {found or 'missing'}" for name, found in row["packages"].items())
        mark = Text("ready", "green") if row["present"] else Text(row["install"], "yellow")
        table.add_row(row["extra"], mark, packages)
    screen.print(table)
    if "laws" in report:
        laws = Table("law", title="Self-test", title_justify="left")
        for heading in ("measured", "allowed", "time [s]"):
            laws.add_column(Text(heading), justify="right")
        laws.add_column("result")
        for law in report["laws"]:
            mark = Text("kept", "green") if law["kept"] else Text("BROKEN", "red")
            laws.add_row(law["law"], f"{law['value']:.1e}", f"{law['bound']:.0e}", f"{law['seconds']:.2f}", mark)
        screen.print(laws)
