"""One step of an integrator as a function, for finite differences."""

import numpy as np


def stepper_map(robot, integrator, dt=0.01):
    """(q, p, u) -> (q', p') of one step of dt [s]."""
    stepper = integrator.prepare(robot, dt)
    zero = np.zeros((1, len(stepper.control_nodes), 1))

    def step(q, p, u):
        record = stepper.record(1)
        record["q"][0], record["p"][0] = stepper.prepare_start(q), p
        assert stepper.advance(record, 0, 1, zero + u) == 1
        stepper.finish(record)
        return record["q"][1].copy(), record["p"][1].copy()

    return step
