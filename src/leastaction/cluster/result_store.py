"""Results of a sweep on disk: one file for each job, written whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import json
import pickle
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leastaction._files._archive import UNREADABLE
from leastaction._files._output import writing
from leastaction._files._values import read_values, structure, write_values
from leastaction.errors import FormatError


class Store:
    """A folder with the results of the jobs of one sweep.

    Args:
        folder: where; made where it is missing.
        jobs: of the sweep. A folder that holds results of others is refused.
    """

    def __init__(self, folder: str | Path, jobs: Sequence[Any]) -> None:
        self.folder, self.count = Path(folder), len(jobs)
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise FormatError(f"no folder of results can be made: {error.strerror}", file=folder) from None
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
        """File of a job; a thousand share a folder, for large ones are slow on shared disks."""
        return self.folder / f"{job // 1000:03d}" / f"{job:06d}.npz"

    def finished(self) -> dict[int, Any]:
        """What jobs gave that are done, by their numbers; what cannot be read, such as a damaged file, is not done."""
        found = {}
        for job in range(self.count):
            if self.path(job).exists():
                with contextlib.suppress(*UNREADABLE):
                    value, why = read_values(self.path(job))
                    found[job] = value, why
        return found

    def write(self, job: int, result: tuple[Any, str | None]) -> tuple[Any, str | None]:
        """Keep what a job gave, or why it cannot be kept; returns what was kept."""
        path = self.path(job)
        path.parent.mkdir(exist_ok=True)
        try:
            structure(result[0], {})
        except TypeError as error:  # such as a function
            result = None, str(error)
        with writing(path) as part:
            write_values(part, result)
        return result


def _digest(jobs: Sequence[Any]) -> str:
    """The same for the same jobs: of what they hold, or, of objects of one's own, of how they are pickled."""
    arrays: dict[str, NDArray[Any]] = {}
    try:
        text = json.dumps(structure(list(jobs), arrays))
    except TypeError:
        return hashlib.sha256(pickle.dumps(list(jobs))).hexdigest()
    found = hashlib.sha256(text.encode())
    for name, array in arrays.items():
        found.update(f"{name} {array.dtype.str} {array.shape}".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
