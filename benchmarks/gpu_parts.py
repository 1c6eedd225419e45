"""What is measured on a GPU, part by part, for machines that are lent for minutes.

    python -m benchmarks.gpu_parts [words] --minutes 9 --result gpu.json

runs the parts whose names hold one of the words, writes each into the result as soon as it is done, leaves out those
that are there, and begins none after the minutes. The same call again goes on. `--list` names them, `--lease` takes
those of `LEASE`, what is worth a few minutes of a GPU. With `--jobs N` all kernels of the parts are compiled first, in
N processes at a time, and kept on disk. Most parts also run on the simulator of CUDA (NUMBA_ENABLE_CUDASIM=1
NUMBA_DISABLE_JIT=1), with few robots and steps.
"""

import argparse
import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np

import leastaction as la
from benchmarks import many_robots
from benchmarks.gpu_checks import (
    COMPILING,
    SIMULATED,
    agreement,
    gradients,
    scattered,
    sharing,
    stepping,
    torch_gradients,
    trouble,
)
from benchmarks.report import RESULTS

SIZES = (2, 4) if SIMULATED else (128,) if COMPILING else tuple(2**k for k in (10, 12, 14, 16, 18))

SWINGING = (4, 20) if SIMULATED else (1024, 2000)
"""Robots and steps whose energy is looked at."""

INTEGRATORS = {
    "bodies": la.Galerkin(order=2, tolerance=1e-12),
    "joints": la.Galerkin(order=2, interpolation="joints"),
    "Minimal": la.Minimal(tolerance=1e-12),
    "order 4": la.Galerkin(order=4),
    "Midpoint": la.Midpoint(),
    "Maximal": la.Maximal(),
    "BDF": la.BDF(),
    "SDIRK2": la.SDIRK2(),
}


def rates(case, name):
    """Robot-steps per second of all batch sizes, at the bounds of `many_robots`."""
    _, robot, start, kind, dt, *bounds = case
    bound, rows = bounds[name == "float32"], {}
    options = {"device": "cuda", "dtype": np.dtype(name), "integrator": kind(tolerance=many_robots.TOLERANCE[name])}
    began = time.perf_counter()
    for count in SIZES:
        q, v = start(robot, count)
        per_second, batch = many_robots.rate(robot, q, v, dt, 2, **options)
        failed = int((batch.failed >= 0).sum())
        rows[str(count)] = {"M steps/s": per_second / 1e6, "failed": failed}
        if count == SIZES[0]:
            rows["compiled within [s]"] = time.perf_counter() - began
    best = max(row["M steps/s"] for row in rows.values() if isinstance(row, dict))
    return rows | {"best": best, "wanted": bound and bound / 1e6, "met": bound is None or best >= bound / 1e6}


def cores(case):
    """Robot-steps per second on one core, on two and on all."""
    _, robot, start, kind, dt, *_ = case
    q, v = start(robot, 2048)
    return {
        str(workers or "all"): many_robots.rate(robot, q, v, dt, 2, integrator=kind(tolerance=1e-8), workers=workers)[0]
        / 1e6
        for workers in (1, 2, None)
    }


def energy(name):
    """Drift of the energy over ten seconds of the swinging chain and of the humanoid, in terms of what it can be.

    The humanoid falls by 490 m, which single precision shows to 0.03 mm.
    """
    out = {}
    for what, robot, start, kind, *_ in many_robots.cases():
        if what not in ("pendulum of 8, sine", "humanoid tree, random"):
            continue
        (count, steps), picked = SWINGING, max(1, SWINGING[0] // 16)
        q, v = start(robot, count)
        options = {"dtype": np.dtype(name), "integrator": kind(tolerance=many_robots.TOLERANCE[name])}
        batch = la.batch.simulate(robot, q, v, dt=0.005, steps=steps, every=steps // 20, device="cuda", **options)
        runs = [batch[k] for k in range(0, count, picked) if batch.failed[k] < 0]
        energies = [(run.energy, np.ptp(run.potential_energy)) for run in runs]
        drift = [float((e[-5:].mean() - e[:5].mean()) / swing) for e, swing in energies]
        spread = [float(np.abs(e - e[0]).max() / swing) for e, swing in energies]
        failed, parts = int((batch.failed >= 0).sum()), float(batch.parts.mean()) / steps
        out[what] = {"failed": failed, "parts a step": parts, "kernel [s]": batch.seconds}
        if runs:
            out[what] |= {"drift, mean": float(np.mean(drift)), "largest error": max(spread)}
    return out


def policy():
    """Cart-poles with a network of PyTorch on the same GPU, which shares the arrays."""
    import torch

    robots, robot = 65536, la.robots.cart_pole()
    sim = la.batch.Simulator(robot, robots, dt=0.01, device="cuda")
    net = torch.nn.Sequential(
        torch.nn.Linear(4, 64), torch.nn.Tanh(), torch.nn.Linear(64, 64), torch.nn.Tanh(), torch.nn.Linear(64, robot.nu)
    ).to("cuda", torch.float64)
    shared = torch.as_tensor(sim.q, device="cuda").data_ptr() == sim.q.__cuda_array_interface__["data"][0]
    best = np.inf
    with torch.no_grad():
        for _ in range(4):
            torch.cuda.synchronize()
            began = time.perf_counter()
            for _ in range(50):
                state = torch.cat([torch.as_tensor(x, device="cuda") for x in (sim.q, sim.v)], dim=1)
                sim.step(net(state).contiguous())
            torch.cuda.synchronize()
            best = min(best, time.perf_counter() - began)
    return {"M steps/s": 50 * robots / best / 1e6, "shares memory": bool(shared), "failed": int(sim.failed.sum())}


def general(name, integrator, count, dtype=np.float64):
    """Robot-steps per second of a kernel of an integrator."""
    robot, q, v = scattered(name, 128 if COMPILING else count)
    options = {"dt": 0.005, "steps": 50, "every": 50, "integrator": integrator, "device": "cuda", "dtype": dtype}
    batches = [la.batch.simulate(robot, q, v, **options) for _ in range(1 if COMPILING else 3)]
    failed = int((batches[-1].failed >= 0).sum())
    seconds = [batch.seconds for batch in batches]
    return {"M steps/s": 50 * count / min(seconds) / 1e6, "first call [s]": seconds[0], "failed": failed}


GENERAL = (
    ("pendulum", "order 4", 16384, (np.float64, np.float32)),
    ("pendulum", "Midpoint", 16384, (np.float64, np.float32)),
    ("pendulum", "BDF", 65536, (np.float64, np.float32)),
    ("pendulum", "Maximal", 16384, (np.float64, np.float32)),
    ("four_bar", "Maximal", 16384, (np.float64,)),
    ("A1 standing", "Maximal", 4096, (np.float64,)),
)
"""Rates of the kernels of integrators: robot, integrator, how many, precisions."""


def parts():
    """All of them, by name."""
    out = {}
    for case in many_robots.bounded_cases():
        out |= {f"rates {case[0]}, {name}": partial(rates, case, name) for name in many_robots.TOLERANCE}
    out |= {
        "trouble": trouble,
        "sharing": sharing,
        "policy of PyTorch": policy,
        "gradients of PyTorch": torch_gradients,
    }
    out |= {"gradients pendulum": partial(gradients, "pendulum", 2 if SIMULATED else 128 if COMPILING else 16384)}
    for name, kind in (("A1 standing", "Minimal"), ("cart_pole", "bodies")):
        out[f"stepping {kind}, {name}"] = partial(stepping, name, INTEGRATORS[kind])
    for name, kind in (("A1 standing", "Minimal"), ("cart_pole", "bodies"), ("pendulum", "Midpoint")):
        out[f"driven {kind}, {name}"] = partial(agreement, name, INTEGRATORS[kind], driven=True)
    for name, kind, count, kinds in GENERAL:
        for number in kinds:
            words = f"general {kind}, {name}, {np.dtype(number).name}"
            out[words] = partial(general, name, INTEGRATORS[kind], count, number)
    for kind, integrator in INTEGRATORS.items():
        for name in (*(entry.name for entry in la.robots.catalogue()), "A1 standing"):
            out[f"agreement {kind}, {name}"] = partial(agreement, name, integrator)
            out[f"single {kind}, {name}"] = partial(agreement, name, integrator, np.float32)
    out |= {f"energy {name}": partial(energy, name) for name in many_robots.TOLERANCE}
    for case in many_robots.bounded_cases():
        out[f"cores {case[0]}"] = partial(cores, case)
    return out


LEASE = (
    "rates",
    "trouble",
    "sharing",
    "policy",
    "gradients",
    "stepping",
    "driven",
    "agreement Minimal, A1 standing",
    "agreement Maximal, A1 standing",
    "agreement SDIRK2, unitree_a1",
    "agreement Maximal, cube",
    "agreement bodies, four_bar",
    "agreement Maximal, four_bar",
    "agreement bodies, pendulum",
    "agreement joints, pendulum",
    "agreement order 4, pendulum",
    "agreement Midpoint, pendulum",
    "agreement Maximal, pendulum",
    "agreement BDF, pendulum",
    "single Minimal, A1 standing",
    "single bodies, pendulum",
    "single order 4, pendulum",
    "single Midpoint, pendulum",
    "single Maximal, pendulum",
    "single BDF, pendulum",
    "general",
    "energy",
)
"""Parts of a lease: their names, or the first words of them."""


LATE = "not within the time"


def compile_all(names, jobs, minutes):
    """Compile the kernels of parts in processes, those that take longest first; seconds and what was said, by part."""
    slow = ("A1", "Maximal", "SDIRK2", "BDF", "four_bar", "gradients")
    order = sorted(names, key=lambda name: next((k for k, word in enumerate(slow) if word in name), len(slow)))
    began = time.perf_counter()

    def one(name):
        start, left = time.perf_counter(), 60.0 * minutes - (time.perf_counter() - began)
        command = [sys.executable, "-m", "benchmarks.gpu_parts", name, "--compile"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=max(1.0, left))
            said = [line for line in done.stderr.splitlines() if "compiled" in line] if done.returncode == 0 else []
            told = said or [done.stderr[-400:]]
        except subprocess.TimeoutExpired:
            told = [LATE]
        seconds = round(time.perf_counter() - start, 1)
        print(f"compiled {name}: {seconds} s; {' | '.join(told)[-300:]}", flush=True)
        return name, {"seconds": seconds, "kernels": told}

    with ThreadPoolExecutor(jobs) as pool:
        return dict(pool.map(one, order))


def compile_one(name):
    """Compile the kernels of one part."""
    from leastaction.batch.batch_kernels import compiling_only

    with compiling_only():
        parts()[name]()


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_parts", description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="parts whose names hold one of these; default all")
    parser.add_argument("--lease", action="store_true", help="parts of a lease")
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin no part after these")
    parser.add_argument("--result", type=Path, default=RESULTS / "gpu.json")
    parser.add_argument("--list", action="store_true", help="name them, run none")
    parser.add_argument("--jobs", type=int, help="compile first, so many at a time")
    parser.add_argument("--compile", action="store_true", help="compile the part of this name, run none")
    arguments = parser.parse_args()
    if arguments.compile:
        compile_one(*arguments.words)
        return 0
    began, found = time.perf_counter(), {}
    if arguments.result.exists():
        found = json.loads(arguments.result.read_text(encoding="utf-8"))
    words = arguments.words
    chosen = {name: part for name, part in parts().items() if not words or any(word in name for word in words)}
    if arguments.lease:
        chosen = {k: part for k, part in chosen.items() if any(k == one or k.startswith(f"{one} ") for one in LEASE)}
    if arguments.jobs and not arguments.list:
        cold = [name for name in chosen if name not in found and not name.startswith(("cores", "energy", "trouble"))]
        found["compiling"] = compile_all(cold, arguments.jobs, 0.6 * arguments.minutes)
    for name, part in chosen.items():
        if arguments.list or name in found:
            print(f"{'done' if name in found else '    '} {name}", flush=True)
            continue
        late = LATE in found.get("compiling", {}).get(name, {}).get("kernels", ())
        if late or time.perf_counter() - began > 60.0 * arguments.minutes:
            print(f"left {name}", flush=True)
            continue
        start = time.perf_counter()
        try:
            found[name] = part()
        except Exception as error:  # the other parts go on
            found[name] = {"error": f"{type(error).__name__}: {error}"[:500]}
        found[name]["seconds"] = round(time.perf_counter() - start, 1)
        print(name, json.dumps(found[name]), flush=True)
        arguments.result.parent.mkdir(parents=True, exist_ok=True)
        arguments.result.write_text(json.dumps(found, indent=1), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
