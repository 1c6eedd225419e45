"""Public names of a module that somebody asks for by another spelling."""

from __future__ import annotations

from types import ModuleType


def unknown(module: ModuleType, name: str) -> AttributeError:
    """The error of a module that has no such attribute, with the public name that is nearest to it."""
    from leastaction.mechanism._check import suggestion

    hint = ""
    if not name.startswith("_"):
        plain = {other.replace("_", "").casefold(): other for other in module.__all__}
        same = plain.get(name.replace("_", "").casefold())
        found = suggestion(name, module.__all__)
        hint = f"; did you mean {same!r}?" if same else found if "did you mean" in found else ""
    return AttributeError(f"module {module.__name__!r} has no attribute {name!r}{hint}", name=name, obj=module)
