"""Robots dropped limp on the ground in random orientations: flips, limits, penetration, energy."""

import math

import numpy as np
from scipy.spatial.transform import Rotation

import leastaction as la
from benchmarks.report import Requirement, Sheet
from leastaction.mechanism import Box, Capsule, Cylinder, Mechanism, Sphere

ROBOTS = ("littledog", "unitree_a1", "nao", "atlas", "minitaur")
STEPS = (0.01, 0.005, 0.002)
HEIGHT, DURATION = 0.3, 1.0
FLIP = 2.0
BOUND = 1e-3
"""Most that the energy may rise above that of the start, relative to the largest kinetic energy."""

NOTES = f"""Drops: {DURATION:g} s from {HEIGHT:g} m above the ground, in random orientations, joints anywhere within \
their limits (closed loops: neutral), dt {", ".join(f"{dt:g}" for dt in STEPS)} s, orders 2 and 1 in turn. A flip: a \
joint turns by more than {FLIP:g} rad in a step beyond what its rates at both ends account for. Depth: of the lowest \
points of all shapes below the plane, from the poses alone."""

COLUMNS = [
    "robot",
    "runs",
    "failed",
    "flips",
    "limits > 1e-6",
    "> 1e-3",
    "> 0.1 rad",
    "deep > 1e-6 m",
    "deepest [m]",
    "energy up",
    "most [K]",
    "divided steps",
    "most iterations",
]


def start(robot: Mechanism, rng: np.random.Generator) -> np.ndarray:
    """A configuration in the air: any orientation, joints within their limits."""
    q = np.array(robot.neutral(), dtype=float)
    q[3:7] = rng.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    lower, upper = bounds(robot)
    if robot.is_tree:
        limited = np.isfinite(lower) & np.isfinite(upper)
        q[7:][limited[6:]] = rng.uniform(lower[6:][limited[6:]], upper[6:][limited[6:]])
    return la.robots.on_ground(robot, q, clearance=HEIGHT)


def bounds(robot: Mechanism) -> tuple[np.ndarray, np.ndarray]:
    """Limits of all coordinates of velocity, shape (nv,) each."""
    lower, upper = (np.concatenate([getattr(joint, side) for joint in robot.joints]) for side in ("lower", "upper"))
    return lower, upper


def depth(robot: Mechanism, poses: np.ndarray) -> float:
    """How far the robot gets below the plane z = 0 [m], from poses of the COMs (times, bodies, 7)."""
    deepest = 0.0
    rotations = Rotation.from_quat(poses[..., [4, 5, 6, 3]].reshape(-1, 4)).as_matrix()
    up = rotations.reshape(*poses.shape[:2], 3, 3)[:, :, 2]  # the vertical in the bodies' directions
    origins = poses[..., 2] - np.einsum("tbc,bc->tb", up, np.array([body.inertia.com for body in robot.bodies]))
    for point in robot.contacts:
        i = robot.body_index(point.body)
        heights = up[:, i] @ np.asarray(point.point) + origins[:, i] - point.radius
        deepest = max(deepest, -heights.min())
    for i, body in enumerate(robot.bodies):
        for shape in body.shapes:
            if shape.collision:
                T = shape.pose.matrix
                heights = up[:, i] @ T[:3, 3] + origins[:, i]
                deepest = max(deepest, (below(shape, up[:, i] @ T[:3, :3]) - heights).max())
    return float(deepest)


def below(shape, z: np.ndarray) -> np.ndarray:
    """How far a shape reaches below its origin, for the world's vertical in its frame, shape (times, 3)."""
    if isinstance(shape, Sphere):
        return np.full(len(z), shape.radius)
    if isinstance(shape, Capsule):
        return shape.radius + 0.5 * shape.length * np.abs(z[:, 2])
    if isinstance(shape, Cylinder):
        return 0.5 * shape.length * np.abs(z[:, 2]) + shape.radius * np.hypot(z[:, 0], z[:, 1])
    if isinstance(shape, Box):
        return 0.5 * np.abs(z) @ np.asarray(shape.size)
    raise TypeError(f"unknown shape {shape.kind}")


def beyond(robot: Mechanism, run) -> float:
    """How far a joint gets beyond its limits [rad or m]."""
    lower, upper = bounds(robot)
    q = run.q[:, 7:]
    return float(max((lower[6:] - q).max(initial=0.0), (q - upper[6:]).max(initial=0.0)))


def flips(run) -> int:
    """Joints that turn in a step by far more than their rates at its ends account for, over all steps."""
    turned, rate = np.diff(run.q[:, 7:], axis=0), run.v[:, 6:]
    dt = np.diff(run.t)[:, None]
    fastest, slowest = np.maximum(rate[:-1], rate[1:]), np.minimum(rate[:-1], rate[1:])
    return int((np.maximum(turned - dt * fastest, dt * slowest - turned) > FLIP).sum())


def drop(robot: Mechanism, seed: int, dt: float, order: int = 2, duration: float = DURATION) -> dict:
    """Figures of one drop; `failed` alone where a step has no solution."""
    q = start(robot, np.random.default_rng(seed))
    integrator = la.Maximal(order=order)
    try:
        run = la.simulate(robot, q, dt=dt, duration=duration, integrator=integrator)
    except la.ConvergenceError as error:
        return {"failed": str(error)}
    kinetic = run.kinetic_energy.max()
    return {
        "failed": "",
        "flips": flips(run),
        "beyond": beyond(robot, run),
        "depth": depth(robot, run.poses),
        "rise": float((run.energy.max() - run.energy[0]) / kinetic),
        "divided": int((np.asarray(run.stored["divided"]) != 0).sum()),
        "iterations": int(run.iterations.max()),
    }


def sheet(progress, seeds) -> tuple[Sheet, list[Requirement]]:
    """Drops of each robot with these seeds; `progress` as in `benchmarks.__main__`."""
    out = Sheet("Drops in random orientations", COLUMNS)
    sums = dict.fromkeys(("failed", "flips", "limits", "deep", "rises"), 0)
    for name in ROBOTS:
        robot = getattr(la.robots, name)(ground=True)
        results = []
        for seed in seeds:
            progress.next(f"{name}, seed {seed}")
            results.append(drop(robot, seed, STEPS[seed % len(STEPS)], 2 - seed // len(STEPS) % 2))
            progress.done()
        good = [r for r in results if not r["failed"]]

        def count(key, bound, good=good):
            return sum(r[key] > bound for r in good)

        def most(key, good=good):
            return max((r[key] for r in good), default=math.nan)

        row = [name, len(results), len(results) - len(good), count("flips", 0)]
        row += [count("beyond", bound) for bound in (1e-6, 1e-3, 0.1)]
        row += [count("depth", 1e-6), most("depth"), count("rise", BOUND), most("rise")]
        out.rows.append([*row, sum(r["divided"] for r in good), most("iterations")])
        for key, value in zip(sums, (row[2], row[3], row[4], row[7], row[9]), strict=True):
            sums[key] += value
    words = {
        "failed": "drops that fail",
        "flips": "drops with a flip",
        "limits": "drops with a limit exceeded by more than 1e-6 rad",
        "deep": "drops with more than 1e-6 m in the ground",
        "rises": f"drops with energy more than {BOUND:g} of the largest kinetic one above the start",
    }
    return out, [Requirement(words[key], float(value), 0.0) for key, value in sums.items()]
