"""Timing of whole runs, without the front door: the compiled loop of a stepper, best of several."""

import os
import time

import numpy as np

from leastaction.dynamics.legendre import momentum_of_velocity


class Rollout:
    """One integrator on one robot from one state; `record` holds the last run."""

    def __init__(self, robot, integrator, q, v, dt, steps):
        self.stepper = integrator.prepare(robot, dt)
        self.steps = steps
        self.record = self.stepper.record(steps)
        self.record["q"][0] = q
        if self.stepper.momentum:
            self.record["p"][0] = momentum_of_velocity(robot, np.array(q)[None], np.array(v)[None])[0]
        else:
            self.record["v"][0] = v
        self.controls = np.zeros((steps, len(self.stepper.control_nodes), robot.nu))

    def run(self, steps=None):
        """Steps that succeeded."""
        steps = self.steps if steps is None else steps
        return self.stepper.advance(self.record, 0, steps, self.controls[:steps])

    def seconds(self, *, repeats=5, least=0.0):
        """CPU seconds per step: best of `repeats`, or of more within `least` seconds; NaN if a step fails."""
        self.run(min(2, self.steps))  # compiles
        best, spent, k = np.inf, 0.0, 0
        while k < repeats or spent < least:
            began = time.process_time()
            done = self.run()
            took = time.process_time() - began
            if done < self.steps:
                return float("nan")
            best, spent, k = min(best, took), spent + took, k + 1
        return best / self.steps


def load_note() -> str:
    """How busy the machine was: other work makes every time longer."""
    return f"Load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores at the start."
