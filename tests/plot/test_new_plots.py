"""Plots of accuracy, structure, phase space, constraints and contacts: what is drawn is what was given."""

import numpy as np
import pytest

import leastaction as la
from leastaction.plot import style
from leastaction.plot.contacts import contact_gaps, logged_contacts
from leastaction.plot.structure import mass_matrix_pattern

pytest.importorskip("matplotlib")


@pytest.fixture(autouse=True)
def _close_figures():
    import matplotlib.pyplot as plt

    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def pendulum():
    robot = la.robots.double_pendulum()
    return [la.simulate(robot, q=[1.0, 0.0], steps=20, integrator=i) for i in (la.RungeKutta(), la.SemiImplicitEuler())]


@pytest.mark.parametrize("order", [1, 2, 4, 6])
def test_slope_of_a_power_law_with_round_off(order):
    dt = 0.1 * 0.5 ** np.arange(8)
    errors = 3.0 * dt**order + 1e-13
    assert la.plot.slope(dt, errors) == pytest.approx(order, abs=0.2)
    assert la.plot.slope(dt[::-1], errors[::-1]) == la.plot.slope(dt, errors)


def test_slope_without_convergence():
    assert np.isnan(la.plot.slope([0.1, 0.05], [1.0, 1.0]))
    assert np.isnan(la.plot.slope([0.1], [1.0]))


def test_slope_measures_an_integrator():
    """Heun's method converges with order 2."""
    robot, q = la.robots.pendulum(), [1.0]
    exact = la.simulate(robot, q, dt=0.1, duration=1.0, integrator=la.DOP853()).q[-1]
    steps = [0.02, 0.01, 0.005, 0.0025]
    errors = [abs(la.simulate(robot, q, dt=h, duration=1.0, integrator=la.Heun()).q[-1] - exact)[0] for h in steps]
    assert la.plot.slope(steps, errors) == pytest.approx(2.0, abs=0.15)
    (axis,) = la.plot.convergence(steps, {"Heun": errors}).axes
    (line,) = axis.get_lines()
    assert (line.get_ydata() == errors).all()
    assert line.get_label() == f"Heun (slope {la.plot.slope(steps, errors):.2f})"
    assert axis.get_xscale() == axis.get_yscale() == "log"


def test_work_precision():
    (axis,) = la.plot.work_precision({"a": ([1e-2, 1e-4], [0.1, 0.2]), "b": ([1e-3], [1.0])}).axes
    assert [line.get_label() for line in axis.get_lines()] == ["a", "b"]
    assert (axis.get_lines()[0].get_xdata() == [1e-2, 1e-4]).all()


def test_phase(pendulum):
    figure = la.plot.phase(pendulum, labels=["one", "two"])
    assert [axis.get_title() for axis in figure.axes] == ["joint1", "joint2"]
    line = figure.axes[1].get_lines()[2]
    assert (line.get_xdata() == pendulum[1].q[:, 1]).all()
    assert (line.get_ydata() == pendulum[1].v[:, 1]).all()
    assert [axis.get_title() for axis in la.plot.phase(pendulum[0], names=["joint2"]).axes] == ["joint2"]


def test_runs_differ_by_more_than_colour(pendulum):
    """In grey, lines must still differ."""
    for figure in (la.plot.energy(pendulum), la.plot.energy(pendulum, error=True), la.plot.phase(pendulum)):
        lines = [x for x in figure.axes[0].get_lines() if not x.get_label().startswith("_")]
        assert len({line.get_linestyle() for line in lines}) == len(lines)


def test_constraint_violation():
    run = la.simulate(la.robots.four_bar(), v=[1.0, -1.0, 1.0], steps=10, project=True)
    (axis,) = la.plot.constraint_violation(run).axes
    drawn, violation = axis.get_lines()[0].get_ydata(), run.constraint_violation
    assert (drawn[violation > 0] == violation[violation > 0]).all()
    assert axis.get_yscale() == "log"


def test_sparsity_is_that_of_the_mass_matrix():
    """The structural pattern covers every entry that is not zero, and branches are apart."""
    robot = la.robots.unitree_a1()
    pattern = mass_matrix_pattern(robot)
    M = la.dynamics.mass_matrix(robot, robot.random_configuration(1))
    assert (pattern[np.abs(M) > 1e-12]).all()
    # Of the 6 x 6 block of the base alone some entries vanish: mass is a number, and its moment has no diagonal.
    assert (np.abs(M[6:, 6:]) > 1e-12).sum() == pattern[6:, 6:].sum() == 4 * 9
    figure = la.plot.sparsity(robot)
    assert f"{100 * pattern.mean():.1f} % filled" in figure.axes[0].get_title()
    assert la.plot.sparsity(np.eye(3)).axes[0].get_title() == "3 × 3, 33.3 % filled"


def test_contacts_touch_when_the_gap_closes():
    robot = la.robots.cube()
    q = np.tile(la.robots.home(robot), (3, 1))
    q[:, 2] += [0.9, 0.4, 0.0]  # home is on the ground
    stored = {"v": np.zeros((3, 6))}
    run = la.Trajectory(robot, None, 0.1, np.arange(3) * 0.1, q, stored)
    gaps = contact_gaps(run)
    assert gaps.min(axis=1) == pytest.approx([0.9, 0.4, 0.0], abs=1e-12)
    figure = la.plot.contacts(run)
    assert [label.get_text() for label in figure.axes[0].get_yticklabels()] == [c.name for c in robot.contacts]
    la.plot.contacts(run, forces=np.ones_like(gaps), gaps=gaps)


def logged(robot, q, rows):
    """A run that has logged contacts: (step, two bodies, point, force, gap)."""
    stored = {"v": np.zeros((len(q), robot.nv)), "contacts": np.array(rows, float).reshape(-1, 10)}
    return la.Trajectory(robot, None, 0.1, np.arange(len(q)) * 0.1, np.array(q), stored)


def drawn(figure):
    """(first, last) time of every piece of every line."""
    pieces = [[path.vertices[:, 0] for path in c.get_paths()] for c in figure.axes[0].collections]
    return [[(x.min(), x.max()) for x in line] for line in pieces]


def test_contacts_come_from_the_log_of_a_run():
    """A contact of one step is drawn for that step, under the name of its point or of its bodies; open ones are not."""
    b = la.robots.cube().edit()
    b.body("ball", mass=1.0, inertia=1.0)
    b.free("ball")
    robot = b.build()
    q = np.tile(robot.neutral(), (4, 1))
    corner = robot.contacts[2]
    rows = [
        [1, -1, 0, *corner.point, 0, 0, 5.0, 0],
        [2, -1, 0, *corner.point, 0, 0, 1e-12, 0.1],
        [2, 0, 1, 0, 0, 0, 3.0, 0, 4.0, 0],
        [2, -1, 1, 0, 0, 7.0, 0, 0, 1.0, 0],
        [1, -1, 0, 0, 0, 7.0, 0, 0, 1e-12, 0.2],  # near, but not touching
    ]
    figure = la.plot.contacts(logged(robot, q, rows))
    names = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert names == [*(c.name for c in robot.contacts), "cube – ball", "ball – world"]
    lines = dict(zip(names, drawn(figure), strict=True))
    assert lines.pop(corner.name) == [pytest.approx((0.1, 0.2))]
    assert lines.pop("cube – ball") == lines.pop("ball – world") == [pytest.approx((0.2, 0.3))]
    assert not any(lines.values())


def test_contacts_of_a_run_in_body_coordinates():
    """A cube falls on its face: four corners touch from the impact on, and carry its weight at the end."""
    robot = la.robots.cube()
    q = la.robots.home(robot) + 0.4 * np.eye(7)[2]
    run = la.simulate(robot, q=q, dt=0.02, duration=0.6, integrator=la.Maximal())
    names, forces = logged_contacts(run)
    assert names == [c.name for c in robot.contacts]
    lower = np.array([c.point[2] < 0 for c in robot.contacts])
    assert forces[-1, ~lower].max() < 1e-9
    assert forces[-1].sum() == pytest.approx(9.81, rel=1e-3)
    begun = run.t[(forces > 1.0).any(axis=1)][0]
    assert [len(line) for line in drawn(la.plot.contacts(run))] == lower.astype(int).tolist()
    assert begun == pytest.approx(np.sqrt(2 * 0.4 / 9.81), abs=0.021)


def test_contacts_of_a_run_without_any():
    robot = la.robots.double_pendulum()
    with pytest.raises(la.LeastActionError, match="nothing touched"):
        la.plot.contacts(logged(robot, np.zeros((2, 2)), []))


def test_palette_is_distinct_for_colour_blind_readers():
    """Each pair of colours stays apart when red and green are seen alike (Machado 2009, deuteranopia)."""
    see = np.array([[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]])
    rgb = np.array([[int(c[k : k + 2], 16) / 255 for k in (1, 3, 5)] for c in style.PALETTE])
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    seen = np.clip(linear @ see.T, 0, 1) ** (1 / 2.2)
    distances = np.linalg.norm(seen[:, None] - seen[None], axis=2) + np.eye(len(seen))
    assert distances.min() > 0.12


@pytest.mark.parametrize(
    ("draw", "says"),
    [
        (lambda run: la.plot.phase(run, names=["jiont1"]), "did you mean 'joint1'"),
        (lambda run: la.plot.constraint_violation(run), "has the robot a loop"),
        (lambda run: la.plot.contacts(run), "no contact points"),
        (lambda run: la.plot.contacts(3), "expected a Trajectory"),
        (lambda run: la.plot.energy(3), "expected a Trajectory"),
        (lambda run: la.plot.sparsity("matrix"), "expected a Mechanism or a matrix"),
        (lambda run: la.plot.sparsity([1.0, 2.0]), "expected a matrix"),
        (lambda run: la.plot.convergence([0.1], {}), "no errors"),
        (lambda run: la.plot.convergence([0.1], {"a": [1.0, 2.0]}), "expected 1 errors"),
        (lambda run: la.plot.work_precision({}), "nothing to draw"),
        (lambda run: la.plot.coordinates(run, names=["joint"]), "did you mean 'joint"),
    ],
)
def test_wrong_input(draw, says, pendulum):
    with pytest.raises(la.LeastActionError, match=says):
        draw(pendulum[0])


def test_files_that_cannot_be_written_are_refused_before_drawing(pendulum, tmp_path):
    for name, says in (("no/x.png", "does not exist"), ("x.xyz", "unknown extension"), ("x", "it has none")):
        with pytest.raises(la.FormatError, match=says):
            la.plot.energy(pendulum, path=tmp_path / name)
    assert list(tmp_path.iterdir()) == []
