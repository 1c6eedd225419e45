"""How far contacts of an MJCF file give way: `solref` and `solimp` as a compliance and a relaxation time.

At rest a contact of MuJoCo's in the depth r bears (see "Computation", "Constraint model" of its documentation)

    f = s K d(r)^2 r / ((1 - d(r)) w),      K = 1 / (dmax time ratio)^2,

with solref = (time, ratio), or K = stiffness / dmax^2 where solref = (-stiffness, -damping); the impedance d(r) of
solimp; and the inverse weights w that both bodies have at `qpos0` together. Cones are elliptic, s = 1, or pyramids of
2 (n - 1) edges for a condim n > 1 with friction mu, s = (n - 1) impratio / (mu^2 (1 + mu^2)). Compliances of two shapes
add as their inverse weights do. That of a shape is r / f at the force that it bears where the robot stands at home: the
weight of its free body with all that it carries, in equal parts for all of its contacts with the ground where it is
lowered onto that; for others the weight of 1 / w.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._extras import require

DEFAULT = (0.02, 1.0, 0.9, 0.95, 0.001, 0.5, 2.0)
"""solref and solimp that MuJoCo takes where a file says nothing."""

LEAST, MOST = 1e-4, 0.9999
"""Bounds of the impedance (mjMINIMP, mjMAXIMP)."""

FREE, ELLIPTIC = 0, 1
"""Values of mjtJoint and mjtCone."""

NEAR = 1e-3
"""How much deeper than it touches a robot is lowered, for its contacts to be counted [m]."""

FARTHEST = 1e3
"""From where a robot is lowered at most [m]."""


def impedance(solimp: Any, depth: float) -> float:
    """MuJoCo's d(r)."""
    low, high, width, middle, power = (float(x) for x in solimp)
    low, high, middle = (min(max(x, LEAST), MOST) for x in (low, high, middle))
    x, power = min(abs(depth) / max(width, 1e-15), 1.0), max(power, 1.0)
    if x <= middle:
        y = x**power / middle ** (power - 1.0)
    else:
        y = 1.0 - (1.0 - x) ** power / (1.0 - middle) ** (power - 1.0)
    return low + y * (high - low)


def is_said(solref: Any, solimp: Any) -> bool:
    """Whether these are others than MuJoCo's own."""
    return not np.allclose([*solref, *solimp], DEFAULT, rtol=1e-9, atol=0.0)


def stiffness_of(solref: Any, solimp: Any, dt: float) -> tuple[float, float]:
    """MuJoCo's K [1/s^2] and B [1/s]: its reference acceleration is -B r' - K d(r) r."""
    high = min(max(float(solimp[1]), LEAST), MOST)
    if solref[0] <= 0.0:
        return -float(solref[0]) / high**2, -float(solref[1]) / high
    time = max(float(solref[0]), 2.0 * dt)
    return 1.0 / (high * time * float(solref[1])) ** 2, 2.0 / (high * time)


def depth_under(load: float, K: float, solimp: Any) -> float:
    """Depth [m] in which K d^2 r / (1 - d) is a load [m/s^2], by bisection: it grows with r."""
    low, high = 0.0, load * (1.0 - impedance(solimp, 0.0)) / (K * impedance(solimp, 0.0) ** 2)
    for _ in range(100):
        r = 0.5 * (low + high)
        d = impedance(solimp, r)
        low, high = (r, high) if K * d * d * r / (1.0 - d) < load else (low, r)
    return 0.5 * (low + high)


class Softness:
    """Of the geoms of a compiled model."""

    def __init__(self, model: Any) -> None:
        self.m = model

    def of(self, g: int) -> dict[str, float]:
        """`compliance` and `relaxation_time` of a geom; nothing of one that never moves."""
        m, body = self.m, int(self.m.geom_bodyid[g])
        weight = float(m.body_invweight0[body, 0])
        if m.body_weldid[body] == 0 or not weight > 0.0:
            return {}
        solref, solimp, size, friction = self._mixed(g)
        K, B = stiffness_of(solref, solimp, float(m.opt.timestep))
        share = self._share(size, friction)
        force = self._load.get(g, float(np.linalg.norm(m.opt.gravity)) / weight)
        depth = depth_under(force * weight / share, K, solimp)
        if not depth > 0.0:  # without gravity: that of a light touch
            d = impedance(solimp, 0.0)
            return {"compliance": (1.0 - d) * weight / (share * K * d * d), "relaxation_time": B / (K * d)}
        return {"compliance": depth / force, "relaxation_time": B / (K * impedance(solimp, depth))}

    def is_said(self, g: int) -> bool:
        """Whether the file says something else of a geom than MuJoCo does by itself."""
        return is_said(self.m.geom_solref[g], self.m.geom_solimp[g])

    def _mixed(self, g: int) -> tuple[Any, Any, int, float]:
        """solref, solimp, condim and friction of a geom with the ground that it touches, or of its own."""
        m, other = self.m, self._ground(g)
        own = m.geom_solref[g], m.geom_solimp[g], int(m.geom_condim[g]), float(m.geom_friction[g, 0])
        if other is None:
            return own
        its = m.geom_solref[other], m.geom_solimp[other], int(m.geom_condim[other]), float(m.geom_friction[other, 0])
        if m.geom_priority[g] != m.geom_priority[other]:
            return own if m.geom_priority[g] > m.geom_priority[other] else its
        a, b = float(m.geom_solmix[g]), float(m.geom_solmix[other])
        mix = 0.5 if a + b < 1e-15 else a / (a + b)
        solref = np.minimum(own[0], its[0])
        if own[0][0] > 0.0 and its[0][0] > 0.0:
            solref = mix * own[0] + (1.0 - mix) * its[0]
        return solref, mix * own[1] + (1.0 - mix) * its[1], max(own[2], its[2]), max(own[3], its[3])

    def _ground(self, g: int) -> int | None:
        """A geom that never moves and that this one may touch, planes first; None where there is none."""
        m = self.m
        met = m.geom_contype[g] & m.geom_conaffinity | m.geom_conaffinity[g] & m.geom_contype
        fixed = np.flatnonzero((m.body_weldid[m.geom_bodyid] == 0) & (met != 0))
        return int(fixed[np.argsort(m.geom_type[fixed] != 0, kind="stable")[0]]) if len(fixed) else None

    def _share(self, size: int, friction: float) -> float:
        """s, see the top of the file."""
        if size == 1 or self.m.opt.cone == ELLIPTIC:
            return 1.0
        square = max(friction, 1e-5) ** 2
        return (size - 1) * float(self.m.opt.impratio) / (square * (1.0 + square))

    @cached_property
    def _load(self) -> dict[int, float]:
        """Forces [N] of each contact of geoms on which free bodies stand at home."""
        mujoco, m = require("mujoco", "mjcf"), self.m
        roots = [int(m.jnt_bodyid[j]) for j in range(m.njnt) if m.jnt_type[j] == FREE]
        gravity, found = float(np.linalg.norm(m.opt.gravity)), dict[int, float]()
        data = mujoco.MjData(m)
        if m.nkey:
            mujoco.mj_resetDataKeyframe(m, data, 0)
        mujoco.mj_kinematics(m, data)
        for root in roots if gravity > 0.0 else []:
            own = np.flatnonzero((m.body_rootid[m.geom_bodyid] == root) & self._collides)
            pairs = [(int(g), k) for g in own if (k := self._ground(int(g))) is not None]
            gaps = [float(mujoco.mj_geomDistance(m, data, k, g, FARTHEST, None)) for g, k in pairs]
            if not gaps or not min(gaps) < FARTHEST:
                continue
            start = data.qpos.copy()
            at = int(m.jnt_qposadr[m.body_jntadr[root]])
            data.qpos[at : at + 3] += m.opt.gravity / gravity * (min(gaps) + NEAR)
            mujoco.mj_kinematics(m, data)
            mujoco.mj_collision(m, data)
            stands = self._touching(data, {g for g, _ in pairs})
            found |= dict.fromkeys(stands.tolist(), gravity * float(m.body_subtreemass[root]) / max(len(stands), 1))
            data.qpos[:] = start
            mujoco.mj_kinematics(m, data)
        return found

    @cached_property
    def _collides(self) -> NDArray[np.bool_]:
        return np.asarray((self.m.geom_contype != 0) | (self.m.geom_conaffinity != 0))

    def _touching(self, data: Any, own: set[int]) -> NDArray[np.int64]:
        """Those of some geoms that touch what never moves, once for each of their contacts."""
        m, found = self.m, list[int]()
        for contact in data.contact[: data.ncon]:
            a, b = (int(g) for g in contact.geom)
            for g, other in ((a, b), (b, a)):
                if g in own and m.body_weldid[m.geom_bodyid[other]] == 0:
                    found.append(g)
        return np.array(found, np.int64)
