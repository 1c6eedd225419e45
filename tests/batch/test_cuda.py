"""The kernel of a batch: it compiles for a GPU, in 64 and 32 bits, and its lanes are right on the simulator of CUDA."""

import os
import subprocess
import sys

import numpy as np
import pytest

import leastaction as la
from leastaction._jit import cuda_ptx, faster_cuda
from leastaction.minimal.contact.arrays import pruned, robot_model
from leastaction.minimal.contact.detection.constraints import cones
from tests.jit.test_cuda_ptx import pytestmark as needs_cuda

SIMULATED = """
import warnings
import numpy as np, leastaction as la
from leastaction.batch.batch_kernels import load
from tests.batch.garbage import fill_local_arrays

cuda = load()

fill_local_arrays()


def policy(t, q, v, own, u):
    for k in range(len(u)):
        u[k] = t - own[0] * q[len(q) - len(u) + k] - own[1] * v[len(v) - len(u) + k]


for robot in (la.robots.pendulum(2), la.robots.unitree_a1()):
    rng = np.random.default_rng(0)
    q = np.stack([robot.integrate(robot.neutral(), rng.uniform(-0.5, 0.5, robot.nv)) for _ in range(2)])
    v, u = rng.normal(size=(2, robot.nv)), rng.normal(size=(2, robot.nu))
    same = dict(dt=0.01, steps=4, controls=u, every=2, integrator=la.Galerkin(order=2))
    gpu, cpu = (la.batch.simulate(robot, q, v, device=device, **same) for device in ("cuda", "cpu"))
    assert gpu.success and gpu.q.shape == cpu.q.shape
    assert abs(gpu.q - cpu.q).max() < 1e-9, abs(gpu.q - cpu.q).max()
    assert abs(gpu.p - cpu.p).max() < 1e-7
    assert abs(gpu[1].v - cpu[1].v).max() < 1e-7
    masses = {"mass:" + robot.bodies[-1].name: [1.0, 2.0]}
    same = dict(dt=0.01, steps=2, policy=policy, policy_parameters=[[3.0, 0.5], [1.0, 0.1]], parameters=masses)
    same |= dict(integrator=la.Galerkin(order=2))
    gpu, cpu = (la.batch.simulate(robot, q, v, device=device, **same) for device in ("cuda", "cpu"))
    assert abs(gpu.q - cpu.q).max() < 1e-9 and abs(gpu.p - cpu.p).max() < 1e-7
    own = dict(dt=0.01, integrator=la.Galerkin(order=2))
    gpu, cpu = (la.batch.Simulator(robot, 2, **own, device=device) for device in ("cuda", "cpu"))
    for sim in (gpu, cpu):
        sim.reset(q, v)
        sim.step(u)
        sim.step(u[0])
        sim.reset(q[:1], v[:1], which=[1])
        sim.step(u, steps=2)
    assert abs(np.asarray(gpu.q) - cpu.q).max() < 1e-9 and abs(np.asarray(gpu.p) - cpu.p).max() < 1e-7
    assert abs(np.asarray(gpu.v) - cpu.v).max() < 1e-7 and not gpu.failed.any()


def refused(call, *words):
    before = np.asarray(gpu.q).copy()
    try:
        call()
    except la.LeastActionError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(words)
    assert (np.asarray(gpu.q) == before).all()


# Arrays on the GPU are looked through there, before any robot moves.
there = lambda x: cuda.to_device(np.ascontiguousarray(x))
gpu.reset(there(q), there(v))
wrong, free = (np.where(np.arange(x.shape[1]) == 5, [[0.0], [np.nan]], x) for x in (u, v))
refused(lambda: gpu.step(wrong), "controls: robot 1", "not finite")
refused(lambda: gpu.step(there(u[:1])), "controls: expected shape")
refused(lambda: gpu.reset(q, there(free)), "v: robot 1", "not finite")
refused(lambda: gpu.reset(there(q[1:]), there(free[1:]), which=[0]), "v: robot 0", "not finite")
refused(lambda: gpu.reset(there(1.01 * q), v), "quaternions of robot 0")
refused(lambda: gpu.reset(there(q[:, :3])), "q: expected shape")


def full(*_):
    raise RuntimeError("Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY")


device_array, cuda.device_array = cuda.device_array, full
order2 = dict(integrator=la.Galerkin(order=2), device="cuda")
refused(lambda: la.batch.simulate(robot, q, steps=7, **order2), "no room for 2 robots with 8 states each")
cuda.device_array = device_array
gpu.reset(there(q))
assert (np.asarray(gpu.q) == q).all() and abs(np.asarray(gpu.v)).max() == 0.0
q = robot.home()
robot = la.robots.unitree_a1(ground=True)
q[2], q[7:] = 0.286, 4 * (0.0, 0.8, -1.6)  # on its feet
same = dict(dt=0.005, steps=3, integrator=la.Grounded())
gpu, cpu = (la.batch.simulate(robot, [q], device=device, **same) for device in ("cuda", "cpu"))
assert abs(gpu.q - cpu.q).max() < 1e-12 and abs(gpu.p - cpu.p).max() < 1e-12
bent = np.where(np.arange(robot.nq) == 9, -10.0, q)  # beyond a limit
with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    gpu, cpu = (la.batch.simulate(robot, [q, bent], device=device, **same) for device in ("cuda", "cpu"))
assert sum("robot 1: the start lies beyond the limits" in str(one.message) for one in said) == 2, said
assert abs(gpu.q - cpu.q).max() < 1e-12 and abs(gpu.p - cpu.p).max() < 1e-12
sims = [la.batch.Simulator(robot, 1, dt=0.005, integrator=la.Grounded(), device=device) for device in ("cuda", "cpu")]
for sim in sims:
    sim.reset(q)
    sim.step()
    sim.step(steps=2)
assert abs(np.asarray(sims[0].q) - sims[1].q).max() < 1e-12 and abs(np.asarray(sims[0].p) - sims[1].p).max() < 1e-12

# What momenta and velocities tell where feet land and servos press on them, to policies, too.
builder = la.MechanismBuilder("leg")
builder.body("trunk", mass=5.0, inertia=(0.1, 0.1, 0.1), shapes=la.mechanism.Sphere(radius=0.1, friction=0.8))
builder.free("trunk")
foot = la.mechanism.Sphere(radius=0.03, pose=la.mechanism.Pose((0.0, 0.0, -0.3)), friction=0.8)
builder.body("shin", mass=0.5, com=(0, 0, -0.15), inertia=(4e-3, 4e-3, 5e-4), shapes=foot)
builder.revolute("knee", "trunk", "shin", axis="y", position=(0, 0, -0.1), limits=(-1, 1), damping=50.0)
builder.actuator("motor", "knee")
builder.add_shape("world", la.mechanism.Plane(friction=0.8))
robot = builder.build()
q, v = np.tile(robot.neutral(), (2, 1)), np.zeros((2, robot.nv))
q[:, 2], q[:, 7], v[:, 5] = [0.45, 0.44], [0.3, -0.5], -1.0
v[1, 0] = 1.0
same = dict(dt=0.005, steps=9, every=1, integrator=la.Grounded(), policy=policy, policy_parameters=[300.0, 0.2])
gpu, cpu = (la.batch.simulate(robot, q, v, device=device, **same) for device in ("cuda", "cpu"))
assert abs(cpu.v[:, -1, 5]).max() < 0.7, "no foot has landed"
assert abs(gpu.q - cpu.q).max() < 1e-11 and abs(gpu.p - cpu.p).max() < 1e-9, abs(gpu.p - cpu.p).max()
sims = [la.batch.Simulator(robot, 2, dt=0.005, integrator=la.Grounded(), device=device) for device in ("cuda", "cpu")]
for sim in sims:
    sim.reset(q, v)
for k in range(9):
    for sim in sims:
        sim.step([-30.0])
    for name in "qpv":
        own, other = (np.asarray(getattr(sim, name)) for sim in sims)
        assert abs(own - other).max() < 1e-9, (k, name, abs(own - other).max())

# Balls that bounce, one of them within a step.
builder = la.MechanismBuilder("ball")
builder.body("ball", mass=1.0, shapes=la.mechanism.Sphere(0.1, restitution=1.0))
builder.free("ball")
builder.add_shape("world", la.mechanism.Plane())
robot = builder.build()
q = np.stack([robot.neutral()] * 2)
q[:, 2] = 0.104, 0.12
same = dict(dt=0.01, steps=8, every=1, integrator=la.Minimal())
gpu, cpu = (la.batch.simulate(robot, q, device=device, **same) for device in ("cuda", "cpu"))
assert cpu.p[:, :, 5].max() > 0.1 and gpu.parts.min() > 8, gpu.parts
assert abs(gpu.q - cpu.q).max() < 1e-12 and abs(gpu.p - cpu.p).max() < 1e-12

# Single precision far from the origin, where moments about it would have no digits left: the same, without divisions.
builder = la.MechanismBuilder("far")
builder.body("trunk", mass=5.0, inertia=(0.1, 0.1, 0.05))
builder.free("trunk")
builder.body("leg", mass=1.0, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.002))
builder.revolute("hip", "trunk", "leg", axis="y")
robot = builder.build()
q = np.stack([robot.neutral()] * 2)
q[1, :3] = 150.0, -90.0, -300.0
same = dict(dt=0.005, steps=6, device="cuda", dtype=np.float32, integrator=la.Galerkin(order=2, tolerance=1e-4))
run = la.batch.simulate(robot, q, [0.3, -0.2, 0.1, 1.0, 0.0, 0.0, 0.5], **same)
assert run.success and (run.parts == 6).all() and run.iterations.max() <= 12, (run.failed, run.parts, run.iterations)
assert abs(run.q[1] - run.q[0] - (q[1] - q[0])).max() < 1e-4 and abs(run.p[1] - run.p[0]).max() < 0.05
print("lanes agree")
"""


@pytest.mark.slow
def test_lanes_on_the_simulator():
    """In plain Python: what is tested are the lanes, not the compiler."""
    pytest.importorskip("numba_cuda")
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", SIMULATED], env=env, capture_output=True, text=True, timeout=300)
    assert "lanes agree" in done.stdout, done.stderr


def ptx_of(robot, dtype, found=None, roomy=False):
    """Machine code of the kernel of a robot, with its `ROBOT_CONE` records where contacts act."""
    import numba
    from numba import from_dtype, types

    from leastaction.batch import batch_kernels

    number = from_dtype(np.dtype(dtype))
    model = pruned(robot_model(robot, dtype, found), True)
    kernel = batch_kernels.kernel_of(batch_kernels.RUN, batch_kernels.sizes_of(model, robot.nq), dtype, roomy)
    shapes = ((2, robot.nq, 4), (2, robot.nv, 4), (robot.nv, 4), (1, robot.nu, 1), (1, 1), (1, 4))
    batch = (*(np.zeros(shape, dtype) for shape in shapes), *(np.zeros(4, np.int64) for _ in range(4)))
    own, room = batch_kernels.model_rows([model], False), (np.zeros((1, 1, 1, 1), dtype),) * 2
    settings = types.Tuple((number,) * 3 + (types.int64,) * 3 + (types.boolean, number))
    with batch_kernels.literals_as(number):
        return cuda_ptx(kernel, (settings, *map(numba.typeof, (batch, own, room))))


@needs_cuda
@pytest.mark.slow
@pytest.mark.cuda
def test_kernel_with_contact_compiles_to_ptx():
    robot = la.robots.unitree_a1(ground=True)
    with faster_cuda(apart=True):  # its types are what is looked at, and to inline all of it takes NVVM half a minute
        ptx = ptx_of(robot, np.float32, cones(robot)[0])
    assert ".visible .entry" in ptx
    assert ptx.count(".f64") < 0.05 * ptx.count(".f32")  # what is left of 64 bits reduces the arguments of sines


@needs_cuda
@pytest.mark.slow
@pytest.mark.cuda
def test_kernel_compiles_to_ptx():
    ptx = ptx_of(la.robots.pendulum(2), np.float64)
    assert ".visible .entry" in ptx
    assert len(ptx.splitlines()) < 15_000


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (lambda r: (r, la.RungeKutta()), "does not run RungeKutta"),
        (lambda r: (la.robots.four_bar(), la.Midpoint()), "loops"),
    ],
)
def test_what_a_gpu_cannot_run_is_refused(change, match):
    pytest.importorskip("numba_cuda")
    robot, integrator = change(la.robots.pendulum(2))
    with pytest.raises(la.IntegratorError, match=match):
        la.batch.simulate(robot, steps=1, integrator=integrator, device="cuda")


def test_default_on_a_gpu_has_a_kernel_of_its_own():
    """The default of single runs runs there as well, but from general kernels, many times slower."""
    pytest.importorskip("numba_cuda")
    from leastaction.batch.cuda import has_special_kernel, with_special_kernel

    chain, dog = la.robots.pendulum(3), la.robots.unitree_a1(ground=True)
    assert with_special_kernel(chain, la.default_integrator(chain)) == la.Galerkin(order=2)
    assert with_special_kernel(dog, la.default_integrator(dog)) == la.Minimal()
    assert all(
        has_special_kernel(robot, with_special_kernel(robot, la.default_integrator(robot))) for robot in (chain, dog)
    )
    assert with_special_kernel(chain, la.BDF(order=2)) == la.BDF(order=2)


def test_without_a_gpu_the_error_says_so():
    pytest.importorskip("numba_cuda")
    from numba import cuda

    if cuda.is_available():
        pytest.skip("there is a GPU")
    with pytest.raises(la.IntegratorError, match="no GPU was found"):
        la.batch.simulate(la.robots.pendulum(2), steps=1, device="cuda")
