"""Tests the package with the oldest and the newest Numba that pyproject.toml allows, each in an environment of its own.

    python tools/test_numba.py [--quick] [--only RELEASE ...] [--cuda]

With stock Numba, and where `leastaction._jit.hooks.TESTED` names the release with the hooks (the oldest of those is
tested, too): import, a run with each integrator, gradients, contact, a search, and with ``--cuda`` PTX of a kernel
(numba-cuda takes some GB). All must come out the same. Environments and kernels are kept under build/test-numba;
``--quick`` leaves out what compiles longest, ``--only`` takes other releases. Ends with 1 if anything fails.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "test-numba"

CASES = {
    "SemiImplicitEuler": "run(pendulum, la.SemiImplicitEuler())",
    "RungeKutta": "run(pendulum, la.RungeKutta(order=4))",
    "Galerkin": "run(pendulum, la.Galerkin(order=2))",
    "Galerkin on joints": "run(pendulum, la.Galerkin(order=2, interpolation='joints'))",
    "Midpoint": "run(pendulum, la.Midpoint())",
    "BDF": "run(pendulum, la.BDF(order=2))",
    "gradient": "gradient(run(pendulum, la.Galerkin(order=2)))",
    "Minimal": "run(cube, la.Minimal())",
    "Maximal": "run(cube, la.Maximal())",
    "gradient through contact": "gradient(run(cube, la.Minimal()))",
    "optimisation": "search()",
}
"""What is run, by name; the quick ones come first."""

QUICK = 4

RUN = """
import sys, time
import numpy as np
import leastaction as la
from leastaction._jit.hooks import why_stock
pendulum, cube = la.robots.pendulum(2), la.robots.cube()
show = lambda values: print("value", *(f"{x:.9g}" for x in np.ravel(values)[-6:]))
def run(robot, integrator):
    q = la.robots.home(robot) if robot is cube else None
    out = la.simulate(robot, q, np.full(robot.nv, 0.1), dt=0.01, steps=3, integrator=integrator, progress=False)
    show(np.round(out.q[-1], 9))
    return out
def gradient(out):
    found = la.derivatives.gradient(out, out.v, out.v, ["q", "v"])
    show([np.round(np.sum(found[name]), 6) for name in ("q", "v")])
def search():
    problem = la.optimize.Problem(la.robots.get("cart_pole"), steps=4, dt=0.05).start(v=[0.1, 0.1])
    problem.minimize(la.optimize.momentum()).solve(solver="horizon", max_iterations=2)
def ptx():
    from numba import float64
    from leastaction import spatial
    from leastaction._jit import cuda_ptx
    from numba import cuda
    def kernel(twists, out):
        i = cuda.grid(1)
        if i < out.shape[0]:
            spatial.store6(out[i], spatial.se3_log(spatial.se3_exp(spatial.load6(twists[i]))))
    assert ".visible .entry" in cuda_ptx(kernel, (float64[:, ::1], float64[:, ::1]))
for name, code in eval(sys.argv[1]).items():
    began = time.process_time()
    eval(code)
    print("case", name, f"{time.process_time() - began:.1f}", flush=True)
print("stock", why_stock())
"""


WHEELS = {(3, 13): "0.61", (3, 14): "0.63"}
"""The first releases of Numba for newer versions of Python."""


def tested() -> list[str]:
    """Releases of Numba that the hooks are used with, oldest first."""
    tree = ast.parse((ROOT / "src/leastaction/_jit/hooks/__init__.py").read_text(encoding="utf-8"))
    values = [
        node.value for node in tree.body if isinstance(node, ast.Assign) and ast.unparse(node.targets) == "TESTED"
    ]
    return list(ast.literal_eval(values[0]))


def bounds() -> list[str]:
    """Requirements for the oldest Numba, the oldest with hooks and the newest."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    words = next(word for word in settings["project"]["dependencies"] if word.startswith("numba"))
    oldest = words.partition(">=")[2].partition(",")[0]
    known = [oldest, tested()[0], WHEELS.get(sys.version_info[:2], oldest)]
    numbers = sorted({tuple(map(int, word.split("."))) for word in known})
    first = numbers.index(tuple(map(int, known[2].split("."))))
    return [*(f"numba=={'.'.join(map(str, number))}.*" for number in numbers[first:]), words]


def environment(requirement: str, cuda: bool) -> Path:
    """The interpreter of an environment with this Numba, made where it is not there."""
    words = [sys.version_info[0], sys.version_info[1], requirement, "cuda" if cuda else ""]
    folder = BUILD / "".join(c if c.isalnum() else "_" for c in "-".join(map(str, words)))
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not (folder / "ready").exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        others = ["scipy>=1.11", "rich>=13", "typer>=0.12", *(["numba-cuda[cu13]>=0.20"] if cuda else [])]
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", requirement, *others]
        subprocess.run(pip, check=True)
        (folder / "ready").touch()
    return python


def smoke(python: Path, cases: dict[str, str], stock: bool) -> tuple[list[str], str | None]:
    """Values of the cases, and what is wrong."""
    settings = {k: v for k, v in os.environ.items() if not k.startswith(("LEASTACTION_", "NUMBA_"))}
    settings |= {"PYTHONPATH": str(ROOT / "src"), "LEASTACTION_CACHE_DIR": str(python.parents[1] / "kernels")}
    settings |= {"LEASTACTION_QUIET": "1", "LEASTACTION_STOCK_NUMBA": "1" if stock else "0"}
    words = [python, "-W", "ignore", "-c", RUN, repr(cases)]
    done = subprocess.run(words, env=settings, capture_output=True, text=True)
    lines = done.stdout.splitlines()
    for line in lines:
        if line.startswith("case"):
            *name, seconds = line.split()[1:]
            print(f"    {' '.join(name)}: {seconds} s", flush=True)
    values = [line for line in lines if line.startswith("value")]
    if done.returncode:
        return values, "\n".join(done.stderr.splitlines()[-3:]) or f"ended with {done.returncode}"
    why = lines[-1].removeprefix("stock").strip()
    return values, None if stock == bool(why) else f"hooks were not used: {why}"


def main() -> None:
    """Test, and say what failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--cuda", action="store_true")
    parser.add_argument("--only", nargs="*", metavar="RELEASE")
    asked = parser.parse_args()
    cases = dict([*CASES.items()][: QUICK if asked.quick else None]) | ({"PTX": "ptx()"} if asked.cuda else {})
    wanted, failed, found = [f"numba=={release}" for release in asked.only or ()] or bounds(), False, {}
    for requirement in wanted:
        python = environment(requirement, asked.cuda)
        known = "==" not in requirement or any(f"{release}." in f"{requirement}." for release in tested())
        for stock in (False, True) if known else (True,):
            name = f"{requirement}, {'stock' if stock else 'hooks'}, Python {sys.version_info[0]}.{sys.version_info[1]}"
            print(f"{name}; CPU time:", flush=True)
            found[name], wrong = smoke(python, cases, stock)
            print(f"  {wrong or 'passed'}", flush=True)
            failed = failed or wrong is not None
    if len(set(map(tuple, found.values()))) > 1:
        print("results differ:", *(f"{name}: {values}" for name, values in found.items()), sep="\n  ")
        failed = True
    sys.exit(failed)


if __name__ == "__main__":
    main()
