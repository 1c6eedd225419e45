"""Transcriptions whose dynamics are the discrete Euler-Lagrange equations of a variational integrator.

With the momenta eliminated (DMOC, Villanueva 2025, Eqs. 12 to 32) the unknowns are configurations and controls alone,
and at each control point the derivatives of the discrete action along it sum up to zero:

    row s of the step before + row 0 of the step after = 0  at knots,   row chi = 0  within steps.

With them kept (Fan 2018, Table 1) each step has rows of its own: p_k + row 0 = 0, row chi = 0, row s - p_k+1 = 0. Given
velocities at the ends are momenta by the Legendre transform (Villanueva 2025, Eqs. 19 to 21).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from leastaction.dynamics.legendre import momentum_of_velocity
from leastaction.integration.integrators import Stepper
from leastaction.mechanism.drives.actuators import Servo
from leastaction.mechanism.drives.muscles import Muscle
from leastaction.mechanism.drives.tendons import drives_tendon
from leastaction.optimize.constraints.complementarity_rows import largest_product
from leastaction.optimize.hessians.dynamics_hessian import is_gradient
from leastaction.optimize.transcriptions.boundary_momenta import Ends
from leastaction.optimize.transcriptions.chain_rule import Motion
from leastaction.optimize.transcriptions.sparsity import Pattern, scatter
from leastaction.optimize.transcriptions.transcription import FloatArray, IntArray, Transcription

if TYPE_CHECKING:
    from leastaction.optimize.problem.problem import Problem

STRETCH = 1.001
"""Ratio of the two time steps whose rows give the derivative by dt."""


DRAWN, SAMPLE_STEP, ZERO = 6, 0.0937, 1e-13
"""Steps at random whose blocks show which of their entries are nonzeros, their time step [s], and round-off."""
UNREACHED = 1e200
"""Force [N or N m]."""


class Variational(Transcription):
    """Discrete mechanics; `stepper` gives the equations of the steps."""

    def __init__(self, problem: Problem, stepper: Stepper, momenta: bool) -> None:
        self.stepper = stepper
        N, s, nodes = problem.steps, len(stepper.control_points) - 1, len(stepper.control_nodes)
        n, nu = problem.mechanism.nv, problem.mechanism.nu
        self._rows = np.zeros((N, s + 1, n))
        self._more, self._less = self._rows.copy(), self._rows.copy()
        self._D = np.zeros((N, s + 1, n, s + 1, n))
        self._C = np.zeros((N, s + 1, n, nodes, nu))
        self.ends = Ends(problem)
        super().__init__(problem, stepper.control_points, stepper.control_nodes, momenta=momenta)

    # ------------------------------------------------------------------ rows and nonzeros

    def _add_dynamics(self) -> None:
        N, s, labels = self.steps, self.s, self.mechanism.velocity_names
        kept = np.full((N, s + 1, self.mechanism.nv), -1)
        v0, v1 = self.problem.start_velocity, self.problem.finish_velocity
        if len(self.layout.p):
            kept[:, 0] = self.add_rows("dynamics", "step", np.arange(N), labels)
            kept[:, s] = self.add_rows("momentum", "step", np.arange(N), labels)
            for k, _ in self.ends.given:
                name = "velocity at the finish" if k else "velocity at the start"
                self.ends.rows.append(self.add_rows(name, "knot", np.array([N if k else 0]), labels)[0])
        elif self.problem.schedule.shift is not None:  # the start of a period goes on where its end came in
            numbers = self.add_rows("dynamics", "knot", np.arange(1, N + 1), labels)
            kept[1:, 0], kept[:, s], kept[0, 0] = numbers[:-1], numbers, numbers[-1]
        else:
            first, last = 0 if v0 is not None else 1, N if v1 is not None else N - 1
            numbers = np.full((N + 1, self.mechanism.nv), -1)
            if last >= first:
                numbers[first : last + 1] = self.add_rows("dynamics", "knot", np.arange(first, last + 1), labels)
            kept[:, 0], kept[:, s] = numbers[:-1], numbers[1:]
        if len(self.cuts.knots):
            kept[self.cuts.knots % N, 0] = self.add_rows("dynamics after it", "knot", self.cuts.knots, labels)
        for chi in range(1, s):
            kept[:, chi] = self.add_rows(f"dynamics within steps, point {chi}", "step", np.arange(N), labels)
        self.kept = kept

    @cached_property
    def related(self) -> NDArray[np.bool_]:
        """Whether two degrees of freedom appear in each other's equations, shape (nv, nv).

        Of those that the tree joins it is found by steps at random. Nothing but inertia, gravity and forces that move
        with a body or a joint is left there, which are analytic: an entry that vanishes at random configurations,
        velocities and time steps vanishes everywhere. A single joint's springs and limits need not act there.
        """
        nodes, n = self.mechanism.tree.nodes, self.mechanism.nv
        if self.problem.has_body_forces or not self.mechanism.is_tree:
            return np.ones((n, n), bool)
        out = np.zeros((n, n), bool)
        parents = nodes.parent.tolist()
        of = [slice(a, a + b) for a, b in zip(nodes.iv.tolist(), nodes.nv.tolist(), strict=True)]
        for i, own in enumerate(of):
            j = i
            while j >= 0:
                out[own, of[j]] = out[of[j], own] = True
                j = parents[j]
        met = self._at_random[0]
        met = self.tangents.spread(self.tangents.spread(met | met.T).T)
        for own in of:
            met[own, own] = True
        out &= met
        self.reactions.related(out)
        return out

    def _points(self) -> IntArray:
        """Control points of the steps, shape (steps, s + 1)."""
        return self.s * np.arange(self.steps)[:, None] + np.arange(self.s + 1)

    def _add_dynamics_pattern(self, pattern: Pattern) -> None:
        s, n, nu, layout, controls = self.s, self.mechanism.nv, self.mechanism.nu, self.layout, self.controls
        chi, i, other, j = np.nonzero(np.broadcast_to(self.related[None, :, None], (s + 1, n, s + 1, n)))
        self._by_q = _Block(((chi * n + i) * (s + 1) + other) * n + j, np.ones(len(chi)))
        self._by_q.ticket = pattern.add(self.kept[:, chi, i], layout.q[self._points()][:, other, j])
        driven = self._at_random[1]
        chi, i, node, k = np.nonzero(driven)
        b = np.arange(controls.weights.shape[1])
        # Each node reads `width` unknown values.
        chi, i, node, k, b = (x.ravel() for x in np.broadcast_arrays(*(x[:, None] for x in (chi, i, node, k)), b))
        weights = controls.weights[node, b]
        chi, i, node, k, b = (x[weights != 0.0] for x in (chi, i, node, k, b))
        self._by_u = _Block(((chi * n + i) * driven.shape[2] + node) * nu + k, weights[weights != 0.0])
        self._by_u.ticket = pattern.add(self.kept[:, chi, i], layout.u[controls.first[:, None] + b, k])
        if layout.duration >= 0:
            self._by_time = _Block(np.arange((s + 1) * n), np.ones((s + 1) * n))
            self._by_time.ticket = pattern.add(self.kept.reshape(self.steps, -1), np.array(layout.duration))
        if len(layout.p):
            self._by_p = [
                (pattern.add(self.kept[:, 0], layout.p[:-1]), 1.0),
                (pattern.add(self.kept[:, s], layout.p[1:]), -1.0),
            ]
            self.ends.add_pattern(pattern, self.layout, self.related.copy())
        self.reactions.add_pattern(pattern, self.kept)
        self.cuts.add_pattern(pattern, self.kept, self.related)

    @cached_property
    def _at_random(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """What steps at random show: degrees of freedom that meet (nv, nv), and rows that controls enter.

        The latter has shape (s + 1, nv, nodes, nu).
        """
        rng, N, n = np.random.default_rng(0), min(self.steps, DRAWN), self.mechanism.nv
        few = np.stack([self.mechanism.random_configuration(rng) for _ in range(3)])
        q = few[np.arange(self.s * N + 1) % len(few)]
        if self.tangents.curved:  # far turns within a step are no motion
            near = 0.3 * rng.normal(size=(len(q), n))
            q = self.mechanism.integrate(q[0], near)
        u = rng.normal(size=(N, *self._C.shape[3:]))
        D, C = self._D[:N], self._C[:N]
        self._never_at_its_limits().horizon_blocks(q, u, SAMPLE_STEP, self._rows[:N], D, C)
        # Round-off is small beside what the smaller of two degrees of freedom does at most.
        sizes = np.abs(D).max(axis=(0, 1, 3))
        most = np.minimum(sizes.max(axis=1)[:, None], sizes.max(axis=0))
        size = np.abs(C).max(axis=0)
        driven = size > 1e-12 * max(size.max(initial=0.0), 1e-300)
        # A muscle need not pull at random lengths.
        driven[..., [k for k, a in enumerate(self.mechanism.actuators) if isinstance(a, Muscle)]] = True
        return ~(sizes <= ZERO * most), driven

    def _never_at_its_limits(self) -> Stepper:
        """The stepper, but with forces of drives that know no limits: at these they depend on nothing."""
        m = self.mechanism
        changes = {
            "actuators": tuple(_limitless(a) if isinstance(a, Servo) else a for a in m.actuators),
            "tendons": tuple(_limitless(t) for t in m.tendons),
        }
        if all(changes[name] == getattr(m, name) for name in changes):
            return self.stepper
        return self.problem.integrator.prepare(m.replace(**changes), SAMPLE_STEP)

    def _close_dynamics_pattern(self, pattern: Pattern) -> None:
        self._by_q.slots, self._by_u.slots = pattern.slots(self._by_q.ticket), pattern.slots(self._by_u.ticket)
        if self.layout.duration >= 0:
            self._by_time.slots = pattern.slots(self._by_time.ticket)
        if len(self.layout.p):
            self._by_p = [(pattern.slots(ticket), sign) for ticket, sign in self._by_p]
            self.ends.close_pattern(pattern)
        self.reactions.close_pattern(pattern)
        self.cuts.close_pattern(pattern)

    # ------------------------------------------------------------------ values

    def _dynamics(self, motion: Motion, out: FloatArray) -> None:
        self.stepper.horizon_rows(motion.q, motion.u, motion.dt, self._rows)
        self.reactions.add(motion, self._rows)
        self.cuts.add(motion, self._rows)
        p = motion.z[self.layout.p]
        if len(p):
            self._rows[:, 0] += p[:-1]
            self._rows[:, self.s] -= p[1:]
            self.ends.momenta(motion, p, out)
        else:
            self.ends.add(motion.q, self._rows)
        for chi in range(self.s + 1):
            numbers = self.kept[:, chi]
            held = numbers >= 0
            out[numbers[held]] += self._rows[:, chi][held]

    def _dynamics_jacobian(self, motion: Motion, values: FloatArray) -> None:
        N = self.steps
        self.stepper.horizon_blocks(motion.q, motion.u, motion.dt, self._rows, self._D, self._C)
        if not len(self.layout.p):
            self.ends.add_slopes(motion.q, self._D)
        self.reactions.add_slopes(motion, self._D)
        self.cuts.add_slopes(motion, self._D)
        if motion.turns is not None:
            turns = motion.turns[self._points()]
            for chi in range(self.s + 1):
                self._D[:, :, :, chi] = self._D[:, :, :, chi] @ turns[:, chi, None]
        scatter(values, self._by_q.slots, self._by_q.source, self._by_q.weights, self._D.reshape(N, -1))
        scatter(values, self._by_u.slots, self._by_u.source, self._by_u.weights, self._C.reshape(N, -1))
        if self.layout.duration >= 0:
            rates = self._rates(motion).reshape(N, -1)
            scatter(values, self._by_time.slots, self._by_time.source, self._by_time.weights, rates)
        if len(self.layout.p):
            for slots, sign in self._by_p:
                values[slots] = sign
            self.ends.jacobian(motion, values)
        self.reactions.jacobian(motion, values)
        self.cuts.jacobian(motion, values)

    def _rates(self, motion: Motion) -> FloatArray:
        """Derivative of the rows by the final time.

        At given configurations rows are a / dt + b + c dt where forces are at most quadratic in velocities: kinetic
        energies go with 1 / dt. For such functions (f(r dt) - f(dt / r)) / ((r - 1 / r) dt) is the derivative itself,
        for all others it is of second order in r - 1.
        """
        r, more, less = STRETCH, self._more, self._less
        self.stepper.horizon_rows(motion.q, motion.u, r * motion.dt, more)
        self.stepper.horizon_rows(motion.q, motion.u, motion.dt / r, less)
        more -= less
        more /= (r - 1.0 / r) * motion.dt * self.steps
        self.reactions.add_rates(motion, more)
        return more

    @property
    def has_contraction(self) -> bool:
        """Whether second derivatives of the rows are known; see `dynamics_hessian`."""
        return is_gradient(self.mechanism)

    def dynamics_couplings(self) -> list[tuple[IntArray, IntArray]]:
        """See `Transcription.dynamics_couplings`."""
        layout, points = self.layout, self._points()
        i, j = np.nonzero(self.related)
        q = layout.q[points]
        pairs = [(q[:, :, None, i], q[:, None, :, j])]
        width = self.controls.weights.shape[1]
        u = layout.u[self.controls.first[:, None] + np.arange(width)].reshape(self.steps, -1)
        moving = self._moving_controls()
        if moving.any():
            u = u.reshape(self.steps, width, -1)[:, :, moving].reshape(self.steps, -1)
            pairs.append((u[:, :, None], q.reshape(self.steps, 1, -1)))
        return pairs + self.reactions.couplings() + self.cuts.couplings()

    def _moving_controls(self) -> Any:
        """Controls whose generalised forces depend on the configuration."""
        groups = {g.iv + k: g.nv for g in self.mechanism.coordinate_groups for k in range(g.nv)}
        actuators = self.mechanism.actuators
        if not actuators:
            return np.array([groups[k] > 1 for k in range(self.mechanism.nu)])
        out = []
        for actuator in actuators:
            name = getattr(actuator, "coordinate", None)
            if name is None or drives_tendon(self.mechanism, actuator):
                out.append(True)
            else:
                out.append(groups[self.mechanism.velocity_index(name)] > 1)
        return np.array(out)

    def _complete(self, z: FloatArray, q: FloatArray, dt: float) -> None:
        if len(self.layout.p):
            chords = self.mechanism.difference(q[: -self.s : self.s], q[self.s :: self.s]) / dt
            v = np.concatenate([chords[:1], 0.5 * (chords[1:] + chords[:-1]), chords[-1:]])
            z[self.layout.p] = momentum_of_velocity(self.mechanism, np.ascontiguousarray(q[:: self.s]), v)
        self.cuts.complete(z, q, dt)
        self.reactions.guess(z)

    def stored(self, z: FloatArray) -> dict[str, FloatArray]:
        """Momenta at the knots, shape (steps + 1, nv): row s of the step before; at the start minus row 0 after it.

        With reactions they are those after the impulses at the knots, which keep to what these hold.
        """
        motion, s = self.motion(z), self.s
        self.stepper.horizon_rows(motion.q, motion.u, motion.dt, self._rows)
        p = np.concatenate([-self._rows[:1, 0], self._rows[:, s]])
        if not self.reactions:
            return {"p": p}
        p[:-1] = -self._rows[:, 0]
        self.reactions.fit_momenta(motion.q[::s], p)
        for k, v in self.ends.given:
            p[k] = momentum_of_velocity(self.mechanism, motion.q[[k]], v[None])[0]
        product = largest_product(self, z)
        products = {} if product is None else {"complementarity": np.array(product)}
        return {"p": p, **products, **self.reactions.named_forces(z)}


def _limitless(part: Any) -> Any:
    """A servo or a tendon with limits of its force that nothing reaches."""
    return part if part.force_limits is None else replace(part, force_limits=(-UNREACHED, UNREACHED))


class _Block:
    """Entries of the blocks of one step that are nonzeros: places in the block, weights, and slots for all steps."""

    ticket: int
    slots: IntArray

    def __init__(self, source: IntArray, weights: FloatArray) -> None:
        self.source, self.weights = np.ascontiguousarray(source), np.ascontiguousarray(weights)
