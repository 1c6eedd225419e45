"""Equalities, tendons and actuators of a compiled MuJoCo model."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from leastaction.formats._files import Notes
from leastaction.formats._mjcf_bodies import BALL, Bodies, Names, pose, shift
from leastaction.formats._mjcf_text import limits
from leastaction.mechanism import (
    Activation,
    Attachment,
    BodyActuator,
    Cable,
    Coupling,
    Frame,
    JointActuator,
    MechanismBuilder,
    Pose,
    Servo,
)
from leastaction.mechanism.graph import WORLD

SITE_OBJECT = 6
"""Value of mjOBJ_SITE."""


class Equality(IntEnum):
    """Values of mjtEq."""

    CONNECT = 0
    WELD = 1
    JOINT = 2
    TENDON = 3


class Wrap(IntEnum):
    """Values of mjtWrap."""

    JOINT = 1
    SITE = 3


class Transmission(IntEnum):
    """Values of mjtTrn."""

    JOINT = 0
    JOINT_IN_PARENT = 1
    SITE = 4


class Dynamics(IntEnum):
    """Values of mjtDyn."""

    NONE = 0
    INTEGRATOR = 1
    FILTER = 2
    FILTER_EXACT = 3


class Gain(IntEnum):
    """Values of mjtGain."""

    FIXED = 0


class Bias(IntEnum):
    """Values of mjtBias."""

    NONE = 0
    AFFINE = 1


class Elements:
    """Adds loop joints, couplings, frames, cables and actuators to a builder."""

    def __init__(self, model: Any, builder: MechanismBuilder, notes: Notes, bodies: Bodies) -> None:
        self.m = model
        self.builder = builder
        self.notes = notes
        self.bodies = bodies
        self.sites: list[str] = []  # names of the frames that sites become

    def read(self) -> None:
        """Add them all."""
        names = Names()
        for k in range(self.m.neq):
            given = self.m.equality(k).name
            if self.m.eq_active0[k]:
                self._equality(k, given, names)
            else:
                self.notes.add("equalities that are not active", given or f"equality {k}")
        names = Names()
        for k in range(self.m.nsite):
            body, X = self._site(k)
            self.sites.append(names.unique(self.m.site(k).name or f"site{k}"))
            self.builder.add(Frame(self.sites[-1], self.bodies.bodies[body], X))
        names = Names()
        for k in range(self.m.ntendon):
            self._tendon(k, names)
        names = Names()
        for k in range(len(self.m.actuator_trntype)):
            self._actuator(k, names)

    # ------------------------------------------------------------------ equalities

    def _equality(self, k: int, given: str, couplings: Names) -> None:
        m = self.m
        type_, first, second, data = m.eq_type[k], m.eq_obj1id[k], m.eq_obj2id[k], m.eq_data[k]
        name = given or f"equality{k}"
        if type_ in (Equality.CONNECT, Equality.WELD):
            weld = type_ == Equality.WELD
            # Version 3.2 did not know sites here.
            if getattr(m, "eq_objtype", m.eq_type)[k] == SITE_OBJECT:
                ends = self._site(first), self._site(second)
            elif weld:
                # In the first body the point data[3:6] with the orientation data[6:10] of the second.
                ends = (first, pose(data[3:6], data[6:10])), (second, shift(data[:3]))
            else:
                ends = (first, shift(data[:3])), (second, shift(data[3:6]))
            self._loop(name, "fixed" if weld else "spherical", *ends)
        elif type_ == Equality.JOINT and second >= 0:
            self._couple(couplings.unique(name), first, second, data[:5])
        elif type_ == Equality.TENDON and self._couple_tendons(name, first, second, data[:5], couplings):
            pass
        else:
            kind = "that hold one joint" if type_ == Equality.JOINT else "of other types"
            self.notes.add(f"equalities {kind}", name)

    def _site(self, k: int) -> tuple[int, Pose]:
        return int(self.m.site_bodyid[k]), pose(self.m.site_pos[k], self.m.site_quat[k])

    def _loop(self, name: str, kind: str, first: tuple[int, Pose], second: tuple[int, Pose]) -> None:
        """Hold two frames together; each is given with its body."""
        if second[0] == 0:
            first, second = second, first
        parent, child = self.bodies.bodies[first[0]], self.bodies.bodies[second[0]]
        if child == WORLD:
            self.notes.add("equalities of the world with itself", name)
            return
        name = self.bodies.joint_names.unique(name)
        back = second[1].inverse()
        self.builder.joint(name, kind, parent, child, pose=first[1], child_pose=back, loop=True)

    def _couple(self, name: str, follower: int, leader: int, data: Any) -> None:
        """follower - ref = polynomial of (leader - ref), with the refs multiplied out."""
        m = self.m
        refs = [float(m.qpos0[m.jnt_qposadr[j]]) for j in (follower, leader)]
        polynomial = Polynomial(data)
        if any(refs):
            polynomial = polynomial(Polynomial([-refs[1], 1.0])) + refs[0]
        coefficients = [*polynomial.coef.tolist(), 0.0, 0.0]
        while len(coefficients) > 2 and coefficients[-1] == 0.0:
            coefficients.pop()
        ends = self.bodies.coordinates[int(follower)], self.bodies.coordinates[int(leader)]
        self.builder.add(Coupling(name, *ends, tuple(coefficients)))

    def _couple_tendons(self, name: str, first: int, second: int, data: Any, couplings: Names) -> bool:
        """Couple two joints as fixed tendons do, if they do so linearly; lengths count from qpos0."""
        a = self._fixed(first)
        b = self._fixed(second) if second >= 0 else None
        linear = second < 0 or not np.any(data[2:])
        if a is None or (second >= 0 and b is None) or not linear:
            return False
        # sum_a c (q - ref) = data[0] + data[1] sum_b c (q - ref)
        terms = dict(a)
        for j, c in (b or {}).items():
            terms[j] = terms.get(j, 0.0) - float(data[1]) * c
        terms = {j: c for j, c in terms.items() if c}
        if len(terms) != 2:
            return False
        (follower, c1), (leader, c2) = terms.items()
        self._couple(couplings.unique(name), follower, leader, [float(data[0]) / c1, -c2 / c1])
        return True

    # ------------------------------------------------------------------ tendons

    def _has(self, kind: str, k: int, *properties: str) -> bool:
        """Whether object k has any of the properties, not all of which every version of MuJoCo knows."""
        arrays = [getattr(self.m, f"{kind}_{name}", None) for name in properties]
        return any(np.any(array[k]) for array in arrays if array is not None)

    def _wraps(self, k: int) -> range:
        return range(self.m.tendon_adr[k], self.m.tendon_adr[k] + self.m.tendon_num[k])

    def _fixed(self, k: int) -> dict[int, float] | None:
        """Coefficients of a fixed tendon by joint number; None for a spatial one."""
        m = self.m
        if any(m.wrap_type[w] != Wrap.JOINT for w in self._wraps(k)):
            return None
        return {int(m.wrap_objid[w]): float(m.wrap_prm[w]) for w in self._wraps(k)}

    def _tendon(self, k: int, names: Names) -> None:
        m = self.m
        name = names.unique(m.tendon(k).name or f"tendon{k}")
        acts = m.tendon_stiffness[k] or m.tendon_damping[k]
        spring = m.tendon_lengthspring[k]
        through_sites = all(m.wrap_type[w] == Wrap.SITE for w in self._wraps(k))
        # A spring with a dead band pulls and pushes; one that starts at zero only pulls.
        plain = spring[0] == spring[1] or spring[0] == 0.0
        if acts and through_sites and plain:
            via = []
            for w in self._wraps(k):
                body, X = self._site(m.wrap_objid[w])
                via.append(Attachment(self.bodies.bodies[body], X.position))
            values = (float(m.tendon_stiffness[k]), float(spring[1]), float(m.tendon_damping[k]))
            self.builder.add(Cable(name, tuple(via), *values, pulls_only=bool(spring[0] != spring[1])))
            acts = False
        others = ("armature", "stiffnesspoly", "dampingpoly", "limited", "frictionloss")
        if acts or self._has("tendon", k, *others):
            self.notes.add("springs, limits and friction of tendons", name)

    # ------------------------------------------------------------------ actuators

    def _actuator(self, k: int, names: Names) -> None:
        m = self.m
        given = m.actuator(k).name or f"actuator{k}"
        special = (
            getattr(m, "actuator_ctrlnum", np.ones(k + 1))[k] != 1 or m.actuator_dyntype[k] > Dynamics.FILTER_EXACT
        )
        if special or m.actuator_gaintype[k] != Gain.FIXED or m.actuator_biastype[k] > Bias.AFFINE:
            self.notes.add("muscles and other special actuators", given)
            return
        if self._has("actuator", k, "armature", "damping", "dampingpoly"):
            self.notes.add("armature and damping of actuators", given)
        target = self._target(k)
        if target is None:
            self.notes.add("actuators of tendons, slider cranks, free joints and the like", given)
            return
        gain = float(m.actuator_gainprm[k, 0])
        low, high = limits(m.actuator_ctrlrange[k]) if m.actuator_ctrllimited[k] else (-np.inf, np.inf)
        activation, name = self._activation(k), names.unique(given)
        bias, kp, kv = (0.0, 0.0, 0.0)
        if m.actuator_biastype[k] == Bias.AFFINE:
            bias, kp, kv = float(m.actuator_biasprm[k, 0]), *(0.0 - m.actuator_biasprm[k, 1:3]).tolist()
        if not (bias or kp or kv):
            low, high, activation = self._within_force(k, gain, low, high, activation)
            if isinstance(target, str):
                gear = gain * float(self._gear(k))
                self.builder.add(JointActuator(name, target, gear, low, high, activation))
            else:
                body, wrench = target
                self.builder.add(BodyActuator(name, body, tuple((gain * wrench).tolist()), low, high, activation))
            return
        if not isinstance(target, str) or self._of_ball(k):
            self.notes.add("servos of bodies and of ball joints", given)
            return
        if kp < 0.0 or kv < 0.0 or (bias and not kp):
            self.notes.add("actuators with feedback that drives away, or with a constant force", given)
            return
        if m.actuator_forcelimited[k]:
            self.notes.add("force ranges of servos", given)
        own = None if gain == (kp if kp > 0.0 else kv) else gain
        rest = bias / kp if kp else 0.0
        gear = float(self._gear(k))
        self.builder.add(Servo(name, target, gear, low, high, activation, kp=kp, kv=kv, gain=own, rest=rest))

    def _of_ball(self, k: int) -> bool:
        """Whether an actuator of a joint drives a ball."""
        return self.m.jnt_type[int(self.m.actuator_trnid[k, 0])] == BALL

    def _activation(self, k: int) -> Activation | None:
        """What lies between the control and the force."""
        m = self.m
        kind = m.actuator_dyntype[k]
        if kind == Dynamics.NONE:
            return None
        low, high = limits(m.actuator_actrange[k]) if m.actuator_actlimited[k] else (-np.inf, np.inf)
        if kind == Dynamics.INTEGRATOR:
            return Activation("integrator", 0.0, low, high)
        time = float(m.actuator_dynprm[k, 0])
        if time <= 0.0:
            return None
        return Activation("filter", time, low, high)

    def _within_force(
        self, k: int, gain: float, low: float, high: float, activation: Activation | None
    ) -> tuple[float, float, Activation | None]:
        """Limits of the control of a motor, those of its force included: of what acts, so of the activation if any."""
        m = self.m
        if not m.actuator_forcelimited[k] or not gain:
            return low, high, activation
        bounds = sorted((m.actuator_forcerange[k] / gain).tolist())
        if activation is None:
            return max(low, bounds[0]), min(high, bounds[1]), None
        if low < bounds[0] or high > bounds[1] or activation.kind == "integrator":
            # The state itself would go on beyond what the force can be.
            self.notes.add("force ranges of motors with activations", m.actuator(k).name or f"actuator{k}")
        return low, high, activation

    def _gear(self, k: int) -> float:
        """The one gear that is not zero, or the first."""
        gear = self.m.actuator_gear[k]
        return gear[np.flatnonzero(gear)[0]] if np.any(gear) else 0.0

    def _target(self, k: int) -> str | tuple[str, Any] | None:
        """The degree of freedom that an actuator drives, or a body and the wrench on it per unit of force."""
        m = self.m
        type_, target = m.actuator_trntype[k], int(m.actuator_trnid[k, 0])
        gear = m.actuator_gear[k]
        if type_ in (Transmission.JOINT, Transmission.JOINT_IN_PARENT):
            if target in self.bodies.coordinates:
                return self.bodies.coordinates[target]
            axes = np.flatnonzero(gear[:3])
            if m.jnt_type[target] == BALL and type_ == Transmission.JOINT and len(axes) == 1:
                return f"{self.bodies.balls[target]}.w{'xyz'[axes[0]]}"
        if type_ == Transmission.SITE and m.actuator_trnid[k, 1] < 0:
            body, X = self._site(target)
            force, torque = X.rotation @ gear[:3], X.rotation @ gear[3:]
            if body != 0:
                return self.bodies.bodies[body], np.concatenate([torque + np.cross(X.position, force), force])
        return None
