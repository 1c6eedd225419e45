"""What a GPU computes beside what the CPU does, robot by robot; parts of `gpu_parts`."""

import os
import sys
import time

import numpy as np

import leastaction as la
from benchmarks import many_robots

SIMULATED = os.environ.get("NUMBA_ENABLE_CUDASIM") == "1"
"""Whether kernels run on the simulator of CUDA."""

COMPILING = "--compile" in sys.argv
"""Whether kernels are compiled and not run."""


def robot_of(name):
    """A robot by its name, and its starting height where it is to fall onto the ground and bounce, or to stand."""
    if name == "A1 standing":
        return many_robots.sprung_quadruped(), 0.3
    return la.robots.get(name), 0.45 if name == "cube" else None


def scattered(name, count, seed=0):
    """A robot and moving starts about home; those of robots with loops are at rest there."""
    robot, height = robot_of(name)
    if name == "A1 standing":
        return robot, *many_robots.standing(robot, count)
    rng, q = np.random.default_rng(seed), np.tile(robot.home(), (count, 1))
    if not robot.is_tree:
        return robot, q, np.zeros((count, robot.nv))
    q = robot.integrate(q, rng.uniform(-0.1, 0.1, (count, robot.nv)))
    if height is not None:
        q[:, 2] = height
    return robot, q, 0.3 * rng.normal(size=(count, robot.nv))


def second(run):
    """What its integrator solves for beside positions."""
    return run.p if run.momentum else run.v


def agreement(name, integrator, dtype=np.float64, driven=False):
    """How far apart batches of the GPU and of the CPU are, in terms of the largest numbers; why it cannot run.

    `driven`: with a policy that holds joints, and other masses for each robot.
    """
    count, steps = (2, 3) if SIMULATED else (64, 50)
    robot, q, v = scattered(name, count)
    same = {"dt": 0.005, "steps": steps, "every": steps // 2, "integrator": integrator}
    if driven:
        masses = {f"mass:{robot.bodies[-1].name}": robot.bodies[-1].inertia.mass * np.linspace(0.8, 1.2, count)}
        same |= {"policy": hold, "policy_parameters": [4.0, 0.3], "parameters": masses}
    try:
        cpu = la.batch.simulate(robot, q, v, **same)
    except la.LeastActionError as error:
        return {"CPU refuses": str(error)}
    try:
        gpu = la.batch.simulate(robot, q, v, device="cuda", dtype=dtype, **same)
    except la.LeastActionError as error:
        return {"GPU refuses": str(error)}
    held = (cpu.failed < 0) & (gpu.failed < 0)
    apart = [
        float(np.abs(a - b)[held].max(initial=0.0) / np.abs(b)[held].max(initial=1.0))
        for a, b in ((gpu.q, cpu.q), (second(gpu), second(cpu)))
    ]
    failed = [int((run.failed >= 0).sum()) for run in (cpu, gpu)]
    return {"apart": max(apart), "failed on the CPU": failed[0], "on the GPU": failed[1]}


def hold(t, q, v, own, u):
    """A policy that holds joints at zero."""
    for k in range(len(u)):
        u[k] = 0.1 * t - own[0] * q[len(q) - len(u) + k] - own[1] * v[len(v) - len(u) + k]


def stepping(name, integrator):
    """`batch.Simulator` on the GPU beside that of the CPU: how far states are apart after steps and a reset."""
    count = 2 if SIMULATED else 32
    robot, q, v = scattered(name, count)
    sims = [la.batch.Simulator(robot, count, dt=0.005, integrator=integrator, device=d) for d in ("cuda", "cpu")]
    for sim in sims:
        sim.reset(q, v)
        sim.step(steps=10)
        sim.reset(q[:1], v[:1], which=[1])
        for _ in range(5):
            sim.step(0.1 * np.ones(robot.nu))
    if COMPILING:
        return {"velocities": sims[0].v is not None}
    pairs = [(getattr(sims[0], what).copy_to_host(), getattr(sims[1], what)) for what in "qpv"]
    apart = [float(np.abs(a - b).max() / np.abs(b).max(initial=1.0)) for a, b in pairs]
    return {"apart": max(apart), "failed": int(sims[0].failed.sum())}


def gradients(name, count):
    """Gradients of a batch on the GPU beside those of the CPU, and how many robot-steps a second they take."""
    robot, q, v = scattered(name, count)
    rng, steps = np.random.default_rng(1), 3 if SIMULATED else 40
    u, bars = 0.1 * rng.normal(size=(count, steps, robot.nu)), rng.normal(size=(2, count, steps + 1, robot.nv))
    same = {"dt": 0.01, "steps": steps, "integrator": la.Galerkin(order=2, tolerance=1e-13)}
    few = slice(0, 2 if SIMULATED else 16)
    gpu = la.batch.simulate(robot, q, v, controls=u, device="cuda", **same)
    if COMPILING:
        object.__setattr__(gpu, "parts", np.full(count, steps))
    found, seconds = None, []
    for _ in range(1 if SIMULATED or COMPILING else 3):
        began = time.perf_counter()
        found = la.derivatives.batch_gradient(gpu, *bars, u)
        seconds.append(time.perf_counter() - began)
    if COMPILING:
        return {}
    cpu = la.batch.simulate(robot, q[few], v[few], controls=u[few], **same)
    other = la.derivatives.batch_gradient(cpu, *bars[:, few], u[few])
    here = [x if isinstance(x, np.ndarray) else x.copy_to_host() for x in found]
    apart = [float(np.abs(a[few] - b).max() / np.abs(b).max()) for a, b in zip(here, other, strict=True)]
    return {"apart": max(apart), "M steps/s back": count * steps / min(seconds) / 1e6}


def torch_gradients():
    """`derivatives.torch.simulate` with tensors on the GPU beside tensors of the CPU."""
    import torch

    from leastaction.derivatives.torch import simulate

    robot, count, steps = la.robots.pendulum(2), 64, 20
    if COMPILING:
        return gradients("pendulum", 64)
    rng, out = np.random.default_rng(2), []
    starts = [0.3 * rng.normal(size=(count, 2)), rng.normal(size=(count, 2)), rng.normal(size=(count, steps, 2))]
    for device in ("cuda", "cpu"):
        tensors = [torch.tensor(x, device=device, requires_grad=True) for x in starts]
        q, v = simulate(robot, *tensors, dt=0.01, integrator=la.Galerkin(order=2, tolerance=1e-13))
        (q.square().sum() + 0.1 * v.square().sum()).backward()
        out.append([x.detach().cpu().numpy() for x in (q, v, *(t.grad for t in tensors))])
    return {"apart": max(float(np.abs(a - b).max() / np.abs(b).max()) for a, b in zip(*out, strict=True))}


def sharing():
    """Whether PyTorch, CuPy and JAX see the states of a batch on the GPU where they are."""
    robot = la.robots.pendulum(2)
    batch = la.batch.simulate(robot, np.zeros((64, 2)), dt=0.01, steps=10, device="cuda")
    place, out = batch.device_q.__cuda_array_interface__["data"][0], {}

    def pointer_of_jax(x):
        import jax

        return jax.numpy.asarray(x, copy=False).unsafe_buffer_pointer()

    def pointer_of_torch(x):
        import torch

        return torch.as_tensor(x, device="cuda").data_ptr()

    def pointer_of_cupy(x):
        import cupy

        return cupy.asarray(x).data.ptr

    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    for name, pointer in (("PyTorch", pointer_of_torch), ("CuPy", pointer_of_cupy), ("JAX", pointer_of_jax)):
        try:
            out[name] = pointer(batch.device_q) == place
        except Exception as error:
            out[name] = f"{type(error).__name__}: {error}"[:200]
    return out


def trouble():
    """What is said where the GPU is too small, a state is wrong, one robot of many has no next step."""
    robot, out = la.robots.pendulum(2), {}
    wrong = np.zeros((64, 2))
    wrong[17, 1] = np.nan
    controls = np.zeros((64, 1, 2))
    controls[5] = 1e308
    calls = {
        "too large": lambda: la.batch.simulate(robot, np.zeros((2**20, 2)), dt=0.01, steps=100_000, device="cuda"),
        "NaN": lambda: la.batch.simulate(robot, wrong, dt=0.01, steps=2, device="cuda"),
    }
    for what, call in calls.items():
        try:
            call()
            out[what] = "nothing"
        except la.LeastActionError as error:
            out[what] = f"{type(error).__name__}: {error}"
    batch = la.batch.simulate(robot, np.full((64, 2), 0.1), controls=controls, dt=0.01, steps=5, device="cuda")
    alone = la.batch.simulate(robot, [[0.1, 0.1]], dt=0.01, steps=5)
    out["one fails"] = {str(k): why for k, why in batch.reasons.items()}
    others = np.delete(batch.q, 5, axis=0)
    out["others apart"] = float(np.abs(others - alone.q).max())
    return out
