"""Moving on the configuration manifold inside kernels."""

from leastaction._jit import routine
from leastaction.kinematics.sweeps import FREE
from leastaction.spatial import (
    add3,
    block_apply,
    left_jacobian,
    left_jacobian_inv,
    matvec,
    quat_conj,
    quat_exp,
    quat_log,
    quat_mul,
    quat_normalize,
    quat_rotate,
    right_jacobian_inv,
    se3_exp,
    se3_right_jacobian_inv,
)


@routine
def retract(nodes, q, x, out):
    """out = q moved by the tangent vector x through the exponential map; out may be q."""
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, k = node.iq, node.iv
        if node.nv == 1:
            out[n] = q[n] + x[k]
            continue
        w = (x[k], x[k + 1], x[k + 2])
        if node.kind == FREE:
            _, d = se3_exp((w, (x[k + 3], x[k + 4], x[k + 5])))
            r = (q[n + 3], q[n + 4], q[n + 5], q[n + 6])
            out[n], out[n + 1], out[n + 2] = add3((q[n], q[n + 1], q[n + 2]), quat_rotate(r, d))
            n += 3
        r = quat_mul((q[n], q[n + 1], q[n + 2], q[n + 3]), quat_exp(w))
        out[n], out[n + 1], out[n + 2], out[n + 3] = quat_normalize(r)


@routine
def go_on(nodes, x, more):
    """Moving by the tangent vector x and on by `more` is moving by x, in place: exp(x) exp(more) = exp(x)."""
    for i in range(nodes.shape[0]):
        node = nodes[i]
        k = node.iv
        if node.nv == 1:
            x[k] += more[k]
            continue
        w, u = (x[k], x[k + 1], x[k + 2]), (more[k], more[k + 1], more[k + 2])
        turn = quat_exp(w)
        whole = quat_log(quat_normalize(quat_mul(turn, quat_exp(u))))
        if node.kind == FREE:
            first = matvec(left_jacobian(w), (x[k + 3], x[k + 4], x[k + 5]))
            second = quat_rotate(turn, matvec(left_jacobian(u), (more[k + 3], more[k + 4], more[k + 5])))
            x[k + 3], x[k + 4], x[k + 5] = matvec(left_jacobian_inv(whole), add3(first, second))
        x[k], x[k + 1], x[k + 2] = whole


@routine
def displacement(nodes, q0, q1, out, first):
    """Tangent vector that moves q0 to q1, from out[first] on: the inverse of `retract`."""
    for i in range(nodes.shape[0]):
        node = nodes[i]
        n, k = node.iq, first + node.iv
        if node.nv == 1:
            out[k] = q1[n] - q0[n]
            continue
        at = n + 3 if node.kind == FREE else n
        back = quat_conj((q0[at], q0[at + 1], q0[at + 2], q0[at + 3]))
        w = quat_log(quat_mul(back, (q1[at], q1[at + 1], q1[at + 2], q1[at + 3])))
        out[k], out[k + 1], out[k + 2] = w
        if node.kind == FREE:
            d = quat_rotate(back, (q1[n] - q0[n], q1[n + 1] - q0[n + 1], q1[n + 2] - q0[n + 2]))
            out[k + 3], out[k + 4], out[k + 5] = matvec(left_jacobian_inv(w), d)


@routine
def chart_rate(nodes, x, v, out):
    """Rate of the exponential coordinates x when the velocity is v: out = dexp^-1(x) v."""
    for i in range(nodes.shape[0]):
        node = nodes[i]
        k = node.iv
        if node.nv == 1:
            out[k] = v[k]
            continue
        w = (x[k], x[k + 1], x[k + 2])
        V = (v[k], v[k + 1], v[k + 2])
        if node.kind == FREE:
            B = se3_right_jacobian_inv((w, (x[k + 3], x[k + 4], x[k + 5])))
            r = block_apply(B, (V, (v[k + 3], v[k + 4], v[k + 5])))
            out[k], out[k + 1], out[k + 2] = r[0]
            out[k + 3], out[k + 4], out[k + 5] = r[1]
        else:
            out[k], out[k + 1], out[k + 2] = matvec(right_jacobian_inv(w), V)
