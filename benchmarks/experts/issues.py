"""Scenes from the open issues of other engines, one line each: what the peer does, where it is installed, and ours."""

import importlib.util
import math
from collections.abc import Callable

import numpy as np

import leastaction as la
from benchmarks.experts import bodies, erez2015, robots
from benchmarks.experts.bodies import Body, Box, Scene, Sphere
from benchmarks.menagerie import installed_mujoco
from benchmarks.races import engines
from benchmarks.report import Report, Sheet, judged
from leastaction.mechanism import MechanismBuilder, Plane, Pose

NOTES = """Scenes from issues that users of other engines have opened (number after the project's name), with the \
reported result where the peer is not run here. Each scene is the smallest that shows the problem. MuJoCo runs with \
its defaults unless stated. "Holds": our result is what the issue asks for."""

Line = tuple[str, str, str, bool]
"""(scene, theirs, ours, whether ours holds)."""


def creep() -> Line:
    """mujoco#3328: a capsule between two fingers sinks."""
    scene, mujoco, dt = erez2015.capsule_grasp(), installed_mujoco(), 2e-3

    def rate(kind):
        return 2e6 * erez2015.held(scene, *erez2015.grasped(mujoco, scene, kind, dt))[0]

    mine = max(rate(la.Maximal()), rate(la.Minimal()))
    peer = f"MuJoCo {rate('implicitfast'):.0f} µm/s" if mujoco else "50 to 155 µm/s, as the issue says"
    return "A capsule of 0.2 kg held by two fingers with 20 N each", peer, f"{mine:.1g} µm/s", mine < 1.0


TWO_LINKS = """<mujoco><compiler angle="radian"/><option timestep="0.02"/><worldbody>
<body name="b1" pos="1 0 5"><joint name="hinge" type="hinge" axis="0 1 0" pos="-1 0 0"/>
<geom type="box" size="1 0.1 0.1" mass="2"/>
<body name="b2" pos="1 1 0" euler="0 0 1.57"><joint name="ball" type="ball" pos="-1 0 0"/>
<geom type="box" size="1 0.1 0.1" mass="2"/></body></body></worldbody></mujoco>"""


def two_links() -> Line:
    """mujoco#2896: a hinge and a ball joint blow up at dt = 0.02."""
    robot = la.load_string(TWO_LINKS)
    run = la.simulate(robot, dt=0.02, duration=100.0, integrator=la.Galerkin(order=4))
    E = run.energy
    mine = float(np.abs(E - E[0]).max() / (run.kinetic_energy.max()))
    peer, mujoco = "unstable at 38 s, as the issue says", installed_mujoco()
    if mujoco is not None:
        told = []
        for kind in ("Euler", "implicitfast", "discrete"):
            model = mujoco.MjModel.from_xml_string(TWO_LINKS)
            model.opt.integrator = int(getattr(mujoco.mjtIntegrator, f"mjINT_{kind.upper()}"))
            data, bad = mujoco.MjData(model), math.inf
            mujoco.set_mju_user_warning(lambda _: None)
            for k in range(5000):
                mujoco.mj_step(model, data)
                if any(
                    data.warning[w].number for w in (mujoco.mjtWarning.mjWARN_BADQACC, mujoco.mjtWarning.mjWARN_BADQVEL)
                ):
                    bad = 0.02 * k
                    break
            told.append(f"{kind} " + (f"unstable at {bad:.0f} s" if bad < math.inf else "runs"))
        peer = "MuJoCo " + ", ".join(told)
    return (
        "Two links on a hinge and a ball, dt 0.02 s, 100 s",
        peer,
        f"energy within {mine:.1g} of the kinetic one",
        mine < 0.05,
    )


def four_bar() -> Line:
    """mujoco#172, #2698: a loop that opens."""
    robot = la.robots.four_bar()
    q = robot.home()
    v = np.zeros(robot.nv)
    run = la.simulate(robot, q, dt=0.01, duration=10.0, integrator=la.Galerkin(order=4))
    mine, mujoco, peer = float(run.constraint_violation.max()), installed_mujoco(), "come apart, as the issues say"
    if mujoco is not None:
        runner = engines.Mujoco(robot, q, v, 0.01, 1, "implicitfast", constraints=True)
        data, model = runner.data, runner.model
        mujoco.mj_resetData(model, data)
        data.qpos[:], data.qvel[:] = runner.start
        most = 0.0
        for _ in range(1000):
            mujoco.mj_step(model, data)
            most = max(most, float(np.abs(data.efc_pos[: data.ne]).max(initial=0.0)))
        peer = f"MuJoCo opens by {1e3 * most:.2g} mm"
    return "A four-bar that swings for 10 s, dt 10 ms", peer, f"opens by {1e3 * mine:.1g} mm", mine < 1e-9


def restitution() -> Line:
    """mujoco#2080: no coefficient of restitution."""
    scene = Scene([Body(Sphere(0.1), 1.0, (0, 0, 1.1))], restitution=0.5)

    def height(walk):
        z = walk.x[:, 0, 2] - 0.1
        low = int(z[: len(z) // 2].argmin())
        return float(z[low : low + 600].max())

    told, mine = [], []
    for name, walk_of in bodies.engines().items():
        if name.startswith("MuJoCo") or name == "Drake":
            continue
        h = height(walk_of(scene, 1e-3, 1000))
        (mine if name in ("Maximal", "Minimal") else told).append((name, h))
    peer = ", ".join(f"{name} {h:.3f} m" for name, h in told)
    worst = max(abs(h - 0.25) for _, h in mine)
    peer = "MuJoCo has none" + (f"; {peer}" if peer else "")
    return "A ball with e = 0.5 falls by 1 m: it should rise to 0.25 m", peer, f"0.25 m to {worst:.1g} m", worst < 1e-3


def lift_off() -> Line:
    """mujoco#1517: derivatives at the moment of lift-off are no numbers."""
    robot, _, _ = bodies.mechanism(Scene([Body(Sphere(0.1), 1.0, (0, 0, 0.1))]))
    good = True
    for integrator in (la.Maximal(), la.Minimal()):
        for up in (0.0, 0.0981, 0.5):  # rests, is just carried, leaves the ground
            A, B = la.linearize(robot, integrator, [0, 0, 0.1, 1, 0, 0, 0], [0, 0, 0, 0, 0, up], dt=0.01)[:2]
            good = good and bool(np.isfinite(A).all() and np.isfinite(B).all())
    return (
        "Jacobian of a step at rest and at lift-off of a ball",
        "MJX: NaN, as the issue says",
        "finite" if good else "NaN",
        good,
    )


def elastic_gradient(gap: float = 0.5234) -> Line:
    """nimblephysics#97: two equal balls, elastic: x_f = v_0 T + x_1 + 2 r."""
    balls = [Body(Sphere(0.1), 1.0, (0, 0, 0), velocity=(1.0, 0, 0)), Body(Sphere(0.1), 1.0, (0.2 + gap, 0, 0))]
    scene = Scene(balls, friction=0.0, restitution=1.0, ground=False, gravity=(0, 0, 0))
    robot, q, v = bodies.mechanism(scene)
    found = []
    for integrator in (la.Maximal(tolerance=1e-12), la.Minimal(tolerance=1e-12)):

        def last(run):
            dq = np.zeros((len(run), 12))
            dq[-1, 9] = 1.0
            return run.q[-1, 7], dq, None

        _, g = la.adjoint(robot, integrator, last, ["q", "v"], q=q, v=v, dt=0.01, steps=100)
        found.append([g["q"][3], g["q"][9], g["v"][3], g["v"][9]])
    right = [1.0, 0.0, 1.0, 0.0]
    off = float(np.abs(np.array(found) - right).max())
    said = "; ".join(f"({', '.join(f'{x:.4g}' for x in np.round(row, 6) + 0.0)})" for row in found)
    peer = "Nimble (0.75, 0.25, 0.91, 0.08), as the issue says"
    return f"Two elastic balls meet after {gap:g} s: gradient of the end, (1, 0, 1, 0)", peer, said, off < 1e-6


def gradient_at_a_node() -> Line:
    """nimblephysics#97, with the impact at the very end of a step, as there."""
    return elastic_gradient(0.5)


def hinged_four_bar(**options):
    """A four-bar whose last hinge closes the loop, with options of that hinge; and where it is closed."""
    b = MechanismBuilder("four-bar")
    for name, length in (("a", 0.5), ("b", 1.0), ("c", 0.5)):
        b.body(name, mass=1.0, com=(0.5 * length, 0, 0), inertia=0.02)
    b.revolute("j1", "world", "a", axis="y")
    b.revolute("j2", "a", "b", axis="y", position=(0.5, 0, 0))
    b.revolute("j3", "b", "c", axis="y", position=(1.0, 0, 0))
    b.revolute("j4", "world", "c", axis="y", position=(1.2, 0, 0), child_pose=Pose((-0.5, 0, 0)), loop=True, **options)
    robot = b.build()
    return robot, la.dynamics.close_loops(robot, [-1.0, 1.0, 1.0])


def loop_joint() -> Line:
    """newton#2428: limits, drives and state of the joint that closes a loop are lost."""
    lost = []
    for damping in (0.0, 0.5):
        robot, q = hinged_four_bar(damping=damping)
        E = la.simulate(robot, q, dt=0.01, duration=5.0, integrator=la.Galerkin(order=2)).energy
        lost.append(float(E[0] - E[-1]))
    said = f"takes {lost[1]:.2g} J in 5 s, without damping {abs(lost[0]):.1g} J"
    return (
        "Damping of the hinge that closes a four-bar",
        "Newton: lost, as the issue says",
        said,
        lost[1] > 100 * abs(lost[0]),
    )


def hinge_closure() -> Line:
    """pinocchio#2729: no closure of five equations."""
    robot, q = hinged_four_bar()
    run = la.simulate(robot, q, dt=0.01, duration=2.0, integrator=la.Maximal())
    gap = float(run.constraint_violation.max())
    peer = "Pinocchio has 3 and 6 equations, as the issue says"
    return "A loop in space that a hinge closes: five equations", peer, f"closed to {gap:.1g}", gap < 1e-9


def flight() -> Line:
    """crocoddyl#979: angular momentum about the centre of mass in flight, motors at work."""
    whole, name = robots.anymal()
    walker = robots.bare(whole, 0.8, 0.0)
    posture = robots.stance(walker)
    task = robots.task(walker, posture, height=5.0, kp=40.0, kd=1.0)
    rng = np.random.default_rng(0)
    task.v[6:] = rng.uniform(-5.0, 5.0, task.robot.nv - 6)
    masses = np.array([body.inertia.mass for body in task.robot.bodies])

    def change(walk):
        motion = walk(task, 5e-3, 160)
        _, p, L = robots.quantities(task.robot, motion)
        centre = np.einsum("b,kbi->ki", masses, motion.x) / masses.sum()
        own = L - np.cross(centre, p)
        return float(np.linalg.norm(own - own[0], axis=1).max() / np.linalg.norm(own[0]))

    mine = max(change(robots.ours(la.Maximal())), change(robots.ours(la.Minimal())))
    peer = (
        f"MuJoCo {change(robots.mujoco('implicitfast')):.1g}"
        if installed_mujoco()
        else "not constant, as the issue says"
    )
    return f"{name} in free fall moves its legs: change of its angular momentum", peer, f"{mine:.1g}", mine < 1e-6


def acrobot() -> Line:
    """Gymnasium#1714: energy of the Acrobot at its dt of 0.2 s."""
    b = MechanismBuilder("acrobot", gravity=(0, 0, -9.8))
    for k, parent in enumerate(("world", "link0")):
        b.body(f"link{k}", mass=1.0, com=(0, 0, -0.5), inertia=1.0)
        b.revolute(f"j{k}", parent, f"link{k}", axis="y", position=(0, 0, -1.0) if k else (0, 0, 0))
    robot, start = b.build(), [1.0, 0.5]
    run = la.simulate(robot, start, dt=0.2, duration=100.0, integrator=la.Galerkin(order=4))
    E = run.energy - (-9.8 * 2.0)  # above hanging at rest, the scale of the issue
    mine, peer = float(abs(E[-50:].mean() / E[:50].mean() - 1.0)), "relative drift 3.6e-3, as the issue says"
    if importlib.util.find_spec("gymnasium"):
        from gymnasium.envs.classic_control.acrobot import AcrobotEnv, rk4

        env, s = AcrobotEnv(), np.array([*start, 0.0, 0.0])
        values = []
        for _ in range(500):
            values.append(_acrobot_energy(robot, s))
            s = rk4(env._dsdt, np.append(s, 0.0), [0, env.dt])[:4]
        E = np.array(values) + 9.8 * 2.0
        peer = f"Gymnasium {abs(E[-50:].mean() / E[:50].mean() - 1.0):.1g}"
    return "Acrobot, dt 0.2 s, 100 s: drift of its mean energy", peer, f"{mine:.1g}", mine < 1e-3


def _acrobot_energy(robot, s) -> float:
    run = la.Trajectory.from_states(robot, np.array([s[:2]] * 2), np.array([s[2:]] * 2), dt=0.2)
    return float(run.energy[0])


def ignored_loops() -> Line:
    """drake#24957: loops of continuous plants are ignored."""
    robot = la.robots.four_bar()
    q, v = robot.home(), np.zeros(robot.nv)
    ends = la.simulate(robot, q, dt=1e-3, duration=0.5, integrator=la.Galerkin(order=4))
    mine = float(ends.constraint_violation.max())
    peer = "ignored, as the issue says"
    if importlib.util.find_spec("pydrake"):
        try:
            there = engines.Drake(robot, q, v, 1e-3, 500, "runge_kutta3").end()
            off = float(np.abs(there - engines.places(robot, ends.q[-1])).max())
            peer = f"Drake 1.51, continuous: no word, and bodies {off:.2g} m off after 0.5 s"
        except RuntimeError as error:
            peer = f"Drake, continuous: {str(error).splitlines()[0][:80]}"
    return "A four-bar in continuous time", peer, f"closed to {mine:.1g} m", mine < 1e-9


def sinking() -> Line:
    """mujoco#750, #1544: boxes sink into what they stand on."""
    scene = Scene([Body(Box((0.2,) * 3), 1.0, (0, 0, 0.1)), Body(Box((0.2,) * 3), 1000.0, (0, 0, 0.3))])
    told, mine = [], 0.0
    for name, walk_of in bodies.engines().items():
        depth = 1e3 * (0.1 - float(walk_of(scene, 2e-3, 500).x[-1, 0, 2]))
        if name in ("Maximal", "Minimal"):
            mine = max(mine, abs(depth))
        else:
            told.append(f"{name} {depth:.2g} mm")
    return "A ton on a box of 1 kg for 1 s: how far that sinks", ", ".join(told), f"{mine:.1g} mm", mine < 1e-3


def reproducible() -> Line:
    """mujoco_warp#562, newton#2479: the same run twice gives other numbers."""
    b = la.robots.unitree_a1().edit()
    b.add_shape("world", Plane(friction=0.8))
    dog = b.build()
    q = np.tile(la.robots.on_ground(dog, la.robots.home(dog), clearance=0.1), (8, 1))
    q[:, 2] += 0.01 * np.arange(8)
    one = la.batch.simulate(dog, q, dt=0.01, steps=100, integrator=la.Minimal())
    two = la.batch.simulate(dog, q[::-1].copy(), dt=0.01, steps=100, integrator=la.Minimal())
    same = bool(np.array_equal(np.asarray(one.q), np.asarray(two.q)[::-1]))
    peer = "MJWarp, Newton: on the GPU they differ, as the issues say"
    return (
        "Eight A1s that fall, twice, in another order (on the CPU)",
        peer,
        "equal to the last bit" if same else "differ",
        same,
    )


def contacts_on() -> Line:
    """Genesis#181: figures of speed that were taken with contacts off."""
    whole, name = robots.anymal()
    walker = robots.bare(whole, 0.8, 0.0)
    posture = robots.stance(walker)
    stands, flies = (robots.task(walker, posture, height=h, kp=40.0, kd=1.0) for h in (1e-3, 50.0))
    told = []
    runs: dict[str, Callable] = {"ours": robots.ours(la.Minimal())}
    if installed_mujoco() is not None:
        runs["MuJoCo"] = robots.mujoco("implicitfast")
    for who, walk in runs.items():
        on, off = (1e6 * walk(t, 5e-3, 200).seconds for t in (stands, flies))
        told.append(f"{who} {on:.0f} µs with contacts, {off:.0f} without")
    return f"A step of {name}, standing and in the air: figures with contacts", "; ".join(told[1:]), told[0], True


ISSUES: dict[str, Callable[[], Line]] = {
    "mujoco#3328": creep,
    "mujoco#2896": two_links,
    "mujoco#172, #2698": four_bar,
    "mujoco#2080": restitution,
    "mujoco#1517": lift_off,
    "nimblephysics#97": elastic_gradient,
    "nimblephysics#97, at a node": gradient_at_a_node,
    "newton#2428": loop_joint,
    "pinocchio#2729": hinge_closure,
    "crocoddyl#979": flight,
    "Gymnasium#1714": acrobot,
    "drake#24957": ignored_loops,
    "mujoco#750, #1544": sinking,
    "mujoco_warp#562, newton#2479": reproducible,
    "Genesis#181": contacts_on,
}


def run(progress, quick: bool = False) -> Report:
    """A line for each issue; quick: the first three."""
    chosen = dict(list(ISSUES.items())[: 3 if quick else None])
    progress.total(len(chosen))
    report = Report("Open issues of other engines", NOTES, missing=bodies.missing())
    sheet, failed = Sheet("Issues", ["issue", "scene", "peer", "ours", "verdict"]), 0
    for issue, line in chosen.items():
        progress.next(issue)
        try:
            scene, theirs, ours, holds = line()
        except (la.LeastActionError, bodies.FailureError) as error:
            scene, theirs, ours, holds = (line.__doc__ or "").strip(), "", str(error).splitlines()[0][:160], False
        sheet.rows.append([issue, scene, theirs, ours, "holds" if holds else "**fails**"])
        failed += not holds
        progress.done()
    report.sheets.append(sheet)
    why = "The table marks those that fail."
    said = f"{len(chosen) - failed} of {len(chosen)} hold."
    report.claims.append(judged("Issues", "Ours shows none of these problems.", said, not failed, why))
    return report
