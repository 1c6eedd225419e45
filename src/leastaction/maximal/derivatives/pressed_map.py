"""Derivatives of joint momenta while forces press on contacts, see `step.pressed`.

There p is a linear function of the momenta of the bodies and of their velocities before and within the step after, and
depends on the pose. It is evaluated at displaced poses and for unit momenta and velocities: some ten times as often as
there are joints. Which of the contacts stick is taken to stay.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._jit import entry
from leastaction.maximal.arrays import ContactData, MaximalSettings, contact_data, named_data, named_model, plain
from leastaction.maximal.coordinates.recover import read_momenta
from leastaction.maximal.derivatives.pose_map import PoseMap
from leastaction.maximal.derivatives.sensitivity import StepMap
from leastaction.maximal.derivatives.sensitivity_kernels import STEP, read_start
from leastaction.maximal.derivatives.solved_steps import Solved
from leastaction.maximal.step.body_states import load_state
from leastaction.maximal.step.pressed import hold_pressed, renew_wrenches

FloatArray = NDArray[np.float64]

SAME = 1e-10
"""Difference of joint momenta, relative to the largest, that is none."""

STENCIL = ((-2.0, 1.0 / 12.0), (-1.0, -2.0 / 3.0), (1.0, 2.0 / 3.0), (2.0, -1.0 / 12.0))
"""Offsets and weights of a central difference of fourth order."""


@entry
def pressed_momenta(model, settings, data, contact, at, mean, p):
    """Joint momenta p (nv,) of momenta of bodies that cones hold.

    Args:
        model, settings, data, contact: plain tuples of `MaximalModel`, `MaximalSettings`, `MaximalData`, `ContactData`.
        at: poses (bodies, 7) and momenta (bodies, 6), velocities (bodies, 6) before and within the step after,
            coordinates nearby, and joint positions, which are read off the poses.
        mean: see `hold_pressed`.
    """
    model, settings, data = named_model(model), MaximalSettings(*settings), named_data(data)
    contact, states = ContactData(*contact), data.bodies
    Z, P, before, within, near, q = at
    load_state(states, Z, P)
    for i in range(states.shape[0]):
        for c in range(6):
            states[i].x[c], data.T[i, c] = before[i, c], P[i, c]
        for c in range(3):
            states[i].w[c], states[i].vc[c] = within[i, c], within[i, 3 + c]
    read_start(model, data, near, q, settings.dt)
    renew_wrenches(data, contact)
    hold_pressed(model, settings, data, contact, mean)
    for i in range(states.shape[0]):
        for c in range(6):
            states[i].P[c] = data.T[i, c]
    read_momenta(model.bodies, model.coordinates, states, data.subtrees, p)


class PressedMap:
    """Joint momenta p at the start of a step on whose contacts forces press, and their derivatives.

    Args:
        pose: joints and bodies there.
        solved: the step.
        share: of the cones' impulses in the momenta.
        P: momenta of the bodies with that share, shape (bodies, 6).
    """

    def __init__(self, pose: PoseMap, solved: Solved, share: float, P: FloatArray) -> None:
        self.pose, self.solved, self.mean, self.P = pose, solved, share, P
        self.p = self.value()

    def value(self, Z: Any = None, P: Any = None, V: Any = 0.0, model: Any = None, contacts: Any = None) -> FloatArray:
        """p with other poses, momenta, more velocity before and within the step, another model's arrays or contacts."""
        s, solved = self.solved.stepper, self.solved
        at = solved.start
        contact = contact_data(0, 0, 0, 0, 0)
        contact.now.count, contact.now.load = solved.count, 1.0
        contacts = solved.contacts if contacts is None else contacts
        contact = contact._replace(cones=solved.cones.copy(), contacts=contacts)
        solved.data.goals[:] = solved.goals
        inputs = (at.Z if Z is None else Z, self.P if P is None else P, at.V + V, solved.V + V, at.near, at.q.copy())
        p = np.zeros(s.mechanism.nv)
        own, settings, data = plain((solved.model, s.settings, solved.data))
        own = own if model is None else model
        pressed_momenta(own, settings, data, tuple(contact), inputs, self.mean, p)
        return p

    @cached_property
    def by_positions(self) -> FloatArray:
        """Of p by joint positions at fixed momenta and velocities in the bodies' directions, shape (nv, nv)."""
        n, Z = len(self.p), self.solved.start.Z
        out, moves = np.zeros((n, n)), self.pose.move(np.eye(n))
        for i in range(n):
            step = STEP / max(1.0, float(np.abs(moves[:, :, i]).max()))
            for offset, weight in STENCIL:
                out[:, i] += weight / step * self.value(Z=displaced(Z, offset * step * moves[:, :, i]))
        return out

    @cached_property
    def by_momenta(self) -> FloatArray:
        """Of p by the joint momenta of what the bodies have, shape (nv, nv)."""
        units = self.pose.spread(np.eye(len(self.p)))
        size = max(1.0, float(np.abs(self.P).max()))
        return np.stack(
            [(self.value(P=self.P + size * units[:, :, i]) - self.p) / size for i in range(len(self.p))], axis=1
        )

    @cached_property
    def by_velocities(self) -> FloatArray:
        """Of p by the velocities before and within the step together, shape (nv, bodies, 6)."""
        out = np.zeros((len(self.p), *self.P.shape))
        cones = np.asarray(self.solved.cones)
        for i in np.unique(np.concatenate([cones["a"], cones["b"]])):
            for c in range(6 if i >= 0 else 0):
                V = np.zeros(self.P.shape)
                V[i, c] = 1.0
                out[:, i, c] = self.value(V=V) - self.p
        return out

    def forward(self, dq: FloatArray, dP: FloatArray, before: FloatArray, within: FloatArray) -> FloatArray:
        """dp (nv, m) by changes of positions, momenta with the cones' share, and velocities before and within."""
        dV = (1.0 - self.mean) * before + self.mean * within
        out = self.by_positions @ dq + self.by_momenta @ self.pose.gather(dP)
        return out + np.einsum("vbi,bim->vm", self.by_velocities, dV)

    def backward(self, bp: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, FloatArray]:
        """Gradients by positions, momenta of the bodies, and velocities before and within, from that by p (nv,)."""
        bV = np.einsum("v,vbi->bi", bp, self.by_velocities)
        bP = self.pose.move(self.by_momenta.T @ bp)
        return self.by_positions.T @ bp, bP, (1.0 - self.mean) * bV, self.mean * bV


def pressed_map(pose: PoseMap, after: StepMap | None, share: float, P: FloatArray) -> PressedMap | None:
    """The map of p where forces press on the contacts of the step `after`; else None.

    Args:
        pose: that holds the momenta P with the share of the impulses.
    """
    if after is None or not after.solved.count or after.solved.stepper.halves == 1.0:
        return None
    off = np.abs(after.solved.p - pose.p).max(initial=0.0)
    if off <= SAME * (1.0 + np.abs(pose.p).max(initial=0.0)):
        return None
    return PressedMap(pose, after.solved, share, P)


def displaced(Z: FloatArray, dz: FloatArray) -> FloatArray:
    """Poses (bodies, 7) after turns in the bodies' directions and shifts dz (bodies, 6)."""
    out, half = Z.copy(), 0.5 * dz[:, :3]
    out[:, :3] += dz[:, 3:]
    turn = np.hstack([np.ones((len(Z), 1)), half])
    turn /= np.linalg.norm(turn, axis=1, keepdims=True)
    a, b = Z[:, 3:4], Z[:, 4:]
    c, d = turn[:, :1], turn[:, 1:]
    out[:, 3:4] = a * c - (b * d).sum(axis=1, keepdims=True)
    out[:, 4:] = a * d + c * b + np.cross(b, d)
    return out
