"""`import leastaction` is quick and compiles nothing."""

import os
import re
import subprocess
import sys
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import pytest

import leastaction

SOURCE = Path(leastaction.__file__).parents[1]


def python(*arguments, **environment):
    settings = os.environ | {"PYTHONPATH": str(SOURCE)} | environment
    done = subprocess.run([sys.executable, *arguments], env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done


def seconds_of_import(module):
    """Cumulative time of importing `module` once numpy and numba are there, the best of three."""
    best = float("inf")
    for _ in range(3):
        report = python("-X", "importtime", "-c", f"import numpy, numba; import {module}").stderr
        lines = re.findall(r"import time:\s+\d+ \|\s+(\d+) \| (\s*)([\w.]+)", report)
        best = min(best, next(1e-6 * int(us) for us, _, name in lines if name == module))
    return best


def test_import_is_quick():
    """Expected: some milliseconds. The bound only catches a heavy import that slipped in."""
    assert seconds_of_import("leastaction") < 0.6
    assert seconds_of_import("leastaction.simulation.simulate") < 3.0


def test_import_loads_no_optional_package():
    heavy = (
        "matplotlib",
        "mujoco",
        "casadi",
        "pinocchio",
        "scipy.optimize",
        "scipy.integrate",
        "rich",
        "typer",
    )
    code = f"import leastaction, sys; leastaction.simulate; print([m for m in {heavy} if m in sys.modules])"
    assert python("-c", code).stdout.strip() == "[]"


def test_an_integrator_does_not_bring_the_kernels_of_others():
    """Importing all of them takes twice as long."""
    others = ("minimal.contact", "minimal.galerkin_joints", "maximal", "redmax")
    names = (*(f"leastaction.{name}.stepper" for name in others), "scipy.linalg")
    code = f"import leastaction as la, sys; la.Galerkin(); print([name for name in {names} if name in sys.modules])"
    assert python("-c", code).stdout.strip() == "[]"


def test_import_compiles_nothing():
    code = (
        "import leastaction as la\n"
        "for name in la.__all__: getattr(la, name)\n"
        "from leastaction._jit import ENTRIES\n"
        "print(len(ENTRIES) > 5, sum(len(e.signatures) for e in ENTRIES))"
    )
    done = python("-c", code, LEASTACTION_QUIET="0")
    assert done.stdout.split() == ["True", "0"]
    assert "compiled" not in done.stderr


def test_every_public_name_exists():
    code = "import leastaction as la; print(all(hasattr(la, n) and n in dir(la) for n in la.__all__))"
    assert python("-c", code).stdout.strip() == "True"


def test_a_misspelt_name_comes_with_a_suggestion():
    code = "import leastaction as la\ntry: la.simulte\nexcept AttributeError as e: print(e.name, e.obj is la, e)"
    said = "simulte True module 'leastaction' has no attribute 'simulte'; did you mean 'simulate'?"
    assert python("-c", code).stdout.strip() == said


def test_the_package_goes_to_other_processes():
    """Functions that use `la` are pickled with it, by clusters for example."""
    import pickle

    assert pickle.loads(pickle.dumps(leastaction)) is leastaction


def public_packages():
    """Packages that say what is public in them."""
    files = [
        path for path in (SOURCE / "leastaction").rglob("__init__.py") if "__all__" in path.read_text(encoding="utf-8")
    ]
    names = [".".join(path.relative_to(SOURCE).parts[:-1]) for path in files]
    return sorted(name for name in names if "._" not in name and name not in ("leastaction", "leastaction.cli"))


def test_errors_list_what_is_public_alone():
    assert dir(leastaction.errors) == sorted(leastaction.errors.__all__)


@pytest.mark.parametrize("name", public_packages())
def test_a_package_lists_what_is_public_alone(name):
    """Also after its own modules were imported, which Python makes attributes of it."""
    package = import_module(name)
    for module in walk_packages(package.__path__, f"{name}."):
        with suppress(ImportError):  # of an extra
            import_module(module.name)
    assert dir(package) == sorted(package.__all__)
    assert all(hasattr(package, public) for public in package.__all__)
