"""Builds a wheel that carries kernels compiled for a common processor level, so that its users do not wait for them.

An installation with another Python, Numba, llvmlite or NumPy than here, or on a processor that lacks a feature of the
level, compiles for itself, as one from any other wheel does.
"""

import argparse
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# LLVM's names of a level and of its features, which the reader of the kernels looks for.
LEVELS = {
    "x86_64": (
        "x86-64-v3",
        "cmov cx8 cx16 fxsr mmx sse sse2 sse3 ssse3 sse4.1 sse4.2 popcnt sahf "
        "avx avx2 bmi bmi2 f16c fma lzcnt movbe xsave",
    ),
}

COMPILE = """
import json, pathlib, sys
from numba.core.registry import cpu_target
from leastaction._jit import cache_directory
from leastaction._warmup import warmup
warmup(lambda name, done, parts: print(f"{done}/{parts} {name}", flush=True), first_runs=sys.argv[1] == "first")
target = cpu_target.target_context.codegen().magic_tuple()
(cache_directory() / "target.json").write_text(json.dumps(target))
"""


def main() -> None:
    """Compile, then pack."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--all", action="store_true", help="all kernels, not only those of first runs")
    parser.add_argument("--out", default="dist", help="folder for the wheel")
    chosen = parser.parse_args()
    machine = platform.machine().replace("AMD64", "x86_64")
    if machine not in LEVELS:
        sys.exit(f"no common processor level is known for {machine}: build a plain wheel with `pip wheel --no-deps .`")
    level, features = LEVELS[machine]
    build = ROOT / "build" / "kernels"
    shutil.rmtree(build, ignore_errors=True)
    settings = {
        "LEASTACTION_CACHE_DIR": str(build),
        "LEASTACTION_QUIET": "1",
        "LEASTACTION_SHIPPED": "0",
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in features.split()),
        "PYTHONPATH": str(ROOT / "src"),
    }
    _run([sys.executable, "-c", COMPILE, "all" if chosen.all else "first"], settings)
    folder = build / "kernels"
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    print(f"{len(list(folder.glob('*.nbc')))} kernels, {size:.1f} MB", flush=True)
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", chosen.out, str(ROOT)]
    _run(pip, {"LEASTACTION_KERNELS": str(folder)})


def _run(command: list[str], settings: dict[str, str]) -> None:
    done = subprocess.run(command, env=os.environ | settings)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
