"""How stiff must a spring be for a falling arm to pass through a point at a given time?"""

from optimise import arm, descend, options, report

import leastaction as la
from leastaction.derivatives import SimulationObjective, reach

STEPS, DT, TIP = 60, 0.005, (0, 0, -0.5)
TRUE = 60.0


def spring_arm(stiffness):
    b = arm(2, damping=0.02).edit()
    ends = ("world", (0.6, 0, -0.2)), ("link1", (0, 0, -0.25))
    b.spring("spring", *ends, stiffness=stiffness, rest_length=0.4, damping=0.5)
    return b.build()


def main():
    chosen = options(__doc__)
    start = {"q": [0.8, 0.3], "dt": DT, "steps": STEPS}
    true = la.simulate(spring_arm(TRUE), integrator=la.BDF(order=2), **start)
    X = la.dynamics.body_poses(true.mechanism, true.q[-1])[1]
    target = X[:3, :3] @ TIP + X[:3, 3]
    goal = reach("link1", TIP, target, weight=100.0)
    f = SimulationObjective(
        spring_arm(40.0), la.BDF(order=2), goal, ["stiffness:spring"], scale={"stiffness:spring": 10.0}, **start
    )
    x, values = descend(f, chosen.iterations)
    report("tune_spring", chosen, values, f.run(f.start), f.run(x), ("link1", TIP), target, "a spring to be found")
    print(f"stiffness {float(f.unpack(x)['stiffness:spring']):.6f} N/m (the target was made with {TRUE} N/m)")


if __name__ == "__main__":
    main()
