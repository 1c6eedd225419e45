"""Charts of ball joints and spline joints: exact maps, safe changes, and the motion they describe."""

import numpy as np
import pytest
from scipy.linalg import expm, logm
from scipy.spatial.transform import Rotation

import leastaction as la
from leastaction import redmax
from leastaction.kinematics.reduced import charts
from leastaction.mechanism import Pose
from tests.redmax.robots import chain, ring, sheet


@pytest.mark.parametrize("number", range(12))
def test_angles_of_every_chart(number):
    name = charts.CHARTS[number]
    rng = np.random.default_rng(number)
    for _ in range(20):
        R = Rotation.random(random_state=rng)
        x = charts.angles(number, tuple(R.as_matrix().ravel()))
        assert np.abs(Rotation.from_euler(name, x).as_matrix() - R.as_matrix()).max() <= 1e-12
        assert np.abs(np.array(charts.rotation(number, x)).reshape(3, 3) - R.as_matrix()).max() <= 1e-12
        S = np.array(charts.columns(number, x)).T
        assert abs(np.linalg.det(S)) == pytest.approx(charts.quality(number, x[1]), abs=1e-12)


@pytest.mark.parametrize("chart", ["euler", "exponential"])
def test_a_tumbling_body_passes_every_singularity(chart):
    """Torque-free: the angular momentum in the world stays, to the order of the method, through changes of chart."""
    b = la.MechanismBuilder("tumbler", gravity=(0, 0, 0))
    b.body("body", mass=1.0, inertia=(1.0, 2.0, 3.0))
    b.spherical("ball", "world", "body")
    robot = b.build()
    drift = []
    for steps in (1000, 2000):
        integrator = la.BDF(order=2, chart=chart)
        run = la.simulate(robot, v=[0.5, 5.0, 0.7], dt=4.0 / steps, steps=steps, integrator=integrator)
        L = run.momentum[:, :3]
        drift.append(np.abs(L - L[0]).max() / np.abs(L[0]).max())
    if chart == "euler":
        assert len(np.unique(run.stored["chart"])) >= 2
    assert drift[1] <= 2e-3
    assert np.log2(drift[0] / drift[1]) == pytest.approx(2.0, abs=0.1)


def test_runs_in_pieces_are_the_same_runs():
    """The stored charts and coordinates tell all that a run needs to go on."""
    robot = chain("spherical", 1)
    v = np.array([0.5, 9.0, 0.3])
    options = {"dt": 0.01, "integrator": la.BDF(order=2)}
    whole = la.simulate(robot, v=v, steps=40, **options)
    watched = la.simulate(robot, v=v, steps=40, controller=lambda t, q, v: np.zeros(3), **options)
    assert (whole.q == watched.q).all()


@pytest.mark.parametrize("chart", ["euler", "exponential"])
def test_states_from_angles_and_back(chart):
    """A free body and a ball on it: angles and rates as other codes have them."""
    b = la.MechanismBuilder("pair")
    for name in ("one", "two"):
        b.body(name, mass=1.0, inertia=(0.1, 0.2, 0.25))
    b.free("one")
    b.spherical("ball", "one", "two", position=(0, 0, 0.3))
    robot = b.build()
    rng = np.random.default_rng(3)
    r, rd = 0.5 * rng.normal(size=9), rng.normal(size=9)
    q, v = redmax.from_reduced_coordinates(robot, r, rd, chart=chart)
    turn = Rotation.from_euler("XYZ", r[3:6]) if chart == "euler" else Rotation.from_rotvec(r[3:6])
    X = la.dynamics.body_poses(robot, q)[0]
    assert np.abs(X[:3, :3] - turn.as_matrix()).max() <= 1e-12
    assert np.abs(X[:3, 3] - r[:3]).max() <= 1e-15
    h = 1e-6
    ends = [redmax.from_reduced_coordinates(robot, r + s * h * rd, chart=chart)[0] for s in (1, -1)]
    assert np.abs(robot.difference(ends[1], ends[0]) / (2 * h) - v).max() <= 1e-8
    back = redmax.reduced_coordinates(robot, q, v, chart=chart)
    assert np.abs(back[0] - r).max() <= 1e-12
    assert np.abs(back[1] - rd).max() <= 1e-12


def spline_pose(frames, x):
    """Product of exponentials of Sueda 2021, Eq. 2.74, term by term."""
    C = [f.matrix for f in frames]
    k = int(np.floor(x))
    s = x - k
    bases = ((5 + 3 * s - 3 * s**2 + s**3) / 6, (1 + 3 * s + 3 * s**2 - 2 * s**3) / 6, s**3 / 6)
    Q = C[k % len(C)]
    for i, basis in enumerate(bases, 1):
        a, b = C[(k + i - 1) % len(C)], C[(k + i) % len(C)]
        Q = Q @ expm(np.real(logm(np.linalg.inv(a) @ b)) * basis)
    return Q


def test_spline_curve():
    frames = ring(5)
    robot = chain("spline_curve", 1, frames=frames)
    for x in (0.0, 0.3, 1.0, 2.75, 4.9, 5.2, -0.4):
        assert np.abs(redmax.body_poses(robot, [x])[0] - spline_pose(frames, x)).max() <= 1e-12


def test_spline_surface():
    controls = sheet(4)
    robot = chain("spline_surface", 1, controls=controls)
    B = np.array([[1, -3, 3, -1], [4, 0, -6, 3], [1, 3, 3, -3], [0, 0, 0, 1]]) / 6
    for x, y in ((0.0, 0.0), (0.3, 0.8), (1.0, 0.5)):
        f = [(x ** np.arange(4)) @ B.T @ C @ B @ (y ** np.arange(4)) for C in controls]
        R = Rotation.from_euler("XYZ", f[3:]).as_matrix()
        X = redmax.body_poses(robot, [x, y])[0]
        assert np.abs(X[:3, :3] - R).max() <= 1e-13
        assert np.abs(X[:3, 3] - f[:3]).max() <= 1e-13


def test_the_first_coordinate_of_a_surface_leads_from_row_to_row():
    """A B-spline of evenly spaced values is linear: with the number of its row in each entry of the grid of x, the
    shift along x is 1 + the first coordinate, whatever the second."""
    controls = np.zeros((6, 4, 4))
    controls[0] = np.arange(4)[:, None]
    robot = chain("spline_surface", 1, controls=controls)
    for x, y in ((0.0, 0.0), (0.3, 0.8), (0.9, 0.1)):
        assert np.abs(redmax.body_poses(robot, [x, y])[0][:3, 3] - (1.0 + x, 0.0, 0.0)).max() <= 1e-14


def test_a_spline_through_translations_is_the_b_spline_of_points():
    """With unturned frames the product of exponentials is the plain B-spline; gravity then gives conserved energy."""
    points = np.random.default_rng(0).normal(size=(6, 3))
    robot = chain("spline_curve", 1, frames=tuple(Pose(tuple(p)) for p in points))
    s = 0.37
    B = np.array([(1 - s) ** 3, 3 * s**3 - 6 * s**2 + 4, -3 * s**3 + 3 * s**2 + 3 * s + 1, s**3]) / 6
    assert np.abs(redmax.body_poses(robot, [1 + s])[0][:3, 3] - B @ points[1:5]).max() <= 1e-13
    run = la.simulate(robot, [1.2], [0.5], dt=5e-4, steps=400, integrator=la.BDF(order=2))
    assert np.abs(run.energy - run.energy[0]).max() <= 2e-4 * np.abs(run.kinetic_energy).max()
    with pytest.raises(la.IntegratorError, match="cannot run the spline joint 'j0'"):
        la.simulate(robot, steps=1, integrator=la.Galerkin())
    with pytest.raises(la.MechanismError, match="at least four control frames"):
        chain("spline_curve", 1, frames=ring(3))
