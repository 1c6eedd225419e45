"""Results of a sweep on disk: one file for each job, written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from leastaction._files._output import writing
from leastaction.errors import FormatError


class Store:
    """A folder with the results of the jobs of one sweep.

    Args:
        folder: where; made where it is missing.
        jobs: of the sweep. A folder that holds results of others is refused.
    """

    def __init__(self, folder: str | Path, jobs: Sequence[Any]) -> None:
        self.folder, self.count = Path(folder), len(jobs)
        self.folder.mkdir(parents=True, exist_ok=True)
        own = {"jobs": self.count, "digest": _digest(jobs)}
        path = self.folder / "sweep.json"
        if path.exists():
            try:
                other = json.loads(path.read_text())
            except (OSError, ValueError):
                raise FormatError(f"{path} is not the description of a sweep") from None
            if other != own:
                raise FormatError(
                    f"{self.folder} holds results of other jobs; take another folder, or remove what is in it"
                )
        else:
            with writing(path) as part:
                part.write_text(json.dumps(own))

    def path(self, job: int) -> Path:
        """File of a job."""
        return self.folder / f"{job:06d}.pickle"

    def finished(self) -> dict[int, Any]:
        """What jobs gave that are done, by their numbers; what cannot be read, such as a damaged file, is not done.

        Files are one's own, for reading them runs what is pickled in them.
        """
        found = {}
        for job in range(self.count):
            with contextlib.suppress(Exception):
                found[job] = pickle.loads(self.path(job).read_bytes())
        return found

    def write(self, job: int, result: tuple[Any, str | None]) -> tuple[Any, str | None]:
        """Keep what a job gave, or why it cannot be kept; gives back what was kept."""
        try:
            kept = pickle.dumps(result)
        except Exception as error:  # such as a function without a name
            result = None, f"the result cannot be pickled: {error}"
            kept = pickle.dumps(result)
        with writing(self.path(job)) as part:
            part.write_bytes(kept)
        return result


def _digest(jobs: Sequence[Any]) -> str:
    """The same for the same jobs."""
    return hashlib.sha256(pickle.dumps(list(jobs))).hexdigest()
