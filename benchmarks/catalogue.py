"""Which benchmarks there are: modules below this folder with a function `run`."""

import ast
import re
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """A benchmark as its source shows it, without an import: peers that are missing stop those alone that need them."""

    name: str
    """Such as `step_speed` or `fan2018/fig1`."""
    text: str
    quick: bool
    """Whether it has a short version."""
    long: bool
    """Whether a run of all takes its short version (`LONG = True`): it takes too long and is asked for by name."""
    path: Path

    @property
    def folder(self) -> str:
        return self.name.rpartition("/")[0]

    @property
    def module(self) -> str:
        return "benchmarks." + self.name.replace("/", ".")


def available(here: Path = HERE) -> dict[str, Entry]:
    """All of them by name: those of papers first, in their folders."""
    found = {}
    for path in sorted(here.rglob("*.py"), key=lambda p: (p.parent == here, p.parent, _counted(p.name))):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for part in tree.body:
            if isinstance(part, ast.FunctionDef) and part.name == "run" and part.args.args:
                name = path.relative_to(here).with_suffix("").as_posix()
                text = (ast.get_docstring(tree) or "").partition("\n")[0]
                quick = "quick" in [a.arg for a in (*part.args.args, *part.args.kwonlyargs)]
                found[name] = Entry(name, text, quick, _is_long(tree), path)
    return found


def chosen(names: list[str], entries: dict[str, Entry]) -> list[Entry]:
    """Benchmarks by name, by the name of their folder, or all; `KeyError` with the first name that is unknown."""
    if not names:
        return list(entries.values())
    found: dict[str, Entry] = {}
    for name in names:
        name = name.rstrip("/").removesuffix(".py")
        mine = [e for e in entries.values() if e.name == name or e.name.startswith(f"{name}/")]
        if not mine:
            raise KeyError(name)
        found |= {e.name: e for e in mine}
    return list(found.values())


def _counted(name: str) -> list[tuple[str, int]]:
    """A key that puts fig7 before fig11."""
    return [(word, int(digits or 0)) for word, digits in re.findall(r"(\D+)(\d*)", name)]


def _is_long(tree: ast.Module) -> bool:
    return any(
        isinstance(part, ast.Assign)
        and ast.unparse(part.targets[0]) == "LONG"
        and ast.unparse(part.value) == "True"  # others have lists of that name
        for part in tree.body
    )
