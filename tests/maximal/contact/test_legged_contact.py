"""Contact of legged robots: a light foot carries a heavy body, and joints stand between them.

The states below once defeated the solver. Whatever the load on a foot, a step must be solved: joints closed to 1e-10,
no foot below the ground, forces inside their friction cones.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

import leastaction as la

FRICTION = 0.8
GAINS = {"hip": (100.0, 5.0), "thigh": (80.0, 4.0), "calf": (60.0, 3.0)}


@pytest.fixture(scope="module")
def quadruped():
    robot = la.robots.unitree_a1(ground=True, friction=FRICTION)
    joints = [robot.joints[0]]
    for joint in robot.joints[1:]:
        kp, kd = GAINS[joint.name.split("_")[1]]
        joints.append(replace(joint, stiffness=(kp,), damping=(kd,), rest=(0.0,)))
    # Controls are the torques of springs, which may be larger than those of motors.
    motors = tuple(replace(motor, lower=-math.inf, upper=math.inf) for motor in robot.actuators)
    return robot.replace(joints=tuple(joints), actuators=motors)


def trot(robot, gait, duration, dt=0.001):
    """A trot from standing; gait: frequency [Hz], amplitude and centre [rad] of the thighs, then of the calves."""
    frequency, a1, d1, a2, d2 = gait
    t = dt * np.arange(round(duration / dt))
    angles = np.zeros((len(t), 12))
    for leg, shift in enumerate((0.0, math.pi, math.pi, 0.0)):
        phase = 2.0 * math.pi * frequency * t + shift
        angles[:, 3 * leg + 1] = a1 * np.cos(phase) + d1
        angles[:, 3 * leg + 2] = a2 * np.sin(phase) + d2
    q = robot.neutral()
    q[7:] = angles[0]
    poses = la.dynamics.body_poses(robot, q)
    calves = [robot.body_index(f"{leg}_calf") for leg in ("FR", "FL", "RR", "RL")]
    q[2] = 0.02 - min((poses[i] @ (0.0, 0.0, -0.2, 1.0))[2] for i in calves)
    u = np.array([100.0, 80.0, 60.0] * 4) * angles
    return la.simulate(robot, q=q, dt=dt, steps=len(t), integrator=la.Maximal(order=1), controls=u)


@pytest.mark.parametrize(
    ("gait", "duration"),
    [
        # Two feet carry 13.7 kg, sixty times the mass of a calf: the solver started too low on its central path.
        ((3.6, 0.1585, 0.9576, -0.3258, -1.48245), 0.12),
        # A foot that sticks beside one that slides: stiff contacts made the joints' equations look dependent.
        ((1.3455842, 0.08216181, 1.03304371, -0.13031572, -1.40946441), 1.05),
    ],
)
def test_every_step_of_a_trot_is_solved(quadruped, gait, duration):
    run = trot(quadruped, gait, duration)
    assert run.constraint_violation.max() <= 1e-10
    assert run.iterations.max() <= 30  # with those of modes that were tried in vain
    contacts = run.stored["contacts"]
    assert len(contacts) > 1.5 * (len(run) - 1)  # two feet or more on the ground, most of the time
    assert contacts[:, 9].min() >= -1e-10
    normal, tangential = contacts[:, 8], np.hypot(contacts[:, 6], contacts[:, 7])
    assert (tangential <= FRICTION * normal * (1.0 + 1e-6) + 1e-6).all()
    # Newton's second law over the whole run: the ground's impulse is the change of vertical momentum and the weight's.
    weight = quadruped.total_mass * 9.81
    rise = quadruped.total_mass * (center_velocity(run, -1) - center_velocity(run, 0))[2]
    impulse = normal.sum() * 0.001 - weight * (len(run) - 1) * 0.001
    assert impulse == pytest.approx(rise, abs=weight * 0.001)


def center_velocity(run, k):
    """Velocity of the centre of mass [m/s], by differences of its positions."""
    k = k % len(run)
    a, b = max(k - 1, 0), min(k + 1, len(run) - 1)
    centers = [la.dynamics.center_of_mass(run.mechanism, run.q[j]) for j in (a, b)]
    return (centers[1] - centers[0]) / (run.t[b] - run.t[a])


def test_a_heavy_robot_stands_on_light_feet(quadruped):
    """Standing still: the feet carry the weight, and sideways drift is none."""
    run = trot(quadruped, (1.0, 0.0, 1.0, 0.0, -1.5), 1.0)
    forces = run.stored["contacts"]
    last = forces[forces[:, 0] == len(run) - 2]
    assert last[:, 8].sum() == pytest.approx(quadruped.total_mass * 9.81, rel=1e-2)
    assert np.abs(run.q[-1, :2] - run.q[len(run) // 2, :2]).max() < 1e-4
