"""Where and with what results were made, and the version of the code that made them."""

import ast
import hashlib
import os
import platform
import subprocess
import threading
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PACKAGES = (
    "leastaction",
    "numpy",
    "scipy",
    "numba",
    "pin",
    "mujoco",
    "casadi",
    "jax",
    "drake",
    "pybullet",
    "dartpy",
    "crocoddyl",
)


def machine() -> dict[str, Any]:
    """Machine, load and versions."""
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "revision": revision(),
        "package_revision": package_revision(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None,
        "system": platform.platform(),
        "python": platform.python_version(),
    } | versions()


def versions() -> dict[str, str]:
    """Of the package and its peers."""

    def version(package: str) -> str:
        try:
            return metadata.version(package)
        except metadata.PackageNotFoundError:
            return "not installed"

    return {name: version(name) for name in PACKAGES}


def processor() -> str:
    """What it calls itself."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor()


def revision() -> str:
    """Of git, with a + where the tree differs from it; empty outside of a checkout."""
    return _asked(["rev-parse", "--short=12", "HEAD"], ".")


def package_revision() -> str:
    """The last commit that changed the sources of the package, in the same way: that of the code which is measured."""
    return _asked(["log", "-1", "--format=%h", "--abbrev=12", "--", "src"], "src")


def _asked(question: list[str], folder: str) -> str:
    """What git answers, with a + where the folder has changes that are not committed."""
    git = ["git", "-C", str(ROOT)]
    try:
        commit = subprocess.run([*git, *question], capture_output=True, text=True, check=True)
        status = [*git, "status", "--porcelain", "-uno", "--", folder]
        changed = subprocess.run(status, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return commit.stdout.strip() + ("+" if changed.stdout.strip() else "")


def fingerprint(path: Path, root: Path = ROOT) -> str:
    """Of the code that decides what a benchmark finds: its file, what this imports of the checkout, and the package.

    The versions of libraries and the processor belong to it: with others, results are made anew.
    """
    digest = hashlib.sha256(repr((sorted(versions().items()), processor())).encode())
    for file in sorted({*(root / "src").rglob("*.py"), *reached(path, root)}):
        digest.update(str(file.relative_to(root)).encode())
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


PARSING = threading.Lock()
"""Python 3.11 counts the depth of syntax trees that several threads make together, and stumbles."""


def reached(path: Path, root: Path = ROOT) -> set[Path]:
    """The file and all files of benchmarks/, tests/ and examples/ that it imports, directly or not."""
    found, todo = set(), [path]
    while todo:
        file = todo.pop()
        if file in found:
            continue
        found.add(file)
        with PARSING:
            tree = ast.parse(file.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = []
            if isinstance(node, ast.Import):
                names = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom) and node.module:
                names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
            for name in names:
                if name.split(".")[0] in ("benchmarks", "tests", "examples"):
                    other = root.joinpath(*name.split(".")).with_suffix(".py")
                    todo += [other] if other.exists() else []
    return found
