"""Identification: values come back from noisy logs, intervals hold them as often as they say, the rest is named."""

import numpy as np
import pytest

import leastaction as la
from leastaction.derivatives import with_parameters
from leastaction.errors import IdentificationError
from tests.identification.arms import OTHER, SECOND, arm, logged, torques

NAMES = ["mass:fore", "com:fore", "damping:elbow", "damping:shoulder"]
NOISE = {"q": 1e-3, "v": 1e-2}


@pytest.fixture(scope="module")
def found():
    return la.identify(arm(), [logged(), logged(seed=1, q=(-0.5, 0.8))], ["body:fore", *NAMES[2:]], integrator=SECOND)


def test_values_come_back_from_noisy_logs(found):
    """Within four of the standard deviations that it says, which are small beside the values."""
    assert found.success
    assert found.rms == pytest.approx(1.0, abs=0.15)
    for name, value in OTHER.items():
        off, sigma = found.values[name] - np.reshape(value, np.shape(found.values[name])), found.deviations[name]
        seen = sigma < 0.02
        assert (np.abs(off) <= 4.0 * sigma)[seen].all(), name
    assert found.deviations["mass:fore"] < 5e-3


def test_noise_is_found(found):
    assert found.noise["q"] == pytest.approx(NOISE["q"], rel=0.15)
    assert found.noise["v"] == pytest.approx(NOISE["v"], rel=0.15)


def test_what_the_motion_does_not_depend_on_is_named_and_stays(found):
    """A planar arm: y of the centre of mass, and all moments but that about y."""
    free = {f"inertia:fore[{x}]" for x in ("xx", "xy", "xz", "yz", "zz")} | {"com:fore[y]"}
    assert free <= set(found.undetermined)
    assert not {"mass:fore", "com:fore[x]", "com:fore[z]", "damping:elbow"} & set(found.undetermined)
    assert found.values["com:fore"][1] == pytest.approx(0.0, abs=1e-6)


def test_what_was_found_predicts_other_logs(found):
    """Down to the noise, where the first values are far off."""
    errors = found.validate(logged(seed=7, q=(1.0, -0.4)))
    assert errors["q"] == pytest.approx(NOISE["q"], rel=0.25)
    assert (errors["q_before"] > 3.0 * errors["q"]).any()


def test_the_fit_of_inverse_dynamics_alone_is_near(found):
    """Without a simulation: it is where the search begins."""
    linear = found.chart.values(found.linear)
    assert linear["mass:fore"] == pytest.approx(1.0, rel=0.05)
    assert linear["damping:elbow"] == pytest.approx(0.08, rel=0.2)


def test_intervals_hold_the_values_as_often_as_they_say():
    """Monte Carlo: of 24 logs times 3 numbers, 80 % intervals hold the value in 58 +- 3.4 (binomial) cases."""
    names, held, scores = ["mass:fore", "damping:elbow", "gear:m2"], 0, []
    for seed in range(24):
        values = {"mass:fore": 0.9, "damping:elbow": 0.06}
        log = logged(values, steps=60, seed=seed)
        result = la.identify(arm(), log, names, integrator=SECOND, noise=NOISE, segment=60)
        intervals = result.interval(0.8)
        for name, true in (*values.items(), ("gear:m2", 1.0)):
            low, high = intervals[name]
            held += bool((low <= true).all() and (true <= high).all())
            scores.append(float(np.ravel((result.values[name] - true) / result.deviations[name])[0]))
    assert 45 <= held <= 69
    assert np.std(scores) == pytest.approx(1.0, abs=0.3)
    assert abs(np.mean(scores)) < 0.45


def test_a_search_that_ends_early_says_so():
    """In one line and on the page, which names no combination of a single entry, let alone of none."""
    result = la.identify(arm(), logged(steps=50), ["body:fore"], integrator=SECOND, evaluations=1, first_fit=False)
    assert not result.success
    assert repr(result).endswith("the search has not converged>")
    assert "The search has not converged" in str(result)
    for line in str(result).splitlines():
        if line.startswith("This combination"):
            assert line.count("fore") > 1, line


def test_gears_and_delays():
    """Controls that act two steps and a half late, by a gear of 0.8: the delay is found between the steps."""
    logs = []
    for seed in range(2):
        # A log of every other state, whose controls are held over 10 ms and act 25 ms later, five steps.
        u = np.repeat(torques(100, 0.01), 2, axis=0)
        acting = 0.8 * np.concatenate([np.repeat(u[:1], 5, axis=0), u])[:200]
        start = [0.3 - 0.5 * seed, 0.2]
        run = la.simulate(arm(), start, dt=0.005, steps=200, controls=acting, integrator=SECOND, progress=False)
        rng = np.random.default_rng(seed)
        q, v = (x[::2] + size * rng.normal(size=x[::2].shape) for x, size in ((run.q, 2e-4), (run.v, 2e-3)))
        logs.append(la.Trajectory.from_states(arm(), q, v, dt=0.01, u=u[::2]))
    result = la.identify(arm(), logs, ["gear:m1", "gear:m2", "delay"], integrator=SECOND, longest_delay=0.06)
    assert result.values["gear:m1"] == pytest.approx(0.8, abs=0.02)
    assert result.delays == pytest.approx([0.025, 0.025], abs=0.002)


def test_substeps_follow_delays_within_a_step():
    """Of controls held over 10 ms that act 4 ms late: substeps of 2 ms simulate just that, and find it exactly."""
    held = torques(100, 0.01)
    fine = np.repeat(held, 5, axis=0)
    acting = np.concatenate([np.repeat(fine[:1], 2, axis=0), fine])[:500]
    options = {"dt": 0.002, "steps": 500, "integrator": SECOND, "progress": False}
    run = la.simulate(arm(), [0.3, 0.2], controls=acting, **options)
    log = la.Trajectory.from_states(arm(), run.q[::5], run.v[::5], dt=0.01, u=held)
    known = {"integrator": SECOND, "noise": {"q": 1e-5, "v": 1e-4}, "longest_delay": 0.02}
    found = la.identify(arm(), log, ["damping:elbow", "delay"], substeps=5, **known)
    assert found.delays == pytest.approx([0.004, 0.004], abs=1e-7)
    assert found.values["damping:elbow"] == pytest.approx(0.05, rel=1e-4)


def test_dry_friction_in_joints():
    """By `Minimal`, whose joints stick and slip; inverse dynamics, which knows no sticking, finds where to begin."""
    true = with_parameters(arm(), {"friction:elbow": 0.15, "friction:shoulder": 0.3})
    steps, rng = 150, np.random.default_rng(3)
    u = torques(steps)
    run = la.simulate(true, [0.3, 0.2], dt=0.01, steps=steps, controls=u, integrator=la.Minimal(), progress=False)
    q, v = run.q + 5e-4 * rng.normal(size=run.q.shape), run.v + 5e-3 * rng.normal(size=run.v.shape)
    log = la.Trajectory.from_states(arm(), q, v, dt=0.01, u=u)
    start = with_parameters(arm(), {"friction:elbow": 0.02, "friction:shoulder": 0.02})
    result = la.identify(start, log, ["friction:elbow", "friction:shoulder"], integrator=la.Minimal(), evaluations=15)
    assert result.values["friction:elbow"] == pytest.approx(0.15, rel=0.1)
    assert result.values["friction:shoulder"] == pytest.approx(0.3, rel=0.1)


def test_friction_of_contact():
    """A brick that slides to a halt: starts as measured, derivatives through sliding and sticking."""
    b = la.MechanismBuilder("brick")
    b.body(
        "brick",
        mass=1.0,
        inertia=(0.01, 0.01, 0.01),
        shapes=la.mechanism.Box((0.2, 0.2, 0.1), name="skin", friction=0.5),
    )
    b.free("brick")
    b.add_shape("world", la.mechanism.Plane(name="ground"))
    first = b.build()
    true = with_parameters(first, {"friction:brick/skin": 0.3})
    options = {"dt": 0.01, "steps": 30, "integrator": la.Maximal(), "progress": False}
    run = la.simulate(true, [0, 0, 0.05, 1, 0, 0, 0], [0, 0, 0, 1.5, 0, 0], **options)
    log = la.Trajectory.from_states(first, run.q, run.v, dt=0.01, u=np.zeros((30, 6)))
    result = la.identify(
        first, log, "friction:brick/skin", integrator=la.Maximal(), starts="measured", segment=None, evaluations=15
    )
    assert result.values["friction:brick/skin"] == pytest.approx(0.3, abs=1e-3)


def test_the_report_is_one_page_with_plots(found, tmp_path):
    path = found.report(tmp_path / "arm.html")
    page = path.read_text(encoding="utf-8")
    assert page.count("data:image/png;base64,") == 4
    assert "http" not in page
    assert "damping:elbow" in page
    assert "not determined" in str(found)


def _spoiled(**changes):
    log = logged(steps=20)
    arrays = {"q": log.q, "v": log.v, "u": log.stored["u"][:, 0]} | changes
    return la.Trajectory.from_states(arm(), arrays["q"], arrays["v"], dt=0.01, u=arrays["u"])


@pytest.mark.parametrize(
    ("logs", "words"),
    [
        (lambda: [], "one or more"),
        (lambda: "run.npz", "expected a Trajectory"),
        (lambda: [logged(steps=20), 3], "log 1"),
        (lambda: _spoiled(u=None), "has no controls"),
        (lambda: logged(steps=20)[:3], "4 steps or more"),
        (lambda: _spoiled(q=np.zeros((21, 2))), "does not move"),
        (lambda: la.simulate(la.robots.pendulum(links=2), steps=5, progress=False), "another robot"),
        (lambda: logged(steps=20).resample([0.0, 0.01, 0.03, 0.07, 0.1, 0.2]), "equally far apart"),
    ],
)
def test_wrong_logs_are_named(logs, words):
    with pytest.raises(IdentificationError, match=words):
        la.identify(arm(), logs(), NAMES)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"noise": {"q": 1.0}}, "noise"),
        ({"noise": {"q": -1.0, "v": 1.0}}, "noise of q"),
        ({"starts": "known"}, "starts"),
        ({"loss": "quadratic"}, "loss"),
        ({"parameters": ["mass:third"]}, "third"),
        ({"parameters": ["delay"], "longest_delay": 0.5}, "too few"),
    ],
)
def test_wrong_options_are_named(options, words):
    arguments = {"parameters": NAMES} | options
    with pytest.raises(IdentificationError, match=words):
        la.identify(arm(), logged(steps=20), integrator=SECOND, **arguments)


def test_robots_that_cannot_be_identified():
    with pytest.raises(IdentificationError, match="loops"):
        la.identify(la.robots.four_bar(), logged(steps=20), NAMES)
