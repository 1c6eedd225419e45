"""Derivative of the impulses of rigid contacts by the motion of a solved step.

Modes follow from the natural map at the solution, and `W` of every cone is that of its mode
(`solver.semismooth_newton`), with the compliance of the step's solution. Smoothed contact, and linearised cones, have
the response of the central path instead (`contact.laws.cones.reduce`).
"""

import math

from leastaction._jit import inline, routine
from leastaction.contact.laws import cones as ip
from leastaction.maximal.step.solver.contact_masses import weigh_cone
from leastaction.maximal.step.solver.predictor_corrector import PREDICTOR, add_block, evaluate_cones
from leastaction.maximal.step.solver.semismooth_newton import (
    OPEN,
    SLIP,
    evaluate_modes,
    is_rigid,
    mode_of,
    respond,
    slack_of,
    sliding_of,
    slip_of,
)

CENTRAL = 3
"""Mode of a cone with the response of the central path."""


@routine(allocates=False)
def find_response(model, settings, data, contact, dt):
    """Fill `W` of all cones of a solved step, at its unknowns, with gaps and their gradients."""
    if not is_rigid(settings):
        evaluate_cones(model.coordinates, data.bodies, data.coordinates, contact, dt)
        for k in range(contact.now[0].count):
            c = contact.cones[k]
            c.mode = CENTRAL
            ip.reduce(c, 0.0, PREDICTOR)
        return
    evaluate_modes(model.coordinates, data.bodies, data.coordinates, contact, dt, contact.now[0].count > 0)
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        weigh_cone(model.bodies, c, max(contact.now[0].load, 1.0))
        c.mode = mode_of(c)
        if c.mode == OPEN:
            c.gam = c.beta[0] = c.beta[1] = 0.0
        respond(c, 0.0)
        if c.kind >= ip.DRY:
            c.W[0] = 0.0  # its contact pushes, not a TURN
        if settings.response_smoothing > 0.0:
            use_smoothed_response(c, settings.response_smoothing)


@routine(allocates=False)
def use_smoothed_response(c, kappa):
    """Give a cone of rigid contact the response of smoothed contact at the same state.

    The point of the central path at `kappa` [J] has the same gam - r s of the natural map, and the same slip.
    """
    gam, b0, b1, share = c.gam, c.beta[0], c.beta[1], c.share
    natural, y = gam - c.weight * slack_of(c), slip_of(c)
    slack = (math.sqrt(natural * natural + 4.0 * c.weight * kappa) - natural) / (2.0 * c.weight)
    c.share = 1.0
    ip.begin(c, 1.0 if c.kind == ip.DRY else slack, y[0], y[1], kappa)
    ip.reduce(c, 0.0, PREDICTOR)
    c.gam, c.beta[0], c.beta[1], c.share = gam, b0, b1, share


@routine(allocates=False)
def add_response(model, data, contact):
    """Add the blocks D' W E of all cones to the Newton matrix."""
    for k in range(contact.now[0].count):
        add_block(model, data, contact.cones[k])


@inline
def friction_direction(c):
    """Change of the friction impulse (2) per change of its bound, at constant motion and normal impulse."""
    if c.mode == CENTRAL:
        return ip.friction_slope(c)
    if c.kind == ip.LIMIT or c.mode != SLIP:
        return 0.0, 0.0
    _, d0, d1, _, _ = sliding_of(c)
    return d0, d1


@routine(allocates=False)
def response_step(model, data, contact, dt):
    """Fill `w0` of all cones: the impulse steps for the slacks and slips at the unknowns in `data`."""
    evaluate_modes(model.coordinates, data.bodies, data.coordinates, contact, dt, contact.now[0].count > 0)
    for k in range(contact.now[0].count):
        c = contact.cones[k]
        slack, (y0, y1) = slack_of(c), slip_of(c)
        for i in range(3):
            c.w0[i] = -(c.W[3 * i] * slack + c.W[3 * i + 1] * y0 + c.W[3 * i + 2] * y1)
