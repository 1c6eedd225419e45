"""Going back over runs of any integrator with gradients by velocities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leastaction.actuation.actuation import Actuation
from leastaction.derivatives.legendre_jacobians import ClosedStart, LegendreTransform
from leastaction.dynamics.legendre import momentum_of_velocity, velocity_of_momentum
from leastaction.dynamics.loops import prescribed_freedoms
from leastaction.errors import IntegratorError
from leastaction.integration.integrators import FloatArray, Stepper

STATES = ("q", "v", "p", "controls")
"""Parameters of a run that are no part of the mechanism."""


class VelocityReversal:
    """`Reversal` of a stepper, in terms of positions and velocities whatever the stepper solves for.

    Args:
        stepper: after its `prepare_start`.
        names: of the gradients, see `leastaction.adjoint`.
        from_momentum: whether the run was started from a momentum, which then stays when parameters change.
    """

    def __init__(self, stepper: Stepper, names: Sequence[str], from_momentum: bool = False) -> None:
        if "p" in names and "v" in names:
            raise IntegratorError("a run starts from v or from p: ask for the gradient by one of them")
        self.stepper, self.names = stepper, list(names)
        self.from_momentum = (from_momentum or "p" in names) and "v" not in names
        self.own = [name for name in self.names if name not in STATES]
        self.inner = stepper.reverse([*self.own, *(["controls"] if "controls" in self.names else [])])
        self.legendre = LegendreTransform(stepper.mechanism, self.own)

    def piece(self, record: Any, row: int, first: int, u: FloatArray, bq: FloatArray, bv: FloatArray) -> None:
        """See `Reversal.piece`; bv: gradients by velocities."""
        if self.stepper.momentum:
            more, bv = self.legendre.from_velocities(record["q"], record["p"], bv)
            bq = bq + more
        self.inner.piece(record, row, first, u, bq, bv)

    def finish(
        self,
        q: FloatArray,
        second: FloatArray,
        commands: FloatArray | None = None,
        activations: FloatArray | None = None,
    ) -> dict[str, FloatArray]:
        """Gradients by name, after the piece that begins the run.

        Args:
            q: first positions, shape (nq,).
            second: first momenta or velocities, as the stepper solves for them, shape (nv,).
            commands: controls as they were given, shape (steps, nodes, nu); None: as they act.
            activations: of the actuators, shape (steps + 1, nu), where there are any.
        """
        found = self.inner.finish(q)
        if self.inner.kink and (self.own or "q" in self.names):
            raise IntegratorError(self.inner.kink)
        if "controls" in found:
            if commands is not None:
                actuation = Actuation(self.stepper.mechanism, self.stepper.dt, self.stepper.control_nodes)
                found["controls"] = actuation.pull_back(found["controls"], commands, activations)
            found["controls"] = found["controls"].sum(axis=1)  # they are held over a step
        start = self._start(found, q, second)
        for part in (start, self.legendre.gradients()):
            found |= {name: found[name] + values for name, values in part.items()}
        for name in found.keys() & {"q", "v"}:  # prescribed things start where and as fast as their motions say
            found[name][prescribed_freedoms(self.stepper.mechanism)] = 0.0
        return {name: found[name] for name in self.names}

    def _start(self, found: dict[str, FloatArray], q: FloatArray, second: FloatArray) -> dict[str, FloatArray]:
        """Gradients by the state that the run was started from, in `found`; returns parts of those by parameters."""
        m, s = self.stepper.mechanism, self.stepper
        if s.momentum and not self.from_momentum:
            v, bp = velocity_of_momentum(m, q[None], second[None])[0], found.pop("p")
            if not m.is_tree:
                closed = ClosedStart(m, self.own, q, v)
                parts = closed.by_parameters(found["q"], bp)
                found["q"], found["v"] = closed.from_state(found["q"], bp)
                return parts
            more, bv = self.legendre.from_momenta(q[None], v[None], bp[None])
            found["q"], found["v"] = found["q"] + more[0], bv[0]
        elif not s.momentum and self.from_momentum:
            p = momentum_of_velocity(m, q[None], second[None])[0]
            more, bp = self.legendre.from_velocities(q[None], p[None], found.pop("v")[None])
            found["q"], found["p"] = found["q"] + more[0], bp[0]
        return {}
