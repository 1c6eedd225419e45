"""What `Maximal` and `simulate` say about starts and robots with which something is wrong."""

import warnings
from dataclasses import replace

import numpy as np
import pytest

import leastaction as la
from leastaction.contact.penetration.penetration_messages import warn_of_overlap
from leastaction.errors import ConvergenceError, LeastActionWarning, MechanismError
from leastaction.initial_state.unsupported_features import warn_of_ignored
from leastaction.mechanism import Box, Mesh, Plane, Pose, Sphere


def box(**options) -> la.MechanismBuilder:
    b = la.MechanismBuilder("box")
    b.body("box", **({"mass": 1.0, "shapes": Box((0.2, 0.2, 0.2))} | options))
    b.free("box")
    b.add_shape("world", Plane())
    return b


def simulate(robot, height=0.1, steps=3, **options):
    q = [0, 0, height, 1, 0, 0, 0]
    return la.simulate(robot, q, dt=0.01, steps=steps, integrator=la.Maximal(**options))


def test_a_start_in_the_ground_is_mentioned():
    with pytest.warns(LeastActionWarning, match="'world' and 'box' overlap at the start, by 0.05 m; the run starts"):
        simulate(box().build(), 0.05)
    with pytest.warns(LeastActionWarning, match="'box' and 'world' overlap at the start, .* are pushed apart"):
        simulate(box().build(), 0.098)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        simulate(box().build(), 0.1)  # on the ground, within rounding


def test_orders_without_contact_name_one_that_has_it():
    with pytest.warns(LeastActionWarning, match="Maximal of order 4: 'box' falls through the ground; order 2 has them"):
        simulate(box().build(), order=4)


def test_ground_that_nothing_can_touch():
    with pytest.warns(LeastActionWarning, match="nothing of 'box' can touch the ground"):
        simulate(box(shapes=(), inertia=1.0).build())


def star(shrink: float) -> Mesh:
    """An octahedron whose faces have their middle moved inwards, to `shrink` of its distance."""
    hull = Mesh(0.1 * np.vstack([np.eye(3), -np.eye(3)]))
    middles = len(hull.vertices) + np.arange(len(hull.faces))
    vertices = np.vstack([hull.vertices, shrink * hull.vertices[hull.faces].mean(axis=1)])
    faces = [[face[k], face[(k + 1) % 3], m] for face, m in zip(hull.faces, middles, strict=True) for k in range(3)]
    return Mesh(vertices, np.array(faces))


def test_concave_meshes_are_named_in_one_warning():
    hollow = replace(star(0.5), name="star")
    b = box(
        shapes=[hollow, replace(hollow, name="", file="parts/bowl.stl"), replace(star(1.0), name="full")], inertia=1.0
    )
    with pytest.warns(LeastActionWarning) as said:
        warn_of_ignored(la.Maximal().prepare(b.build(), 0.01))
    texts = [str(w.message) for w in said if "convex hulls" in str(w.message)]
    assert len(texts) == 1
    assert "meshes of 'box' touch as" in texts[0]
    assert ": box/star, box/bowl.stl; leastaction.robots.decompose makes" in texts[0]


def test_meshes_that_are_nearly_convex_or_do_not_touch_are_not_mentioned():
    shapes = [star(0.97), replace(star(0.5), collision=False), Mesh(np.eye(3), np.array([[0, 1, 2]]))]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_ignored(la.Maximal().prepare(box(shapes=shapes, inertia=1.0).build(), 0.01))


def test_contact_points_without_ground():
    b = la.MechanismBuilder("leg")
    b.body("leg", mass=1.0, inertia=0.1)
    b.free("leg")
    b.contact("foot", "leg")
    with pytest.warns(LeastActionWarning, match="'leg' has contact points, but there is no ground"):
        simulate(b.build())


def test_a_body_that_spins_without_inertia_is_named():
    with pytest.raises(ConvergenceError, match="body 'box' has no moments of inertia, but may spin freely"):
        simulate(box(inertia=0.0, com=(0, 0, 0)).build(), height=1.0)  # in the air, where no contact holds it


def test_no_mass_is_called_no_mass():
    with pytest.raises(MechanismError, match="body 'box': mass: must be positive"):
        box(mass=0.0)


def test_contact_forces_know_welded_bodies():
    """A leg that stands on a foot: bodies welded to the world or to each other do not shift the indices of the log."""
    b = la.MechanismBuilder("leg")
    b.body("base", mass=1.0, inertia=1.0)
    b.fixed("base", "world", "base")
    b.body("leg", mass=2.0, inertia=0.1)
    b.prismatic("slide", "base", "leg", axis="z", position=(0, 0, 1.0))
    b.body("foot", mass=1.0, shapes=Sphere(0.1))
    b.fixed("ankle", "leg", "foot", position=(0, 0, -0.9))
    b.body("ball", mass=0.5, shapes=Sphere(0.1))
    b.prismatic("rail", "world", "ball", axis="z", position=(0, 0, 0.3))
    b.add_shape("world", Box((1, 1, 0.1), pose=Pose((0, 0, -0.05))))
    run = la.simulate(b.build(), dt=0.01, duration=0.5, integrator=la.Maximal())
    names = {tuple(row) for row in run.stored["contacts"][:, 1:3].astype(int)}
    body = run.mechanism.body_index
    assert names == {(-1, body("leg")), tuple(sorted((body("leg"), body("ball"))))}
    weight = np.array([0.0, 0.0, 9.81])
    assert run.contact_force("foot", "world").shape == (run.steps, 3)
    with pytest.raises(la.MechanismError, match="'foot' does not touch itself"):
        run.contact_force("foot", "foot")
    np.testing.assert_allclose(run.contact_force("foot", "world")[-1], 3.5 * weight, atol=1e-6)
    np.testing.assert_allclose(run.contact_force("leg")[-1], 3.0 * weight, atol=1e-6)
    np.testing.assert_allclose(run.contact_force("ball")[-1], 0.5 * weight, atol=1e-6)
    np.testing.assert_allclose(run.contact_force("leg", "ball"), -run.contact_force("ball", "leg"))
    assert not run.contact_force("ball", "world").any()


def test_runs_without_contacts_say_so():
    run = la.simulate(la.robots.pendulum(), dt=0.01, steps=2)
    with pytest.raises(la.errors.LeastActionError, match="no log of contacts"):
        run.contact_force("link1")


def test_all_that_overlaps_at_the_start_is_named():
    """One warning, the deepest pair first; slight overlaps are none."""
    log = np.zeros((5, 10))
    log[:, 1:3] = [(-1, 0), (0, 1), (0, 1), (-1, 2), (1, 2)]
    log[:, 9] = [-0.01, -0.02, -0.03, -1e-5, 0.1]
    with pytest.warns(LeastActionWarning) as said:
        warn_of_overlap(log, ["a", "b", "c", "world"], np.ones(3))
    assert len(said) == 1
    text = str(said[0].message)
    assert text.startswith("'b' and 'a' overlap at the start, by 0.03 m after the first step, and are pushed apart")
    assert "so do 'a' and 'world';" in text
    assert "'c'" not in text


def test_a_first_step_that_has_no_solution_names_what_overlaps():
    """Two boxes on hinges, one half in the other, and a single iteration to get out."""
    b = la.MechanismBuilder("jammed")
    for name, x in (("left", -0.05), ("right", 0.05)):
        b.body(name, mass=1.0, shapes=Box((0.2, 0.2, 0.2)))
        b.revolute(name, "world", name, axis="y", position=(x, 0, 0))
    hasty = la.Maximal(max_iterations=1, warm_start=False)
    with pytest.raises(ConvergenceError, match="'left/box' and 'right/box' overlap by "):
        la.simulate(b.build(), dt=0.01, steps=1, integrator=hasty)


@pytest.mark.parametrize("kind", [la.Minimal, la.Maximal])
def test_a_start_that_limits_hold_in_the_ground_is_named(kind):
    """A hand that its wrist cannot lift out of the ground: no step has a solution."""
    b = la.MechanismBuilder("cut")
    b.add_shape("world", Plane())
    b.body("arm", mass=1.0, shapes=Box((0.1, 0.1, 0.3)))
    b.revolute("shoulder", "world", "arm", axis="y", position=(0, 0, 0.5), lower=-0.01, upper=0.01)
    b.body("hand", mass=1.0, shapes=Box((0.2, 0.2, 0.2)))
    b.revolute("wrist", "arm", "hand", axis="y", position=(0, 0, -0.45), lower=-0.01, upper=0.01)
    with pytest.raises(ConvergenceError, match=r"'world/plane' and 'hand/box' overlap by 0\.05 m at the start"):
        la.simulate(b.build(), dt=0.01, steps=1, integrator=kind())


@pytest.mark.parametrize("kind", [la.Minimal, la.Maximal])
def test_a_later_step_that_has_no_solution_names_what_touches(kind):
    """A box that falls on the ground, and steps that are never accepted from then on."""
    robot = box().build()
    sim = la.Simulator(robot, kind(), dt=0.01)
    sim.reset([0, 0, 0.1005, 1, 0, 0, 0])
    for _ in range(5):
        sim.step()
    sim._stride = lambda row: row
    with pytest.raises(ConvergenceError, match=r"step 5, t = 0\.05 s: .*in touch there: 'world/plane' and 'box/box'"):
        sim.step()
