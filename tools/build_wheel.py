"""Builds a wheel that carries kernels compiled for a common processor level, so that its users do not wait for them.

    python tools/build_wheel.py [--first] [--kernels] [--out FOLDER]

An installation with another Python, Numba, llvmlite or NumPy than here, or on a processor that lacks a feature of the
level, compiles for itself, as one from any other wheel does. ``--kernels`` ends before the wheel: `cibuildwheel`, which
``pyproject.toml`` configures for all platforms, makes that. What the kernels are made of is kept under build/kernels,
so that only what has changed since is compiled.
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
    "aarch64": ("generic", "fp-armv8 neon"),
    "arm64": ("apple-m1", ""),  # every Mac that has one; it need not say what it has
}

COMPILE = """
import json, pathlib, sys
from numba.core.registry import cpu_target
from leastaction._jit import cache_directory
from leastaction._jit.hooks.kernel_cache import without_bitcode
from leastaction._warmup import warmup
warmup(lambda name, done, parts: print(f"{done}/{parts} {name}", flush=True), first_runs=sys.argv[1] == "first")
for file in cache_directory().glob("*.nbc"):
    file.write_bytes(without_bitcode(file.read_bytes()))
target = cpu_target.target_context.codegen().magic_tuple()
(cache_directory() / "target.json").write_text(json.dumps(target))
"""


def main() -> None:
    """Compile, then pack."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", action="store_true", help="the kernels of first runs only, not all of them")
    parser.add_argument("--kernels", action="store_true", help="no wheel")
    parser.add_argument("--out", default="dist", help="folder for the wheel")
    chosen = parser.parse_args()
    machine = platform.machine().replace("AMD64", "x86_64").replace("ARM64", "arm64")
    if machine not in LEVELS:
        sys.exit(f"no common processor level is known for {machine}: build a plain wheel with `pip wheel --no-deps .`")
    level, features = LEVELS[machine]
    build = ROOT / "build" / "kernels"
    shutil.rmtree(build / "kernels", ignore_errors=True)
    settings = {
        "LEASTACTION_CACHE_DIR": str(build),
        "LEASTACTION_QUIET": "1",
        "LEASTACTION_SHIPPED": "0",
        "NUMBA_CPU_NAME": level,
        "NUMBA_CPU_FEATURES": ",".join(f"+{name}" for name in features.split()),
        "PYTHONPATH": str(ROOT / "src"),
    }
    _run([sys.executable, "-c", COMPILE, "first" if chosen.first else "all"], settings)
    folder = build / "kernels"
    size = sum(file.stat().st_size for file in folder.iterdir()) / 1e6
    print(f"{len(list(folder.glob('*.nbc')))} kernels, {size:.1f} MB", flush=True)
    if chosen.kernels:
        return
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", chosen.out, str(ROOT)]
    _run(pip, {"LEASTACTION_KERNELS": str(folder)})


def _run(command: list[str], settings: dict[str, str]) -> None:
    done = subprocess.run(command, env=os.environ | settings)
    if done.returncode:
        sys.exit(done.returncode)


if __name__ == "__main__":
    main()
