"""What the pictures of Spring Flamingo's scripts have in common: the robot from the side, and its soles over time."""

import numpy as np

import leastaction as la

SOLES = [(f"{side}_foot", (x, 0.0, -0.04)) for side in "rl" for x in (0.0575, -0.1725)]
"""Ends of the soles: bodies, and points on them [m]."""
LEGS = [
    ("0.25", [("body", (0, 0, 0.4)), ("body", (0, 0, 0))]),
    *(
        (color, [(f"{s}_{part}", (0, 0, 0)) for part in ("upper_leg", "lower_leg", "foot")])
        for s, color in (("r", "C0"), ("l", "C1"))
    ),
    *(
        (color, [(f"{s}_foot", (0, 0, 0)), *(p for p in SOLES if p[0][0] == s), (f"{s}_foot", (0, 0, 0))])
        for s, color in (("r", "C0"), ("l", "C1"))
    ),
]
"""Lines through points of the robot, with their colours."""


def paths(robot, Q, points):
    """Places of points of bodies along a motion, shape (points, knots, 3)."""
    poses = np.array([la.dynamics.body_poses(robot, q) for q in Q])
    return np.array(
        [poses[:, robot.body_index(b), :3, :3] @ x + poses[:, robot.body_index(b), :3, 3] for b, x in points]
    )


def draw_robots(axes, robot, Q, **style):
    """The robot from the side at some of its configurations, the later the darker; it faces -x."""
    for k, q in enumerate(Q):
        for color, chain in LEGS:
            x, _, z = paths(robot, q[None], chain)[:, 0].T
            alpha = 0.35 + 0.6 * k / max(len(Q) - 1, 1)
            axes.plot(-x, z, color=color, alpha=alpha, solid_capstyle="round", **style)
    axes.axhline(0.0, color="0.4", lw=1)
    axes.set(aspect="equal", ylabel="z [m]", xlabel="way [m]")


def draw_soles(axes, planned, tracked, scale=1.0):
    """Lowest points of the soles over time, as planned and as tracked."""
    for motion, style, told in ((planned, "-", "planned"), (tracked, ":", "tracked")):
        for points, color, side in ((SOLES[:2], "C0", "right"), (SOLES[2:], "C1", "left")):
            z = paths(planned.mechanism, motion.q, points)[:, :, 2].min(axis=0)
            axes.plot(motion.t, scale * z, style, color=color, lw=1.4, label=f"{side}, {told}")
    axes.legend(fontsize=8, ncols=2)


def draw_forces(axes, plan):
    """Planned normal forces of heels and toes over time."""
    for side, color in (("r", "C0"), ("l", "C1")):
        for end, style in (("heel", "-"), ("toe", "--")):
            normal = plan.forces[f"contact {side}_{end}"][:, 0]
            axes.plot(plan.t, normal, style, color=color, lw=1.4, label=f"{side}_{end}")
    axes.set(ylabel="normal force, planned [N]")
    axes.legend(fontsize=8, ncols=2)
