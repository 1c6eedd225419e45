"""From controls to what drives a robot: limits of the controls, and activations, which have states of their own.

Neither depends on the motion, so both are done before the steps: integrators see the controls that act. Over a step an
activation follows the mean of the controls at the step's nodes, exactly; that of muscles by a Runge-Kutta method of
order 4 with short steps.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from leastaction._finite import is_finite
from leastaction._jit import entry, inline, routine
from leastaction.errors import IntegratorError
from leastaction.mechanism import Mechanism
from leastaction.mechanism._check import real_array, shown
from leastaction.mechanism.arguments import FloatArray

SHORT = 0.1
"""Steps of the activation of muscles, as a share of their shorter time constant."""


@entry
def hold_controls(u, lower, upper, out, kept, row):
    """Controls u (nu,) within their limits, held at all nodes: in out (1, nodes, nu). False if not all are finite.

    Args:
        kept: controls of many steps, shape (steps, nodes, nu); they are written there, too.
        row: which of these steps it is.
    """
    for k in range(u.shape[0]):
        if not is_finite(u[k]):
            return False
        value = min(max(u[k], lower[k]), upper[k])
        for j in range(out.shape[1]):
            out[0, j, k] = kept[row, j, k] = value
    return True


@inline
def _share(x):
    """From 0 to 1 with two continuous derivatives, and its slope."""
    if x <= 0.0:
        return 0.0, 0.0
    if x >= 1.0:
        return 1.0, 0.0
    return x * x * x * (3.0 * x * (2.0 * x - 5.0) + 10.0), 30.0 * x * x * (x - 1.0) * (x - 1.0)


@routine
def muscle_rate(u, a, rise, release, smooth):
    """Rate of a muscle's activation a for the control u (Millard et al. 2013), and its slopes by a and u."""
    low = u <= 0.0
    free = 0.0 if low or u >= 1.0 else 1.0  # whether the control counts as it is
    d = (0.0 if low else min(u, 1.0)) - a
    stretch = 0.5 + 1.5 * min(max(a, 0.0), 1.0)
    dstretch = 1.5 if 0.0 < a < 1.0 else 0.0
    up, down = rise * stretch, release / stretch
    share, slope = (1.0 if d > 0.0 else 0.0), 0.0
    if smooth > 0.0:
        share, slope = _share(d / smooth + 0.5)
        slope /= smooth
    tau = down + (up - down) * share
    by_d = (1.0 - d / tau * (up - down) * slope) / tau
    by_stretch = -d / (tau * tau) * (share * rise - (1.0 - share) * release / (stretch * stretch))
    return d / tau, by_stretch * dstretch - by_d, by_d * free


@entry
def follow_muscle(u, a, muscle, times, out):
    """Activation of a muscle at some times after the one where it is a, for the control u, in out[:, 0].

    Its derivatives by a and by u are in out[:, 1] and out[:, 2].

    Args:
        u, a: control and activation.
        muscle: time constants of excitement and release, and the width between them, shape (3,).
        times: in ascending order [s], shape (n,).
        out: shape (n, 3).
    """
    rise, release, smooth = muscle[0], muscle[1], muscle[2]
    least = SHORT * min(rise, release)
    x, by_a, by_u, now = a, 1.0, 0.0, 0.0
    for k in range(times.shape[0]):
        steps = int((times[k] - now) / least + 1.0) if times[k] > now else 0
        h = (times[k] - now) / max(steps, 1)
        for _ in range(steps):
            dx = dby_a = dby_u = 0.0
            f = fa = fu = 0.0
            for stage in range(4):
                ahead = 0.0 if stage == 0 else (h if stage == 3 else 0.5 * h)
                f, da, du = muscle_rate(u, x + ahead * f, rise, release, smooth)
                fa, fu = da * (by_a + ahead * fa), da * (by_u + ahead * fu) + du
                weight = h / 6.0 if stage == 0 or stage == 3 else h / 3.0
                dx, dby_a, dby_u = dx + weight * f, dby_a + weight * fa, dby_u + weight * fu
            x, by_a, by_u = x + dx, by_a + dby_a, by_u + dby_u
        now = times[k]
        out[k, 0], out[k, 1], out[k, 2] = x, by_a, by_u


class Actuation:
    """What lies between the controls of a mechanism and its drives.

    Args:
        mechanism: the robot.
        dt: time step [s].
        nodes: at which shares of a step controls are read.

    Attributes:
        plain: whether controls act as they are.
        active: whether any actuator has an activation.
    """

    def __init__(self, mechanism: Mechanism, dt: float, nodes: Any) -> None:
        actuators = mechanism.actuators
        self.nu = mechanism.nu
        self.lower = np.array([a.lower for a in actuators] or np.full(self.nu, -np.inf))
        self.upper = np.array([a.upper for a in actuators] or np.full(self.nu, np.inf))
        self.limited = bool(np.isfinite(self.lower).any() or np.isfinite(self.upper).any())
        own = [a.activation for a in actuators]
        self.active = any(x is not None for x in own)
        self.plain = not (self.active or self.limited)
        if not self.active:
            return
        # What is read at the start of a step and held over it stands for its middle.
        nodes = (0.5,) if tuple(nodes) == (0.0,) else nodes
        times = dt * np.append(np.asarray(nodes, float), 1.0)
        # At the nodes and at the end, shape (nodes + 1, nu): a = keep a0 + follow u, within floor and ceiling.
        self.keep, self.follow = np.zeros((2, len(times), self.nu))
        self.floor, self.ceiling = np.full(self.nu, -np.inf), np.full(self.nu, np.inf)
        self.times = times
        self.muscles = {
            k: np.array([x.time_constant, x.release, x.smooth])
            for k, x in enumerate(own)
            if x is not None and x.kind == "muscle"
        }
        for k, x in enumerate(own):
            if x is None:
                continue
            if x.kind == "muscle":
                pass
            elif x.kind == "filter":
                self.keep[:, k] = np.exp(-times / x.time_constant)
                self.follow[:, k] = -np.expm1(-times / x.time_constant)
            else:
                self.keep[:, k], self.follow[:, k] = 1.0, times
            self.floor[k], self.ceiling[k] = x.lower, x.upper
        self.direct = np.array([x is None for x in own])

    def start(self, activation: Any) -> FloatArray:
        """Activations that a run starts with, shape (nu,), from what the user says: None is zero."""
        if activation is None:
            return np.zeros(self.nu)
        a = real_array(activation)
        if not self.active:
            raise IntegratorError("activation: none of the actuators of this robot has one")
        if a is None or a.shape != (self.nu,) or not np.isfinite(a).all():
            raise IntegratorError(f"activation: expected {self.nu} finite numbers, got {shown(activation)}")
        return np.clip(np.where(self.direct, 0.0, a), self.floor, self.ceiling)

    def clipped(self, commands: FloatArray) -> FloatArray:
        """Controls within their limits."""
        return np.clip(commands, self.lower, self.upper) if self.limited else commands

    def _follow(self, u: FloatArray, activation: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Activations at the nodes and the end of a step, slopes by those at its start, and by u: (nodes + 1, nu)."""
        a, keep, follow = self.keep * activation + self.follow * u, self.keep, self.follow
        if self.muscles:
            keep, follow, out = keep.copy(), follow.copy(), np.zeros((len(a), 3))
            for k, muscle in self.muscles.items():
                follow_muscle(float(u[k]), float(activation[k]), muscle, self.times, out)
                a[:, k], keep[:, k], follow[:, k] = out.T
        return a, keep, follow

    def step(self, commands: FloatArray, activation: FloatArray) -> tuple[FloatArray, FloatArray]:
        """One step: controls that act at the nodes, shape (nodes, nu), and activations at its end, shape (nu,).

        Args:
            commands: controls at the nodes, shape (nodes, nu).
            activation: at the start of the step, shape (nu,).
        """
        u = self.clipped(commands)
        if not self.active:
            return u, activation
        a = np.clip(self._follow(u.mean(axis=0), activation)[0], self.floor, self.ceiling)
        return np.where(self.direct, u, a[:-1]), np.where(self.direct, 0.0, a[-1])

    def run(self, commands: FloatArray, activation: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Many steps: controls that act, shape (steps, nodes, nu), and activations, shape (steps + 1, nu).

        Where there are no activations, the latter have no columns.
        """
        if not self.active:
            if self.limited and len(commands) > 1 and not any(commands.strides[:2]):  # one row, many times
                acting = np.broadcast_to(self.clipped(commands[0, 0]), commands.shape)
            else:
                acting = self.clipped(commands)
            return acting, np.zeros((len(commands) + 1, 0))
        acting, states = np.empty(commands.shape), np.empty((len(commands) + 1, self.nu))
        states[0] = activation
        for k in range(len(commands)):
            acting[k], states[k + 1] = self.step(commands[k], states[k])
        return acting, states

    def pull_back(self, gradient: FloatArray, commands: FloatArray, activations: FloatArray | None) -> FloatArray:
        """Gradients by the controls from those by the controls that act, both of shape (steps, nodes, nu).

        Beyond its limits a control changes nothing.

        Args:
            gradient: by the controls that act.
            commands: the controls.
            activations: of the run, shape (steps + 1, nu); needed where there are any.
        """
        within = (commands >= self.lower) & (commands <= self.upper)
        if not self.active or activations is None:
            return gradient * within
        out, later = np.zeros(gradient.shape), np.zeros(self.nu)  # `later`: by the activations at the end of a step
        u = self.clipped(commands)
        for k in range(len(gradient) - 1, -1, -1):
            a, keep, follow = self._follow(u[k].mean(axis=0), activations[k])
            by = np.concatenate([gradient[k], later[None]]) * ((a >= self.floor) & (a <= self.ceiling))
            spread = np.where(self.direct, gradient[k], (follow * by).sum(axis=0) / len(gradient[k]))
            out[k] = spread * within[k]
            later = np.where(self.direct, 0.0, (keep * by).sum(axis=0))
        return out
