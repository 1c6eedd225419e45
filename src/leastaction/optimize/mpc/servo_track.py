"""Following a solution with servos in the joints: its positions and velocities are their targets, its controls are fed
forward.

A motor's controller that runs once a step is unstable where its gains are stiff beside the inertia of a light leg, and
gains that are not are too soft to carry the robot. A `Servo` is solved for together with the motion, so its gains may
be those of a real robot's motors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from leastaction.errors import ProblemError
from leastaction.integration.integrators import Integrator
from leastaction.mechanism import Mechanism, Servo
from leastaction.mechanism._check import shown
from leastaction.mechanism.drives.actuators import JointActuator
from leastaction.optimize.functions import argument_checks
from leastaction.optimize.mpc.stance_feedback import Stance, StanceFeedback
from leastaction.optimize.solution.solution import Solution
from leastaction.typing import FloatArray

if TYPE_CHECKING:
    from leastaction.trajectory.trajectory import Trajectory


def servo_track(
    solution: Solution,
    mechanism: Mechanism | None = None,
    *,
    kp: ArrayLike,
    kv: ArrayLike,
    stance: StanceFeedback | None = None,
    q: ArrayLike | None = None,
    v: ArrayLike | None = None,
    integrator: Integrator | None = None,
    dt: float | None = None,
) -> Trajectory:
    """Simulate a robot whose motors are servos that follow a solution.

    Each servo exerts kp (q* - q) + kv (v* - v) and the force u* of its motor, where * is the solution between its
    knots. Where contacts of a plan differ a little from those of a simulator, legs still go where they were to go, and
    a robot that leans comes back when its next feet are put down; no derivatives are needed. Limits of the motors do
    not bind servos: `servo_forces` gives what they exerted.

    Args:
        solution: of a problem without phases, whose actuators are motors of joints with one axis.
        mechanism: the robot with its ground; default: that of the solution.
        kp: feedback of positions [N m/rad or N/m], one number or (nu,).
        kv: feedback of velocities [N m s/rad or N s/m], one number or (nu,).
        stance: feedback of the body through the feet that stand, and of the feet that do not, for soft servos of robots
            with a free base; once a step.
        q, v: where it starts; default: where the solution does.
        integrator: default: that of the problem.
        dt: time step [s]; default: that of the problem.
    """
    from leastaction.simulation.simulate import simulate

    if not isinstance(solution, Solution):
        raise ProblemError(f"servo_track needs a Solution, got {shown(solution)}")
    if solution.phases:
        raise ProblemError("servo_track: the solution has phases, in which feet are held; use Solution.track")
    run, m = solution.trajectory, solution.mechanism
    robot = m if mechanism is None else mechanism
    if not isinstance(robot, Mechanism) or (robot.nq, robot.nu) != (m.nq, m.nu):
        raise ProblemError(f"servo_track: mechanism must be the robot of the solution, got {shown(robot)}")
    if not robot.actuators:
        raise ProblemError(f"servo_track: {robot.name!r} has no actuators to turn into servos")
    motors = []
    for motor in robot.actuators:
        if not isinstance(motor, JointActuator) or isinstance(motor, Servo):
            raise ProblemError(f"servo_track: actuator {motor.name!r} is no motor of a joint")
        motors.append(motor)
    gains = [
        np.broadcast_to(argument_checks.numbers(x, [(), (m.nu,)], f"servo_track: {name}"), (m.nu,))
        for name, x in (("kp", kp), ("kv", kv))
    ]
    stiff, damping = gains
    if not (stiff > 0.0).all() or not (damping >= 0.0).all():
        raise ProblemError(f"servo_track: kp must be positive and kv not negative, got {kp!r} and {kv!r}")
    servos = [
        Servo(motor.name, motor.coordinate, kp=float(a), kv=float(b))
        for motor, a, b in zip(motors, stiff, damping, strict=True)
    ]
    gear = np.array([motor.push for motor in motors])
    iq = [m.coordinate_index(motor.coordinate) for motor in motors]
    iv = [m.velocity_index(motor.coordinate) for motor in motors]
    feet = None if stance is None else Stance(solution, stance, iv)
    speeds = m.difference(run.q[:-1], run.q[1:]) / run.dt

    def targets(t: float, forces: float | FloatArray = 0.0) -> FloatArray:
        k = min(max(int(t / run.dt + 1e-9), 0), run.steps - 1)
        wanted = run.q[k, iq] + min(t - k * run.dt, run.dt) * speeds[k, iv]
        return wanted + (gear * solution.control(t) + forces + damping * speeds[k, iv]) / stiff

    def with_stance(t: float, q: FloatArray, v: FloatArray) -> FloatArray:
        assert feet is not None
        k = min(max(int(t / run.dt + 1e-9), 0), run.steps - 1)
        part = min(t / run.dt - k, 1.0)
        planned = m.integrate(run.q[k], part * run.dt * speeds[k])
        lacks, slow = m.difference(q, planned)[:6], (speeds[k] - v)[:6]
        return targets(t, feet.torques(k, part, q, lacks, slow)) + feet.moves(k, part, q, planned, slow)

    drive: dict[str, Any] = {"controls": targets} if feet is None else {"controller": with_stance}
    step = run.dt if dt is None else float(dt)
    return simulate(
        robot.replace(actuators=tuple(servos)),
        q=run.q[0] if q is None else q,
        v=run.v[0] if v is None else v,
        dt=step,
        steps=max(round(solution.duration / step), 1),
        integrator=run.integrator if integrator is None else integrator,
        progress=False,
        **drive,
    )


def servo_forces(run: Trajectory) -> FloatArray:
    """What the servos of a run exerted in the middles of its steps [N m or N], shape (steps, nu)."""
    if not hasattr(run, "mechanism") or not hasattr(run, "stored"):
        raise ProblemError(f"servo_forces needs a Trajectory, got {shown(run)}")
    m = run.mechanism
    servos = [a for a in m.actuators if isinstance(a, Servo)]
    if len(servos) != m.nu:
        raise ProblemError("servo_forces: the robot has other actuators than servos")
    iq = [m.coordinate_index(s.coordinate) for s in servos]
    iv = [m.velocity_index(s.coordinate) for s in servos]
    middle = 0.5 * (run.q[:-1] + run.q[1:])[:, iq]
    speed = m.difference(run.q[:-1], run.q[1:])[:, iv] / run.dt
    u = np.asarray(run.stored["u"]).mean(axis=1)
    push, gear, kp, kv, rest = np.array([(s.push, s.gear, s.kp, s.kv, s.rest) for s in servos]).T
    return push * u - gear * (kp * (gear * middle - rest) + kv * gear * speed)
