"""What is measured on a GPU, part by part, for machines that are lent for minutes.

    python -m benchmarks.gpu_parts [words] --minutes 9 --result gpu.json

runs the parts whose names hold one of the words, writes each into the result as soon as it is done, leaves out those
that are there, and begins none after the minutes. The same call again goes on. `--list` names them. Most also run on
the simulator of CUDA (NUMBA_ENABLE_CUDASIM=1 NUMBA_DISABLE_JIT=1), with few robots and steps.
"""

import argparse
import json
import os
import sys
import time
from functools import partial
from pathlib import Path

import numpy as np

import leastaction as la
from benchmarks import many_robots
from benchmarks.report import RESULTS

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"

SIZES = (2, 4) if SIMULATED else tuple(2**k for k in (10, 12, 14, 16, 18))

SWINGING = (4, 20) if SIMULATED else (1024, 2000)
"""Robots and steps whose energy is looked at."""

INTEGRATORS = {
    "bodies": la.Galerkin(order=2, tolerance=1e-12),
    "Grounded": la.Grounded(tolerance=1e-12),
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
        per_second, batch = many_robots.rate(robot, q, v, dt, 3, **options)
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


def scattered(robot, count, seed=0):
    """Moving starts about home; those of robots with loops are at rest there."""
    rng, q = np.random.default_rng(seed), np.tile(robot.home(), (count, 1))
    if not robot.is_tree:
        return q, np.zeros((count, robot.nv))
    return robot.integrate(q, rng.uniform(-0.1, 0.1, (count, robot.nv))), 0.3 * rng.normal(size=(count, robot.nv))


def second(run):
    """What its integrator solves for beside positions."""
    return run.p if run.momentum else run.v


def agreement(name, integrator):
    """How far apart batches of the GPU and of the CPU are, in terms of the largest numbers; why it cannot run."""
    robot = la.robots.get(name)
    count, steps = (2, 3) if SIMULATED else (64, 50)
    q, v = scattered(robot, count)
    same = {"dt": 0.005, "steps": steps, "integrator": integrator}
    try:
        cpu = la.batch.simulate(robot, q, v, **same)
    except la.LeastActionError as error:
        return {"CPU refuses": str(error)}
    try:
        gpu = la.batch.simulate(robot, q, v, device="cuda", **same)
    except la.LeastActionError as error:
        return {"GPU refuses": str(error)}
    held = (cpu.failed < 0) & (gpu.failed < 0)
    apart = [
        float(np.abs(a - b)[held].max(initial=0.0) / np.abs(b)[held].max(initial=1.0))
        for a, b in ((gpu.q, cpu.q), (second(gpu), second(cpu)))
    ]
    failed = [int((run.failed >= 0).sum()) for run in (cpu, gpu)]
    return {"apart": max(apart), "failed on the CPU": failed[0], "on the GPU": failed[1]}


def energy(name):
    """Drift of the energy over ten seconds of the swinging chain and of the humanoid, in terms of what it can be.

    The humanoid falls by 490 m, which single precision tells to 0.03 mm.
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


def general(name, integrator, count):
    """Robot-steps per second of a kernel of an integrator."""
    robot = many_robots.sprung_quadruped() if name == "A1 standing" else la.robots.get(name)
    q, v = many_robots.standing(robot, count) if name == "A1 standing" else scattered(robot, count)
    options = {"dt": 0.005, "steps": 50, "every": 50, "integrator": integrator, "device": "cuda"}
    batches = [la.batch.simulate(robot, q, v, **options) for _ in range(3)]
    failed = int((batches[-1].failed >= 0).sum())
    seconds = [batch.seconds for batch in batches]
    return {"M steps/s": 50 * count / min(seconds[1:]) / 1e6, "first call [s]": seconds[0], "failed": failed}


def parts():
    """All of them, by name."""
    out = {}
    for case in many_robots.bounded_cases():
        out |= {f"rates {case[0]}, {name}": partial(rates, case, name) for name in many_robots.TOLERANCE}
    for case in many_robots.bounded_cases():
        out[f"cores {case[0]}"] = partial(cores, case)
    out |= {f"energy {name}": partial(energy, name) for name in many_robots.TOLERANCE}
    out["policy of PyTorch"] = policy
    for name, kind, count in (
        ("pendulum", "order 4", 16384),
        ("pendulum", "Midpoint", 16384),
        ("pendulum", "BDF", 65536),
        ("pendulum", "Maximal", 16384),
        ("four_bar", "Maximal", 16384),
        ("A1 standing", "Maximal", 4096),
    ):
        out[f"general {kind}, {name}"] = partial(general, name, INTEGRATORS[kind], count)
    for kind, integrator in INTEGRATORS.items():
        for name in (entry.name for entry in la.robots.catalogue()):
            out[f"agreement {kind}, {name}"] = partial(agreement, name, integrator)
    return out


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu_parts", description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="parts whose names hold one of these; default all")
    parser.add_argument("--minutes", type=float, default=np.inf, help="begin no part after these")
    parser.add_argument("--result", type=Path, default=RESULTS / "gpu.json")
    parser.add_argument("--list", action="store_true", help="name them, run none")
    arguments = parser.parse_args()
    began, found = time.perf_counter(), {}
    if arguments.result.exists():
        found = json.loads(arguments.result.read_text(encoding="utf-8"))
    for name, part in parts().items():
        if arguments.words and not any(word in name for word in arguments.words):
            continue
        if arguments.list or name in found:
            print(f"{'done' if name in found else '    '} {name}", flush=True)
            continue
        if time.perf_counter() - began > 60.0 * arguments.minutes:
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
