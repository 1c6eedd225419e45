"""A and B of a step of an arm, a humanoid and free bodies in contact, and of free chains, beside differences."""

import time

import numpy as np

import leastaction as la
from benchmarks.report import Report, Requirement, Sheet
from leastaction.mechanism import MechanismBuilder, Plane, Sphere
from tests.derivatives.maps import stepper_map
from tests.oracles.differences import by_q, by_vector, directions

DT, SETTLED = 0.005, 10
CLOSE, FAR = (1e-6, 1e-7), 1e-5
"""Of the differences by positions [rad or m] and by momenta: contacts that rest are not to open. The best counts of the
former: the larger may open one, round-off is in the smaller."""
LEAST, REPEATS = 0.05, 3
AGREE = 1e-6
ENGINES = {"Minimal": la.Minimal(), "Maximal": la.Maximal()}
TIGHT = {"Minimal": la.Minimal(tolerance=1e-13), "Maximal": la.Maximal(tolerance=1e-13)}
COUNTS = (1, 2, 4, 8, 16, 32)

PRINTED = [
    ["7-joint arm, A and B", "Simple (arXiv:2409.07107)", "5 µs"],
    ["36-dof humanoid, A and B", "Simple (arXiv:2409.07107)", "95 µs"],
    ["1 to 32 free bodies on the ground, state Jacobian", "DART 7", "75 µs to 10 300 µs"],
]

CHAINS = {5: 25.0, 9: 45.0, 18: 143.0, 32: 394.0}
"""Links of chains that DART prints the time of a state Jacobian of [us]."""

NOTES = f"""The derivatives of (q, p, u) -> (q', p') at a state in contact, after {SETTLED} steps of {DT:g} s under \
gravity; ground with friction 0.5, no torques. Forward: a step from that state. Derivative: the compiled function \
alone, which computes A and B of a solved step. `linearize`: a user's call, which also solves the step, with Python's \
checks and copies; out=: `Simulator.linearize(out=...)`, which has fewer of these; first: the first call, which also \
makes the stepper. Differences: 2 (2 nv + nu) forward steps in place of one call. Error: against central differences \
of order 4 along some directions, relative to the largest entry; steps solved to 1e-13. CPU times, least of {REPEATS}. \
Printed figures are from the papers: other machines, C++ without Python."""


def balls(count):
    """(robot, q): balls on the ground, apart from each other."""
    b = MechanismBuilder("balls")
    for k in range(count):
        b.body(f"b{k}", mass=1.0, inertia=0.004, shapes=Sphere(0.1, friction=0.5))
        b.free(f"b{k}")
    b.add_shape("world", Plane(friction=0.5))
    q = np.zeros((count, 7))
    q[:, 0], q[:, 2], q[:, 3] = 0.3 * np.arange(count), 0.1, 1.0
    return b.build(), q.ravel()


def arm():
    """Seven joints, a ball at the tip on a plane."""
    bare = la.robots.serial_arm()
    q, tip, radius = np.full(7, 0.4), np.array([0.0, 0.0, 0.1]), 0.03
    X = la.dynamics.body_poses(bare, q)[-1]
    b = MechanismBuilder.from_mechanism(bare)
    b.add_shape("link7", Sphere(radius, pose=tuple(tip), friction=0.5))
    z = float((X[:3, :3] @ tip + X[:3, 3])[2]) - radius
    b.add_shape("world", Plane(pose=(0.0, 0.0, z), friction=0.5))
    return b.build(), q


def humanoid():
    """Atlas on its feet."""
    b = MechanismBuilder.from_mechanism(la.robots.atlas())
    b.add_shape("world", Plane(friction=0.5))
    robot = b.build()
    return robot, la.robots.on_ground(robot, robot.home())


def cpu(function):
    """CPU seconds of a call, the least of some."""
    function()
    best = np.inf
    for _ in range(REPEATS):
        calls, began = 0, time.process_time()
        while time.process_time() - began < LEAST:
            function()
            calls += 1
        best = min(best, (time.process_time() - began) / calls)
    return best


def contacts_of(run):
    """How many contacts acted in the last step."""
    rows = run.stored["contacts"]
    acting = np.linalg.norm(rows[:, 6:9], axis=1) > 0.0
    return int(((rows[:, 0] == run.steps - 1) & acting).sum())


def error_of(robot, name, q, p, u):
    """Of A and B along a few directions, relative to the largest entry."""
    tight, n = TIGHT[name], robot.nv
    A, B = la.linearize(robot, tight, q, p, u, DT)
    step, some = stepper_map(robot, tight, DT), directions(n)
    q1, p1 = step(q, p, u)

    def after(q0, p0, u0):
        q2, p2 = step(q0, p0, u0)
        return np.concatenate([robot.difference(q1, q2), p2 - p1])

    scale = float(np.abs(A).max())

    def by_positions(h):
        return by_q(robot, lambda x: after(x, p, u), q, h, some) - A[:, :n] @ some.T

    errors = [
        min(np.abs(by_positions(h)).max() for h in CLOSE) / scale,
        np.abs(by_vector(lambda x: after(q, x, u), p, FAR, some) - A[:, n:] @ some.T).max() / scale,
    ]
    some = directions(len(u))
    errors.append(np.abs(by_vector(lambda x: after(q, p, x), u, 1e-2, some) - B @ some.T).max() / np.abs(B).max())
    return float(max(errors))


def run(progress, quick=False):
    """All robots and both engines."""
    cases = {"7-joint arm": arm(), "36-dof humanoid": humanoid()}
    cases |= {f"{n} balls": balls(n) for n in (COUNTS[:2] if quick else COUNTS)}
    progress.total((len(cases) + len(CHAINS)) * len(ENGINES))
    times = ["forward µs", "derivative µs", "linearize µs", "out= µs", "first µs"]
    columns = ["robot", "engine", "nv", "contacts", *times, "linearize / forward", "differences / linearize", "error"]
    sheet = Sheet("One step in contact", columns)
    free = Sheet("A chain in the air", ["links", "engine", "linearize µs", "DART 7 µs, printed", "error"])
    printed = Sheet("Printed", ["what", "by", "time"], PRINTED)
    report = Report("Derivatives through contact", NOTES, [sheet, free, printed])
    for case, (robot, q0) in cases.items():
        for name, integrator in ENGINES.items():
            progress.next(f"{case}, {name}")
            settled = la.simulate(robot, q0, dt=DT, steps=SETTLED, integrator=integrator)
            q, p, u = settled.q[-1], settled.p[-1], np.zeros(robot.nu)
            stepper = integrator.prepare(robot, DT)
            record = stepper.record(1)
            record.q[0], record.second[0] = q, p
            held = np.zeros((1, len(stepper.control_nodes), robot.nu))
            la.linearize(robot, integrator, q, p, u, DT)  # compiles
            anew = robot.replace(name="another")  # whose stepper nobody has kept
            began = time.process_time()
            la.linearize(anew, integrator, q, p, u, DT)
            first = time.process_time() - began
            forward = cpu(lambda s=stepper, r=record, c=held: s.advance(r, 0, 1, c))
            own = cpu(lambda m=robot, i=integrator, *x, y=(q, p, u): la.linearize(m, i, *y, DT))
            sim = la.Simulator(robot, integrator, DT)
            sim.reset(q, p=p)
            out = np.zeros((2 * robot.nv, 2 * robot.nv)), np.zeros((2 * robot.nv, robot.nu))
            filled = cpu(lambda s=sim, x=out: s.linearize(out=x))
            alone = derivative_time(stepper, q, p, u)
            differences = 2 * (2 * robot.nv + robot.nu) * forward / own
            error = error_of(robot, name, q, p, u)
            counts = [robot.nv, contacts_of(settled)]
            times = [1e6 * forward, alone, 1e6 * own, 1e6 * filled, 1e6 * first, own / forward, differences]
            sheet.rows.append([case, name, *counts, *times, error])
            report.requirements.append(Requirement(f"{case}, {name}: error of A and B", error, AGREE))
            progress.done()
    for links, printed_time in CHAINS.items():
        for name, integrator in {"Galerkin(2)": la.Galerkin(order=2), "Minimal": la.Minimal()}.items():
            progress.next(f"chain of {links}, {name}")
            robot, u = la.robots.pendulum(links=links), np.zeros(links)
            q = 0.3 * np.sin(np.arange(links))
            p = la.dynamics.mass_matrix(robot, q) @ np.cos(np.arange(links))
            A, _ = la.linearize(robot, integrator, q, p, u, DT)
            own = cpu(lambda m=robot, i=integrator, *x, y=(q, p, u): la.linearize(m, i, *y, DT))
            step, some = stepper_map(robot, integrator, DT), directions(links)
            by_p = by_vector(lambda x, f=step, y=q, z=u: np.concatenate(f(y, x, z)), p, 1e-4, some)
            error = float(np.abs(by_p - A[:, links:] @ some.T).max() / np.abs(A).max())
            free.rows.append([links, name, 1e6 * own, printed_time, error])
            report.requirements.append(Requirement(f"chain of {links}, {name}: error of A", error, AGREE))
            progress.done()
    return report


def derivative_time(stepper, q, p, u):
    """Time of A and B of a step that is solved [us]; a dash for engines without such a function."""
    kept = getattr(stepper, "linearization", None)
    if kept is None or kept.at(q, p, u) is None:
        return "–"
    return 1e6 * cpu(kept.differentiate)
