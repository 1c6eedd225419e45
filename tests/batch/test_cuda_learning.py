"""A step at a time on a GPU, on the simulator of CUDA: masks, robots that fail, other libraries, and equal bits."""

import gc
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import leastaction as la
from leastaction.batch.device_array import CPU, capsule

SIMULATED = """
import numpy as np, leastaction as la
import leastaction.batch.cuda as card
from leastaction.batch.batch_kernels import load
from tests.batch.garbage import fill_local_arrays

cuda = load()
fill_local_arrays()
there = lambda x: cuda.to_device(np.ascontiguousarray(x))
builder = la.MechanismBuilder("balls on a stick")
builder.body("one", mass=1.0, inertia=(0.01, 0.01, 0.01), shapes=la.mechanism.Sphere(0.1, friction=0.5))
builder.free("one")
other = la.mechanism.Sphere(0.1, pose=la.mechanism.Pose((0.3, 0.0, 0.0)), friction=0.5)
builder.body("other", mass=0.5, com=(0.3, 0, 0), inertia=(0.01, 0.01, 0.01), shapes=other)
builder.revolute("hinge", "one", "other", axis="y", limits=(-0.5, 0.5))
builder.actuator("motor", "hinge")
builder.add_shape("world", la.mechanism.Plane(friction=0.5, pose=la.mechanism.Pose((0.0, 0.0, -0.2))))
robot = builder.build()
rng = np.random.default_rng(0)
q = np.tile(robot.neutral(), (5, 1))
q[:, 2], q[:, 7] = rng.uniform(-0.03, -0.01, 5), rng.uniform(0.0, 0.2, 5)
v, u = 0.5 * rng.normal(size=(5, robot.nv)), rng.normal(size=(5, 1))

# Bit for bit the same robot by robot, in any order, and where threads take one robot after the other.
same = dict(dt=0.02, steps=5, device="cuda", integrator=la.Minimal(self_collision=False))
run = la.batch.simulate(robot, q, v, controls=u[:, None], **same)
assert run.success and run.q.shape == (5, 6, robot.nq) and abs(run.p[:, -1] - run.p[:, 0]).max() > 1e-2
back = la.batch.simulate(robot, q[::-1], v[::-1], controls=u[::-1, None], **same)
assert (back.q[::-1] == run.q).all() and (back.p[::-1] == run.p).all()
alone = la.batch.simulate(robot, q[2:3], v[2:3], controls=u[2:3, None], **same)
assert (alone.q[0] == run.q[2]).all() and (alone.p[0] == run.p[2]).all()
whole = card.contact_scratch_shapes


def few_threads(sizes, dtype, robots):
    return 2, ((2, sizes.impulses, sizes.impulses, 2), (4, sizes.impulses, sizes.nv, 2))


card.contact_scratch_shapes = few_threads
roomy = la.batch.simulate(robot, q, v, controls=u[:, None], **same)
assert (roomy.q == run.q).all() and (roomy.p == run.p).all()
card.contact_scratch_shapes = whole

# A mask on the GPU says which robots are put elsewhere; the arrays of the simulator stay where they are.
sims = [la.batch.Simulator(robot, 5, dt=0.02, integrator=same["integrator"], device=on) for on in ("cuda", "cpu")]
gpu, cpu = sims
for sim in sims:
    sim.reset(q, v)
    sim.step(u)
mask = np.array([True, False, False, True, False])
gpu.reset(there(q), there(v), which=there(mask))
cpu.reset(q[mask], v[mask], which=mask)
for k in range(3):
    assert abs(np.asarray(gpu.q) - cpu.q).max() < 1e-12 and abs(np.asarray(gpu.v) - cpu.v).max() < 1e-9
    gpu.step(there(u))
    cpu.step(u)
gpu.reset(which=there(mask))
assert (np.asarray(gpu.q)[mask] == robot.home()).all() and (np.asarray(gpu.v)[mask] == 0.0).all()

# Robots whose controls or states are none fail by themselves, with their reason; the others go on.
gpu.reset(q, v)
gpu.step(there(np.where(np.arange(5)[:, None] == 3, np.nan, u)))
cpu.reset(q, v)
cpu.step(u)
good = np.arange(5) != 3
assert gpu.failed.tolist() == (~good).tolist() and list(gpu.reasons) == [3] and "controls" in gpu.reasons[3]
assert np.isnan(np.asarray(gpu.q)[3]).all() and np.isnan(np.asarray(gpu.v)[3]).all()
assert abs(np.asarray(gpu.q)[good] - cpu.q[good]).max() < 1e-12
assert (np.asarray(gpu.device_failed) >= 0).tolist() == gpu.failed.tolist()
wrong = q.copy()
wrong[0, 3:7] *= 1.1
wrong[1, 0] = np.inf
gpu.reset(there(wrong), there(v), which=there(np.arange(5) != 4))
assert gpu.failed.tolist() == [True, True, False, False, False] and "quaternion" in gpu.reasons[0], gpu.reasons
gpu.step(there(u))
assert np.isnan(np.asarray(gpu.p)[:2]).all() and np.isfinite(np.asarray(gpu.p)[2:]).all()


def refused(call, *words):
    try:
        call()
    except la.LeastActionError as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(words)


class Wanting:
    requires_grad = True


refused(lambda: gpu.step(Wanting()), "wants gradients", "detach")
refused(lambda: gpu.reset(which=there(mask[:2])), "which: expected", "shape (5,)")
refused(lambda: gpu.reset(there(q[:2]), which=there(mask)), "q: expected shape")
print("learns")
"""


@pytest.mark.slow
def test_a_step_at_a_time_on_the_simulator():
    pytest.importorskip("numba_cuda")
    env = os.environ | {"NUMBA_ENABLE_CUDASIM": "1", "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", SIMULATED], env=env, capture_output=True, text=True, timeout=300)
    assert "learns" in done.stdout, done.stderr


class Shared:
    """An array of NumPy that is given by the capsules of device arrays."""

    def __init__(self, array):
        self.array = array

    def __dlpack_device__(self):
        return CPU, 0

    def __dlpack__(self, **_):
        return capsule(self.array.__array_interface__, self.array, self.__dlpack_device__())


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64])
def test_a_capsule_is_a_view(kind):
    """Whatever its strides are, and it keeps the memory as long as somebody looks at it."""
    array = np.arange(12, dtype=kind).reshape(3, 4)
    for given in (array, array.T, array[::2, 1:]):
        view = np.from_dlpack(Shared(given))
        assert view.shape == given.shape
        assert view.dtype == kind
        assert np.shares_memory(view, array)
        assert (view == given).all()
    kept = np.from_dlpack(Shared(np.full(1000, 7, kind)))
    gc.collect()
    assert (kept == 7).all()


def scattered(robot, robots):
    rng = np.random.default_rng(0)
    q = robot.integrate(np.tile(robot.home(), (robots, 1)), rng.uniform(-0.6, 0.6, (robots, robot.nv)))
    q[:, 2] = rng.uniform(0.1, 1.2, robots)
    return q


@pytest.mark.parametrize("integrator", [la.Minimal(), la.Maximal()], ids=repr)
def test_only_starts_that_overlap_are_searched(integrator):
    """Starts that the compiled look leaves out are those that a search would leave where they are."""
    from leastaction.batch.gpu_initial_states import moved_starts

    robot = la.robots.unitree_a1(ground=True)
    stepper, q = integrator.prepare(robot, 0.005), scattered(robot, 24)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        moved = np.array([stepper.clear_start(row) for row in q])
        marks = stepper.overlapping(q)
        changed = (moved != q).any(axis=1)
        assert 0 < changed.sum() < len(q)
        assert (marks == changed).all()
        assert (moved_starts(stepper, q) == moved).all()


def test_starts_beyond_limits_are_moved_together():
    """One warning names the first robot and counts the others; all are where a single run would start."""
    from leastaction.batch.gpu_initial_states import moved_starts

    robot = la.robots.unitree_a1(ground=True)
    stepper, q = la.Minimal().prepare(robot, 0.005), np.tile(robot.home(), (6, 1))
    q[:, 2], q[2:5, 9] = 1.0, [-10.0, -11.0, 10.0]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        moved = moved_starts(stepper, q)
    (only,) = (str(one.message) for one in said)
    assert "robot 2: the start lies beyond the limits" in only
    assert "the like of 2 other robots" in only
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert (moved[2:5] == [la.simulate(robot, row, steps=0, integrator=la.Minimal()).q[0] for row in q[2:5]]).all()
    assert (moved[[0, 1, 5]] == q[[0, 1, 5]]).all()
