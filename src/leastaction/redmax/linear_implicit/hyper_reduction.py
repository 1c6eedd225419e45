"""Hyper-reduced coordinates: couplings eliminated by one more Jacobian (Sueda 2021, Section 2.6).

A coupling says that one coordinate follows another by a polynomial. As a constraint it costs an equation and a
multiplier; as a chained Jacobian J_rR, with v = J_rR v_R, it costs a degree of freedom less.
"""

from __future__ import annotations

import numpy as np

from leastaction.errors import IntegratorError
from leastaction.mechanism import Mechanism
from leastaction.mechanism.arguments import FloatArray, configuration, robot, tangent


class HyperReduction:
    """The map from the leading degrees of freedom to all of them.

    Args:
        mechanism: the robot; each of its couplings takes away one degree of freedom.

    Attributes:
        leaders: degrees of freedom that remain, shape (nR,).
        names: their names.
    """

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = robot(mechanism)
        followers = {mechanism.velocity_index(c.follower): c for c in mechanism.couplings}
        if len(followers) < len(mechanism.couplings):
            raise IntegratorError(f"{mechanism.name!r}: a coordinate that follows two others cannot be eliminated")
        self.leaders = np.array([k for k in range(mechanism.nv) if k not in followers], np.int64)
        self.names = tuple(mechanism.velocity_names[k] for k in self.leaders)
        # Those who follow followers come after them.
        self._order: list[tuple[int, int, int, int, np.polynomial.Polynomial]] = []
        known = set(self.leaders.tolist())
        waiting = dict(followers)
        while waiting:
            ready = [k for k, c in waiting.items() if mechanism.velocity_index(c.leader) in known]
            if not ready:
                name = next(iter(waiting.values())).name
                raise IntegratorError(f"coupling {name!r}: coordinates follow each other in a circle")
            for k in ready:
                c = waiting.pop(k)
                known.add(k)
                columns = (k, mechanism.velocity_index(c.leader))
                entries = (mechanism.coordinate_index(c.follower), mechanism.coordinate_index(c.leader))
                self._order.append((*columns, *entries, np.polynomial.Polynomial(c.coefficients)))

    def complete(self, q: FloatArray) -> FloatArray:
        """q with all followers where their leaders want them, shape (nq,)."""
        q = configuration(self.mechanism, q)
        for _, _, i, j, f in self._order:
            q[i] = f(q[j])
        return q

    def jacobian(self, q: FloatArray, v: FloatArray) -> tuple[FloatArray, FloatArray]:
        """J_rR (nv, nR), and its rate times v_R (nv,): accelerations are J_rR a_R + that (2.89)."""
        q, v = configuration(self.mechanism, q), tangent(self.mechanism, v)
        J = np.zeros((self.mechanism.nv, len(self.leaders)))
        J[self.leaders, np.arange(len(self.leaders))] = 1.0
        bias = np.zeros(self.mechanism.nv)
        for k, m, _, j, f in self._order:
            slope, curvature = f.deriv()(q[j]), f.deriv(2)(q[j])
            J[k] = slope * J[m]
            bias[k] = slope * bias[m] + curvature * v[m] ** 2
        return J, bias
