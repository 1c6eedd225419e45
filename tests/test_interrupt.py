"""Ctrl-C answers within a second, whatever compiled loop runs."""

import os
import signal
import subprocess
import sys
import time

import pytest

CHILD = """
import os
import signal
import numpy as np
import leastaction as la
from leastaction._jit.interruptible import interruptible
from leastaction.collocation.integrators import HermiteSimpson

def steps_of(integrator, count):
    # One call for all steps, some seconds of them: nothing of it is Python.
    robot = la.robots.pendulum(20)
    stepper = integrator.prepare(robot, 1e-4)

    def advance(count=count):
        record = stepper.record(count)
        record["q"][0] = 0.3
        interruptible(stepper.advance, record, 0, count, np.zeros((count, len(stepper.control_nodes), robot.nu)))

    advance(3)  # compiles
    return advance

def whole_run():
    q = np.full(20, 0.3)
    la.simulate(la.robots.pendulum(20), q, dt=1e-4, steps=200_000, integrator=la.Galerkin(order=2), progress=False)

runs = {
    "Galerkin": steps_of(la.Galerkin(order=2), 200_000),
    "Maximal": steps_of(la.Maximal(), 20_000),
    "BDF": steps_of(la.BDF(order=2), 100_000),
    "RungeKutta": steps_of(la.RungeKutta(order=4), 200_000),
    "HermiteSimpson": steps_of(HermiteSimpson(), 20_000),
    "ConstrainedEuler": steps_of(la.ConstrainedEuler(), 20_000),
    "simulate": whole_run,
}
signal.signal(signal.SIGINT, signal.default_int_handler)  # jobs in the background begin without it
for name, run in runs.items():
    print("start", name, flush=True)
    try:
        run()
    except KeyboardInterrupt:
        print("interrupted", name, flush=True)
    else:
        print("ended", name, flush=True)
os._exit(0)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Windows go to all processes of a console")
def test_ctrl_c_answers_within_a_second():
    """Every family of integrators, in one call of its compiled loop that would take many seconds, and a whole run."""
    child = subprocess.Popen([sys.executable, "-c", CHILD], stdout=subprocess.PIPE, text=True, env=dict(os.environ))
    waits = {}
    assert child.stdout is not None
    for line in child.stdout:
        what, name = line.split()
        if what == "start":
            time.sleep(0.2)
            began = time.monotonic()
            child.send_signal(signal.SIGINT)
        else:
            assert what == "interrupted", line
            waits[name] = time.monotonic() - began
    assert child.wait() == 0
    assert len(waits) == 7
    assert max(waits.values()) < 1.0, waits
