"""The iterations of the interior-point method: barrier parameter, filter line search, second-order corrections."""

from __future__ import annotations

import math

import numpy as np

from leastaction.optimize.solvers import bound_sums
from leastaction.optimize.solvers.feasibility_restoration import THOROUGH, restore
from leastaction.optimize.solvers.primal_dual import ACCEPTABLE, ACCEPTED, Interior, ViolationHistory
from leastaction.optimize.transcriptions.sparsity import FloatArray

GAMMA_THETA, GAMMA_PHI, GAMMA_ALPHA = 1e-5, 1e-8, 0.05
"""What counts as progress (Eq. 18), and the shortest step (Eq. 23)."""
SHORTEST = 1e-14
"""No step is shorter, wherever the search is."""
ETA, DELTA, S_THETA, S_PHI = 1e-8, 1.0, 1.1, 2.3
"""Of Armijo's condition and of when it is asked for (Eqs. 19 and 20)."""
CORRECTIONS, CORRECTED = 4, 0.99
"""Second-order corrections at most, and what each one must gain (Algorithm A, step A-5.7)."""
MU_ERROR, MU_EASY, MU_LATE, MU_FACTOR, MU_POWER = 100.0, 3000.0, 1e-3, 0.2, 1.5
"""When and how the barrier parameter falls (Eq. 7): the error of its problem beside it, in general and where steps are
`WHOLE`, no Hessian had to be shifted so far, and the barrier parameter is below `MU_LATE`."""
STUCK = 2.0
"""Error beside the acceptable one that is good enough where there is no way on."""
SOFT = 0.9999
"""What errors must fall by where the filter is passed over."""
ASTRAY = 1e5
"""Shifts of the Hessian beyond indicate multipliers that went astray."""
CREEPING, NEAR = 40, (1e-3, 0.03)
"""Iterations without less violation after which a search creeps, and the violations below which it is near enough, by
themselves and beside the first one."""
STANDSTILL = 10.0 * np.finfo(float).eps
"""Relative steps below are none."""


def search(ip: Interior, max_iterations: int, *, mu_least: float | None = None) -> str:
    """Iterate until an optimum, a dead end or a limit; gives a status in IPOPT's words.

    Args:
        ip: where the search is.
        max_iterations: at most so many.
        mu_least: where the barrier parameter stops, with its problem solved to its size; default: where the program
            itself is solved to tolerance.
    """
    mu_last = ip.tolerance / 10.0 if mu_least is None else mu_least
    acceptable, stood = 0, 0
    near = max(NEAR[0], NEAR[1] * ip.violation())
    ip.left = max_iterations
    while True:
        status = ip.limit()
        error = max(ip.errors(0.0))
        if error <= ip.tolerance or (mu_least is not None and ip.mu <= mu_least and max(ip.errors(ip.mu)) <= ip.mu):
            return "Solve_Succeeded"
        acceptable = acceptable + 1 if error <= ACCEPTABLE else 0
        if acceptable >= ACCEPTED:
            return "Solved_To_Acceptable_Level"
        if status:
            return status
        if _creeps(ip, near):
            status = _turn_back(ip)
            if status:
                return status
            continue
        _lower_barrier(ip, mu_last)
        prepared = prepare(ip)
        if prepared is None:
            return "Invalid_Number_Detected"
        moved = prepared and step(ip)
        if moved is None:  # the step is too small to matter
            stood += 1
            if stood > 1 and ip.mu <= mu_last:
                return "Solved_To_Acceptable_Level" if acceptable else "Search_Direction_Becomes_Too_Small"
            ip.mu = max(mu_last, MU_FACTOR * ip.mu)
            ip.new_filter()
            moved = True
        else:
            stood = 0
        if not moved and prepared and _soften(ip):
            continue
        if not moved:
            if error <= STUCK * ACCEPTABLE:
                return "Solved_To_Acceptable_Level"
            if ip.mu > mu_last and float(np.abs(ip.rows).max(initial=0.0)) <= ip.tolerance:
                # Nothing is left to restore, and round-off hides what this barrier would still gain.
                ip.mu = max(mu_last, MU_FACTOR * ip.mu)
                ip.new_filter()
                continue
            status = restore(ip)
            if status:
                return status
        ip.slopes()
        if not (np.isfinite(ip.gradient).all() and np.isfinite(ip.system.jacobian).all()):
            return "Invalid_Number_Detected"
        if not moved:
            ip.y = ip.least_squares_multipliers()


def _creeps(ip: Interior, near: float) -> bool:
    """Whether many iterations far from the constraints came no nearer to them: often there is no way to them at all."""
    if ip.violation() <= near:
        ip.ahead = ViolationHistory()
        return False
    return ip.ahead.note(ip) > CREEPING


def _turn_back(ip: Interior) -> str:
    """Leave the cost, and go all the way to the constraints; gives a status if there is no way."""
    ip.ahead = ViolationHistory()
    status = restore(ip, THOROUGH)
    if not status:
        ip.slopes()
        if not (np.isfinite(ip.gradient).all() and np.isfinite(ip.system.jacobian).all()):
            return "Invalid_Number_Detected"
        ip.y = ip.least_squares_multipliers()
    return status


def prepare(ip: Interior) -> bool | None:
    """Factor the system at x; None where second derivatives are not finite.

    Multipliers that went astray curve the Lagrangian so much that only tiny steps are left; then they are found anew.
    """
    for again in (False, True):
        ip.curvature(ip.y)
        if not np.isfinite(ip.system.hessian).all():
            return None
        if ip.prepare() and (again or ip.shift < ASTRAY):
            return True
        ip.y, ip.shift = ip.least_squares_multipliers(), 0.0
    return False


def _lower_barrier(ip: Interior, least: float) -> None:
    """Lower the barrier parameter as long as its problem is solved (Eq. 7)."""
    enough = MU_EASY if ip.easy and ip.shift == 0.0 and ip.mu <= MU_LATE else MU_ERROR
    while ip.mu > least and max(ip.errors(ip.mu)) <= enough * ip.mu:
        ip.mu = max(least, min(MU_FACTOR * ip.mu, ip.mu**MU_POWER))
        ip.new_filter()


def step(ip: Interior) -> bool | None:
    """One step along Newton's direction; False where the filter refuses all, None where it is too small to matter."""
    dx, dy = ip.direction(ip.rows)
    if not (np.isfinite(dx).all() and np.isfinite(dy).all()):
        return False
    tau = max(0.99, 1.0 - ip.mu)
    theta, phi = float(np.abs(ip.rows).sum()), ip.barrier(ip.f, ip.x)
    slope = bound_sums.dot(ip.gradient + ip.barrier_gradient(), dx)
    alpha = ip.longest_step(dx, tau)
    if float((np.abs(dx) / (1.0 + np.abs(ip.x))).max(initial=0.0)) < STANDSTILL:
        return _take(ip, dx, dy, alpha)
    if ip.bounds and not ip.shifted and _second_order_step(ip, dx, theta, phi, alpha, tau):
        return True
    shortest = max(GAMMA_ALPHA * _shortest(ip, theta, slope), SHORTEST)
    first = True
    while alpha >= shortest:
        x = ip.x + alpha * dx
        f, rows = ip.cost_and_rows(x)
        found = _judge(ip, x, f, rows, theta, phi, slope, alpha)
        if found is None and first and float(np.abs(rows).sum()) >= theta:
            corrected = _correct(ip, dx, rows, theta, phi, slope, alpha, tau)
            if corrected is not None:
                x, f, rows, dx, found = corrected
        if found is not None:
            if found:
                ip.filter.append(((1.0 - GAMMA_THETA) * theta, phi - GAMMA_PHI * theta))
            ip.y = ip.y + alpha * dy
            ip.move(x, f, rows, dx, alpha)
            return True
        first = False
        alpha *= 0.5
    ip.filter.append(((1.0 - GAMMA_THETA) * theta, phi - GAMMA_PHI * theta))
    return False


def _second_order_step(ip: Interior, dx: FloatArray, theta: float, phi: float, alpha: float, tau: float) -> bool:
    """Take a second-order step (Mehrotra 1992), where bounds cut Newton's and this one goes farther.

    One more solution with the same factors. What the filter refuses at full length is not tried again.
    """
    moves = ip.bound_moves(dx)
    reach = min(alpha, ip.longest_moves(moves, tau))
    if reach >= 1.0:
        return False
    corrector = ip.bent(dx, moves)
    dx, dy = ip.direction(ip.rows, corrector)
    if not (np.isfinite(dx).all() and np.isfinite(dy).all()):
        return False
    alpha = ip.longest_step(dx, tau)
    if min(alpha, ip.longest_moves(ip.bound_moves(dx, corrector), tau)) < reach:
        return False
    x = ip.x + alpha * dx
    f, rows = ip.cost_and_rows(x)
    slope = bound_sums.dot(ip.gradient + ip.barrier_gradient(), dx)
    found = _judge(ip, x, f, rows, theta, phi, slope, alpha)
    if found is None:
        return False
    if found:
        ip.filter.append(((1.0 - GAMMA_THETA) * theta, phi - GAMMA_PHI * theta))
    ip.y = ip.y + alpha * dy
    ip.move(x, f, rows, dx, alpha, corrector)
    return True


def _soften(ip: Interior) -> bool:
    """Take Newton's step though the filter refuses it, where errors fall all the same (soft restoration, Section 3.3).

    Near a solution differences of costs drown in round-off; errors do not.
    """
    before = ip.x, ip.y, ip.low, ip.high, ip.f, ip.rows
    error = sum(ip.errors(ip.mu))
    dx, dy = ip.direction(ip.rows)
    if np.isfinite(dx).all() and np.isfinite(dy).all():
        _take(ip, dx, dy, ip.longest_step(dx, max(0.99, 1.0 - ip.mu)))
        ip.slopes()
        if sum(ip.errors(ip.mu)) <= SOFT * error:
            return True
        ip.x, ip.y, ip.low, ip.high, ip.f, ip.rows = before
        ip.slopes()
    return False


def _take(ip: Interior, dx: FloatArray, dy: FloatArray, alpha: float) -> bool | None:
    """Take a step without questions."""
    x = ip.x + alpha * dx
    f, rows = ip.cost_and_rows(x)
    if not (math.isfinite(f) and np.isfinite(rows).all()):
        return False
    ip.y = ip.y + alpha * dy
    ip.move(x, f, rows, dx, alpha)
    return None


def _shortest(ip: Interior, theta: float, slope: float) -> float:
    """The shortest step that may still be accepted, less its safety factor (Eq. 23)."""
    if slope >= 0.0:
        return GAMMA_THETA
    out = min(GAMMA_THETA, -GAMMA_PHI * theta / slope)
    if theta <= ip.theta_small:
        out = min(out, DELTA * theta**S_THETA / (-slope) ** S_PHI)
    return out


def _judge(
    ip: Interior, x: FloatArray, f: float, rows: FloatArray, theta: float, phi: float, slope: float, alpha: float
) -> bool | None:
    """None: refused; else accepted, and whether the filter grows."""
    new_theta = float(np.abs(rows).sum())
    if not (math.isfinite(f) and math.isfinite(new_theta)):
        return None
    new_phi = ip.barrier(f, x)
    round_off = STANDSTILL * abs(phi)
    if ip.refuses(new_theta, new_phi - round_off):
        return None
    if theta <= ip.theta_small and slope < 0.0 and alpha * (-slope) ** S_PHI > DELTA * theta**S_THETA:
        return False if new_phi - phi <= ETA * alpha * slope + round_off else None
    if new_theta <= (1.0 - GAMMA_THETA) * theta or new_phi <= phi - GAMMA_PHI * theta + round_off:
        return True
    return None


def _correct(
    ip: Interior,
    dx: FloatArray,
    rows: FloatArray,
    theta: float,
    phi: float,
    slope: float,
    alpha: float,
    tau: float,
) -> tuple[FloatArray, float, FloatArray, FloatArray, bool] | None:
    """Second-order corrections of the first step (Eq. 27): (x, f, rows, dx, whether the filter grows), or None."""
    wanted, before, step = ip.rows, theta, alpha
    for _ in range(CORRECTIONS):
        wanted = step * wanted + rows
        dx, _ = ip.direction(wanted)
        if not np.isfinite(dx).all():
            return None
        step = ip.longest_step(dx, tau)
        x = ip.x + step * dx
        f, rows = ip.cost_and_rows(x)
        found = _judge(ip, x, f, rows, theta, phi, slope, alpha)
        if found is not None:
            return x, f, rows, dx, found
        after = float(np.abs(rows).sum())
        if not after < CORRECTED * before:
            return None
        before = after
    return None
