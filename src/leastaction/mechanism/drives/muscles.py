"""Muscles: actuators whose force depends on their length and on how fast it changes."""

from __future__ import annotations

from dataclasses import dataclass

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.drives.actuators import Activation, JointActuator, force_limits

ACTIVATION = Activation("muscle", 0.01, 0.0, 1.0, release=0.04)
"""Of muscles that say nothing of it."""


@dataclass(frozen=True)
class Muscle(JointActuator):
    """A muscle along a joint with one axis or along a tendon, as MuJoCo has it.

    It pulls with peak (a FL(L) FV(V) + FP(L)), where x = gear * length of the tendon (or joint position), L is x in
    units of the optimal length L0, V its rate in units of L0 `vmax` per second, and a the activation. L is `range`
    where x is `length_range`. FL is a bump of height 1 at L = 1 that ends at `lmin` and `lmax`; FV rises from 0 at
    V = -1 over 1 at rest to `fvmax`; FP is zero up to L = 1 and `fpmax` / 2 halfway between that and `lmax`.

    The force is solved for together with the motion, but in explicit methods. What its springy part stores is no part
    of the potential energy.

    Attributes:
        name, coordinate, lower, upper: see `JointActuator`; controls from 0 to 1 unless given.
        gear: how much x changes for a unit of length; multiplies the force.
        activation: from control to a; that of muscles by default. None: the control is a.
        peak: force at L = 1 at rest, fully active [N; along joints N m].
        length_range: least and largest x [m or rad].
        range: L at these.
        lmin, lmax: L below and beyond which an active muscle does not pull.
        vmax: rate of shortening at which it does not pull any more [L0 per second].
        fpmax: passive force at `lmax`, in units of peak.
        fvmax: active force when it is stretched fast, in units of peak.
        force_limits: least and largest force before the gear, pulling is negative; None: any.
    """

    lower: float = 0.0
    upper: float = 1.0
    activation: Activation | None = ACTIVATION
    peak: float = 1.0
    length_range: tuple[float, float] = (0.0, 1.0)
    range: tuple[float, float] = (0.75, 1.05)
    lmin: float = 0.5
    lmax: float = 1.6
    vmax: float = 1.5
    fpmax: float = 1.3
    fvmax: float = 1.2
    force_limits: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        JointActuator.__post_init__(self)
        what = f"muscle {self.name!r}"
        for field in ("peak", "fpmax"):
            object.__setattr__(self, field, _check.nonnegative(getattr(self, field), f"{what}: {field}"))
        for field in ("lmin", "lmax", "vmax", "fvmax"):
            object.__setattr__(self, field, _check.positive(getattr(self, field), f"{what}: {field}"))
        for field in ("length_range", "range"):
            pair = _check.pair(getattr(self, field), f"{what}: {field}")
            low, high = (_check.number(x, f"{what}: {field}") for x in pair)
            if not low < high:
                raise MechanismError(f"{what}: {field} is reversed: {low} >= {high}")
            object.__setattr__(self, field, (low, high))
        if not self.lmin < 1.0 < self.lmax:
            raise MechanismError(f"{what}: lmin must be below and lmax above 1, got {self.lmin} and {self.lmax}")
        if self.fvmax < 1.0:
            raise MechanismError(f"{what}: fvmax must be 1 or more, got {self.fvmax}")
        object.__setattr__(self, "force_limits", force_limits(self.force_limits, what))

    @property
    def push(self) -> float:
        """What acts per unit of control: the activation itself; its force is in `leastaction.forces.muscle_forces`."""
        return 1.0

    @property
    def optimal_length(self) -> float:
        """L0 [m or rad]."""
        return (self.length_range[1] - self.length_range[0]) / (self.range[1] - self.range[0])
