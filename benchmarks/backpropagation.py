"""Backpropagation through runs of `Maximal`: what a step back costs beside the step itself, case by case."""

import numpy as np

import leastaction as la
from benchmarks.report import Measure, Report, Requirement, Sheet
from benchmarks.rollouts import load_note
from benchmarks.timing import cpu_seconds

SHORT, LONG, DT = 100, 400, 0.005
BOUND = 5.0
STATES = ("q", "v", "controls")

NOTES = f"""Gradients of random weights on all positions and velocities of a run (`derivatives.gradient`). Time of a \
backward step: that of {LONG} steps less that of {SHORT}, per step of the difference; a forward step likewise, in the \
compiled loop. Costs that do not depend on the number of steps are listed separately: models of the robot and of its \
parameter variations, and the start and end of the run. CPU time, least of all repetitions, measured in turns."""


def springs(links: int):
    """A chain with a damped spring from each link to the one after the next."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(links))
    names = la.robots.pendulum(links).body_names
    for i in range(links - 2):
        b.spring(f"spring{i}", names[i], names[i + 2], stiffness=20.0, damping=0.5)
    return b.build()


def balls(links: int):
    """A chain of ball joints with springs and dampers."""
    b = la.MechanismBuilder("chain of ball joints")
    for i in range(links):
        b.body(f"link{i}", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.08, 0.08, 0.01))
        parent, at = ("world", 0.0) if i == 0 else (f"link{i - 1}", -1.0)
        b.joint(f"ball{i}", "spherical", parent, f"link{i}", position=(0.0, 0.0, at), stiffness=5.0, damping=0.2)
    return b.build()


def driven(links: int):
    """A chain on a body whose pose is prescribed, the last joint of which is, too."""
    b = la.MechanismBuilder("chain on a hand")
    b.body("hand", mass=1.0, inertia=(0.1, 0.1, 0.1))
    b.free("hand")
    for i in range(links):
        b.body(f"link{i}", mass=1.0, com=(0.0, 0.0, -0.5), inertia=(0.08, 0.08, 0.01))
        parent, at = ("hand", 0.0) if i == 0 else (f"link{i - 1}", -1.0)
        b.revolute(f"joint{i}", parent, f"link{i}", axis="y", position=(0.0, 0.0, at))
    b.prescribe("hand", f"joint{links - 1}")
    return b.build()


def stiff(links: int):
    """A chain whose springs, from each link to the one after the next, are so stiff that they divide its steps."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(links))
    names = la.robots.pendulum(links).body_names
    for i in range(links - 2):
        b.spring(f"spring{i}", names[i], names[i + 2], stiffness=2e4)
    return b.build()


def held(links: int):
    """A chain with a stiff tendon along its joints, and one through points of its links."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(links))
    own = la.robots.pendulum(links)
    b.tendon("along", joints=[(name, (-1.0) ** k) for k, name in enumerate(own.velocity_names)], stiffness=2e4)
    b.tendon("through", via=["world", *own.body_names[1::2]], stiffness=2e4, rest=(0.0, 0.6 * links))
    return b.build()


def roped(links: int):
    """A chain with a rope from its foot to its end."""
    b = la.MechanismBuilder.from_mechanism(la.robots.pendulum(links))
    b.tendon("rope", via=["world", la.robots.pendulum(links).body_names[-1]], limits=(0.0, 0.5 * links), rigid=True)
    return b.build()


MOTIONS = {
    "prescribed motions": {
        "hand": lambda t: la.mechanism.Pose((0.3 * np.sin(2.0 * t), 0.0, 0.2 * np.sin(3.0 * t))),
        "joint6": lambda t: 0.5 * np.sin(4.0 * t),
    }
}
"""Of the cases that have prescribed ones, by name."""


def pantograph():
    """(robot, q, v) of a base that stands with two legs on a common foot with four balls: a closed loop in contact."""
    b = la.MechanismBuilder("pantograph")
    b.body("base", mass=2.0, inertia=(0.02, 0.03, 0.03))
    b.free("base")
    for side, name in ((-1, "left"), (1, "right")):
        b.body(name, mass=0.3, com=(0, 0, -0.1), inertia=1e-3)
        b.revolute(f"hip {name}", "base", name, axis="y", position=(0.15 * side, 0, -0.05))
    places = [la.mechanism.Pose((x, y, 0.0)) for x in (-0.2, 0.2) for y in (-0.1, 0.1)]
    b.body("foot", mass=0.3, shapes=[la.mechanism.Sphere(0.02, pose=place, friction=0.6) for place in places])
    b.revolute("ankle", "left", "foot", axis="y", position=(0, 0, -0.2), child_pose=la.mechanism.Pose((0.15, 0, 0)))
    b.revolute("close", "foot", "right", axis="y", position=(0.15, 0, 0), child_pose=la.mechanism.Pose((0, 0, 0.2)))
    b.add_shape("world", la.mechanism.Plane())
    robot = b.build()
    q = robot.home()
    q[2] = 0.27
    return robot, q, np.zeros(robot.nv)


def rolling_box():
    """(robot, q, v) of a box that slides on a plane."""
    b = la.MechanismBuilder("box on a plane")
    b.body("box", mass=1.0, inertia=(0.004, 0.006, 0.005), shapes=la.mechanism.Box((0.2, 0.2, 0.2)))
    b.free("box")
    b.add_shape("world", la.mechanism.Plane(friction=0.3))
    robot = b.build()
    q = robot.neutral()
    q[2] = 0.1
    return robot, q, np.array([0.0, 0.0, 0.0, 3.0, 1.0, 0.0])


def cases():
    """(what, robot, q, v, integrator, names) of each."""
    chain, tied, soft, hand = la.robots.pendulum(8), springs(8), balls(8), driven(7)
    bent, still = np.full(8, 0.3), np.zeros(8)
    linkage, dog = la.robots.n_four_bar(4), la.robots.unitree_a1(ground=True)
    once = la.simulate(linkage, v=np.ones(linkage.nv), project=True, dt=1e-3, steps=1, integrator=la.Maximal())
    moving = once.q[0], once.v[0]
    masses = tuple(f"mass:{name}" for name in chain.body_names)
    box, q, v = rolling_box()
    plain, smooth, four = la.Maximal(), la.Maximal(smoothing=1e-4), la.Maximal(order=4)
    home, rest = dog.home(), np.zeros(dog.nv)
    yield "states and controls", chain, bent, still, plain, STATES
    yield "order 4", chain, bent, still, four, STATES
    yield "springs between bodies", tied, bent, still, plain, STATES
    yield "springs and dampers of balls", soft, soft.neutral(), np.full(soft.nv, 0.3), plain, STATES
    yield "prescribed motions", hand, hand.neutral(), np.zeros(hand.nv), plain, STATES
    yield "stiff springs, divided steps", stiff(8), bent, still, plain, STATES
    yield "stiff tendons", held(8), bent, still, plain, STATES
    yield "rigid limit of a tendon", roped(8), bent, still, smooth, STATES
    yield "closed loops", linkage, *moving, plain, STATES
    yield "closed loops, order 4", linkage, *moving, four, STATES
    yield "rigid contact, slides", box, q, v, plain, STATES
    yield "smoothed contact, slides", box, q, v, smooth, STATES
    yield "rigid contact, stands", dog, home, rest, plain, STATES
    yield "smoothed contact, stands", dog, home, rest, smooth, STATES
    yield "closed loop in rigid contact", *pantograph(), plain, STATES
    yield "closed loop in smoothed contact", *pantograph(), smooth, STATES
    yield "a mass", chain, bent, still, plain, masses[:1]
    yield "8 masses", chain, bent, still, plain, masses
    yield "8 masses, order 4", chain, bent, still, four, masses
    yield "a stiffness", tied, bent, still, plain, ("stiffness:spring0",)
    yield "a centre of mass (3 numbers)", chain, bent, still, plain, ("com:link4",)
    yield "a mass, closed loops", linkage, *moving, plain, (f"mass:{linkage.body_names[0]}",)
    yield "a coefficient of friction", box, q, v, smooth, ("friction:world/0",)
    yield "the size of a shape (3 numbers)", box, q, v, smooth, ("size:box/0",)
    yield "the place of a foot (3 numbers)", dog, home, rest, smooth, ("point:FR_foot",)
    yield "a mass in contact", dog, home, rest, smooth, (f"mass:{dog.body_names[0]}",)


def times(robot, q, v, integrator, names, motions, repeats: int) -> tuple[float, float, float]:
    """(step, step back, what comes once in the backward pass) [s]."""
    rng, found = np.random.default_rng(0), {}
    for steps in (SHORT, LONG):
        u = 0.1 * rng.normal(size=(steps, robot.nu)) if not robot.actuators else np.zeros((steps, robot.nu))
        run = la.simulate(robot, q, v, dt=DT, steps=steps, integrator=integrator, controls=u, motions=motions)
        bars, stepper = rng.normal(size=(2, steps + 1, robot.nv)), integrator.prepare(robot, DT)
        record = stepper.record(steps)
        if motions is not None:
            stepper.told, record["goals"][:] = True, run.stored["goals"]
        nodes = np.array(np.broadcast_to(u[:, None], (steps, len(stepper.control_nodes), robot.nu)))

        def forward(run=run, record=record, stepper=stepper, steps=steps, nodes=nodes):
            record["q"][0], record["p"][0] = run.q[0], run.p[0]
            if stepper.advance(record, 0, steps, nodes) < steps:
                raise stepper.failure(0, record)

        found[steps] = forward, lambda run=run, bars=bars: la.derivatives.gradient(run, bars[0], bars[1], names)
    for pair in found.values():
        for function in pair:
            function()
    least = {(steps, i): np.inf for steps in found for i in range(2)}
    for _ in range(repeats):
        for steps, pair in found.items():
            for i, function in enumerate(pair):
                least[steps, i] = min(least[steps, i], cpu_seconds(function))
    there, back = ((least[LONG, i] - least[SHORT, i]) / (LONG - SHORT) for i in range(2))
    return there, back, max(least[SHORT, 1] - SHORT * back, 0.0)


def run(progress, quick=False) -> Report:
    """Time the backward pass over runs."""
    sheet = Sheet(
        "Backpropagation",
        ["gradient by, or through", "robot", "step [µs]", "step back [µs]", "ratio", "once [ms]"],
    )
    found = []
    every = list(cases())
    progress.total(len(every))
    for what, robot, q, v, integrator, names in every:
        progress.next(what)
        there, back, once = times(robot, q, v, integrator, names, MOTIONS.get(what), 2 if quick else 5)
        sheet.rows.append([what, robot.name, 1e6 * there, 1e6 * back, back / there, 1e3 * once])
        found.append(back / there)
        progress.done()
    worst = Requirement("most that a step back costs, in steps", max(found), BOUND)
    measure = Measure("step back beside a step", "ratio", found)
    return Report("Backpropagation", f"{NOTES} {load_note()}", [sheet], [worst], measures=[measure])
