"""Results on disk: one JSON file for each benchmark, replaced as a whole or not at all."""

import json
from pathlib import Path
from typing import Any

from benchmarks import report
from leastaction._files._output import writing

FORMAT = 1


def path_of(name: str, quick: bool = False) -> Path:
    """Where the result of a benchmark lies; short runs do not replace long ones."""
    return report.RESULTS / f"{name.replace('/', '_')}{'.quick' if quick else ''}.json"


def write(path: Path, result: dict[str, Any]) -> Path:
    """Strict JSON, in place of what is there."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with writing(path, (".json",)) as part:
        part.write_text(text_of({"format": FORMAT} | report.plain(result)) + "\n", encoding="utf-8")
    return path


def text_of(x: Any, indent: str = "") -> str:
    """JSON with lists of numbers on one line each: rows and curves are read as such."""
    inner = indent + " "
    if isinstance(x, dict) and x:
        parts = [f"{inner}{json.dumps(key, ensure_ascii=False)}: {text_of(value, inner)}" for key, value in x.items()]
        return "{\n" + ",\n".join(parts) + f"\n{indent}}}"
    if isinstance(x, list) and any(isinstance(value, dict | list) for value in x):
        return "[\n" + ",\n".join(inner + text_of(value, inner) for value in x) + f"\n{indent}]"
    return json.dumps(x, ensure_ascii=False, allow_nan=False)


def read(path: Path) -> dict[str, Any]:
    """A result; `ValueError` if the file is none."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path}: not JSON ({error})") from None
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise ValueError(f"{path}: not the result of a benchmark")
    return result


def is_current(name: str, quick: bool, fingerprint: str) -> bool:
    """Whether a result of this very code is there."""
    path = path_of(name, quick)
    try:
        return path.exists() and read(path)["fingerprint"] == fingerprint
    except (ValueError, KeyError):
        return False
