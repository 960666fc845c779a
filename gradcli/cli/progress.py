"""A progress bar on standard error, for what takes long and only for people who watch."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import TYPE_CHECKING

from gradcli.cli.streams import ascii_only, console

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

PATIENCE = 1.0
"""Seconds before anything is shown: most checks are over by then."""


class Bar:
    """Called with what is done and how much there is; as a context, it leaves nothing behind on the screen."""

    def __init__(self, title: str) -> None:
        self.title = title
        self._begun = time.monotonic()
        self._shown: tuple[Progress, TaskID] | None = None
        self._watched = sys.stderr.isatty()

    def __call__(self, done: int, total: int) -> None:
        """Notes how far the work is."""
        if self._shown is None:
            if not self._watched or time.monotonic() - self._begun < PATIENCE:
                return
            self._shown = self._start(total)
        progress, task = self._shown
        progress.update(task, completed=done, total=total)

    def _start(self, total: int) -> tuple[Progress, TaskID]:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

        # what has been printed belongs above the bar, and a bar of ASCII characters is drawn by Rich itself
        sys.stdout.flush()
        progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(24),
            MofNCompleteColumn(),
            *(() if ascii_only(sys.stderr) else (TimeElapsedColumn(),)),
            console=console(sys.stderr),
            transient=True,
        )
        progress.start()
        return progress, progress.add_task(self.title, total=total)

    def __enter__(self) -> Bar:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()
