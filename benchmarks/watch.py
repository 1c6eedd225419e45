"""The CPU time of other processes, so that one which takes too much can be ended from outside.

A limit that the system itself keeps (RLIMIT_CPU) would make the clock of the process that is measured tick in whole
milliseconds on Linux, and steps of our robots take microseconds.
"""

import os
import subprocess
import time
from pathlib import Path


class Watch:
    """CPU seconds of a process since now; seconds by the clock where a system does not show."""

    def __init__(self, pid: int) -> None:
        self.pid, self.began = pid, time.monotonic()
        self.before = used(pid)

    def spent(self) -> float:
        """How many by now; none where the process is gone."""
        if self.before is None:
            return time.monotonic() - self.began
        now = used(self.pid)
        return 0.0 if now is None else now - self.before


def used(pid: int) -> float | None:
    """CPU seconds that a process and its threads have used; None where nobody shows."""
    try:
        said = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    user, system = said.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def ended_late(child: subprocess.Popen, limit: float, every: float = 0.5) -> tuple[str, bool]:
    """What a child says until its end, and whether it was killed for using more than `limit` CPU seconds."""
    watch = Watch(child.pid)
    while True:
        try:
            said, _ = child.communicate(timeout=every)
            return said or "", False
        except subprocess.TimeoutExpired:
            if watch.spent() > limit:
                child.kill()
                said, _ = child.communicate()
                return said or "", True
