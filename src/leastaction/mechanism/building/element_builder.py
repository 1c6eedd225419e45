"""Elements of a robot that is being put together: springs, cables, drives, contacts, forces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, Unpack

from numpy.typing import ArrayLike

from leastaction.errors import MechanismError
from leastaction.mechanism import _check
from leastaction.mechanism.contact_pairs import ContactPair
from leastaction.mechanism.drives.actuators import INF, Activation, BodyActuator, JointActuator, Servo
from leastaction.mechanism.drives.tendons import Tendon, Wrap
from leastaction.mechanism.elements import (
    Cable,
    ContactPoint,
    Coupling,
    Drag,
    ExternalWrench,
    PenaltyContact,
    PointElement,
    Rolling,
    Spring,
    attachment,
)
from leastaction.mechanism.frames import Frame
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.sensors import Sensor
from leastaction.typing import AttachmentLike, Axis, PoseLike, TendonOptions

Element: TypeAlias = (
    Coupling
    | Spring
    | Cable
    | JointActuator
    | BodyActuator
    | ExternalWrench
    | ContactPoint
    | Rolling
    | PenaltyContact
    | PointElement
    | Frame
    | Sensor
    | ContactPair
    | Tendon
)

FIELDS: dict[type, str] = {
    Coupling: "couplings",
    Spring: "springs",
    Cable: "cables",
    JointActuator: "actuators",
    BodyActuator: "actuators",
    ExternalWrench: "wrenches",
    ContactPoint: "contacts",
    Rolling: "rollings",
    PenaltyContact: "penalties",
    PointElement: "forces",
    Frame: "frames",
    Sensor: "sensors",
    ContactPair: "contact_pairs",
    Tendon: "tendons",
}
"""The field of `Mechanism` that holds the elements of a class, and of those derived from it."""


class ElementBuilder:
    """What `MechanismBuilder` knows about elements: everything that is neither body nor joint."""

    def __init__(self) -> None:
        self._elements: dict[str, list[Any]] = {field: [] for field in FIELDS.values()}
        self._excluded: list[tuple[str, str]] = []
        self._prescribed: list[str] = []

    def _add_element(self, element: Element) -> None:
        field = next((field for kind, field in FIELDS.items() if isinstance(element, kind)), None)
        if field is None:
            raise MechanismError(f"cannot add a {type(element).__name__} to a mechanism")
        self._elements[field].append(element)

    def spring(
        self,
        name: str,
        start: AttachmentLike,
        end: AttachmentLike,
        *,
        stiffness: float = 0.0,
        rest_length: float = 0.0,
        damping: float = 0.0,
        isotropic: bool = False,
    ) -> str:
        """Spring and damper between two points; see `Spring`.

        Args:
            name: unique.
            start, end: a body's name, for its origin, or (body, point in its frame [m]).
            stiffness: [N/m].
            rest_length: at which the spring is slack [m].
            damping: along the line between the points [N s/m].
            isotropic: act on the whole vector between the points, sideways too; the rest length is then 0.
        """
        ends = attachment(start, f"spring {name!r}: start"), attachment(end, f"spring {name!r}: end")
        self._elements["springs"].append(Spring(name, *ends, stiffness, rest_length, damping, isotropic))
        return name

    def damper(self, name: str, start: AttachmentLike, end: AttachmentLike, *, damping: float) -> str:
        """A damper [N s/m] along the line between two points; each is a body's name or (body, point [m])."""
        return self.spring(name, start, end, damping=damping)

    def cable(
        self,
        name: str,
        via: Iterable[AttachmentLike],
        *,
        stiffness: float,
        rest_length: float,
        damping: float = 0.0,
        pulls_only: bool = True,
        clip: bool = True,
    ) -> str:
        """An elastic cable through points, along which it slides without friction; see `Cable`.

        Args:
            name: unique.
            via: the points, each a body's name, for its origin, or (body, point in its frame [m]).
            stiffness: [N/m].
            rest_length: of the whole cable [m].
            damping: [N s/m].
            pulls_only: hang slack where it is shorter, instead of pushing.
            clip: with a damper, do not let it push either.
        """
        several = _check.instances(via, object, f"cable {name!r}: via")
        points = tuple(attachment(point, f"cable {name!r}: via") for point in several)
        self._elements["cables"].append(Cable(name, points, stiffness, rest_length, damping, pulls_only, clip))
        return name

    def coupling(self, name: str, follower: str, leader: str, *, ratio: float = 1.0, offset: float = 0.0) -> str:
        """Gear or mimic: follower = ratio * leader + offset [rad or m], for joints with one axis, by their names."""
        self._elements["couplings"].append(Coupling(name, follower, leader, (offset, ratio)))
        return name

    def actuator(
        self,
        name: str,
        coordinate: str,
        *,
        gear: float = 1.0,
        limits: tuple[float, float] | None = None,
        activation: Activation | float | None = None,
    ) -> str:
        """A drive of one degree of freedom: force [N m or N] = gear * u.

        Args:
            name: unique; the order in which actuators are added is that of u.
            coordinate: the joint with one axis, one of `Mechanism.velocity_names`, or a tendon.
            gear: force per unit of control.
            limits: lowest and highest u; `simulate` clips to them.
            activation: an `Activation`, or the time constant of a filter between control and force [s].
        """
        low, high = _control_limits(limits, f"actuator {name!r}")
        self._elements["actuators"].append(_check.made(JointActuator, name, coordinate, gear, low, high, activation))
        return name

    def position_servo(
        self,
        name: str,
        coordinate: str,
        *,
        kp: float,
        kv: float = 0.0,
        gear: float = 1.0,
        limits: tuple[float, float] | None = None,
        activation: Activation | float | None = None,
        force_limits: tuple[float, float] | None = None,
    ) -> str:
        """A motor whose control is the position that it holds: force = gear (kp (u - gear x) - kv gear dx/dt).

        Args:
            name: unique; the order in which actuators are added is that of u.
            coordinate: the joint with one axis or the axis of a ball, one of `Mechanism.velocity_names`, or a tendon.
            kp: feedback of the position [N m/rad or N/m]; as stiff as you like, see `Servo`.
            kv: feedback of the velocity [N m s/rad or N s/m].
            gear: how often the motor turns for one turn of the joint.
            limits: lowest and highest u; `simulate` clips to them.
            activation: an `Activation`, or the time constant of a filter between control and target [s].
            force_limits: least and largest force of the motor, before the gear [N m or N].
        """
        low, high = _control_limits(limits, f"servo {name!r}")
        self._elements["actuators"].append(
            _check.made(Servo, name, coordinate, gear, low, high, activation, kp=kp, kv=kv, force_limits=force_limits)
        )
        return name

    def velocity_servo(
        self,
        name: str,
        coordinate: str,
        *,
        kv: float,
        gear: float = 1.0,
        limits: tuple[float, float] | None = None,
        activation: Activation | float | None = None,
        force_limits: tuple[float, float] | None = None,
    ) -> str:
        """A motor whose control is the velocity that it keeps: force = gear kv (u - gear dx/dt).

        Args:
            name: unique; the order in which actuators are added is that of u.
            coordinate: the joint with one axis, one of `Mechanism.velocity_names`, or a tendon.
            kv: feedback of the velocity [N m s/rad or N s/m].
            gear: how often the motor turns for one turn of the joint.
            limits: lowest and highest u; `simulate` clips to them.
            activation: an `Activation`, or the time constant of a filter between control and target [s].
            force_limits: least and largest force of the motor, before the gear [N m or N].
        """
        low, high = _control_limits(limits, f"servo {name!r}")
        self._elements["actuators"].append(
            _check.made(Servo, name, coordinate, gear, low, high, activation, kv=kv, force_limits=force_limits)
        )
        return name

    def thruster(
        self,
        name: str,
        body: str,
        wrench: ArrayLike,
        *,
        limits: tuple[float, float] | None = None,
        activation: Activation | float | None = None,
    ) -> str:
        """A drive that pushes on a body, fixed to it.

        Args:
            name: unique; the order in which actuators are added is that of u.
            body: name of the body.
            wrench: torque and force [N m, N] per unit of control about the body's origin, in its frame, 6 numbers.
            limits: lowest and highest u; `simulate` clips to them.
            activation: an `Activation`, or the time constant of a filter between control and force [s].
        """
        low, high = _control_limits(limits, f"actuator {name!r}")
        self._elements["actuators"].append(_check.made(BodyActuator, name, body, wrench, low, high, activation))
        return name

    def tendon(
        self,
        name: str,
        *,
        joints: Mapping[str, float] | Iterable[tuple[str, float]] = (),
        via: Iterable[AttachmentLike | Wrap | float] = (),
        limits: tuple[float, float] | None = None,
        **options: Unpack[TendonOptions],
    ) -> str:
        """A tendon along joints or through points; see `Tendon`.

        Args:
            name: unique; actuators drive it by this name.
            joints: coefficients by names of joints with one axis, as a dict or in pairs.
            via: or points, from end to end: names of bodies, pairs (body, point), numbers for pulleys, and a `Wrap`
                where the path goes around something.
            limits: lowest and highest length; they need `limit_stiffness`, or rigid=True.
            **options: stiffness, rest, damping, limit_stiffness, limit_damping, force_limits, rigid.
        """
        low, high = _control_limits(limits, f"tendon {name!r}")
        pairs = tuple(joints.items()) if isinstance(joints, Mapping) else joints
        plain = (float, int, Wrap)
        known = TendonOptions.__annotations__
        for option in sorted(set(options) - known.keys()):
            hint = _check.suggestion(option, (*known, "joints", "via", "limits"))
            raise MechanismError(f"tendon {name!r}: a tendon has no property {option!r}{hint}")
        path = _check.instances(via, object, f"tendon {name!r}: via")
        points = tuple(x if isinstance(x, plain) else attachment(x, f"tendon {name!r}") for x in path)
        self._elements["tendons"].append(_check.made(Tendon, name, pairs, points, lower=low, upper=high, **options))
        return name

    def frame(self, name: str, body: str, pose: PoseLike = Pose()) -> str:
        """A named frame on a body, for Jacobians, inverse kinematics and sensors; see `Frame`.

        Args:
            name: unique.
            body: name of the body, or "world".
            pose: in the body's frame: a `Pose`, a position [m], position and quaternion, or a matrix (4, 4).
        """
        self._elements["frames"].append(Frame(name, body, Pose.of(pose, f"frame {name!r}: pose")))
        return name

    def sensor(self, name: str, kind: str, target: str, **options: Any) -> str:
        """Something to be measured; see `Sensor`.

        Args:
            name: unique.
            kind: such as "joint_position", "accelerometer", "force", "touch", "range".
            target: name of a coordinate, or of a frame or body.
            **options: reference, zone, cutoff.
        """
        self._elements["sensors"].append(Sensor(name, kind, target, **options))
        return name

    def wrench(
        self, name: str, body: str, wrench: ArrayLike, *, point: ArrayLike = (0, 0, 0), frame: str = "world"
    ) -> str:
        """A constant external wrench on a body.

        Args:
            name: unique.
            body: name of the body.
            wrench: torque and force [N m, N], 6 numbers.
            point: where the force acts, in the body's frame [m].
            frame: "world", directions that stay, or "body", directions that turn with it.
        """
        self._elements["wrenches"].append(_check.made(ExternalWrench, name, body, wrench, point, frame))
        return name

    def contact(
        self,
        name: str,
        body: str,
        point: ArrayLike = (0, 0, 0),
        *,
        radius: float = 0.0,
        friction: float = 0.0,
        restitution: float = 0.0,
        spinning: float = 0.0,
        rolling: float = 0.0,
        static_friction: float | None = None,
        compliance: float | None = None,
        relaxation_time: float | None = None,
    ) -> str:
        """A contact point, or ball, of a body, which touches the ground (planes and height fields of the world).

        Args:
            name: unique.
            body: name of the body.
            point: in the body's frame [m].
            radius: of the ball about it [m]; 0 is a point.
            friction: Coulomb coefficient; 0 slides freely.
            static_friction: that of a contact that sticks, at least `friction`; None: the same.
            compliance, relaxation_time: how far it gives way [m/N], and in what time [s], see `Shape`; None: rigid.
            restitution: Newton's coefficient, 0 (plastic) to 1 (elastic).
            spinning, rolling: friction against spinning about the normal and against rolling: torque per normal force
                [m].
        """
        surface = friction, restitution, spinning, rolling, static_friction, compliance, relaxation_time
        self._elements["contacts"].append(_check.made(ContactPoint, name, body, point, radius, *surface))
        return name

    def exclude_contact(self, first: str, *others: str) -> None:
        """Let a body pass through others, such as links whose shapes overlap; what a joint connects does so anyway.

        Args:
            first: name of a body.
            others: names of bodies; "world" for the shapes of the world.
        """
        if not others:
            raise MechanismError(f"exclude_contact({first!r}): name the bodies that it may pass through")
        names = [_check.label(name, "exclude_contact") for name in (first, *others)]
        self._excluded += [(names[0], other) for other in names[1:]]

    def contact_pair(
        self,
        first: str,
        second: str,
        *,
        shapes: tuple[str, str] = ("", ""),
        friction: float | None = None,
        restitution: float | None = None,
        spinning: float | None = None,
        rolling: float | None = None,
        always: bool = False,
        static_friction: float | None = None,
        compliance: float | None = None,
        relaxation_time: float | None = None,
    ) -> None:
        """Say what holds where two bodies touch, or two of their shapes, whatever each shape says; see `ContactPair`.

        Args:
            first, second: names of bodies; one may be "world".
            shapes: names of one shape of each; an empty name stands for all of them.
            friction, restitution: Coulomb's and Newton's coefficients between them; None leaves it to the shapes.
            spinning, rolling: torque per normal force [m] that resists; None likewise.
            always: let them touch whatever their groups say, and although a joint connects the bodies.
            static_friction: Coulomb's coefficient where they stick, at least `friction`; None leaves it to the shapes.
            compliance: how far the contact gives way under a force [m/N], see `Shape`; None leaves it to the shapes.
            relaxation_time: in what time it does [s]; None likewise.
        """
        values = friction, restitution, spinning, rolling
        soft = compliance, relaxation_time
        pair = ContactPair(first, second, *values, shapes, always, static_friction, *soft)
        self._elements["contact_pairs"].append(pair)

    def prescribe(self, *names: str) -> None:
        """Let motions be given from outside: of joints with one axis, and of bodies on free joints to the world.

        `simulate` and `Simulator.step` take them as `motions`; where they say nothing, things stay where they are.
        Runs with `Maximal` alone. What it takes to move them is no part of the mechanics: the mass of such a body
        matters to energies only.

        Args:
            names: of coordinates (`Mechanism.velocity_names`), or of bodies.
        """
        self._prescribed += [_check.label(name, "prescribe") for name in names if name not in self._prescribed]

    def penalty_contact(self, name: str, body: str, points: ArrayLike, *, stiffness: float, **options: Any) -> str:
        """Let a plane push back points of a body with springs, dampers and friction; see `PenaltyContact`.

        Args:
            name: unique.
            body: name of the body.
            points: in the body's frame [m], shape (count, 3), such as the corners of a box.
            stiffness: [N/m].
            **options: damping, friction, stiction, origin, normal; friction alone is enough for what rubs.
        """
        self._elements["penalties"].append(_check.made(PenaltyContact, name, body, points, stiffness, **options))
        return name

    def drag(
        self, name: str, body: str, *, linear: float = 0.0, quadratic: float = 0.0, point: ArrayLike = (0, 0, 0)
    ) -> str:
        """Let air or water resist the motion of a point of a body.

        Args:
            name: unique.
            body: name of the body.
            linear, quadratic: of the force -(linear + quadratic |v|) v [N s/m, N s^2/m^2].
            point: in the body's frame [m].
        """
        self._elements["forces"].append(_check.made(Drag, name, body, point, linear, quadratic))
        return name

    def rolling(
        self, name: str, body: str, radius: float, *, axis: Axis | None = None, center: ArrayLike = (0, 0, 0)
    ) -> str:
        """Let a body roll on the plane z = 0 without slipping: a disc with `axis`, or a ball without.

        Args:
            name: unique.
            body: name of the body.
            radius: [m].
            axis: of the disc, in the body's frame; None is a ball.
            center: in the body's frame [m].
        """
        self._elements["rollings"].append(_check.made(Rolling, name, body, radius, axis, center))
        return name


def _control_limits(limits: Any, what: str) -> tuple[float, float]:
    """Lowest and highest control; None: there are none."""
    return _check.pair((-INF, INF) if limits is None else limits, f"{what}: limits")
