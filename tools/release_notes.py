"""Prints the notes of a release: python tools/release_notes.py vX.Y.Z.

They are the section of CHANGELOG.md of that version. Fails where the versions of the tag, of pyproject.toml, of
CITATION.cff and of the recipe of conda-forge differ, or where the changelog has no such section.
"""

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def versions() -> dict[str, str]:
    """The version that each file says."""
    found = {"pyproject.toml": tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]}
    for file in ("CITATION.cff", "packaging/conda/recipe.yaml"):
        said = re.search(r'^\s*version: "?([^"\n]+)"?$', (ROOT / file).read_text("utf-8"), re.MULTILINE)
        found[file] = said[1] if said else "none"
    return found


def notes(version: str) -> str:
    """The section of a version in the changelog."""
    text = (ROOT / "CHANGELOG.md").read_text("utf-8")
    found = re.search(rf"^## \[{re.escape(version)}\][^\n]*\n(.*?)(?=^## \[|\Z)", text, re.DOTALL | re.MULTILINE)
    if found is None:
        sys.exit(f"CHANGELOG.md has no section [{version}]")
    return found[1].strip()


def main() -> None:
    """Check, then print."""
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    version = sys.argv[1].removeprefix("v")
    other = {file: said for file, said in versions().items() if said != version}
    if other:
        sys.exit(f"the tag says {version}, but " + ", ".join(f"{file} {said}" for file, said in other.items()))
    print(notes(version))


if __name__ == "__main__":
    main()
