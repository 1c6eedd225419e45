"""`python -m benchmarks.villanueva2025.counted n ...`: operations of the DEL equations and their linearization."""

import json
import sys

import numpy as np

from benchmarks import counting


def operations(n):
    """{what: (multiplications, additions, divisions)} for a serial robot with n joints."""
    import leastaction as la

    robot = la.robots.serial_arm(n)
    rng = np.random.default_rng(0)
    Q, U = rng.uniform(-1.0, 1.0, (2, n)), np.zeros((1, 1, robot.nu))
    found = {}
    stepper = la.Midpoint().prepare(robot, 0.01)
    rows, D, C = np.zeros((1, 2, n)), np.zeros((1, 2, n, 2, n)), np.zeros((1, 2, n, 1, robot.nu))
    tell = counting.tell
    for what, call in {
        "equations": lambda: stepper.horizon_rows(Q, U, 0.01, rows),
        "with linearization": lambda: stepper.horizon_blocks(Q, U, 0.01, rows, D, C),
    }.items():
        call()  # what is made once does not count
        tell.reset()
        call()
        found[what] = tell.multiplications, tell.additions, tell.divisions
    return found


if __name__ == "__main__":
    counting.install()
    print(json.dumps({n: operations(int(n)) for n in sys.argv[1:]}))
