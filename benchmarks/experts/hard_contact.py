"""Hard cases of rigid contact: Painlevé's rod, a table on four legs, ten thousand elastic bounces of a tumbling box."""

import math
import time

import numpy as np

import leastaction as la
from benchmarks.experts import bodies
from benchmarks.experts.bodies import Body, Box, Capsule, Scene
from benchmarks.report import Report, Sheet, judged
from leastaction.mechanism import MechanismBuilder, Plane

G = 9.81
HALF, MASS, RADIUS, ANGLE, SLIDE = 0.5, 1.0, 0.01, 1.2, 1.0
"""Painlevé's rod: half its length [m], mass [kg], radius of its ends [m], angle to the ground, its slip [m/s]."""

REGIMES = {"unique": (0.5, 0.0), "indeterminate": (2.0, 6.0), "inconsistent": (2.0, 0.0)}
"""Friction, and angular velocity at the start [rad/s]."""

DT, AFTER = 1e-3, 5
"""Time step [s], and after how many the rod is looked at."""

BOUNCES, TUMBLING_DT, PATIENCE = 10_000, 0.01, 1.0
"""Bounces, time step [s], and CPU time that a peer gets for it [s]."""

NOTES = f"""Painlevé's rod (Génot and Brogliato 1999) slides with its lower end towards its own side, at {SLIDE:g} m/s \
and {ANGLE:g} rad. With the normal acceleration A + B f of that end: unique force (A < 0 < B), indeterminate (B < 0 < \
A: contact, flight and a jump all satisfy the laws), inconsistent (A, B < 0: no finite force; only an impact without \
collision, which ends the slip at once and conserves the angular momentum about the end, satisfies them). Values after \
{AFTER} steps of {1e3 * DT:g} ms; the exact values follow from the accelerations or from the jump at the start. Table: \
10 kg on four legs, its centre of mass off centre; equilibrium leaves one load undetermined; required are the loads of \
least norm, from the first step on, also after a restart. Tumbling: a box of 0.3 x 0.2 x 0.1 m with e = 1 and without \
friction, from 1 m, steps of {1e3 * TUMBLING_DT:g} ms, after Tran and Leok 2023, until {BOUNCES} bounces; peers run \
for a second of CPU time each. Bounces: steps whose vertical velocity rises."""


def rod(friction: float, spin: float) -> Scene:
    """The rod as a capsule with its end on the ground."""
    place, turn, velocity = rod_start(spin)
    J = MASS * HALF**2 / 3.0
    shape = Capsule(RADIUS, 2.0 * HALF)
    body = Body(shape, MASS, tuple(place), turn, tuple(velocity), (0.0, -spin, 0.0), inertia=(J, J, 0.01 * J))
    return Scene([body], friction=friction)


def foot() -> np.ndarray:
    """From the centre to where the rod touches [m], (x, z)."""
    return np.array([-HALF * math.cos(ANGLE), -HALF * math.sin(ANGLE) - RADIUS])


def rod_start(spin: float):
    """Position, orientation and velocity so that the end touches and slides towards -x."""
    c = foot()
    half = 0.5 * (0.5 * math.pi - ANGLE)  # z to the direction of the rod, about y
    # Velocity of the end: v + spin x c, with the angle growing by spin (about -y).
    at_end = spin * np.array([-c[1], c[0]])
    v = np.array([-SLIDE, 0.0]) - at_end
    return np.array([0.0, 0.0, -c[1]]), (math.cos(half), 0.0, math.sin(half), 0.0), np.array([v[0], 0.0, v[1]])


def response() -> np.ndarray:
    """Change of the velocity (x, z) of the end by an impulse on it."""
    c, J = foot(), MASS * HALF**2 / 3.0
    arm = np.array([-c[1], c[0]])  # torque of a force is arm · force
    return np.eye(2) / MASS + np.outer(arm, arm) / J


def exact(friction: float, spin: float) -> dict[str, tuple[float, float]]:
    """What the laws allow: {solution: (slip after AFTER steps [m/s], impulse along the normal until then [N s])}."""
    W, t = response(), AFTER * DT
    along = np.array([friction, 1.0])  # friction opposes the slip towards -x
    A = HALF * math.sin(ANGLE) * spin**2 - G
    B = W[1] @ along
    # With the acceleration of the end where no force acts: gravity and the centripetal one.
    free = np.array([HALF * math.cos(ANGLE) * spin**2, A])
    found = {}
    if B > 0.0:
        f = max(0.0, -A / B)
        found["contact"] = (-SLIDE + (free[0] + f * (W[0] @ along)) * t, f * t)
    elif A > 0.0:
        found["flight"] = (-SLIDE + free[0] * t, 0.0)
    if B < 0.0:
        jump = np.linalg.solve(W, [SLIDE, 0.0])
        assert abs(jump[0]) <= friction * jump[1]  # it sticks after
        # After it the rod turns about its end, which stays; what holds it there has an impulse, too.
        later = spin + float(np.array([-foot()[1], foot()[0]]) @ jump) / (MASS * HALF**2 / 3.0)
        still = np.array([HALF * math.cos(ANGLE), HALF * math.sin(ANGLE)]) * later**2 - [0.0, G]
        found["jump"] = (0.0, float(jump[1] - np.linalg.solve(W, still)[1] * t))
    return found


def seen(scene: Scene, walk: bodies.Walk) -> tuple[float, float, float]:
    """Slip of the lower end [m/s], impulse along the normal [N s], largest rise of the energy [J]."""
    k = AFTER
    down = walk.turn[k, 0] @ np.array([0.0, 0.0, -HALF]) + [0.0, 0.0, -RADIUS]
    slip = walk.v[k, 0] + np.cross(walk.w[k, 0], down)
    impulse = MASS * (walk.v[k, 0, 2] - walk.v[0, 0, 2] + G * k * walk.dt)
    E = bodies.energy(scene, walk)
    return float(slip[0]), float(impulse), float((E - E[0]).max())


def painleve(progress) -> tuple[Sheet, dict]:
    """All regimes and engines, over half a second."""
    columns = ["regime", "solution or engine", "slip [m/s]", "normal impulse [N s]", "energy, rise [J]", "off"]
    sheet, found = Sheet("Painlevé's rod", columns), {}
    for regime, (friction, spin) in REGIMES.items():
        right, scene = exact(friction, spin), rod(friction, spin)
        for name, (slip, impulse) in right.items():
            sheet.rows.append([regime, f"exact: {name}", slip, impulse, 0.0, 0.0])
        for engine, walk_of in bodies.engines().items():
            progress.next(f"rod, {regime}, {engine}")
            progress.done()
            try:
                slip, impulse, rise = seen(scene, walk_of(scene, DT, 500))
            except bodies.FailureError as failure:
                sheet.rows.append([regime, engine, str(failure), "–", "–", "–"])
                found[regime, engine] = (math.inf, math.inf)
                continue
            off = min(math.hypot(slip - s, (impulse - p) / MASS) for s, p in right.values())
            sheet.rows.append([regime, engine, slip, impulse, rise, off])
            found[regime, engine] = (off, rise)
    return sheet, found


LEGS = np.array([[0.5, 0.3], [-0.5, 0.3], [-0.5, -0.3], [0.5, -0.3]])
CENTRE = np.array([0.12, 0.05])


def table():
    """A board on four legs, its centre of mass off the middle; q of it at rest."""
    b = MechanismBuilder("table")
    b.add_shape("world", Plane(friction=0.5))
    b.body("board", mass=10.0, inertia=(0.4, 0.9, 1.2))
    b.free("board")
    for k, (x, y) in enumerate(LEGS - CENTRE):
        b.contact(f"leg{k}", "board", (x, y, -0.5))
    return b.build(), np.array([0, 0, 0.5, 1.0, 0, 0, 0])


def least_norm() -> np.ndarray:
    """Loads of the legs with the least norm [N], shape (4,)."""
    A = np.vstack([np.ones(4), (LEGS - CENTRE).T])
    return np.linalg.lstsq(A, np.array([10.0 * G, 0.0, 0.0]), rcond=None)[0]


def loads(run, step: int) -> np.ndarray:
    """Normal forces on the legs in a step [N], in their order."""
    found, log = np.zeros(4), run.contacts
    for row in log[log.step == step]:
        leg = np.linalg.norm(LEGS - CENTRE - row.point[:2], axis=1).argmin()
        found[leg] += row.force[2]
    return found


def four_legs() -> tuple[Sheet, dict]:
    """Loads of both engines: at once, later, after a restart; and friction, which has nothing to hold."""
    sheet = Sheet("Table on four legs: loads [N]", ["engine", "when", *(f"leg {k}" for k in range(4)), "off"])
    robot, q = table()
    right, found = least_norm(), {}
    sheet.rows.append(["least norm", "", *map(float, right), 0.0])
    for integrator in (la.Maximal(), la.Minimal()):
        name = type(integrator).__name__
        run = la.simulate(robot, q, dt=0.01, steps=200, integrator=integrator)
        again = la.simulate(robot, run.q[100], p=run.p[100], dt=0.01, steps=100, integrator=integrator)
        for when, f in (("step 2", loads(run, 1)), ("step 200", loads(run, 199)), ("restarted", loads(again, 99))):
            off = float(np.abs(f - right).max())
            sheet.rows.append([name, when, *map(float, f), off])
            found[name, when] = off
        found[name, "restart"] = float(np.abs(loads(again, 99) - loads(run, 199)).max())
    return sheet, found


def tumbler() -> Scene:
    """The box that tumbles."""
    spin = (1.0, 2.0, -1.5)
    return Scene([Body(Box((0.3, 0.2, 0.1)), 1.0, (0, 0, 1.0), (0.8, 0.36, 0.48, 0.0), (0, 0, 0), spin)], 0.0, 1.0)


def bounced(v_z: np.ndarray) -> int:
    """Steps of a run whose vertical velocity rises."""
    return int((np.diff(v_z) > 0.0).sum())


def tumbling(progress, bounces: int) -> tuple[Sheet, dict]:
    """Energy over many bounces."""
    columns = [
        "engine",
        "time [s]",
        "bounces",
        "energy, change",
        "energy, largest rise",
        "lowest corner [m]",
        "µs a step",
    ]
    sheet, found = Sheet("Elastic tumbling", columns), {}
    scene = tumbler()
    robot, q, v = bodies.mechanism(scene)
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * [0.15, 0.1, 0.05]

    def lowest(x, turn):
        return float((x[..., 2:] + turn[..., 2, :] @ corners.T).min())

    for integrator in (la.Maximal(), la.Minimal()):
        name = type(integrator).__name__
        progress.next(f"tumbling, {name}")
        progress.done()
        state, count, steps, spent = {"q": q, "v": v}, 0, 0, 0.0
        first = rise = end = None
        depth = 0.0
        try:
            while count < bounces:
                began = time.process_time()
                run = la.simulate(robot, **state, dt=TUMBLING_DT, steps=10_000, integrator=integrator)
                spent += time.process_time() - began
                state = {"q": run.q[-1], "p": run.p[-1]}
                E, turn = run.energy, bodies.rotations(run.q[:, 3:])
                v_z = np.einsum("kj,kj->k", turn[:, 2], run.v[:, 3:])
                count, steps = count + bounced(v_z), steps + 10_000
                first = E[0] if first is None else first
                rise, end = max(rise or 0.0, float(E.max() / first - 1.0)), float(E[-1] / first - 1.0)
                depth = min(depth, lowest(run.q[:, :3], turn))
        except la.LeastActionError as error:
            sheet.rows.append([name, TUMBLING_DT * steps, count, str(error).splitlines()[0][:120], "–", "–", "–"])
            found[name] = math.inf
            continue
        sheet.rows.append([name, TUMBLING_DT * steps, count, end, rise, depth, 1e6 * spent / steps])
        found[name] = max(abs(end), rise)
    for name, walk_of in bodies.peers().items():
        progress.next(f"tumbling, {name}")
        progress.done()
        try:
            steps = min(int(PATIENCE / walk_of(scene, TUMBLING_DT, 100).seconds), 20 * bounces)
            walk = walk_of(scene, TUMBLING_DT, steps)
        except bodies.FailureError as failure:
            sheet.rows.append([name, "–", "–", str(failure), "–", "–", "–"])
            continue
        E = bodies.energy(scene, walk)
        end, rise = float(E[-1] / E[0] - 1.0), float(E.max() / E[0] - 1.0)
        depth, count = lowest(walk.x[:, 0], walk.turn[:, 0]), bounced(walk.v[:, 0, 2])
        sheet.rows.append([name, TUMBLING_DT * steps, count, end, rise, depth, 1e6 * walk.seconds])
    return sheet, found


def run(progress, quick: bool = False) -> Report:
    """All cases."""
    progress.total(4 * len(bodies.engines()) + 1)
    report = Report("Hard cases of rigid contact", NOTES, missing=bodies.missing())
    sheet, found = painleve(progress)
    report.sheets.append(sheet)
    ours = [x for (_, engine), x in found.items() if engine in ("Maximal", "Minimal")]
    off, rise = (float(np.max([x[k] for x in ours])) for k in (0, 1))
    peer = max((x[0] for (_, engine), x in found.items() if engine not in ("Maximal", "Minimal")), default=math.nan)
    text = "In each regime the step finds a solution of the laws, to 0.05 m/s, and the energy does not rise."
    mine = {name: max(x[0] for (_, who), x in found.items() if who == name) for name in ("Maximal", "Minimal")}
    told = ", ".join(f"{name} off by up to {x:.2g} m/s" for name, x in mine.items())
    said = f"{told}, energy by {max(rise, 0.0):.1g} J at most; peers off by up to {peer:.2g} m/s."
    why = "See the table."
    report.claims.append(judged("Painlevé's rod", text, said, off < 0.05 and rise < 1e-9, why))
    progress.next("table")
    sheet, loaded = four_legs()
    progress.done()
    report.sheets.append(sheet)
    worst = max(loaded.values())
    text = (
        "Four legs carry the loads of least norm, from the first step on and after a restart, to 0.02 % of the weight."
    )
    report.claims.append(judged("Table", text, f"{worst:.2g} N off at most.", worst < 2e-3 * G, "See the table."))
    sheet, kept = tumbling(progress, BOUNCES // 50 if quick else BOUNCES)
    report.sheets.append(sheet)
    for name, most in kept.items():
        text = f"The energy is conserved to 1e-8 over {BOUNCES} elastic bounces."
        why = "Between impacts the energy of Minimal() oscillates by O(dt²); impacts occur at any phase of that."
        report.claims.append(judged(f"Tumbling, {name}", text, f"off by up to {most:.2g}.", most < 1e-8, why))
    return report
