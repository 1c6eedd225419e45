"""Equalities, tendons and actuators of a compiled MuJoCo model."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.polynomial import Polynomial

from leastaction.formats._files import Notes
from leastaction.formats.mjcf._mjcf_bodies import BALL, Bodies, Names, pose, shift
from leastaction.formats.mjcf._mjcf_tendons import Tendons
from leastaction.formats.mjcf._mjcf_text import limits
from leastaction.mechanism import (
    Activation,
    BodyActuator,
    Coupling,
    Frame,
    JointActuator,
    MechanismBuilder,
    Muscle,
    Pose,
    Servo,
)
from leastaction.mechanism.building.graph import WORLD

SITE_OBJECT = 6
"""Value of mjOBJ_SITE."""


class Equality(IntEnum):
    """Values of mjtEq."""

    CONNECT = 0
    WELD = 1
    JOINT = 2
    TENDON = 3


class Transmission(IntEnum):
    """Values of mjtTrn."""

    JOINT = 0
    JOINT_IN_PARENT = 1
    TENDON = 3
    SITE = 4


class Dynamics(IntEnum):
    """Values of mjtDyn."""

    NONE = 0
    INTEGRATOR = 1
    FILTER = 2
    FILTER_EXACT = 3
    MUSCLE = 4


class Gain(IntEnum):
    """Values of mjtGain."""

    FIXED = 0
    MUSCLE = 2


class Bias(IntEnum):
    """Values of mjtBias."""

    NONE = 0
    AFFINE = 1
    MUSCLE = 2


class Elements:
    """Adds loop joints, couplings, frames, tendons and actuators to a builder; `soft`: limits of tendons give way."""

    def __init__(self, model: Any, builder: MechanismBuilder, notes: Notes, bodies: Bodies, soft: bool) -> None:
        self.m = model
        self.builder = builder
        self.notes = notes
        self.bodies = bodies
        self.sites: list[str] = []  # names of the frames that sites become
        self.tendons = Tendons(model, builder, notes, bodies, soft)

    def read(self) -> None:
        """Add them all."""
        types, targets = self.m.actuator_trntype, self.m.actuator_trnid
        drives = [k for k in range(len(types)) if types[k] == Transmission.TENDON]
        gears: dict[int, set[float]] = {}
        for k in drives:
            ranged = self.m.actuator_forcelimited[k] or self.m.actuator_gaintype[k] == Gain.MUSCLE
            gears.setdefault(int(targets[k, 0]), set()).add(np.nan if ranged else float(self._gear(k)))
        self.tendons.read(gears)
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
        elif type_ == Equality.JOINT:
            goal = float(m.qpos0[m.jnt_qposadr[first]] + data[0])
            self.tendons.hold(k, name, {int(first): 1.0}, goal, float(m.dof_invweight0[m.jnt_dofadr[first]]))
        elif type_ == Equality.TENDON and self._couple_tendons(k, name, data[:5], couplings):
            pass
        else:
            self.notes.add("equalities of other types", name)

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

    def _couple_tendons(self, k: int, name: str, data: Any, couplings: Names) -> bool:
        """Couple joints as fixed tendons do, if they do so linearly; lengths count from qpos0.

        Two joints are coupled exactly; one alone, and several, are held by a spring.
        """
        m, first, second = self.m, int(self.m.eq_obj1id[k]), int(self.m.eq_obj2id[k])
        a = self.tendons.fixed(first)
        b = self.tendons.fixed(second) if second >= 0 else {}
        if a is None or b is None or (second >= 0 and np.any(data[2:])):
            return False
        # sum_a c (q - ref) = data[0] + data[1] sum_b c (q - ref)
        terms = dict(a)
        for j, c in b.items():
            terms[j] = terms.get(j, 0.0) - float(data[1]) * c
        terms = {j: c for j, c in terms.items() if c}
        if len(terms) == 2:
            (follower, c1), (leader, c2) = terms.items()
            self._couple(couplings.unique(name), follower, leader, [float(data[0]) / c1, -c2 / c1])
            return True
        if not terms:
            return False
        goal = float(data[0]) + sum(c * float(m.qpos0[m.jnt_qposadr[j]]) for j, c in terms.items())
        weight = float(m.tendon_invweight0[first])
        weight += float(data[1]) ** 2 * float(m.tendon_invweight0[second]) if second >= 0 else 0.0
        self.tendons.hold(k, name, terms, goal, weight)
        return True

    def _has(self, kind: str, k: int, *properties: str) -> bool:
        """Whether object k has any of the properties, not all of which every version of MuJoCo knows."""
        arrays = [getattr(self.m, f"{kind}_{name}", None) for name in properties]
        return any(np.any(array[k]) for array in arrays if array is not None)

    # ------------------------------------------------------------------ actuators

    def _actuator(self, k: int, names: Names) -> None:
        m = self.m
        given = m.actuator(k).name or f"actuator{k}"
        muscle = m.actuator_gaintype[k] == Gain.MUSCLE and self._is_muscle(k)
        if int(m.opt.disableactuator) >> int(m.actuator_group[k]) & 1:
            self.notes.add("actuators of groups that are switched off (actuatorgroupdisable)", given)
            return
        if special := self._special(k, muscle):
            self.notes.add(special, given)
            return
        if self._has("actuator", k, "armature", "damping", "dampingpoly"):
            self.notes.add("armature and damping of actuators", given)
        target = self._target(k)
        if target is None:
            self.notes.add("actuators of slider cranks, free joints and the like", given)
            return
        gain = float(m.actuator_gainprm[k, 0])
        low, high = limits(m.actuator_ctrlrange[k]) if m.actuator_ctrllimited[k] else (-np.inf, np.inf)
        activation, name = self._activation(k), names.unique(given)
        if muscle:
            low_x, high_x = m.actuator_lengthrange[k]
            if not isinstance(target, str) or self._of_ball(k):
                self.notes.add("muscles of bodies and of ball joints", given)
            elif low_x >= high_x or m.actuator_gainprm[k, 8] < 1.0:
                self.notes.add("muscles without a range of lengths, or that are weaker when stretched", given)
            else:
                self._muscle(k, name, target, low, high, activation)
            return
        bias, kp, kv = self._bias(k)
        if not (bias or kp or kv):
            low, high, clipped = self._within_force(k, gain, low, high, activation)
            if isinstance(target, str):
                if clipped and not self._of_ball(k):
                    own = {"gain": gain, "force_limits": limits(m.actuator_forcerange[k])}
                    self.builder.add(Servo(name, target, float(self._gear(k)), low, high, activation, **own))
                    return
                gear = gain * float(self._gear(k))
                self.builder.add(JointActuator(name, target, gear, low, high, activation))
            else:
                body, wrench = target
                self.builder.add(BodyActuator(name, body, tuple((gain * wrench).tolist()), low, high, activation))
            return
        if not isinstance(target, str):
            self.notes.add("servos of bodies", given)
            return
        if self._of_ball(k) and not self._is_spring(k):
            self.notes.add("servos of balls with a bias, a force range or other gains about another axis", given)
            return
        if kp < 0.0 or kv < 0.0 or (bias and not kp):
            self.notes.add("actuators with feedback that drives away, or with a constant force", given)
            return
        force = limits(m.actuator_forcerange[k]) if m.actuator_forcelimited[k] else None
        own = None if gain == (kp if kp > 0.0 else kv) else gain
        rest = bias / kp if kp else 0.0
        gear = float(self._gear(k))
        self.builder.add(
            Servo(name, target, gear, low, high, activation, kp=kp, kv=kv, gain=own, rest=rest, force_limits=force)
        )

    def _special(self, k: int, muscle: bool) -> str:
        """What of an actuator that is a muscle, or not, nobody knows here, in words; "" where all is known."""
        m = self.m
        if getattr(m, "actuator_ctrlnum", np.ones(k + 1))[k] != 1:
            return "actuators with several controls"
        if m.actuator_dyntype[k] > Dynamics.MUSCLE:
            return "actuators whose activation (dyntype) is neither filter, integrator nor muscle"
        linear = m.actuator_gaintype[k] == Gain.FIXED and m.actuator_biastype[k] <= Bias.AFFINE
        return "" if muscle or linear else "actuators whose gain depends on the state or is a plugin's or a user's"

    def _is_muscle(self, k: int) -> bool:
        """Whether an actuator with the gain of a muscle has its passive force, too, or none."""
        m = self.m
        if m.actuator_biastype[k] == Bias.NONE:
            return True
        same = np.array_equal(m.actuator_gainprm[k, :9], m.actuator_biasprm[k, :9])
        return bool(m.actuator_biastype[k] == Bias.MUSCLE and same)

    def _muscle(self, k: int, name: str, target: str, low: float, high: float, activation: Activation | None) -> None:
        m = self.m
        first, last, force, scale, lmin, lmax, vmax, fpmax, fvmax = m.actuator_gainprm[k, :9].tolist()
        own = {"lmin": lmin, "lmax": lmax, "vmax": vmax, "fvmax": fvmax, "range": (first, last)}
        own["fpmax"] = fpmax if m.actuator_biastype[k] == Bias.MUSCLE else 0.0
        own["peak"] = force if force >= 0.0 else scale / max(float(m.actuator_acc0[k]), 1e-15)
        own["length_range"] = tuple(m.actuator_lengthrange[k].tolist())
        own["force_limits"] = limits(m.actuator_forcerange[k]) if m.actuator_forcelimited[k] else None
        self.builder.add(Muscle(name, target, float(self._gear(k)), low, high, activation, **own))

    def _of_ball(self, k: int) -> bool:
        """Whether an actuator of a joint drives a ball."""
        on_joint = self.m.actuator_trntype[k] in (Transmission.JOINT, Transmission.JOINT_IN_PARENT)
        return bool(on_joint and self.m.jnt_type[int(self.m.actuator_trnid[k, 0])] == BALL)

    def _bias(self, k: int) -> tuple[float, float, float]:
        """Constant force of an actuator, and its feedback of position and velocity."""
        if self.m.actuator_biastype[k] != Bias.AFFINE:
            return 0.0, 0.0, 0.0
        bias, position, velocity = self.m.actuator_biasprm[k, :3].tolist()
        return bias, 0.0 - position, 0.0 - velocity

    def _is_spring(self, k: int) -> bool:
        """Whether a servo of a ball is part of a spring that has an energy, see `mechanism.drives.servos`."""
        m, stiffness = self.m, np.zeros(3)
        if m.actuator_forcelimited[k] or self._bias(k)[0]:
            return False
        if not self._bias(k)[1]:
            return True
        for i in np.flatnonzero(m.actuator_trnid[:, 0] == m.actuator_trnid[k, 0]).tolist():
            if self._of_ball(i) and isinstance(self._target(i), str) and not self._special(i, False):
                bias, kp, kv = self._bias(i)
                if kp >= 0.0 and kv >= 0.0 and not bias and not m.actuator_forcelimited[i]:
                    stiffness += m.actuator_gear[i, :3] ** 2 * kp
        return bool(np.allclose(stiffness, stiffness[0], rtol=1e-9, atol=0.0))

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
        if kind == Dynamics.MUSCLE:
            release, smooth = m.actuator_dynprm[k, 1:3].tolist()
            return Activation("muscle", time, low, high, release, smooth)
        if time <= 0.0:
            return None
        return Activation("filter", time, low, high)

    def _within_force(
        self, k: int, gain: float, low: float, high: float, activation: Activation | None
    ) -> tuple[float, float, bool]:
        """Limits of the control of a motor, those of its force included, and whether that must be clipped by itself."""
        m = self.m
        if not m.actuator_forcelimited[k] or not gain:
            return low, high, False
        bounds = sorted((m.actuator_forcerange[k] / gain).tolist())
        if activation is None:
            return max(low, bounds[0]), min(high, bounds[1]), False
        # The activation itself goes on beyond what the force can be.
        return low, high, low < bounds[0] or high > bounds[1] or activation.kind == "integrator"

    def _gear(self, k: int) -> float:
        """The one gear that is not zero, or the first."""
        gear = self.m.actuator_gear[k]
        return gear[np.flatnonzero(gear)[0]] if np.any(gear) else 0.0

    def _turned_body(self, j: int, gear: Any) -> tuple[str, Any] | None:
        """A body on the world, and the torque about axes of its own that an actuator of its ball or free joint is.

        Between two bodies such a torque has a reaction, and forces along a free joint are along axes of the world.
        """
        m, body = self.m, int(self.m.jnt_bodyid[j])
        torque, force = (gear[:3], np.zeros(3)) if m.jnt_type[j] == BALL else (gear[3:], gear[:3])
        alone = m.body_jntnum[body] == 1 and m.body_weldid[m.body_parentid[body]] == 0
        return (self.bodies.bodies[body], np.concatenate([torque, force])) if alone and not force.any() else None

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
            return self._turned_body(target, gear) if type_ == Transmission.JOINT else None
        if type_ == Transmission.TENDON:
            return self.tendons.names.get(target)
        if type_ == Transmission.SITE and m.actuator_trnid[k, 1] < 0:
            body, X = self._site(target)
            force, torque = X.rotation @ gear[:3], X.rotation @ gear[3:]
            if body != 0:
                return self.bodies.bodies[body], np.concatenate([torque + np.cross(X.position, force), force])
        return None
