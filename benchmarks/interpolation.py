"""Galerkin steps that interpolate joints or bodies, on every robot of the zoo."""

import time
import warnings
from statistics import median

import numpy as np

import leastaction as la
from benchmarks.report import Report, Sheet

SEEDS = (0, 1, 2)
ORDERS, RULES = (2, 4), ("joints", "bodies")
STEP, COUNT = 0.01, 48
FAST = {"andrews_squeezer": 0.01, "flyball_governor": 0.1}
"""Share of all times, and of the distance from home, for robots that are faster or stiffer than others."""
DURATION = 5.0
LARGEST = (0.16, 0.08, 0.04, 0.02, 0.01, 0.005, 0.0025)

NOTES = f"""Random starts within 0.3 rad or m of home (0.03 with loops) with velocities of 1 rad/s or m/s, projected \
onto the loop constraints; seeds {SEEDS}, medians. Error: of q after {COUNT} steps of {STEP} s, against order 6 with \
steps of an eighth. Energy: largest error over {DURATION:g} s with steps of {STEP} s, relative to the largest kinetic \
energy. CPU: of these runs, least of the seeds. Largest dt: of {LARGEST}, with which a run of {DURATION:g} s ends with \
an energy error below a fifth of the largest kinetic energy. A dash: a run failed. Energies of robots with dampers or \
motors are not compared. Times and distances from home are scaled down for fast and stiff robots: by {FAST}."""


def start(entry, seed):
    """(q, v) of a random start."""
    robot, rng, scale = entry.robot, np.random.default_rng(seed), FAST.get(entry.name, 1.0)
    if not robot.is_tree:
        # Far from home loops may close in another way.
        q = la.dynamics.close_loops(robot, robot.integrate(entry.home(), 0.03 * scale * rng.uniform(-1, 1, robot.nv)))
        _, A = la.dynamics.loop_jacobian(robot, q)
        values, V = np.linalg.svd(A)[1:]
        allowed = V[int((values > 1e-9 * values[0]).sum()) :]
        return q, (allowed.T @ allowed) @ (entry.home_velocity() + rng.normal(size=robot.nv))
    q = robot.integrate(entry.home(), 0.3 * scale * rng.uniform(-1, 1, robot.nv))
    return q, entry.home_velocity() + rng.normal(size=robot.nv)


def simulate(entry, integrator, seed, dt, steps):
    """The run and its CPU seconds; None where it fails."""
    q, v = start(entry, seed)
    before = time.process_time()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = la.simulate(entry.robot, q, v, dt=dt, steps=steps, integrator=integrator, project=True)
    except la.ConvergenceError:
        run = None
    return run, time.process_time() - before


def is_conservative(robot):
    """Whether the energy of a robot without controls stays what it is."""
    damping = [*robot.tree.dofs.damping, *robot.tree.closure.rows.damping]
    damping += [part.damping for part in (*robot.springs, *robot.cables)]
    return not (any(damping) or robot.wrenches or robot.penalties or robot.forces)


def energy_error(run, conservative):
    """Largest error relative to the largest kinetic energy; 0 where it need not be conserved."""
    if not conservative:
        return 0.0
    return float(np.abs(run.energy - run.energy[0]).max() / max(run.kinetic_energy.max(), 1e-12))


def largest_dt(entry, integrator, scale, seeds):
    """The largest dt of `LARGEST` with which every seed runs to its end in a plausible way; 0 where none does."""
    for dt in LARGEST:
        for seed in seeds:
            run, _ = simulate(entry, integrator, seed, scale * dt, round(DURATION / dt))
            if run is None or not energy_error(run, is_conservative(entry.robot)) < 0.2:
                break
        else:
            return dt
    return 0.0


def compare(entry, order, seeds):
    """Errors, energy errors, CPU seconds per step and largest dt of both rules."""
    scale, conservative = FAST.get(entry.name, 1.0), is_conservative(entry.robot)
    ends = []
    for seed in seeds:
        exact, _ = simulate(entry, method(6, "bodies"), seed, scale * STEP / 8, 8 * COUNT)
        ends.append(None if exact is None else exact.q[-1])
    out = {}
    for rule in RULES:
        integrator, errors, energies, seconds = method(order, rule), [], [], []
        for seed, end in zip(seeds, ends, strict=True):
            run, _ = simulate(entry, integrator, seed, scale * STEP, COUNT)
            known = run is not None and end is not None
            errors.append(np.abs(entry.robot.difference(end, run.q[-1])).max() if known else np.inf)
            steps = round(DURATION / STEP)
            run, spent = simulate(entry, integrator, seed, scale * STEP, steps)
            energies.append(np.inf if run is None or not conservative else energy_error(run, True))
            seconds.append(np.inf if run is None else spent / steps)
        out[rule] = errors, energies, min(seconds), largest_dt(entry, integrator, scale, seeds)
    return out


def method(order, rule):
    return la.Galerkin(order=order, interpolation=rule)


def _number(x):
    return float(x) if np.isfinite(x) and x > 0.0 else "–"


def run(steps, quick=False) -> Report:
    """All robots of the catalogue; quick: every sixth of them, one seed."""
    report = Report("Interpolation of joints or of bodies", NOTES)
    entries, seeds = (la.robots.catalogue()[::6], SEEDS[:1]) if quick else (la.robots.catalogue(), SEEDS)
    steps.total(len(ORDERS) * len(entries))
    pairs = [f"{what}, {rule}" for what in ("error", "energy", "µs a step", "largest dt") for rule in RULES]
    for order in ORDERS:
        sheet = Sheet(f"Order {order}", ["robot", "times better", *pairs])
        better = {"accuracy": 0, "energy": 0, "time": 0, "largest dt": 0}
        for entry in entries:
            steps.next(f"{entry.name}, order {order}")
            simulate(entry, method(order, "joints"), 0, STEP / 100, 1)  # what the first call takes is not counted
            simulate(entry, method(order, "bodies"), 0, STEP / 100, 1)
            both = compare(entry, order, seeds)
            (errors, energies, seconds, dts) = zip(*(both[rule] for rule in RULES), strict=True)
            ratio = median(a / max(b, 1e-15) for a, b in zip(*errors, strict=True) if np.isfinite([a, b]).all() or b)
            row = [*map(median, errors), *map(median, energies), *(1e6 * x for x in seconds), *dts]
            sheet.rows.append([entry.name, _number(ratio), *map(_number, row)])
            better["accuracy"] += ratio > 1.0
            better["energy"] += median(energies[0]) > median(energies[1])
            better["time"] += seconds[0] > seconds[1]
            better["largest dt"] += dts[1] > dts[0]
            steps.done()
        report.sheets.append(sheet)
        counts = ", ".join(f"{what} {count}" for what, count in better.items())
        report.notes += (
            f"\nOrder {order}, number of {len(entries)} robots on which interpolation of body poses is better: "
            f"{counts}."
        )
    return report
