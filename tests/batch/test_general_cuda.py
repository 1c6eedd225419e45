"""Kernels of a GPU made from those of the integrators: equal to single runs on the simulator of CUDA."""

import os
import subprocess
import sys

import numpy as np
import pytest

import leastaction as la
from leastaction._jit import cuda_ptx, faster_cuda
from tests.jit.test_cuda_ptx import pytestmark as needs_cuda

SIMULATED = """
import warnings
import numpy as np, leastaction as la
from tests.batch.garbage import fill_local_arrays

fill_local_arrays()
warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
arm, bar = la.robots.pendulum(2), la.robots.four_bar()
builder = la.MechanismBuilder("sprung")
builder.body("bob", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.1, 0.1, 0.01))
builder.revolute("hinge", "world", "bob", axis="y")
builder.spring("rope", ("world", (1, 0, 0)), ("bob", (0, 0, -0.4)), stiffness=5.0, rest_length=0.5, damping=0.2)
sprung = builder.build()
builder = arm.edit()
builder.tendon("wound", joints={"joint1": 0.5, "joint2": -0.8}, stiffness=12.0, rest=0.1)
builder.position_servo("weak", "joint2", kp=1e3, kv=10.0, force_limits=(-5.0, 5.0))
tied = builder.build()
dog, box = la.robots.unitree_a1(), la.robots.cube()


def policy(t, q, v, own, u):
    for k in range(len(u)):
        u[k] = 5.0 * t - own[0] * q[len(q) - len(u) + k] - own[1] * v[len(v) - len(u) + k]


asks = {"controls": None, "policy": policy, "policy_parameters": [[3.0, 0.5], [1.0, 0.1]]}
cases = [
    (arm, la.Galerkin(order=4), {}),
    (arm, la.Galerkin(order=6, interpolation="joints"), {}),
    (sprung, la.Galerkin(order=2), {}),
    (tied, la.Galerkin(order=2), {}),
    (tied, la.Maximal(), {}),
    (arm, la.Midpoint(), {"parameters": {"mass:link2": [0.5, 2.0], "damping:joint1": [0.0, 0.3]}}),
    (arm, la.Maximal(), {}),
    (bar, la.Maximal(), {}),
    (bar, la.Galerkin(order=2), {}),
    (bar, la.Galerkin(order=4), asks),
    (la.robots.bricard(), la.Galerkin(order=2), {"steps": 2}),  # its equations depend on each other
    (box, la.Maximal(), {}),
    (arm, la.BDF(), {}),
    (dog, la.SDIRK2(), {"steps": 2}),
    (bar, la.BDF(), {}),
    (arm, la.Midpoint(), asks | {"parameters": {"mass:link2": [0.5, 2.0]}}),  # policies see velocities of their robot
    (arm, la.Maximal(), asks | {"parameters": {"mass:link2": [0.5, 2.0]}}),
    (arm, la.BDF(), asks),
    (dog, la.SDIRK2(), asks | {"steps": 2}),
    (arm, la.BDF(max_iterations=5), {"dt": 0.1, "controls": None}),  # divides steps
    (arm, la.BDF(order=1, max_iterations=5), {"dt": 0.1, "steps": 2}),
    (bar, la.Minimal(), {}),
    (tied, la.Minimal(), asks),
]
for robot, integrator, more in cases:
    q = np.stack([robot.home()] * 2)
    v = np.zeros((2, robot.nv))
    if robot.is_tree:
        q = robot.integrate(q, rng.uniform(-0.3, 0.3, (2, robot.nv)))
        v = rng.normal(size=v.shape)
    if robot is box:
        q[:, 2] = 0.45
    same = dict(dt=0.01, steps=6, every=2, controls=rng.normal(size=(2, 1, robot.nu)), integrator=integrator) | more
    if "dt" in more:
        v *= 3.0
        u = None if same["controls"] is None else same["controls"][0, 0]
        one = la.simulate(robot, q[0], v[0], dt=same["dt"], steps=same["steps"], controls=u, integrator=integrator)
        assert one.stored["divided"].any(), (robot.name, integrator)
    gpu, cpu = (la.batch.simulate(robot, q, v, device=device, **same) for device in ("cuda", "cpu"))
    assert gpu.success and cpu.success, (robot.name, integrator, gpu.reasons)
    assert gpu.momentum == cpu.momentum and (gpu.iterations == cpu.iterations).all()
    worst = max(abs(gpu.q - cpu.q).max(), abs(gpu.v - cpu.v).max())
    assert worst < 1e-11, (robot.name, integrator, worst)
# Contact between bodies, and what is said where there is no room for it: that robot fails, the others go on.
builder = la.MechanismBuilder("boxes")
for name in ("lower", "upper"):
    shape = la.mechanism.Box((0.2, 0.2, 0.2), friction=0.5, restitution=0.3)
    builder.body(name, mass=1.0, inertia=(0.01, 0.01, 0.01), shapes=shape)
    builder.free(name)
builder.add_shape("world", la.mechanism.Plane(friction=0.5))
boxes = builder.build()
q, v = np.tile(boxes.neutral(), (2, 1)), np.zeros((2, boxes.nv))
q[:, 2], q[:, 7], q[:, 9], v[0, 11], v[:, 9] = 0.1, 0.05, (0.305, 2.0), -1.0, 0.3
same = dict(dt=0.01, steps=2, integrator=la.Minimal())
gpu, cpu = (la.batch.simulate(boxes, q, v, device=device, **same) for device in ("cuda", "cpu"))
assert gpu.success and cpu.p[0, -1, 11] > -0.5, (gpu.reasons, cpu.p[:, -1])
assert abs(gpu.q - cpu.q).max() < 1e-11 and abs(gpu.p - cpu.p).max() < 1e-9
few = la.batch.simulate(boxes, q, v, device="cuda", contacts=1, **same)
assert few.failed.tolist() == [0, -1] and "room for 1 contacts" in few.reasons[0] and "contacts=" in few.reasons[0]
assert (few.q[1] == gpu.q[1]).all()
for robot in (arm, dog):
    q = robot.integrate(np.stack([robot.neutral()] * 2), rng.uniform(-0.3, 0.3, (2, robot.nv)))
    v, u, bars = rng.normal(size=(2, robot.nv)), rng.normal(size=(2, 3, robot.nu)), rng.normal(size=(2, 2, 4, robot.nv))
    if robot is dog:
        u[0, 1, 0] = 1e3  # beyond its limit
    same = dict(dt=0.01, steps=3, controls=u, integrator=la.Galerkin(order=2, tolerance=1e-13))
    runs = [la.batch.simulate(robot, q, v, device=device, **same) for device in ("cuda", "cpu")]
    for own, other in zip(*(la.derivatives.batch_gradient(run, *bars, u) for run in runs)):
        assert abs(np.asarray(own) - other).max() < 1e-9, (robot.name, abs(np.asarray(own) - other).max())
# In numbers of 32 bits, as far as these tell.
for robot, integrator in [
    (arm, la.Galerkin(order=4)),
    (arm, la.Midpoint()),
    (arm, la.Maximal()),
    (arm, la.BDF()),
    (dog, la.SDIRK2()),
    (bar, la.Galerkin(order=2)),
    (bar, la.Maximal()),
]:
    q, v = np.stack([robot.home()] * 2), np.zeros((2, robot.nv))
    if robot.is_tree:
        q, v = robot.integrate(q, rng.uniform(-0.3, 0.3, (2, robot.nv))), rng.normal(size=v.shape)
    same = dict(dt=0.01, steps=4, controls=rng.normal(size=(2, 1, robot.nu)), integrator=integrator)
    single = la.batch.simulate(robot, q, v, device="cuda", dtype=np.float32, **same)
    double = la.batch.simulate(robot, q, v, **same)
    assert single.success and single.q.dtype == np.float32, (robot.name, integrator, single.reasons)
    assert single.device_second.dtype == np.float32
    assert 0.0 < abs(single.q - double.q).max() < 1e-4, (robot.name, integrator, abs(single.q - double.q).max())
    assert abs(single.v - double.v).max() < 5e-3, (robot.name, integrator, abs(single.v - double.v).max())
fast = la.batch.simulate(arm, [0.1, 0.2], controls=[[0.0, 0.0], [0.0, 1e308]], dt=0.01, steps=4, device="cuda",
                         integrator=la.BDF(max_iterations=8, tolerance=1e-10))
assert fast.failed[0] == -1 and fast.failed[1] >= 0, fast.failed
assert "Newton" in fast.reasons[1] and np.isnan(fast.q[1, -1]).all() and np.isfinite(fast.q[0]).all()
print("robots agree")
"""


@pytest.mark.slow
def test_integrators_on_the_simulator():
    """In plain Python: what is tested is what the kernels are made of, not the compiler."""
    pytest.importorskip("numba_cuda")
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", SIMULATED], env=env, capture_output=True, text=True, timeout=300)
    assert "robots agree" in done.stdout, done.stderr


LONG = pytest.mark.skipif(
    os.environ.get("LEASTACTION_LONG_TESTS", "0") in ("", "0"), reason="three minutes; LEASTACTION_LONG_TESTS=1 runs it"
)


@needs_cuda
@pytest.mark.slow
@pytest.mark.cuda
@pytest.mark.parametrize(
    ("integrator", "number"),
    [(la.BDF(), np.float64), pytest.param(la.Maximal(), np.float32, marks=LONG), (la.Midpoint(), np.float64)],
    ids=["redmax", "maximal", "joints"],
)
def test_a_kernel_compiles_to_ptx(integrator, number):
    """All steps of a robot in one thread, from the functions of the CPU; no GPU is needed for that."""
    import numba

    from leastaction.batch import batch_kernels
    from leastaction.batch.batch_plan import Plan
    from leastaction.batch.general.gpu_integrators import problem_of
    from leastaction.batch.general.gpu_runner import arrays_of, written

    robot = la.robots.pendulum(2)
    states, given = (np.zeros((2, 2)), np.zeros((2, 2))), (np.zeros((1, 2, 1)), None, np.zeros((1, 1)))
    plan = Plan(robot, (), integrator, *states, *given, 0.01, 3, 1, np.dtype(number), None)
    problem = problem_of(plan)
    writer, kernel, _ = written(problem.job, problem.reads, problem.writes, plan.dtype)
    arguments = (*writer.numbers(), tuple(writer.shared), tuple(arrays_of(plan, problem)))
    with faster_cuda(apart=True), batch_kernels.literals_as(numba.from_dtype(plan.dtype)):
        ptx = cuda_ptx(kernel, tuple(map(numba.typeof, arguments)))
    assert ".visible .entry" in ptx
    assert f"fma.rn.f{8 * plan.dtype.itemsize}" in ptx
    assert 4 * ptx.count(".f64") < ptx.count(".f32") or number is np.float64
    assert "div.approx" not in ptx
    assert len(ptx) < 25_000_000  # more would take minutes to compile


def test_large_functions_of_a_kernel_stay_functions():
    hooks = pytest.importorskip("leastaction._jit.hooks.numba_patches")
    ir = pytest.importorskip("llvmlite.ir")

    def module(*sizes, kernel=False):
        out, word = ir.Module(), ir.IntType(64)
        for k, size in enumerate(sizes):
            function = ir.Function(out, ir.FunctionType(word, (word,)), f"function{k}")
            builder = ir.IRBuilder(function.append_basic_block())
            x = function.args[0]
            for _ in range(size):
                x = builder.add(x, x)
            builder.ret(x)
        if kernel:
            ir.GlobalVariable(out, word, "llvm.used")
        return out

    device, kernel = module(10, 1000, 1000), module(1000, kernel=True)
    device.functions[2].attributes.add("alwaysinline")
    for own in (device, kernel):
        hooks.keep_large_functions(own)
    assert ["noinline" in f.attributes for f in (*device.functions, *kernel.functions)] == [False, True, False, False]


def test_what_the_general_kernels_cannot_run_is_refused():
    pytest.importorskip("numba_cuda")
    for robot, integrator, dtype, words in (
        (la.robots.pendulum(2), la.Midpoint(), np.float16, "float64 or numpy.float32"),
        (la.robots.cube(), la.Maximal(), np.float32, "use numpy.float64, or Minimal"),
    ):
        with pytest.raises(la.IntegratorError, match=words):
            la.batch.simulate(robot, steps=1, integrator=integrator, device="cuda", dtype=dtype)
