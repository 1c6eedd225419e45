"""Extension of Griffe: a section "Example:" is read as "Examples:", the only heading that Google's style knows."""

import griffe


class Examples(griffe.Extension):
    """Renames the section before docstrings are parsed."""

    def on_object(self, *, obj: griffe.Object, **_: object) -> None:
        """Called with every object that Griffe has read."""
        if obj.docstring is not None:
            obj.docstring.value = obj.docstring.value.replace("Example:\n", "Examples:\n")
