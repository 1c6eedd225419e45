"""Quasi-Newton method of Lee et al. 2016, for comparison.

Lee, Liu, Park and Srinivasa, A Linear-Time Variational Integrator for Multibody Systems, WAFR 2016. The
derivative of the residual is approximated by -M / dt: the residual is taken as an impulse, and the update is the
displacement by its velocity response in one step,

    dx = dt M(q)^-1 r,

by an articulated-body recursion at the end of the present iterate. Steps of order 2 only. Converges linearly.
"""

from leastaction._jit import routine
from leastaction.dynamics import recursions
from leastaction.dynamics.arrays import DynamicsData, DynamicsModel
from leastaction.minimal.galerkin_joints.joint_rollout import rollout_with


@routine
def direction(model, settings, points, data, dx):
    """dx[0]: the response to the residual."""
    nodes, dofs, pts, scr = model.nodes, model.dofs, points.nodes, points.screws
    links, screws = data.links, data.screws
    al = pts.shape[0] - 1
    for i in range(nodes.shape[0]):
        for c in range(10):
            links[i].M[c] = pts[al, i].M[c]
    for k in range(dofs.shape[0]):
        for c in range(6):
            screws[k].S[c] = scr[al, k].S[c]
    weightless, work = DynamicsModel(nodes, dofs, data.zero3), DynamicsData(links, screws, data.external)
    recursions.accelerations(weightless, work, data.zero, points.r[0], dx[0])
    for k in range(dofs.shape[0]):
        dx[0, k] *= settings.dt


rollout = rollout_with(direction, limit=1_000_000, cap=1e12)
"""Steps as those of `joint_rollout`, without limits of iterations and updates."""
