"""How long must the upper link of a falling double pendulum be for its tip to hit a target?"""

from dataclasses import replace

from optimise import arm, descend, options, report, rod

import leastaction as la
from leastaction.derivatives import SimulationObjective, reach, with_parameters

STEPS, DT, TIP, TRUE = 100, 0.005, (0, 0, -0.5), -0.63


def as_long(run, length):
    """The run with an upper link that looks as long as it is."""
    upper, lower = run.mechanism.bodies
    robot = run.mechanism.replace(bodies=(replace(upper, shapes=(rod(length),)), lower))
    return la.Trajectory(robot, run.integrator, run.dt, run.t, run.q, run.stored)


def main():
    chosen = options(__doc__)
    robot = arm(2, damping=0.02)
    start = {"q": [-1.2, 0.4], "dt": DT, "steps": STEPS}
    longer = with_parameters(robot, {"position:joint1": [0.0, 0.0, TRUE]})
    true = la.simulate(longer, integrator=la.BDF(order=2), **start)
    X = la.dynamics.body_poses(longer, true.q[-1])[1]
    target = X[:3, :3] @ TIP + X[:3, 3]
    f = SimulationObjective(
        robot, la.BDF(order=2), reach("link1", TIP, target, weight=100.0), ["position:joint1"], **start
    )
    x, values = descend(f, chosen.iterations)
    found, after = f.unpack(x)["position:joint1"], f.run(x)
    report(
        "find_link_length",
        chosen,
        values,
        f.run(f.start),
        after,
        ("link1", TIP),
        target,
        "a length to be found",
        scene=as_long(after, -found[2]),
    )
    print(f"the lower joint goes to {found.round(6).tolist()} m (the target was made with {TRUE} m)")


if __name__ == "__main__":
    main()
