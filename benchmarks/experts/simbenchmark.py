"""SimBenchmark's scenes of free bodies: rolling, bouncing, 666, elastic 666 and a tower of Kapla, beside peers."""

import math

import numpy as np

from benchmarks.experts import bodies
from benchmarks.experts.bodies import Body, Box, Scene, Sphere
from benchmarks.report import Claim, Report, Sheet, judged

DT, G = 1e-3, 9.81
RADIUS = 0.1
PLANK = (0.1178, 0.0235, 0.0078)
"""A plank of Kapla [m]."""

NOTES = f"""Scenes of SimBenchmark (leggedrobotics) with its numbers: dt = {1e3 * DT:g} ms, times are CPU times of a \
step, ours in a compiled loop, those of peers including a call from Python. Peers run with their defaults; MuJoCo and \
Drake have no coefficient of restitution: in bouncing scenes MuJoCo's contacts are undamped springs, Drake's have no \
dissipation, and their energy is that of the bodies without the contact springs. Rolling: 25 balls of 1 kg on a slab \
of 10 kg that 150 N pull along its diagonal; velocities have a closed form. The slab is 20 x 20 x 1 m and the balls \
have a radius of 0.5 m, since the published tests do not specify these. Kapla: six floors of three planks each, laid \
crosswise on their narrow sides."""

PATIENCE = 12.0
"""CPU time of a run [s]; what takes longer is cut, and says so."""

OURS = ("Maximal", "Minimal")

Runs = dict[str, list]


def rolling() -> Scene:
    """Balls on a slab that is pulled along its diagonal."""
    slab = Body(Box((20.0, 20.0, 1.0)), 10.0, (0, 0, 0.5), force=(150.0 / math.sqrt(2.0), 150.0 / math.sqrt(2.0), 0.0))
    balls = [
        Body(Sphere(0.5), 1.0, (2.0 * (i - 2), 2.0 * (j - 2), 1.5)) for i in range(5) for j in range(5)
    ]  # fmt: skip
    return Scene([slab, *balls], friction=0.8, ground_friction=0.4, length=0.5)


def rolling_error(scene, walk) -> float:
    """Largest error of velocities relative to that of the slab in the end.

    The slab: (M + 2/7 n m) a = F - mu (M + n m) g; a ball that rolls on it: 2/7 a.
    """
    a = (150.0 - 0.4 * 35.0 * G) / (10.0 + 25.0 * 2.0 / 7.0)
    t = walk.dt * np.arange(len(walk.x))
    right = a * t[:, None] * np.array([1.0, *[2.0 / 7.0] * 25])
    along = walk.v @ (np.array([1.0, 1.0, 0.0]) / math.sqrt(2.0))
    return float(np.abs(along - right).max() / (a * t[-1]))


def bouncing() -> Scene:
    """49 balls from 5 m on a ground without losses."""
    balls = [Body(Sphere(RADIUS), 10.0, (i, j, 5.0)) for i in range(7) for j in range(7)]
    return Scene(balls, friction=0.0, restitution=1.0)


def cubed(restitution: float) -> Scene:
    """6³ balls above each other, a little off."""
    rng = np.random.default_rng(0)
    grid = 0.21 * np.array([[i, j, k] for k in range(6) for i in range(6) for j in range(6)]) + [0, 0, RADIUS + 0.01]
    grid[:, :2] += rng.uniform(-1e-3, 1e-3, (216, 2))
    return Scene([Body(Sphere(RADIUS), 10.0, tuple(x)) for x in grid], friction=0.0, restitution=restitution)


def kapla(floors: int = 6) -> Scene:
    """Planks in threes, crosswise."""
    planks, height = [], PLANK[1]
    for k in range(floors):
        for s in (-0.045, 0.0, 0.045):
            if k % 2:
                size, at = (PLANK[2], PLANK[0], height), (s, 0.0)
            else:
                size, at = (PLANK[0], PLANK[2], height), (0.0, s)
            planks.append(Body(Box(size), 0.0136, (*at, (k + 0.5) * height)))
    return Scene(planks, friction=0.5, length=height)


def deepest(scene, walk) -> float:
    """How deep balls are in each other or the ground, at most [m]."""
    radii = np.array([body.shape.radius for body in scene.bodies])
    i, j = np.triu_indices(len(radii), 1)
    depth = float((radii - walk.x[:, :, 2]).max())
    for x in walk.x[:: max(1, len(walk.x) // 500)]:
        depth = max(depth, float((radii[i] + radii[j] - np.linalg.norm(x[i] - x[j], axis=1)).max()))
    return max(depth, 0.0)


def gained(scene, walk) -> tuple[float, float]:
    """The energy's change over the run, and its largest rise above the start, relative to the start."""
    E = bodies.energy(scene, walk)
    return float(E[-1] / E[0] - 1.0), float(E.max() / E[0] - 1.0)


def moved(scene, walk) -> float:
    """How far a body has moved from where it started, at most [m]."""
    return float(np.linalg.norm(walk.x - walk.x[0], axis=2).max())


def ran(progress, name: str, scene: Scene, duration: float, sheet: Sheet, measure, times: Sheet) -> dict[str, list]:
    """Rows of all engines in a table, and their figures by name; a column of the times of steps."""
    found, column = {}, len(times.columns)
    times.columns.append(name)
    for engine, walk_of in bodies.engines().items():
        progress.next(f"{name}, {engine}")
        progress.done()
        try:
            steps = round(duration / DT)
            within = int(PATIENCE / max(walk_of(scene, DT, min(steps, 20)).seconds, 1e-9))
            walk = walk_of(scene, DT, min(steps, within))
        except bodies.FailureError as failure:
            sheet.rows.append([engine, *["–"] * (len(sheet.columns) - 2), str(failure)])
            continue
        found[engine] = measure(scene, walk)
        cut = f" (first {DT * within:.2g} s)" if within < steps else ""
        sheet.rows.append([engine + cut, *found[engine]])
        row = next((row for row in times.rows if row[0] == engine), None)
        if row is None:
            times.rows.append(row := [engine])
        row += [None] * (column - len(row)) + [1e6 * walk.seconds]
    return found


def claim(where: str, what: str, bound: float, found: Runs, column: int = 0) -> Claim:
    """That both of ours keep a bound in a column; better where they are ahead of every peer."""
    mine = max(abs(found[name][column]) if name in found else math.inf for name in OURS)
    theirs = {name: abs(row[column]) for name, row in found.items() if name not in OURS}
    who = min(theirs, key=lambda name: theirs[name], default="nobody")
    said = f"{mine:.2g} at most; best peer {theirs.get(who, math.nan):.2g} ({who})."
    why = "One of ours did not run or is beyond the bound; see the table."
    return judged(where, what, said, mine <= bound, why, better=not mine > theirs.get(who, math.nan))


def run(progress, quick: bool = False) -> Report:
    """All scenes and engines."""
    scenes: list[tuple] = [
        ("rolling", rolling(), 4.0, ["error of velocities"], lambda s, w: [rolling_error(s, w)]),
        ("bouncing", bouncing(), 20.0, ["energy, change", "energy, largest rise"], lambda s, w: [*gained(s, w)]),
        (
            "666",
            cubed(0.0),
            2.0,
            ["depth [mm]", "energy, largest rise"],
            lambda s, w: [1e3 * deepest(s, w), max(gained(s, w)[1], 0.0)],
        ),
        (
            "elastic 666",
            cubed(1.0),
            2.0,
            ["energy, change", "energy, largest rise", "depth [mm]"],
            lambda s, w: [*gained(s, w), 1e3 * deepest(s, w)],
        ),
        (
            "kapla",
            kapla(),
            5.0,
            ["moved [mm]", "energy, largest rise"],
            lambda s, w: [1e3 * moved(s, w), max(gained(s, w)[1], 0.0)],
        ),
    ]
    wanted = {
        "rolling": ("Velocities follow the closed form to 1 %.", 0.01),
        "bouncing": ("Elastic balls keep their energy to 0.1 %.", 1e-3),
        "666": ("Balls do not enter each other, to 1 µm.", 1e-3),
        "elastic 666": ("Elastic balls keep their energy to 0.1 %.", 1e-3),
        "kapla": ("The tower stands still, to 1 µm.", 1e-3),
    }
    report = Report("SimBenchmark: free bodies", NOTES, seeds=[0], missing=bodies.missing())
    times = Sheet("CPU time of a step [µs]", ["engine"])
    progress.total(len(scenes) * len(bodies.engines()))
    for name, scene, duration, columns, measure in scenes:
        duration *= 0.1 if quick else 1.0
        sheet = Sheet(f"{name.capitalize()}, {duration:g} s", ["engine", *columns])
        found = ran(progress, name, scene, duration, sheet, measure, times)
        report.sheets.append(sheet)
        report.claims.append(claim(name.capitalize(), *wanted[name], found))
    report.sheets.append(times)
    report.claims += slower(times)
    return report


def slower(times: Sheet) -> list[Claim]:
    """Whether the faster of ours takes no longer for a step than MuJoCo's `implicitfast`, scene by scene."""
    rows = {row[0]: row for row in times.rows}
    if "MuJoCo implicitfast" not in rows:
        return []
    told, worst = [], 0.0
    for k, name in enumerate(times.columns[1:], 1):
        mine = min((rows[who][k] for who in OURS if who in rows and rows[who][k]), default=math.inf)
        told.append(f"{name} {mine / rows['MuJoCo implicitfast'][k]:.2g}")
        worst = max(worst, mine / rows["MuJoCo implicitfast"][k])
    text = "A step takes no longer than one of MuJoCo's `implicitfast`."
    why = "Friction's cones and restitution are solved to 1e-10 here, not to a fixed softness."
    return [judged("Time", text, f"times of it, the faster of ours: {', '.join(told)}.", worst <= 1.0, why)]
