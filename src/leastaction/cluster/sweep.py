"""`sweep`: a function of many jobs, on all cores of a computer or of a cluster."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import track

from leastaction._extras import require
from leastaction.cluster.result_store import Store
from leastaction.errors import LeastActionError
from leastaction.integration.settings import is_number
from leastaction.mechanism._check import shown

Job = TypeVar("Job")

AHEAD = 4
"""Jobs that wait for each core: enough to keep it busy, few enough to forget when the sweep is stopped."""

RETRIES = 3
"""How often a job is given to another worker after one that died: a job may be what its workers die of."""

LOOK_EVERY = 0.5
"""How often jobs with a time limit are looked at [s]."""


@dataclass(frozen=True, eq=False)
class Sweep:
    """What a sweep gave.

    Attributes:
        results: of each job in their order; None for those that failed.
        failures: what went wrong, by the number of the job.
    """

    results: list[Any]
    failures: dict[int, str]

    @property
    def success(self) -> bool:
        """Whether all jobs gave a result."""
        return not self.failures


def sweep(
    function: Callable[[Job], Any],
    jobs: Sequence[Job],
    folder: str | Path,
    *,
    progress: bool = True,
    retry_failed: bool = False,
    timeout: float | None = None,
    **options: Any,
) -> Sweep:
    """Apply a function to many jobs with Ray; finished results are on disk at once and are never computed twice.

    A job whose worker or computer dies is given to another, three times at most. A job that raises, that takes longer
    than `timeout`, or that all its workers die of, is recorded in `failures`; the others go on. Called again with the
    same jobs and folder, the sweep goes on where it was.

    Args:
        function: of one job; its result must be numbers, text, arrays, or lists, tuples and dictionaries of these.
        jobs: such as dictionaries of parameters, or seeds.
        folder: where results are kept, one file each.
        progress: whether to show a bar on stderr.
        retry_failed: whether jobs that failed in an earlier call are tried again.
        timeout: longest time of a job from where it begins [s]; its worker is killed then, and the job is tried once
            more, for its computer may have died. None: no limit.
        options: of `ray.init`, where no cluster is connected yet; without any, the cores of this computer.

    Raises:
        LeastActionError: `function` cannot be called, there are no jobs, or `timeout` is no positive number.
        FormatError: the folder holds results of other jobs.
    """
    ray = require("ray", "cluster")
    if not callable(function):
        raise LeastActionError(f"sweep: function must be callable, got {function!r}")
    jobs = list(jobs)
    if not jobs:
        raise LeastActionError("sweep: there are no jobs")
    if timeout is not None and not (is_number(timeout) and timeout > 0.0):
        raise LeastActionError(f"sweep: timeout must be a positive number of seconds or None, got {shown(timeout)}")
    store = Store(folder, jobs)
    done = store.finished()
    if retry_failed:
        done = {job: (value, why) for job, (value, why) in done.items() if why is None}
    left = [k for k in range(len(jobs)) if k not in done]
    if left:
        with connected(ray, options):
            done |= _run(ray, function, jobs, store, left, progress, timeout)
    results = [done[job] for job in range(len(jobs))]
    return Sweep([value for value, _ in results], {k: why for k, (_, why) in enumerate(results) if why is not None})


@contextmanager
def connected(ray: Any, options: Mapping[str, Any]) -> Iterator[None]:
    """Within, Ray is there: the cluster that is connected already, or else one with these options of `ray.init`."""
    ours = not ray.is_initialized()
    if ours:
        ray.init(**{"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"} | dict(options))
    try:
        yield
    finally:
        if ours:
            ray.shutdown()


def _run(
    ray: Any, function: Any, jobs: list[Any], store: Store, left: list[int], progress: bool, timeout: float | None
) -> dict[int, Any]:
    """Do the jobs that are left, and give their results; these are written here, so that each is written once."""
    begun = None if timeout is None else _beside_driver(ray, _Begun)

    @ray.remote(max_retries=RETRIES)
    def one(number: int, job: Any) -> tuple[Any, str | None]:
        if begun is not None:
            begun.begin.remote(number)
        try:
            return function(job), None
        except Exception as error:  # what a job raises is its result
            return None, f"{type(error).__name__}: {error}"

    room = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting, ahead, found = {}, iter(left), {}
    cancelled: Counter[int] = Counter()  # how often each job was, for it took too long
    looked = time.monotonic()
    console = Console(stderr=True, quiet=not progress)
    for _ in track(range(len(left)), "sweep", console=console, transient=True):
        while len(waiting) < room:
            job = next(ahead, None)
            if job is None:
                break
            waiting[one.remote(job, jobs[job])] = job
        while True:
            ready, running = ray.wait(list(waiting), num_returns=1, timeout=timeout and LOOK_EVERY)
            # Also where results come all the time: a job that hangs keeps a core.
            if timeout is not None and time.monotonic() - looked >= LOOK_EVERY:
                _cancel_late(ray, begun, timeout, {waiting[task]: task for task in running})
                looked = time.monotonic()
            if not ready:
                continue
            job = waiting.pop(ready[0])
            try:
                result = ray.get(ready[0])
            except ray.exceptions.TaskCancelledError:
                # It may be that its computer had died, and that nobody knew: then another one does it in time.
                cancelled[job] += 1
                if begun is not None and cancelled[job] < 2:
                    ray.get(begun.forget.remote(job))  # before it begins anew
                    waiting[one.remote(job, jobs[job])] = job
                    continue
                result = None, f"TimeoutError: longer than {timeout:g} s"
            except ray.exceptions.RayError as error:  # such as a result that cannot be sent
                result = None, f"{type(error).__name__}: {error}"
            break
        found[job] = store.write(job, result)
    return found


def _beside_driver(ray: Any, kind: type) -> Any:
    """An actor on the computer of the driver: others may die."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    here = NodeAffinitySchedulingStrategy(ray.get_runtime_context().get_node_id(), soft=False)
    return ray.remote(num_cpus=0, scheduling_strategy=here)(kind).remote()


class _Begun:
    """When jobs began, by the clock of one process: that of an actor, since those of computers differ."""

    def __init__(self) -> None:
        self.times: dict[int, float] = {}

    def begin(self, number: int) -> None:
        """Job `number` begins now, anew where its worker died."""
        self.times[number] = time.monotonic()

    def forget(self, number: int) -> None:
        """Job `number` waits for its turn again."""
        self.times.pop(number, None)

    def late(self, numbers: list[int], limit: float) -> list[int]:
        """Which of these began more than `limit` seconds ago; again after as long, for a cancellation may be lost."""
        now = time.monotonic()
        found = [k for k in numbers if now - self.times.get(k, now) > limit]
        self.times |= dict.fromkeys(found, now)
        return found


def _cancel_late(ray: Any, begun: Any, timeout: float | None, running: dict[int, Any]) -> None:
    """Kill the workers of jobs that take longer than they may."""
    try:
        late = ray.get(begun.late.remote(list(running), timeout))
    except ray.exceptions.RayError:  # the network may be down for a while
        return
    for job in late:
        ray.cancel(running[job], force=True)
