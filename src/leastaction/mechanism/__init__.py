"""What a robot is: bodies, joints, loops and everything that acts on them. Validated and immutable."""

from leastaction.mechanism import joints
from leastaction.mechanism.body import Body
from leastaction.mechanism.building.builder import MechanismBuilder
from leastaction.mechanism.contact_pairs import ContactPair
from leastaction.mechanism.drives.actuators import Activation, Actuator, BodyActuator, JointActuator, Servo
from leastaction.mechanism.drives.muscles import Muscle
from leastaction.mechanism.drives.tendons import Tendon, Wrap
from leastaction.mechanism.elements import (
    Attachment,
    Cable,
    ContactPoint,
    Coupling,
    Drag,
    ExternalWrench,
    PenaltyContact,
    Rolling,
    Spring,
)
from leastaction.mechanism.frames import Frame
from leastaction.mechanism.inertia import (
    Inertia,
    rod,
    solid_box,
    solid_capsule,
    solid_cylinder,
    solid_ellipsoid,
    solid_sphere,
)
from leastaction.mechanism.joints import Joint, Motion, Primitive
from leastaction.mechanism.mechanism import Mechanism
from leastaction.mechanism.pose import Pose
from leastaction.mechanism.sensors import Sensor
from leastaction.mechanism.shapes import Box, Capsule, Cylinder, Ellipsoid, HeightField, Mesh, Plane, Shape, Sphere

__all__ = [
    "Activation",
    "Actuator",
    "Attachment",
    "Body",
    "BodyActuator",
    "Box",
    "Cable",
    "Capsule",
    "ContactPair",
    "ContactPoint",
    "Coupling",
    "Cylinder",
    "Drag",
    "Ellipsoid",
    "ExternalWrench",
    "Frame",
    "HeightField",
    "Inertia",
    "Joint",
    "JointActuator",
    "Mechanism",
    "MechanismBuilder",
    "Mesh",
    "Motion",
    "Muscle",
    "PenaltyContact",
    "Plane",
    "Pose",
    "Primitive",
    "Rolling",
    "Sensor",
    "Servo",
    "Shape",
    "Sphere",
    "Spring",
    "Tendon",
    "Wrap",
    "joints",
    "rod",
    "solid_box",
    "solid_capsule",
    "solid_cylinder",
    "solid_ellipsoid",
    "solid_sphere",
]


def __dir__() -> list[str]:
    return [*__all__]
