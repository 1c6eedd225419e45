"""An arm of five links swings up to a target: all torques over time are optimised (Sueda 2021, Eq. 3.82).

The objective is the distance at the end plus a little effort; its gradient by 500 torques costs about one more
simulation.
"""

import numpy as np
from optimise import arm, descend, options, report

import leastaction as la
from leastaction.derivatives import SimulationObjective, reach

LINKS, STEPS, DT = 5, 100, 0.01
TIP, TARGET = (0, 0, -0.5), (1.2, 0.0, -0.6)


def effort(parameters):
    u = parameters["controls"]
    return 0.5e-4 * float((u**2).sum()), {"controls": 1e-4 * u}


def main():
    chosen = options(__doc__)
    robot = arm(LINKS, damping=0.5)
    goal = reach(f"link{LINKS - 1}", TIP, TARGET, weight=100.0)
    f = SimulationObjective(robot, la.BDF(order=2), goal, ["controls"], penalty=effort, dt=DT, steps=STEPS)
    x, values = descend(f, chosen.iterations)
    after = f.run(x)
    report(
        "reach_target", chosen, values, f.run(f.start), after, (f"link{LINKS - 1}", TIP), TARGET, "reaching a target"
    )
    print(f"largest torque {np.abs(f.unpack(x)['controls']).max():.2f} N m")


if __name__ == "__main__":
    main()
