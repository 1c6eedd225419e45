"""A two-link arm throws a ball at a target on the ground: torques are optimised for where the ball lands.

The ball leaves the hand at the last step; where it lands depends on the hand's position and velocity there.
"""

import numpy as np
from optimise import arm, descend, options, report

import leastaction as la
from leastaction.derivatives import SimulationObjective
from leastaction.mechanism import Sphere

LENGTH, STEPS, DT, HEIGHT = 0.5, 60, 0.01, 1.5
TIP, TARGET = (0, 0, -LENGTH), (3.0, 0.0, -HEIGHT)


def hand(q, v):
    """(x, z, vx, vz) of the hand and its derivatives by (q1, q2, v1, v2)."""
    a, b = q[0], q[0] + q[1]
    wa, wb = v[0], v[0] + v[1]
    sa, ca, sb, cb = np.sin(a), np.cos(a), np.sin(b), np.cos(b)
    # Hinges about y turn the hanging arm towards -x.
    value = -LENGTH * np.array([sa + sb, ca + cb, ca * wa + cb * wb, -sa * wa - sb * wb])
    by_ab = -LENGTH * np.array(
        [[ca, cb, 0, 0], [-sa, -sb, 0, 0], [-sa * wa, -sb * wb, ca, cb], [-ca * wa, -cb * wb, -sa, -sb]]
    )
    chain = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [0, 0, 1, 0], [0, 0, 1, 1]])
    return value, by_ab @ chain


def landing(run):
    """Half the squared distance between where the ball lands and the target."""
    (x, z, vx, vz), slope = hand(run.q[-1], run.v[-1])
    root = np.sqrt(vz**2 + 2 * 9.81 * (z + HEIGHT))
    t = (vz + root) / 9.81
    miss = x + vx * t - TARGET[0]
    gradient = miss * np.array([1.0, vx / root, t, vx * (1.0 + vz / root) / 9.81]) @ slope
    dq, dv = np.zeros((2, len(run), 2))
    dq[-1], dv[-1] = gradient[:2], gradient[2:]
    return 0.5 * miss**2, dq, dv


def effort(parameters):
    u = parameters["controls"]
    return 0.5e-6 * float((u**2).sum()), {"controls": 1e-6 * u}


def thrown(run):
    """(run with the ball in hand and in flight, positions of the flight [m], shape (count, 3))."""
    value, _ = hand(run.q[-1], run.v[-1])
    (x, z), (vx, vz) = value[:2], value[2:]
    t = DT * np.arange(int((vz + np.sqrt(vz**2 + 2 * 9.81 * (z + HEIGHT))) / 9.81 / DT) + 1)
    flight = np.stack([x + vx * t, 0 * t, z + vz * t - 0.5 * 9.81 * t**2], axis=1)
    # The arm swings on without torques while the ball flies.
    swing = la.simulate(run.mechanism, run.q[-1], run.v[-1], dt=DT, steps=len(t) - 1, integrator=run.integrator)
    held = np.array([[hand(q, v)[0][0], 0.0, hand(q, v)[0][1]] for q, v in zip(run.q, run.v, strict=True)])
    b = run.mechanism.edit()
    b.body("ball", mass=0.1, shapes=[Sphere(0.05, color=(0.2, 0.55, 0.35, 1.0), collision=False)])
    b.joint("flies", "translational", "world", "ball")
    arm_q, ball = np.concatenate([run.q, swing.q[1:]]), np.concatenate([held, flight[1:]])
    q = np.concatenate([arm_q, ball], axis=1)
    v = np.gradient(q, DT, axis=0)
    return la.Trajectory(b.build(), run.integrator, DT, DT * np.arange(len(q)), q, {"v": v}), flight


def main():
    chosen = options(__doc__)
    robot = arm(2, LENGTH, damping=0.02)
    f = SimulationObjective(robot, la.BDF(order=2), landing, ["controls"], penalty=effort, dt=DT, steps=STEPS)
    x, values = descend(f, chosen.iterations)
    after = f.run(x)
    scene, flight = thrown(after)
    tip = ("link1", TIP)
    report("throw_ball", chosen, values, f.run(f.start), after, tip, TARGET, "throwing a ball", flight, scene)
    print(f"the ball misses by {1e3 * np.sqrt(2 * landing(after)[0]):.3f} mm")


if __name__ == "__main__":
    main()
