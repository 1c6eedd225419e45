"""What is wrong only as a whole: names, references, masses, inertias, trees that do not hang on the world."""

import warnings

import pytest

from leastaction import MechanismError
from leastaction.mechanism import Inertia, Joint, Mechanism, MechanismBuilder, Sphere, joints


def builder(strict=True):
    """Two links on hinges j1 and j2."""
    b = MechanismBuilder("toy", strict=strict)
    b.body("a", mass=1.0, inertia=1.0)
    b.body("b", mass=1.0, inertia=1.0)
    b.revolute("j1", "world", "a")
    b.revolute("j2", "a", "b")
    return b


def refused(b, message):
    with pytest.raises(MechanismError, match=message):
        b.build()


def test_a_sound_mechanism_is_accepted():
    assert builder().build().nv == 2


def test_duplicate_names():
    b = builder()
    with pytest.raises(MechanismError, match="joint 'j1': this name is used twice"):
        b.revolute("j1", "a", "b")
    robot = builder().build()
    with pytest.raises(MechanismError, match="body 'a': this name is used twice"):
        Mechanism("toy", (*robot.bodies, robot.bodies[0]), robot.joints)
    with pytest.raises(MechanismError, match="joint 'j1': this name is used twice"):
        Mechanism("toy", robot.bodies, (*robot.joints, robot.joints[0]))
    with pytest.raises(MechanismError, match="body 'a': this name is used twice"):
        builder().add(robot.bodies[0])


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda b, k: b.spring("x", "a", ("world", (k, 0, 0))), "spring or cable 'x'"),
        (lambda b, k: b.actuator("x", "j1"), "actuator 'x'"),
        (lambda b, k: b.wrench("x", "a", (0,) * 6), "external wrench 'x'"),
        (lambda b, k: b.contact("x", "a"), "contact point 'x'"),
        (lambda b, k: b.coupling("x", "j1", "j2"), "coupling 'x'"),
    ],
)
def test_duplicate_names_of_elements(add, message):
    b = builder()
    add(b, 1.0)
    add(b, 2.0)
    refused(b, f"{message}: this name is used twice")


def test_springs_and_cables_share_their_names():
    b = builder()
    b.spring("x", "a", "b")
    b.cable("x", ["a", "b"], stiffness=1.0, rest_length=1.0)
    refused(b, "spring or cable 'x': this name is used twice")


@pytest.mark.parametrize(
    ("add", "message"),
    [
        (lambda b: b.revolute("j3", "c", "b"), "joint 'j3': unknown parent body 'c'"),
        (lambda b: b.revolute("j3", "a", "c"), "joint 'j3': unknown child body 'c'"),
        (lambda b: b.spring("s", "a", "bb"), "spring 's': unknown body 'bb' in 'toy'; did you mean 'b'"),
        (lambda b: b.spring("s", "a", "a"), "spring 's': both ends are the same point"),
        (lambda b: b.cable("c", ["a", "x"], stiffness=1, rest_length=1), "cable 'c': unknown body 'x'"),
        (
            lambda b: b.actuator("m", "j11"),
            "actuator 'm': unknown degree of freedom 'j11'; did you mean 'j1'",
        ),
        (lambda b: b.thruster("t", "x", (0,) * 6), "actuator 't': unknown body 'x'"),
        (lambda b: b.thruster("t", "world", (0,) * 6), "actuator 't': the world does not move"),
        (lambda b: b.wrench("w", "x", (0,) * 6), "ExternalWrench 'w': unknown body 'x'"),
        (lambda b: b.wrench("w", "world", (0,) * 6), "ExternalWrench 'w': the world does not move"),
        (lambda b: b.contact("p", "x"), "ContactPoint 'p': unknown body 'x'"),
        (lambda b: b.contact("p", "world"), "ContactPoint 'p': the world does not move"),
        (lambda b: b.coupling("g", "j1", "j3"), "coupling 'g': unknown coordinate 'j3'"),
    ],
)
def test_references(add, message):
    b = builder()
    add(b)
    refused(b, message)


def test_couplings_need_joints_with_one_axis():
    b = builder()
    b.body("c", mass=1.0, inertia=1.0)
    b.spherical("ball", "b", "c")
    b.coupling("g", "ball.qw", "j1")
    refused(b, "coupling 'g': 'ball.qw' is part of a ball or free joint")


def test_the_world_is_no_body():
    with pytest.raises(MechanismError, match="body 'world': this name is taken by the fixed world"):
        builder().body("world", mass=1.0, inertia=1.0)


def test_an_empty_mechanism():
    refused(MechanismBuilder("void"), "mechanism 'void' has no bodies")


def test_gravity_is_three_finite_numbers():
    for gravity in ((0, 0), (0, 0, float("nan")), "down"):
        b = builder()
        b.gravity = gravity
        refused(b, "gravity: expected")


# ---------------------------------------------------------------------- the tree


def test_a_body_without_a_joint():
    b = builder()
    b.body("c", mass=1.0, inertia=1.0)
    refused(b, r"body 'c': no joint carries it; give it a joint, or let it fly with builder.free\(")


def test_a_body_that_only_a_loop_joint_holds():
    b = builder()
    b.body("c", mass=1.0, inertia=1.0)
    b.revolute("j3", "b", "c", loop=True)
    refused(b, "body 'c': no joint carries it")


def test_a_cycle_that_hangs_on_nothing():
    b = builder()
    for name in "cde":
        b.body(name, mass=1.0, inertia=1.0)
    for parent, child in ("cd", "de", "ec"):
        b.revolute(f"{parent}{child}", parent, child)
    refused(b, "bodies (c -> d -> e -> c|d -> e -> c -> d|e -> c -> d -> e) carry each other in a cycle")


def test_a_branch_that_hangs_on_a_lost_body():
    b = builder()
    b.body("c", mass=1.0, inertia=1.0)
    b.body("d", mass=1.0, inertia=1.0)
    b.revolute("j3", "c", "d")
    refused(b, "body 'c': no joint carries it")


# ---------------------------------------------------------------------- masses and inertias


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "spherical", "free"])
def test_a_joint_must_move_something(kind):
    b = builder()
    b.body("c")
    b.joint("j3", kind, "b", "c")
    refused(b, "body 'c': joint 'j3' moves it, but neither it nor anything it carries has mass")


def test_moments_alone_are_enough_to_turn_but_not_to_slide():
    b = builder()
    b.body("c", mass=0.0, inertia=1.0)
    b.revolute("j3", "b", "c")
    assert b.build().nv == 3
    b = builder()
    b.body("c", mass=0.0, inertia=1.0)
    b.prismatic("j3", "b", "c")
    refused(b, "body 'c': joint 'j3' moves it")


def test_a_massless_link_may_carry_a_heavy_one():
    b = builder()
    b.body("c")
    b.body("d", mass=1.0)
    b.revolute("j3", "b", "c")
    b.revolute("j4", "c", "d", position=(1, 0, 0))
    assert b.build().nv == 4


def test_a_massless_body_may_be_welded():
    b = builder()
    b.body("frame")
    b.fixed("weld", "b", "frame")
    assert b.build().nv == 2


def test_the_inertia_of_a_drive_counts():
    b = builder()
    b.body("rotor")
    b.revolute("j3", "b", "rotor", armature=0.1)
    assert b.build().nv == 3


def test_a_negative_mass():
    b = builder(strict=False)
    with pytest.raises(MechanismError, match="body 'c': mass: must not be negative"):
        b.body("c", mass=-1.0, inertia=1.0)


IMPOSSIBLE = {
    "body 'c': inertia breaks the triangle inequality: principal moments 1, 1, 3": (1.0, 1.0, 3.0),
    "body 'c': inertia has a negative principal moment": (1.0, 1.0, -0.5),
}


@pytest.mark.parametrize(("message", "moments"), IMPOSSIBLE.items())
def test_impossible_inertias_are_refused_or_warned_about(message, moments):
    """No mass distribution has such principal moments: an error, or with strict=False a warning."""
    for strict in (True, False):
        b = builder(strict=strict)
        b.body("c", mass=1.0, inertia=moments)
        b.revolute("j3", "b", "c")
        if strict:
            refused(b, f"{message}.*; pass strict=False")
        else:
            with pytest.warns(UserWarning, match=f"{message}.*; kept as given"):
                robot = b.build()
            assert robot.bodies[2].inertia.moments == (moments[0], 0, 0, moments[1], 0, moments[2])


@pytest.mark.parametrize("moments", [(1, 1, 2), (1, 1, 0), (0, 0, 0), (1, 2, 3)])
def test_flat_and_thin_bodies_meet_the_inequality_with_equality(moments):
    b = builder()
    b.body("c", mass=1.0, inertia=moments)
    b.revolute("j3", "b", "c")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        b.build()


def test_the_inequality_is_tested_in_principal_axes():
    """A body turned away from its principal axes is judged as before."""
    turned = Inertia(1.0, (0, 0, 0), [[2.0, 1.5, 0.0], [1.5, 2.0, 0.0], [0.0, 0.0, 1.0]])  # moments 0.5, 1, 3.5
    with pytest.raises(MechanismError, match=r"0\.5, 1, 3\.5"):
        turned.check("it")


def test_nothing_is_half_done_when_a_part_is_refused():
    b = builder()
    before = b.build()
    for attempt in (
        lambda: b.body("c", mass=float("nan")),
        lambda: b.revolute("j3", "a", "b", axis=(2, 0, 0)),
        lambda: b.spring("s", "a", "b", stiffness=-1.0),
    ):
        with pytest.raises(MechanismError):
            attempt()
    assert b.build() == before


def test_ready_made_parts_are_checked_too():
    b = builder()
    b.add(Joint("j3", "revolute", "b", "c", (joints.revolute("x"),)))
    refused(b, "joint 'j3': unknown child body 'c'")
    b = builder()
    b.add_shape("world", Sphere(1.0))
    assert b.build().ground == (Sphere(1.0),)
