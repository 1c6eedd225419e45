"""Twists of bodies at the nodes by the rates of their interpolated poses, and their derivatives by the poses."""

from leastaction._jit import inline, routine
from leastaction.minimal.galerkin_bodies.rotational_energy import (
    angular_velocity_slope,
    polynomial,
    world_angular_velocity,
)
from leastaction.spatial import (
    ZERO3,
    add3,
    axpy3,
    cross,
    load3,
    load6,
    load9,
    mattvec,
    matvec,
    scale3,
    store6,
    sub3,
)


@routine
def body_twists(model, settings, data, j):
    """Twists of all bodies at node j, by the rates of their interpolated poses."""
    rule, bodies, dt = model.rule, data.bodies, settings.dt
    for i in range(model.nodes.shape[0]):
        x0, v = load3(bodies[0, i].x), ZERO3
        for k in range(1, rule.c.shape[0]):
            v = axpy3(rule.b[j, k] / dt, sub3(load3(bodies[k, i].x), x0), v)
        w = world_angular_velocity(rule.b, data.turns, j, i, dt)
        store6(bodies[j, i].v, (w, sub3(v, cross(w, load3(bodies[j, i].x)))))


@inline
def twist_slope(model, settings, data, i, j, k, eta):
    """Change of the twist of body i at node j, of `body_twists`, when eta moves its pose at node k."""
    rule, bodies, turns, dt = model.rule, data.bodies, data.turns, settings.dt
    R, x, w = load9(bodies[j, i].R), load3(bodies[j, i].x), load6(bodies[j, i].v)[0]
    R0 = load9(bodies[0, i].R)
    moved = add3(eta[1], cross(eta[0], load3(bodies[k, i].x)))
    dw = (0.0, 0.0, 0.0)
    for l in range(1, rule.c.shape[0]):
        # dy_l = J_l^-1(y_l) (omega_l - omega_0), all rotated by R_0.
        if l == k or k == 0:
            turn = matvec(polynomial(load3(turns[l, i].y), -0.5, turns[l, i].k[6]), eta[0])
            change = matvec(angular_velocity_slope(rule.b, turns, j, i, l, dt), turn)
            dw = sub3(dw, change) if k == 0 else add3(dw, change)
    dw = matvec(R, mattvec(R0, dw))
    if k == j:
        dw = add3(dw, cross(eta[0], w))
    dv = sub3(scale3(rule.b[j, k] / dt, moved), cross(dw, x))
    if k == j:
        dv = sub3(dv, cross(w, moved))
    return dw, dv
