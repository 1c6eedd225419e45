"""Progress of long work: a rich bar in terminals, an HTML bar in notebooks, nothing elsewhere."""

from __future__ import annotations

import sys
import time
from html import escape
from typing import Any

SHOW_AFTER = 2.0
"""A run gets a progress bar when it promises to take longer than this [s]."""

UPDATE_EVERY = 0.1
"""How often a bar is drawn at most [s]."""


def in_notebook() -> bool:
    """Whether the code runs in a Jupyter kernel, which shows HTML."""
    if "IPython" not in sys.modules:
        return False
    from IPython.core.getipython import get_ipython

    return hasattr(get_ipython(), "kernel")


class Progress:
    """A progress bar that appears only when a run takes long; use it with `with`.

    Args:
        count: steps of the run.
        wanted: True shows it even for short runs, False never, None where somebody can see it.
    """

    def __init__(self, count: int, wanted: bool | None = None, title: str = "simulating") -> None:
        self.count = count
        self.title = title
        self.notebook = wanted is not False and in_notebook()
        terminal = sys.stderr is not None and sys.stderr.isatty()
        self.wanted = terminal or self.notebook if wanted is None else wanted
        self.eager = wanted is True
        self.began = time.perf_counter()
        self.drawn = 0.0
        self.bar: Any = None

    def __enter__(self) -> Progress:
        if self.notebook:
            from leastaction._jit import LISTENERS

            LISTENERS.append(self.compiling)
        return self

    def __exit__(self, *_: object) -> None:
        if self.notebook:
            from leastaction._jit import LISTENERS

            LISTENERS.remove(self.compiling)
        if self.bar is not None:
            self.bar.close()

    def compiling(self, name: str, seconds: float | None) -> None:
        """Report that a kernel is being compiled, which takes long without a step being done."""
        self.bar = self.bar or _HtmlBar(self.title, self.count)
        self.bar.say(f"compiling {name}, once …" if seconds is None else f"compiled {name} in {seconds:.1f} s")

    def update(self, done: int, words: str = "") -> None:
        """Report how many steps are done, and what else there is to say of them."""
        if not self.wanted:
            return
        now = time.perf_counter()
        spent = now - self.began
        if self.bar is None and (self.eager or spent * self.count > SHOW_AFTER * max(done, 1)) and spent > 0.2:
            self.bar = _HtmlBar(self.title, self.count) if self.notebook else _RichBar(self.title, self.count)
        if self.bar is not None and (now - self.drawn > UPDATE_EVERY or done == self.count):
            self.drawn = now
            self.bar.update(done, words)


class _RichBar:
    """In a terminal; gone when the work is done."""

    def __init__(self, title: str, count: int) -> None:
        from rich.console import Console
        from rich.progress import Progress as RichProgress

        self.bar, self.title = RichProgress(console=Console(stderr=True), transient=True), title
        self.task = self.bar.add_task(title, total=count)
        self.bar.start()

    def update(self, done: int, words: str = "") -> None:
        self.bar.update(self.task, completed=done, description=f"{self.title} {words}".rstrip())

    def close(self) -> None:
        self.bar.stop()


class _HtmlBar:
    """In a notebook: plain HTML that is drawn again, so that no widgets need to be installed."""

    def __init__(self, title: str, count: int) -> None:
        from IPython.core.display import HTML
        from IPython.core.display_functions import display

        self.title, self.count = title, count
        self.html = HTML
        self.handle: Any = display(HTML(""), display_id=True)

    def say(self, text: str) -> None:
        self.handle.update(self.html(f"<span>leastaction: {escape(text)}</span>"))

    def update(self, done: int, words: str = "") -> None:
        bar = f'<progress value="{done}" max="{self.count}" style="width:20em"></progress>'
        self.handle.update(self.html(f"<span>{escape(self.title)} {bar} {done}/{self.count} {escape(words)}</span>"))

    def close(self) -> None:
        self.handle.update(self.html(""))
