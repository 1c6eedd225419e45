"""Hooks of pytest against tests and runs that never end.

A test that takes too long ends its process, with the lines where all threads are; where several processes share the
tests, the next one goes on. Should the one that hands them out wait for a process that is gone, it ends, too.
"""

import faulthandler
import os
import sys
import threading
import time

import pytest

LIMIT = float(os.environ.get("LEASTACTION_TEST_SECONDS", "900"))
"""Of one test [s]. The longest take half a minute on two idle cores, ten times that while others work on them."""

_heard = [time.monotonic()]


def _stderr(config):
    """Where words get to the terminal; pytest holds back what goes to stderr otherwise."""
    try:
        from _pytest.faulthandler import fault_handler_stderr_fd_key

        return config.stash.get(fault_handler_stderr_fd_key, None) or sys.__stderr__
    except ImportError:  # of another version
        return sys.__stderr__


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item):
    """A process whose test takes longer is ended, whatever it is at: this needs no lock of Python."""
    faulthandler.dump_traceback_later(LIMIT, exit=True, file=_stderr(item.config))
    try:
        return (yield)
    finally:
        faulthandler.cancel_dump_traceback_later()


def pytest_runtest_logreport(report):
    """A process has told of a test."""
    _heard[0] = time.monotonic()


def pytest_sessionstart(session):
    """Watch over the processes that run the tests, from the one that hands them out."""
    if getattr(session.config.option, "numprocesses", None) and not hasattr(session.config, "workerinput"):
        _heard[0] = time.monotonic()
        threading.Thread(target=_watch, args=(_stderr(session.config),), daemon=True).start()


def _watch(stderr):
    while time.monotonic() - _heard[0] < 1.5 * LIMIT:
        time.sleep(min(10.0, 0.1 * LIMIT))
    words = f"\nno test has ended for {1.5 * LIMIT:.0f} s: given up\n"
    os.write(stderr if isinstance(stderr, int) else stderr.fileno(), words.encode())
    os._exit(3)
