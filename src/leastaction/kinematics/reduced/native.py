"""Between the reduced coordinates of the kernels and the mechanism's own q and v."""

from leastaction._jit import entry
from leastaction.kinematics.reduced.charts import angles, columns, combine3, rotation, solve3
from leastaction.spatial import exponential as ex
from leastaction.spatial import (
    mattvec,
    matvec,
    quat_exp,
    quat_from_rotation,
    quat_log,
    quat_to_rotation,
)


@entry
def to_public(balls, index_q, index_v, R, RD, charts, Q, V):
    """Rows of Q, V from rows of R, RD: angles and their rates become quaternions and twists in the child's frame."""
    for row in range(R.shape[0]):
        r, rd = R[row], RD[row]
        for k in range(r.shape[0]):
            if index_q[k] >= 0:
                Q[row, index_q[k]] = r[k]
                V[row, index_v[k]] = rd[k]
        for b in range(balls.shape[0]):
            ball = balls[b]
            i, n, m = ball.ir, ball.iq, ball.iv
            x, w = (r[i], r[i + 1], r[i + 2]), (rd[i], rd[i + 1], rd[i + 2])
            if charts[row, b] < 0:
                q = quat_exp(x)
                w = ex.jr(x, ex.coefficients(x), w)
            else:
                q = quat_from_rotation(rotation(charts[row, b], x))
                c1, c2, c3 = columns(charts[row, b], x)
                w = combine3(c1, c2, c3, w)
            Q[row, n], Q[row, n + 1], Q[row, n + 2], Q[row, n + 3] = q
            V[row, m], V[row, m + 1], V[row, m + 2] = w
            if ball.shift >= 0:
                j = ball.shift
                Q[row, n - 3], Q[row, n - 2], Q[row, n - 1] = r[j], r[j + 1], r[j + 2]
                d = mattvec(quat_to_rotation(q), (rd[j], rd[j + 1], rd[j + 2]))
                V[row, m + 3], V[row, m + 4], V[row, m + 5] = d


@entry
def from_public(balls, index_q, index_v, Q, V, charts, R, RD):
    """The inverse of `to_public`, in given charts."""
    for row in range(R.shape[0]):
        r, rd = R[row], RD[row]
        for k in range(r.shape[0]):
            if index_q[k] >= 0:
                r[k] = Q[row, index_q[k]]
                rd[k] = V[row, index_v[k]]
        for b in range(balls.shape[0]):
            ball = balls[b]
            i, n, m = ball.ir, ball.iq, ball.iv
            q = (Q[row, n], Q[row, n + 1], Q[row, n + 2], Q[row, n + 3])
            w = (V[row, m], V[row, m + 1], V[row, m + 2])
            if charts[row, b] < 0:
                x = quat_log(q)
                w = ex.jr_inverse(x, ex.coefficients(x), w)
            else:
                x = angles(charts[row, b], quat_to_rotation(q))
                c1, c2, c3 = columns(charts[row, b], x)
                w = solve3(c1, c2, c3, w)
            r[i], r[i + 1], r[i + 2] = x
            rd[i], rd[i + 1], rd[i + 2] = w
            if ball.shift >= 0:
                j = ball.shift
                r[j], r[j + 1], r[j + 2] = Q[row, n - 3], Q[row, n - 2], Q[row, n - 1]
                d = matvec(quat_to_rotation(q), (V[row, m + 3], V[row, m + 4], V[row, m + 5]))
                rd[j], rd[j + 1], rd[j + 2] = d
