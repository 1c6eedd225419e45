"""How a state changes with its chart: transposed derivatives of the maps between angles, sheets and twists."""

from leastaction._jit import entry, inline, routine
from leastaction.kinematics.reduced.charts import columns, rotation
from leastaction.spatial import (
    add3,
    axpy3,
    cross,
    dot3,
    mattvec,
    matvec,
    rot_exp,
    scale3,
    sub3,
)
from leastaction.spatial import exponential as ex


@inline
def _transposed(c, b):
    """C^T b for the matrix with columns c."""
    return (dot3(c[0], b), dot3(c[1], b), dot3(c[2], b))


@inline
def _solve_transposed(c, b):
    """x with C^T x = b for the matrix with columns c."""
    n1, n2, n3 = cross(c[1], c[2]), cross(c[2], c[0]), cross(c[0], c[1])
    i = 1.0 / dot3(c[0], n1)
    return scale3(i, axpy3(b[0], n1, axpy3(b[1], n2, scale3(b[2], n3))))


@routine
def tangent_map(chart, x, xd):
    """(T, E): columns of the angular velocity's derivatives by the rates and by the coordinates, at rates xd."""
    if chart < 0:
        k = ex.coefficients(x)
        e1, e2, e3 = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
        T = (ex.jr(x, k, e1), ex.jr(x, k, e2), ex.jr(x, k, e3))
        return T, (ex.jr_slope(x, k, e1, xd), ex.jr_slope(x, k, e2, xd), ex.jr_slope(x, k, e3, xd))
    T = columns(chart, x)
    # A column turns with the angles behind it.
    second = scale3(xd[0], cross(T[0], T[1]))
    third = axpy3(xd[0], cross(T[0], T[2]), scale3(xd[1], cross(T[1], T[2])))
    return T, ((0.0, 0.0, 0.0), second, third)


@inline
def _three(a, i):
    return (a[i], a[i + 1], a[i + 2])


@routine
def _ball_rotation(chart, x):
    if chart < 0:
        return rot_exp(x)
    return rotation(chart, x)


@routine
def pull_chart(old, new, i, r, rd, s, sd, br, brd):
    """Turn gradients (br, brd) by the state (s, sd) in the new chart into those by (r, rd) in the old one, in place."""
    Tx, Ex = tangent_map(old, _three(r, i), _three(rd, i))
    Ty, Ey = tangent_map(new, _three(s, i), _three(sd, i))
    u = _solve_transposed(Ty, _three(brd, i))
    b = _solve_transposed(Ty, sub3(_three(br, i), _transposed(Ey, u)))
    x = add3(_transposed(Tx, b), _transposed(Ex, u))
    xd = _transposed(Tx, u)
    br[i], br[i + 1], br[i + 2] = x
    brd[i], brd[i + 1], brd[i + 2] = xd


@entry
def pull_public(balls, index_v, R, RD, charts, BQ, BV, BR, BRD):
    """Add to (BR, BRD) the gradients by reduced states of an objective with gradients BQ (along the tangent), BV."""
    for row in range(R.shape[0]):
        for k in range(R.shape[1]):
            if index_v[k] >= 0:
                BR[row, k] += BQ[row, index_v[k]]
                BRD[row, k] += BV[row, index_v[k]]
        for n in range(balls.shape[0]):
            ball = balls[n]
            i, m, j = ball.ir, ball.iv, ball.shift
            x = _three(R[row], i)
            T, E = tangent_map(charts[row, n], x, _three(RD[row], i))
            turn, rate = _three(BQ[row], m), _three(BV[row], m)
            if j >= 0:
                A = _ball_rotation(charts[row, n], x)
                pull, push = _three(BQ[row], m + 3), _three(BV[row], m + 3)
                shift, speed = matvec(A, pull), matvec(A, push)
                turn = add3(turn, cross(push, mattvec(A, _three(RD[row], j))))
                for c in range(3):
                    BR[row, j + c] += shift[c]
                    BRD[row, j + c] += speed[c]
            b, bd = add3(_transposed(T, turn), _transposed(E, rate)), _transposed(T, rate)
            for c in range(3):
                BR[row, i + c] += b[c]
                BRD[row, i + c] += bd[c]


@entry
def push_public(balls, index_v, r, rd, charts, br, brd, bq, bv):
    """Gradients (bq, bv) by the mechanism's first state from those by the reduced one: the transposed map."""
    for k in range(r.shape[0]):
        if index_v[k] >= 0:
            bq[index_v[k]] = br[k]
            bv[index_v[k]] = brd[k]
    for n in range(balls.shape[0]):
        ball = balls[n]
        i, m, j = ball.ir, ball.iv, ball.shift
        x = _three(r, i)
        T, E = tangent_map(charts[n], x, _three(rd, i))
        rate = _solve_transposed(T, _three(brd, i))
        turn = _solve_transposed(T, sub3(_three(br, i), _transposed(E, rate)))
        if j >= 0:
            A = _ball_rotation(charts[n], x)
            pull, push = mattvec(A, _three(br, j)), mattvec(A, _three(brd, j))
            turn = sub3(turn, cross(push, mattvec(A, _three(rd, j))))
            for c in range(3):
                bq[m + 3 + c] = pull[c]
                bv[m + 3 + c] = push[c]
        for c in range(3):
            bq[m + c] = turn[c]
            bv[m + c] = rate[c]
