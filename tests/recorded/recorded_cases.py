"""The table of recorded runs: a name, a scene, an integrator, and how exactly the numbers are expected again."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import leastaction as la
from leastaction.mechanism import Sphere
from tests.recorded.recorded_scenes import (
    Scene,
    block,
    carousel,
    curve,
    dragged,
    driven_chain,
    dropped_a1,
    dry,
    every_force,
    geared,
    limited,
    loop,
    mixed,
    moving,
    on_hills,
    penalties_on_balls,
    pile,
    rough_loop,
    soft_limits,
    sphere_chain,
    strung,
    strung_balls,
    surface,
    thrown_cube,
    universal,
    walker,
    wheel,
    zoo,
)

MOMENTS = (1, 10, 30, 100)
"""Steps whose states are kept."""

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Case:
    """What is recorded under one name.

    Attributes:
        measure: gives the arrays; takes a change of gravity [m/s^2], shape (3,).
        tolerance: relative difference to expect without growth.
        steady: iteration counts are the same to a few; False where round-off decides about them.
        steps: whether the rows of the arrays are states of a run.
    """

    measure: Callable[[np.ndarray], Arrays]
    tolerance: float = 1e-12
    steady: bool = True
    steps: bool = False


CASES: dict[str, Case] = {}

# What another number of Newton iterations would change after 100 steps, measured with a tenth of their tolerances, and
# what plain Python (NUMBA_DISABLE_JIT=1) gives instead of compiled code.
NEWTON = 1e-12
"""Exact Newton directions: 1e-13 at most; plain Python: 5e-14."""
SWEPT = 2e-10
"""Directions that are not exact, so that convergence is linear: 7e-11."""
LOOPS = 2e-11
"""Multipliers of joints and loops: 7e-12."""
CONTACT = 1e-8
"""Interior points that end at the tolerance; plain Python: 8e-11 with the exact cone, 3e-9 with the linearised one."""
PILE = 1e-7
"""Bodies on each other: 6e-8 between a run as a whole and step by step."""
REDUCED = 2e-9
"""`BDF` and `SDIRK2` judge updates of positions, so velocities are known to 1 / dt of that: 1e-9."""


def run(
    name: str, scene: Callable[[], Scene], integrator: Any, dt: float = 0.01, steps: int = 100, **more: Any
) -> None:
    """Add a run to the cases; a scene gives (robot, q, v) and options of `simulate`."""
    settings = {key: more.pop(key) for key in ("tolerance", "steady") if key in more}

    def measure(change: np.ndarray) -> Arrays:
        robot, q, v, options = scene()
        if change.any():
            robot = robot.replace(gravity=tuple(np.array(robot.gravity) + change))
        method: Any = integrator() if callable(integrator) else integrator
        out = la.simulate(robot, q, v, dt=dt, steps=steps, integrator=method, progress=False, **(options | more))
        rows = sorted({min(k, steps) for k in MOMENTS})
        fields = {"q": out.q[rows]} | {key: out.stored[key][rows] for key in ("p", "v") if key in out.stored}
        if "iterations" in out.stored:
            fields["iterations"] = np.asarray(out.stored["iterations"]).astype(np.uint16)
        return fields

    _add(name, Case(measure, **settings, steps=True))


def derivative(name: str, measure: Callable[[], Arrays], tolerance: float = 1e-10) -> None:
    """Add derivatives, or other plain arrays, to the cases."""
    _add(name, Case(lambda _: measure(), tolerance))


def _add(name: str, case: Case) -> None:
    assert name not in CASES, name
    CASES[name] = case


# ------------------------------------------------------------------ Galerkin and Midpoint


def joints(order: int) -> la.Galerkin:
    """Fan's rule, with the solver that it chooses."""
    return la.Galerkin(order=order, interpolation="joints")


for order in (2, 4, 6):
    for solver in ("recursive", "sparse", "dense", "simplified", *(("quasi",) if order == 2 else ())):
        left = SWEPT if solver in ("simplified", "quasi") else NEWTON
        run(f"galerkin-{order}-{solver}-walker", walker, la.Galerkin(order=order, solver=solver), tolerance=left)
    left = SWEPT if order == 6 else NEWTON
    run(f"galerkin-{order}-strung", strung, joints(order), tolerance=left)
    run(f"galerkin-{order}-heavy_top", zoo("heavy_top"), joints(order), dt=2e-3, tolerance=left)
    run(f"galerkin-{order}-four_bar_chain", loop("four_bar_chain"), joints(order), tolerance=LOOPS)
run("galerkin-2-quasi-strung", strung, la.Galerkin(order=2, solver="quasi"), tolerance=SWEPT)
run("galerkin-4-simplified-strung_balls", strung_balls, la.Galerkin(order=4, solver="simplified"), tolerance=SWEPT)
run("galerkin-4-strung_balls", strung_balls, joints(4))
run("galerkin-4-mixed", mixed, joints(4))
run("galerkin-4-universal", universal, joints(4))
run("galerkin-2-atlas", lambda: moving(la.robots.atlas(), size=0.2), joints(2), dt=5e-3, steps=40)
run("galerkin-4-free_body", zoo("free_body"), joints(4))
run("galerkin-2-bricard", loop("bricard"), joints(2), tolerance=LOOPS)
run("galerkin-4-andrews", loop("andrews_squeezer"), joints(4), dt=1e-4, steps=30, tolerance=LOOPS)
run("galerkin-4-geared", geared, joints(4), tolerance=LOOPS)
run("galerkin-2-wheel", wheel, joints(2), tolerance=LOOPS)
run("galerkin-2-governor", loop("flyball_governor"), joints(2), dt=1e-3, tolerance=LOOPS)
run(
    "galerkin-2-minitaur",
    lambda: moving(la.robots.minitaur()),
    joints(2),
    dt=5e-3,
    steps=30,
    tolerance=LOOPS,
)
for order in (2, 4, 6):
    run(f"bodies-{order}-walker", walker, la.Galerkin(order=order))
run("bodies-2-atlas", lambda: moving(la.robots.atlas(), size=0.2), la.Galerkin(order=2), dt=5e-3, steps=40)
run("bodies-4-strung", strung, la.Galerkin(order=4))
run("bodies-4-strung_balls", strung_balls, la.Galerkin(order=4))
run("bodies-4-mixed", mixed, la.Galerkin(order=4))
run("bodies-4-four_bar_chain", loop("four_bar_chain"), la.Galerkin(order=4), tolerance=LOOPS)
run("bodies-2-bricard", loop("bricard"), la.Galerkin(order=2), tolerance=LOOPS)
run("bodies-2-wheel", wheel, la.Galerkin(order=2), tolerance=LOOPS)
for name, scene in (("walker", walker), ("strung", strung), ("strung_balls", strung_balls), ("mixed", mixed)):
    run(f"midpoint-{name}", scene, la.Midpoint())

# ------------------------------------------------------------------ Maximal

for order in (1, 2, 4, 6):
    run(f"maximal-{order}-walker", walker, la.Maximal(order=order), tolerance=LOOPS)
    run(f"maximal-{order}-strung", strung, la.Maximal(order=order), tolerance=LOOPS)
    left = LOOPS if order <= 2 else 10.0 * CONTACT  # the composed steps start from worse guesses
    run(f"maximal-{order}-four_bar_chain", loop("four_bar_chain"), la.Maximal(order=order), tolerance=left)
run("maximal-2-strung_balls", strung_balls, la.Maximal(order=2), tolerance=LOOPS)
run("maximal-2-heavy_top", zoo("heavy_top"), la.Maximal(order=2), dt=2e-3, tolerance=LOOPS)
run("maximal-2-mixed", mixed, la.Maximal(order=2), tolerance=LOOPS)
run("maximal-2-bricard", loop("bricard"), la.Maximal(order=2), tolerance=LOOPS)
run("maximal-2-geared", geared, la.Maximal(order=2), tolerance=LOOPS)
for order in (1, 2):
    for friction in ("cone", "linear"):
        method = la.Maximal(order=order, friction=friction)
        run(f"maximal-{order}-{friction}-cube", thrown_cube(), method, tolerance=CONTACT)
    method = la.Maximal(order=order)
    run(f"maximal-{order}-bouncing_cube", thrown_cube(restitution=0.5), method, tolerance=CONTACT)
    run(f"maximal-{order}-smooth-cube", thrown_cube(), la.Maximal(order=order, smoothing=1e-3), tolerance=CONTACT)
    run(f"maximal-{order}-a1", dropped_a1, method, dt=5e-3, steps=60, tolerance=CONTACT)
    run(f"maximal-{order}-pile", pile, method, steps=60, tolerance=PILE)
    run(f"maximal-{order}-hills", on_hills(), method, dt=5e-3, tolerance=CONTACT)
    run(f"maximal-{order}-limits", limited, method, tolerance=CONTACT)
    run(f"maximal-{order}-dry_friction", dry, method, tolerance=CONTACT)
run("maximal-2-linear-pile", pile, la.Maximal(friction="linear", n_directions=6), steps=40, tolerance=PILE)
run("maximal-2-smooth-hills", on_hills(Sphere(0.1)), la.Maximal(smoothing=1e-4), dt=5e-3, tolerance=CONTACT)
run("maximal-2-cold-cube", thrown_cube(), la.Maximal(warm_start=False), tolerance=CONTACT)
run("maximal-1-sphere_chain", sphere_chain, la.Maximal(order=1), steps=60, tolerance=CONTACT)
run("maximal-2-rough_loop", rough_loop, la.Maximal(), tolerance=CONTACT)

# ------------------------------------------------------------------ BDF, SDIRK2 and LinearlyImplicitEuler

EXACT = 1e-14
"""Newton tolerance of the implicit runs, said here so that another default does not change them."""


def reduced(chart: str = "euler", **more: Any) -> dict[str, Any]:
    return {
        "bdf1": la.BDF(order=1, tolerance=EXACT, chart=chart, **more),
        "bdf2": la.BDF(order=2, tolerance=EXACT, chart=chart, **more),
        "sdirk2": la.SDIRK2(tolerance=EXACT, chart=chart, **more),
        "linear_euler": la.LinearlyImplicitEuler(chart=chart, **more),
    }


def implicit(name: str, scene: Callable[[], Scene], integrator: Any, dt: float = 5e-3, **more: Any) -> None:
    """A run whose iteration counts hang on round-off, as its tolerance is close to that."""
    left = NEWTON if name.startswith("linear") else REDUCED  # linear steps do not iterate
    run(name, scene, integrator, dt, tolerance=left, steady=False, **more)


TREES = {
    "walker": walker,
    "strung_balls": strung_balls,
    "every_force": every_force,
    "penalties_on_balls": penalties_on_balls,
    "soft_limits": soft_limits,
    "mixed": mixed,
    "curve": curve,
    "surface": surface,
}
for scene_name, scene in TREES.items():
    for name, method in reduced().items():
        implicit(f"{name}-{scene_name}", scene, method, steps=30 if scene_name == "surface" else 100)
for name, method in reduced("exponential").items():
    implicit(f"{name}-exponential-walker", walker, method, dt=0.01)
for name in ("bdf1", "bdf2", "linear_euler"):  # SDIRK2 is about to treat loops otherwise
    implicit(f"{name}-three_link_loop", loop("three_link_loop"), reduced()[name])
    implicit(f"{name}-bricard", loop("bricard"), reduced()[name])
    implicit(f"{name}-geared", geared, reduced()[name])
implicit("bdf2-wheel", wheel, reduced()["bdf2"])
for name in ("bdf1", "bdf2", "sdirk2", "linear_euler"):
    implicit(f"{name}-user_force", universal, lambda name=name: reduced(forces=(dragged(),))[name])


def swing(order: int) -> Callable[[], Any]:
    motion = la.redmax.PrescribedMotion("joint2", math.cos, math.sin)
    return lambda: la.BDF(order=order, tolerance=EXACT, constraints=(motion,))


def spin(order: int, chart: str) -> Callable[[], Any]:
    motion = la.redmax.PrescribedMotion("axle", lambda t: 6.0 * t, lambda t: 3.0 * t * t)
    return lambda: la.BDF(order=order, tolerance=EXACT, chart=chart, constraints=(motion,))


for order in (1, 2):
    implicit(f"bdf{order}-driven-pendulum", driven_chain, swing(order))
    implicit(f"bdf{order}-driven-carousel", carousel, spin(order, "euler"), dt=3e-3)
implicit("bdf2-driven-exponential-carousel", carousel, spin(2, "exponential"), dt=3e-3)

# ------------------------------------------------------------------ linearly implicit Euler with constraints

QP = 1e-9
"""Contacts and limits come from iterative solvers of quadratic programs."""

run("constrained_euler-strung", strung, la.ConstrainedEuler(), dt=5e-3)
run("constrained_euler-walker", walker, la.ConstrainedEuler(), dt=5e-3, steps=50)
run("constrained_euler-every_force", every_force, la.ConstrainedEuler(), dt=5e-3)
run("constrained_euler-pcg-strung", strung, la.ConstrainedEuler(solver="pcg"), dt=5e-3, tolerance=QP)
run("constrained_euler-three_link_loop", loop("three_link_loop"), la.ConstrainedEuler(), dt=5e-3)
run(
    "constrained_euler-post-three_link_loop",
    loop("three_link_loop"),
    la.ConstrainedEuler(stabilization="post"),
    dt=5e-3,
)
run("constrained_euler-geared", geared, la.ConstrainedEuler(), dt=5e-3)
run("constrained_euler-eliminated-geared", geared, la.ConstrainedEuler(couplings="eliminate"), dt=5e-3)
run("constrained_euler-limits", limited, la.ConstrainedEuler(), dt=5e-3, tolerance=QP)
run("constrained_euler-bouncing-block", block(0.0, 0.5, 0.02), la.ConstrainedEuler(), dt=2e-3, tolerance=QP)
run("constrained_euler-single_qp-block", block(), la.ConstrainedEuler(friction="single_qp"), dt=2e-3, tolerance=QP)
run(
    "constrained_euler-driven-pendulum",
    driven_chain,
    lambda: la.ConstrainedEuler((la.redmax.PrescribedMotion("joint2", lambda t: -math.sin(t)),)),
    dt=5e-3,
)
run("maximal_euler-pendulum", zoo("pendulum", links=3), la.MaximalEuler(), dt=2e-3)
run("maximal_euler-strung", lambda: strung(armature=0.0), la.MaximalEuler(), dt=2e-3, steps=50)
run("maximal_euler-block", block(), la.MaximalEuler(friction="single_qp"), dt=2e-3, steps=30, tolerance=QP)


def bearings(joints: tuple[str, ...], friction: float = 0.3) -> tuple[Any, ...]:
    return tuple(la.redmax.Bearing(name, friction, radius=0.05) for name in joints)


def hanging() -> Scene:
    return la.robots.pendulum(links=4), np.array([0.9, 0.3, -0.2, 0.4]), None, {}


JOINTS = tuple(f"joint{k}" for k in range(1, 5))
run("staggered-block", block(), la.StaggeredProjections(), dt=2e-3, steps=50, tolerance=1e-6, steady=False)
run("staggered-limits", limited, la.StaggeredProjections(), dt=5e-3, steps=50, tolerance=1e-6, steady=False)
run("staggered-dry_friction", dry, la.StaggeredProjections(), dt=5e-3, steps=50, tolerance=1e-6, steady=False)
run(
    "staggered-bisp-pendulum",
    hanging,
    lambda: la.StaggeredProjections(bearings=bearings(JOINTS)),
    dt=1e-3,
    steps=50,
    tolerance=1e-6,
    steady=False,
)
run(
    "staggered-sp-pendulum",
    hanging,
    lambda: la.StaggeredProjections(bearings(JOINTS), "sp", tolerance=1e-5, max_iterations=5000),
    dt=1e-3,
    steps=10,
    tolerance=1e-4,
    steady=False,
)

# ------------------------------------------------------------------ explicit methods and collocation

PLAIN = {
    "runge_kutta_4": la.RungeKutta(order=4),
    "heun": la.Heun(),
    "explicit_euler": la.ExplicitEuler(),
    "semi_implicit_euler": la.SemiImplicitEuler(),
    "hermite_simpson": la.HermiteSimpson(),
    "implicit_trapezoidal": la.ImplicitTrapezoidal(),
}
for name, method in PLAIN.items():
    for scene_name, scene in (("walker", walker), ("strung_balls", strung_balls)):
        run(f"{name}-{scene_name}", scene, method, dt=5e-3)
    if not name.startswith(("hermite", "implicit")):
        run(f"{name}-every_force", every_force, method, dt=2e-3)
        run(f"{name}-soft_limits", soft_limits, method, dt=2e-3)
run("dop853-walker", walker, la.DOP853(), steps=10, tolerance=1e-10)
# Cables that go slack: another step of its own there moves velocities by some of its tolerances.
run("dop853-every_force", every_force, la.DOP853(), steps=10, tolerance=1e-8)
