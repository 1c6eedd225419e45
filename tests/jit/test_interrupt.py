"""Ctrl-C answers within a second, whatever compiled loop runs."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from leastaction._jit import interruptible as module

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


@pytest.mark.skipif(sys.platform == "win32", reason="no timers that send signals")
def test_a_signal_at_any_moment_is_a_keyboard_interrupt(monkeypatch):
    """Whatever instruction of the wait the signal meets, it comes through as itself, and the next call works."""
    monkeypatch.setattr(module, "LOOK", 5e-5)  # much of the time in Python's own code of waiting

    def interrupt(number, frame):
        raise KeyboardInterrupt

    def interrupted_after(seconds):
        gate = threading.Lock()  # the call does not end before the signal comes, however slow the machine is
        gate.acquire()
        try:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            module.interruptible(gate.acquire, True, 60.0)
        finally:
            gate.release()

    old = signal.signal(signal.SIGALRM, interrupt)
    try:
        for k in range(4000):
            with pytest.raises(KeyboardInterrupt):
                interrupted_after(4e-4 + 1e-6 * (k % 100))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, old)
    assert module.interruptible(max, 1, 2) == 2
