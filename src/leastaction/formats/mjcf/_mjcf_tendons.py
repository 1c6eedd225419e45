"""Tendons of a compiled MuJoCo model, and equalities that become springs along joints."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np

from leastaction.formats._files import Notes
from leastaction.formats.mjcf._mjcf_bodies import Bodies, Names, pose
from leastaction.formats.mjcf._mjcf_text import limits
from leastaction.mechanism import Attachment, Cable, MechanismBuilder, Tendon
from leastaction.mechanism import Wrap as Around


class Wrap(IntEnum):
    """Values of mjtWrap."""

    JOINT = 1
    PULLEY = 2
    SITE = 3
    SPHERE = 4
    CYLINDER = 5


def spring_and_damper(solref: Any, solimp: Any, weight: float, dt: float) -> tuple[float, float]:
    """Stiffness and damping of one of MuJoCo's soft constraints, for what it moves; weight: one over that mass.

    See "Solver parameters" of MuJoCo's documentation: solref says the time constant and the damping ratio, or, where
    it is negative, stiffness and damping per mass.
    """
    mass, width = 1.0 / max(float(weight), 1e-12), float(np.clip(solimp[1], 1e-4, 0.9999))
    if solref[0] <= 0.0:
        return mass * -float(solref[0]) / width**2, mass * -float(solref[1]) / width
    time = max(float(solref[0]), 2.0 * dt)
    return mass / (width * time * float(solref[1])) ** 2, 2.0 * mass / (width * time)


class Tendons:
    """Adds tendons to a builder.

    Attributes:
        soft: whether their limits give way, as engines need that have soft contacts.
        names: our name of each MuJoCo tendon that was read.
    """

    def __init__(self, model: Any, builder: MechanismBuilder, notes: Notes, bodies: Bodies, soft: bool) -> None:
        self.m, self.builder, self.notes, self.bodies, self.soft = model, builder, notes, bodies, soft
        self.names: dict[int, str] = {}
        self.taken = Names()
        self.taken.taken |= set(bodies.coordinates.values())

    def read(self, gears: dict[int, set[float]]) -> None:
        """Add them all; gears: those of the actuators of tendons, NaN for actuators with force ranges of their own."""
        for k in range(self.m.ntendon):
            given = self.m.tendon(k).name or f"tendon{k}"
            length = self._length(k)
            if length is None:
                self.notes.add("tendons around geoms with a side site on another body", given)
                continue
            self.names[k] = self.taken.unique(given)
            if k in gears and getattr(self.m, "tendon_actfrclimited", np.zeros(self.m.ntendon))[k]:
                gear = gears[k].pop() if len(gears[k]) == 1 else np.nan
                if gear > 0.0:  # MuJoCo's limits are before the gear
                    low, high = limits(self.m.tendon_actfrcrange[k])
                    length["force_limits"] = (gear * low, gear * high)
                else:
                    self.notes.add("force ranges of tendons whose actuators have some, too, or other gears", given)
            self._tendon(k, self.names[k], length, k in gears)

    def wraps(self, k: int) -> range:
        """Parts of a tendon."""
        return range(self.m.tendon_adr[k], self.m.tendon_adr[k] + self.m.tendon_num[k])

    def fixed(self, k: int) -> dict[int, float] | None:
        """Coefficients of a fixed tendon by joint number; None for a spatial one."""
        m = self.m
        if any(m.wrap_type[w] != Wrap.JOINT for w in self.wraps(k)):
            return None
        return {int(m.wrap_objid[w]): float(m.wrap_prm[w]) for w in self.wraps(k)}

    def _length(self, k: int) -> dict[str, Any] | None:
        """What its length is made of; None where a path cannot be read."""
        m, via = self.m, list[Any]()
        joints = self.fixed(k)
        if joints is not None:
            return {"joints": tuple((self.bodies.coordinates[j], c) for j, c in joints.items())}
        for w in self.wraps(k):
            if m.wrap_type[w] == Wrap.PULLEY:
                via.append(float(m.wrap_prm[w]))
            elif m.wrap_type[w] == Wrap.SITE:
                site = m.wrap_objid[w]
                X = pose(m.site_pos[site], m.site_quat[site])
                via.append(Attachment(self.bodies.bodies[int(m.site_bodyid[site])], X.position))
            else:
                via.append(self._around(w))
        if None in via:
            return None
        return {"via": tuple(via[1:] if via[0] == 1.0 else via)}

    def _around(self, w: int) -> Around | None:
        """A geom that a path goes around; None where its side site is on another body."""
        m, geom, site = self.m, int(self.m.wrap_objid[w]), int(self.m.wrap_prm[w])
        body, side = int(m.geom_bodyid[geom]), None
        if site >= 0:
            if int(m.site_bodyid[site]) != body:
                return None
            side = tuple(m.site_pos[site].tolist())
        kind = "sphere" if m.wrap_type[w] == Wrap.SPHERE else "cylinder"
        X = pose(m.geom_pos[geom], m.geom_quat[geom])
        return Around(self.bodies.bodies[body], float(m.geom_size[geom, 0]), X, kind, side)

    def _tendon(self, k: int, name: str, length: dict[str, Any], driven: bool) -> None:
        m = self.m
        low, high = m.tendon_lengthspring[k].tolist()
        stiffness, damping = float(m.tendon_stiffness[k]), float(m.tendon_damping[k])
        for what in ("armature", "stiffnesspoly", "dampingpoly", "frictionloss"):
            array = getattr(m, f"tendon_{what}", None)
            if array is not None and np.any(array[k]):
                self.notes.add(f"{what} of tendons", name)
        limited, via = bool(m.tendon_limited[k]), length.get("via", ())
        # A spring with a dead band pulls and pushes; one that starts at zero only pulls.
        plain = via and all(isinstance(a, Attachment) for a in via) and low in (high, 0.0)
        if (stiffness or damping) and plain and not (driven or limited):
            self.builder.add(Cable(name, via, stiffness, high, damping, pulls_only=bool(low != high)))
            return
        values: dict[str, Any] = {"stiffness": stiffness, "damping": damping, "rest": (low, high)}
        if limited:
            k_, c = spring_and_damper(
                m.tendon_solref_lim[k], m.tendon_solimp_lim[k], m.tendon_invweight0[k], m.opt.timestep
            )
            # A path is never shorter than nothing.
            lower = float(m.tendon_range[k, 0]) if length.get("joints") or m.tendon_range[k, 0] > 0.0 else -np.inf
            values |= {"lower": lower, "upper": float(m.tendon_range[k, 1])}
            values |= {"limit_stiffness": k_, "limit_damping": c, "rigid": not self.soft}
        self.builder.add(Tendon(name, **length, **values))

    def hold(self, k: int, name: str, terms: dict[int, float], goal: float, weight: float) -> None:
        """Let a spring hold the sum of coefficient times joint position at a goal, as stiff as equality k is."""
        m = self.m
        stiffness, damping = spring_and_damper(m.eq_solref[k], m.eq_solimp[k], weight, m.opt.timestep)
        joints = tuple((self.bodies.coordinates[j], c) for j, c in terms.items())
        name = self.taken.unique(name)
        self.builder.add(Tendon(name, joints, stiffness=stiffness, damping=damping, rest=(goal, goal)))
