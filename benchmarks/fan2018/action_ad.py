"""The discrete action of a chain as automatic differentiation knows it: Simpson's rule, in CasADi and in JAX.

Three control points q0, q1, q2 at the start, the middle and the end of a step; the trajectory is the parabola through
them and the action Simpson's sum of the Lagrangian (Fan 2018, Example 2). The Lagrangian of the chain of uniform thin
rods is written with absolute angles, in O(n): automatic differentiation gets the best of starts.
"""

import numpy as np

WEIGHTS = (1 / 6, 4 / 6, 1 / 6)
SLOPES = ((-3.0, 4.0, -1.0), (-1.0, 0.0, 1.0), (1.0, -4.0, 3.0))
"""Of the parabola at the three points, by the values there, times the step."""
G, MASS, LENGTH, RADIUS = 9.81, 1.0, 1.0, 0.02


def action(xp, X, dt, sums):
    """Simpson's discrete action at control points X (3, n) with `xp` = NumPy, JAX or the like; `sums`: its cumsum."""
    total = 0.0
    for k, (weight, slope) in enumerate(zip(WEIGHTS, SLOPES, strict=True)):
        velocity = (slope[0] * X[0] + slope[1] * X[1] + slope[2] * X[2]) / dt
        total = total + weight * dt * lagrangian(xp, X[k], velocity, sums)
    return total


def lagrangian(xp, q, v, sums):
    """Kinetic less potential energy of hanging rods."""
    angle, rate = sums(q), sums(v)
    vx, vz = LENGTH * rate * xp.cos(angle), LENGTH * rate * xp.sin(angle)
    x, z = sums(vx) - 0.5 * vx, sums(vz) - 0.5 * vz
    height = -(sums(LENGTH * xp.cos(angle)) - 0.5 * LENGTH * xp.cos(angle))
    inertia = MASS * LENGTH**2 / 12.0
    kinetic = 0.5 * MASS * (x * x + z * z) + 0.5 * inertia * rate * rate
    return (kinetic - MASS * G * height).sum() if hasattr(kinetic, "sum") else xp.sum1(kinetic - MASS * G * height)


class Casadi:
    """Functions of X (3 n), p (n): residual, Newton direction, second derivatives."""

    def __init__(self, n, dt):
        import casadi as ca

        X, p = ca.SX.sym("X", n, 3), ca.SX.sym("p", n)
        S = action(ca, [X[:, k] for k in range(3)], dt, ca.cumsum)
        flat = ca.vec(X)
        slope = ca.gradient(S, flat)
        r = ca.vertcat(p + slope[:n], slope[n : 2 * n])
        J = ca.jacobian(r, flat)
        self.residual_function = ca.Function("residual", [flat, p], [r])
        self.matrix_function = ca.Function("matrix", [flat, p], [r, ca.densify(J[:, n:])])
        self.second_function = ca.Function("second", [flat], [ca.densify(ca.hessian(S, flat)[0])])

    def residual(self, X, p):
        return np.array(self.residual_function(X.ravel(), p)).ravel()

    def direction(self, X, p):
        r, J = self.matrix_function(X.ravel(), p)
        return -np.linalg.solve(np.array(J), np.array(r).ravel())

    def second(self, X, p):
        return np.array(self.second_function(X.ravel()))


class Jax:
    """The same by JAX."""

    def __init__(self, n, dt):
        import jax

        jax.config.update("jax_enable_x64", True)
        jnp = jax.numpy

        def residual(y, p, x0):
            slope = jax.grad(lambda X: action(jnp, X, dt, jnp.cumsum))(jnp.concatenate([x0[None], y.reshape(2, n)]))
            return jnp.concatenate([p + slope[0], slope[1]])

        def direction(y, p, x0):
            return -jnp.linalg.solve(jax.jacfwd(residual)(y, p, x0), residual(y, p, x0))

        def second(flat):
            return jax.hessian(lambda x: action(jnp, x.reshape(3, n), dt, jnp.cumsum))(flat)

        self._residual, self._direction, self._second = jax.jit(residual), jax.jit(direction), jax.jit(second)

    def residual(self, X, p):
        return np.asarray(self._residual(X[1:].ravel(), p, X[0]))

    def direction(self, X, p):
        return np.asarray(self._direction(X[1:].ravel(), p, X[0]))

    def second(self, X, p):
        return np.asarray(self._second(X.ravel()))
