"""Extension of Griffe: what our docstrings write more briefly than Google's style knows."""

import re

import griffe

# "lower, upper: limits [rad]" and the lines below it that are indented further.
_SHARED = re.compile(r"^( +)(\w+(?:, \w+)+)(:.*(?:\n\1 +.*)*)$", re.MULTILINE)


class Brief(griffe.Extension):
    """Changes docstrings before they are parsed.

    A section "Example:" becomes "Examples:", and names that share a line get one each, or else the first would be
    shown with the others as its type.
    """

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Called with every object that Griffe has read."""
        if obj.docstring is not None:
            text = obj.docstring.value.replace("Example:\n", "Examples:\n")
            obj.docstring.value = _SHARED.sub(_one_each, text)


def _one_each(found: re.Match[str]) -> str:
    indent, names, text = found.groups()
    return "\n".join(f"{indent}{name}{text}" for name in names.split(", "))
