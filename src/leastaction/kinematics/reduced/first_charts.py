"""Choosing the charts of a state."""

from leastaction._jit import entry
from leastaction.kinematics.reduced.charts import SWITCH, XYZ, angles, quality
from leastaction.spatial import quat_to_rotation


@entry
def first_charts(balls, q, charts):
    """XYZ wherever it is far from its singularity, else the best of the twelve; -1 for exponential coordinates."""
    for b in range(balls.shape[0]):
        n = balls[b].iq
        if balls[b].exponential != 0:
            charts[b] = -1
            continue
        R = quat_to_rotation((q[n], q[n + 1], q[n + 2], q[n + 3]))
        charts[b] = XYZ
        best = quality(XYZ, angles(XYZ, R)[1])
        if best <= SWITCH:
            for c in range(12):
                x = quality(c, angles(c, R)[1])
                if x > best:
                    best = x
                    charts[b] = c
