"""`sweep`: a function of many jobs, on all cores of a computer or of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import track

from leastaction._extras import require
from leastaction.cluster.result_store import Store
from leastaction.errors import LeastActionError

AHEAD = 4
"""Jobs that wait for each core: enough to keep it busy, few enough to forget when the sweep is stopped."""

RETRIES = 3
"""How often a job is given to another worker after one that died: a job may be what its workers die of."""


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
    function: Callable[[Any], Any],
    jobs: Sequence[Any],
    folder: str | Path,
    *,
    progress: bool = True,
    retry_failed: bool = False,
    **options: Any,
) -> Sweep:
    """Apply a function to many jobs with Ray; finished results are on disk at once and are never computed twice.

    A job whose worker dies is given to another, three times at most. A job that raises, or that all its workers die of,
    is recorded in `failures`; the others go on. Called again with the same jobs and folder, the sweep goes on where it
    was.

    Args:
        function: of one job; its result must be one that can be pickled.
        jobs: such as dictionaries of parameters, or seeds.
        folder: where results are kept, one file each.
        progress: whether to show a bar on stderr.
        retry_failed: whether jobs that raised in an earlier call are tried again.
        options: of `ray.init`, where no cluster is connected yet; without any, the cores of this computer.

    Raises:
        LeastActionError: `function` cannot be called, or there are no jobs.
        FormatError: the folder holds results of other jobs.
    """
    ray = require("ray", "cluster")
    if not callable(function):
        raise LeastActionError(f"sweep: function must be callable, got {function!r}")
    jobs = list(jobs)
    if not jobs:
        raise LeastActionError("sweep: there are no jobs")
    store = Store(folder, jobs)
    done = store.finished()
    if retry_failed:
        done = {job: (value, why) for job, (value, why) in done.items() if why is None}
    left = [k for k in range(len(jobs)) if k not in done]
    if left:
        with connected(ray, options):
            done |= _run(ray, function, jobs, store, left, progress)
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


def _run(ray: Any, function: Any, jobs: list[Any], store: Store, left: list[int], progress: bool) -> dict[int, Any]:
    """Do the jobs that are left, and give their results; these are written here, so that each is written once."""

    @ray.remote(max_retries=RETRIES)
    def one(job: Any) -> tuple[Any, str | None]:
        try:
            return function(job), None
        except Exception as error:  # what a job raises is its result
            return None, f"{type(error).__name__}: {error}"

    room = AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1)))
    waiting, ahead, found = {}, iter(left), {}
    console = Console(stderr=True, quiet=not progress)
    for _ in track(range(len(left)), "sweep", console=console, transient=True):
        while len(waiting) < room:
            job = next(ahead, None)
            if job is None:
                break
            waiting[one.remote(jobs[job])] = job
        (first,), _ = ray.wait(list(waiting), num_returns=1)
        job = waiting.pop(first)
        try:
            result = ray.get(first)
        except ray.exceptions.RayError as error:  # such as a result that cannot be sent
            result = None, f"{type(error).__name__}: {error}"
        found[job] = store.write(job, result)
    return found
