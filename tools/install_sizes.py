"""Prints what the package and each extra take on disk: those of this environment, with all that they need.

Of an extra: what it brings beyond the package itself. Extras that are not installed here are named.
"""

import re
from functools import cache
from importlib.metadata import Distribution, PackageNotFoundError, distribution

from packaging.requirements import Requirement


def name_of(text: str) -> str:
    """The normal form of a package's name."""
    return re.sub(r"[-_.]+", "-", text).lower()


@cache
def found(name: str) -> Distribution | None:
    """An installed package, or none."""
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


def needs(name: str, extras: tuple[str, ...]) -> set[tuple[str, tuple[str, ...]]]:
    """What a package with extras requires here, directly."""
    out = set()
    for line in (found(name).requires if found(name) is not None else None) or ():
        one = Requirement(line)
        if one.marker is None or any(one.marker.evaluate({"extra": extra}) for extra in extras or ("",)):
            out.add((name_of(one.name), tuple(sorted(one.extras))))
    return out


def closure(extras: tuple[str, ...]) -> set[str]:
    """All packages that an installation with extras needs."""
    seen, left = set(), [("leastaction", extras)]
    while left:
        one = left.pop()
        if one not in seen:
            seen.add(one)
            left += needs(*one)
    return {name for name, _ in seen}


@cache
def size(name: str) -> int:
    """What the files of a package take [bytes]."""
    one = found(name)
    paths = [one.locate_file(file) for file in one.files or ()] if one is not None else []
    return sum(path.stat().st_size for path in paths if path.is_file())


def main() -> None:
    """The table."""
    core = closure(())
    print(f"{'package':14} {sum(map(size, core - {'leastaction'})) / 1e6:6.0f} MB: {', '.join(largest(core))}")
    for extra in sorted(found("leastaction").metadata.get_all("Provides-Extra")):
        more = closure((extra,)) - core
        missing = sorted(name for name in more if found(name) is None)
        words = f"not installed here: {', '.join(missing)}" if missing else ", ".join(largest(more))
        print(f"{extra:14} {sum(map(size, more)) / 1e6:6.0f} MB: {words}")


def largest(names: set[str]) -> list[str]:
    """The three largest."""
    return sorted(names - {"leastaction"}, key=size, reverse=True)[:3]


if __name__ == "__main__":
    main()
