"""What environments ask of robots: where they start, what they see, what is good, when it is over."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from leastaction.errors import LeastActionError
from leastaction.gym.ids import HORIZONS
from leastaction.integration import registry
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Capsule, Mechanism, MechanismBuilder, Plane, Pose, Sphere
from leastaction.mechanism._check import count, positive, real_array, shown
from leastaction.mechanism.arguments import robot as robot_of
from leastaction.robots import acrobot, cart_pole, unitree_a1
from leastaction.simulation.simulator import Simulator
from leastaction.typing import FloatArray

State = tuple[FloatArray, FloatArray]


def seen_state(q: FloatArray, v: FloatArray) -> FloatArray:
    """All of a state: positions, then velocities."""
    return np.concatenate([q, v])


def never_over(q: FloatArray, v: FloatArray) -> bool:
    """No state ends the episode."""
    return False


@dataclass(frozen=True, eq=False)
class Task:
    """A robot and what it is to do.

    Attributes:
        robot: the mechanism.
        integrator: how it moves; default what the robot needs, see `leastaction.simulate`.
        dt: time step [s].
        skip: steps for which an action is held.
        horizon: actions of an episode.
        scale: controls of the action 1 [N or N m], shape (nu,); actions go from -1 to 1. Default: so that these are
            the limits of the controls, 1 where there are none.
        offset: controls of the action 0, shape (nu,); default: the middle of the limits.
        start: state (q, v) at the start, from a random generator; default home, at rest.
        observe: what is seen of a state (q, v); default both.
        reward: of an action, from the states (q, v) before and after it, the action and the time between them [s]; it
            must be given.
        over: whether a state (q, v) ends the episode; default never.
    """

    robot: Mechanism
    integrator: Integrator | None = None
    dt: float = 0.01
    skip: int = 1
    horizon: int = 500
    scale: FloatArray = field(default=None)  # type: ignore[assignment]
    offset: FloatArray = field(default=None)  # type: ignore[assignment]
    start: Callable[[np.random.Generator], State] = field(default=None)  # type: ignore[assignment]
    observe: Callable[[FloatArray, FloatArray], FloatArray] = seen_state
    reward: Callable[[State, State, FloatArray, float], float] = field(default=None)  # type: ignore[assignment]
    over: Callable[[FloatArray, FloatArray], bool] = never_over

    def __post_init__(self) -> None:
        m = robot_of(self.robot)
        for name in ("reward", "observe", "over"):
            if not callable(getattr(self, name)):
                raise LeastActionError(f"task: {name} must be a function, got {shown(getattr(self, name))}")
        low, high = (
            np.array([getattr(a, name) for a in m.actuators] or [np.inf] * m.nu) for name in ("lower", "upper")
        )
        bounded = np.isfinite(low) & np.isfinite(high)
        low, high = np.where(bounded, low, -1.0), np.where(bounded, high, 1.0)
        for name, default in (("scale", 0.5 * (high - low)), ("offset", 0.5 * (high + low))):
            given = getattr(self, name)
            values = default if given is None else real_array(given)
            if values is None or values.shape != (m.nu,) or not np.isfinite(values).all():
                raise LeastActionError(f"task: {name}: expected {m.nu} finite numbers, got {shown(given)}")
            object.__setattr__(self, name, values)
        for name in ("skip", "horizon"):
            count(getattr(self, name), f"task: {name}")
        positive(self.dt, "task: dt")
        if self.start is None:
            object.__setattr__(self, "start", lambda rng: (m.home(), np.zeros(m.nv)))

    def simulator(self) -> Simulator:
        """A simulator of the robot."""
        return Simulator(self.robot, self.integrator, self.dt)

    def act(self, sim: Simulator, action: FloatArray) -> tuple[FloatArray, float, bool]:
        """Hold an action for its steps: (observation, reward, over). Raises what the simulator raises."""
        before = sim.q, sim.v
        u = self.offset + self.scale * np.clip(action, -1.0, 1.0)
        for _ in range(self.skip):
            sim.step(u)
        after = sim.q, sim.v
        reward = self.reward(before, after, action, self.dt * self.skip)
        return self.observe(*after), reward, self.over(*after)


def balanced_cart_pole() -> Task:
    """A pole that stands on a cart: keep it there; 1 for each action."""
    robot = cart_pole()

    def start(rng: np.random.Generator) -> State:
        return np.array([0.0, math.pi]) + rng.uniform(-0.05, 0.05, 2), rng.uniform(-0.05, 0.05, 2)

    def observe(q: FloatArray, v: FloatArray) -> FloatArray:
        return np.array([q[0], math.sin(q[1] - math.pi), math.cos(q[1] - math.pi), *v])

    return Task(
        robot=robot,
        integrator=registry.make("galerkin", {"order": 2}),
        dt=0.02,
        skip=1,
        horizon=HORIZONS["CartPole"],
        scale=np.array([20.0]),
        offset=np.zeros(1),
        start=start,
        observe=observe,
        reward=lambda before, after, action, time: 1.0,
        over=lambda q, v: bool(abs(q[0]) > 2.4 or abs(q[1] - math.pi) > 0.3),
    )


def swinging_acrobot() -> Task:
    """A double pendulum driven at its elbow: swing its tip up; the tip's height over the pivot, from -1 to 1."""
    robot = acrobot()

    def start(rng: np.random.Generator) -> State:
        return rng.uniform(-0.1, 0.1, 2), rng.uniform(-0.1, 0.1, 2)

    def observe(q: FloatArray, v: FloatArray) -> FloatArray:
        return np.array([math.cos(q[0]), math.sin(q[0]), math.cos(q[1]), math.sin(q[1]), *v])

    def reward(before: State, after: State, action: FloatArray, time: float) -> float:
        q = after[0]
        return -0.5 * (math.cos(q[0]) + math.cos(q[0] + q[1])) - 0.01 * float(action @ action)

    return Task(
        robot=robot,
        integrator=registry.make("galerkin", {"order": 2}),
        dt=0.01,
        skip=5,
        horizon=HORIZONS["Acrobot"],
        scale=np.array([10.0]),
        offset=np.zeros(1),
        start=start,
        observe=observe,
        reward=reward,
        over=lambda q, v: False,
    )


def hopper_robot() -> Mechanism:
    """A leg that moves in a vertical plane: torso, thigh, shank and foot, 1.25 m high, 17 kg."""
    b = MechanismBuilder("hopper")
    b.body("torso", shapes=Capsule(radius=0.05, length=0.4, collision=False), mass=8.0)
    b.body("thigh", shapes=Capsule(radius=0.05, length=0.4, pose=Pose((0.0, 0.0, -0.2)), collision=False), mass=4.0)
    b.body("shank", shapes=Capsule(radius=0.04, length=0.4, pose=Pose((0.0, 0.0, -0.2)), collision=False), mass=3.0)
    along = Pose((0.065, 0.0, 0.0), (math.sqrt(0.5), 0.0, math.sqrt(0.5), 0.0))
    b.body("foot", shapes=Capsule(radius=0.06, length=0.26, pose=along, friction=1.0), mass=2.0)
    b.joint("base", "planar", "world", "torso", axis="y")
    b.revolute("hip", "torso", "thigh", axis="-y", position=(0.0, 0.0, -0.2), limits=(-2.6, 0.2), damping=1.0)
    b.revolute("knee", "thigh", "shank", axis="-y", position=(0.0, 0.0, -0.4), limits=(-0.1, 2.6), damping=1.0)
    b.revolute("ankle", "shank", "foot", axis="-y", position=(0.0, 0.0, -0.4), limits=(-0.8, 0.8), damping=1.0)
    for joint in ("hip", "knee", "ankle"):
        b.actuator(f"{joint} motor", joint)
    b.add_shape("torso", Sphere(radius=0.05, pose=Pose((0.0, 0.0, 0.2)), friction=1.0))
    b.add_shape("world", Plane(friction=1.0))
    return b.build()


def hopping_leg() -> Task:
    """A leg on flat ground: hop forwards without falling; its speed, and 1 for each action that it stands."""
    robot = hopper_robot()
    x, z, turn = (robot.coordinate_index(f"base.{name}") for name in ("slide2", "slide1", "turn1"))
    high = 1.06

    def start(rng: np.random.Generator) -> State:
        q = robot.neutral()
        q[z] = high
        return robot.integrate(q, rng.uniform(-0.005, 0.005, robot.nv)), rng.uniform(-0.005, 0.005, robot.nv)

    def observe(q: FloatArray, v: FloatArray) -> FloatArray:
        return np.concatenate([[q[z]], q[[k for k in range(robot.nq) if k not in (x, z)]], np.clip(v, -10.0, 10.0)])

    def reward(before: State, after: State, action: FloatArray, time: float) -> float:
        return 1.0 + float(after[0][x] - before[0][x]) / time - 1e-3 * float(action @ action)

    return Task(
        robot=robot,
        integrator=registry.make("minimal"),
        dt=0.004,
        skip=2,
        horizon=HORIZONS["Hopper"],
        scale=np.array([120.0, 120.0, 60.0]),
        offset=np.zeros(3),
        start=start,
        observe=observe,
        reward=reward,
        over=lambda q, v: bool(q[z] < 0.7 or abs(q[turn]) > 0.5),
    )


KP, KD = 80.0, 2.0
"""Gains of the joints of A1 [N m/rad, N m s/rad]."""

HEIGHT = 0.3
"""Height of the trunk of A1 in this stance [m]."""

STANCE = 4 * (0.0, 0.8, -1.6)
"""Angles of hip, thigh and calf of each leg of A1 where the action is 0 [rad]."""


def walking_quadruped() -> Task:
    """A1 on flat ground: walk forwards; actions move the targets of its joint servos by up to 0.5 rad."""
    robot = unitree_a1(ground=True)
    stance = iter(STANCE)
    joints = [
        replace(joint, stiffness=(KP,), damping=(KD,), rest=(0.0,), home=(next(stance),))
        if joint.nv == 1
        else replace(joint, home=(0.0, 0.0, HEIGHT, 1.0, 0.0, 0.0, 0.0))
        if joint.kind == "free"
        else joint
        for joint in robot.joints
    ]
    # Their controls are torques of springs, which may be larger than those that act.
    motors = tuple(replace(motor, lower=-np.inf, upper=np.inf) for motor in robot.actuators)
    robot = robot.replace(joints=tuple(joints), actuators=motors)

    def start(rng: np.random.Generator) -> State:
        q = robot.neutral()
        q[2], q[7:] = HEIGHT, np.array(STANCE) + rng.uniform(-0.02, 0.02, 12)
        return q, np.zeros(robot.nv)

    def observe(q: FloatArray, v: FloatArray) -> FloatArray:
        return np.concatenate([q[2:], np.clip(v, -20.0, 20.0)])

    def reward(before: State, after: State, action: FloatArray, time: float) -> float:
        return float(after[0][0] - before[0][0]) / time + 0.5 - 0.02 * float(action @ action)

    def over(q: FloatArray, v: FloatArray) -> bool:
        upright = 1.0 - 2.0 * (q[4] ** 2 + q[5] ** 2)
        return bool(q[2] < 0.15 or upright < 0.5)

    return Task(
        robot=robot,
        integrator=registry.make("minimal"),
        dt=0.005,
        skip=4,
        horizon=HORIZONS["A1"],
        scale=KP * np.full(12, 0.5),
        offset=KP * np.array(STANCE),
        start=start,
        observe=observe,
        reward=reward,
        over=over,
    )


TASKS: dict[str, Callable[[], Task]] = {
    "CartPole": balanced_cart_pole,
    "Acrobot": swinging_acrobot,
    "Hopper": hopping_leg,
    "A1": walking_quadruped,
}
"""Tasks by the names in their ids."""


def task_of(task: Any) -> Task:
    """A task, or the one of a name."""
    if isinstance(task, Task):
        return task
    if not (isinstance(task, str) and task in TASKS):
        raise LeastActionError(f"task must be a Task or one of {', '.join(TASKS)}, got {task!r}")
    return TASKS[task]()
