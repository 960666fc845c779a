"""A time limit that interrupts what is running, also a loop inside a library that never looks at a clock."""

from __future__ import annotations

import ctypes
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

AGAIN = 0.5
"""Seconds after which an alarm rings once more: one that rings inside a callback of the collector goes unheard."""


class TimeIsUp(Exception):
    """The time limit was reached."""


@contextmanager
def time_limit(seconds: float) -> Iterator[None]:
    """Raises TimeIsUp inside the block after so many seconds.

    On the main thread of a POSIX system an alarm does it (an alarm that was set before goes on afterwards); elsewhere
    another thread asks the interpreter to raise it in this one.
    """
    on_main = threading.current_thread() is threading.main_thread()
    with _alarm(seconds) if on_main and hasattr(signal, "setitimer") else _asked(seconds):
        yield


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    inside = True

    def ring(number: int, frame: Any) -> None:
        if inside:
            raise TimeIsUp

    before = signal.signal(signal.SIGALRM, ring)
    left, interval = signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3), AGAIN)
    try:
        yield
    finally:
        inside = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        if left:
            signal.setitimer(signal.ITIMER_REAL, left, interval)


@contextmanager
def _asked(seconds: float) -> Iterator[None]:
    target = ctypes.c_ulong(threading.get_ident())
    lock = threading.Lock()
    inside = True

    def ask() -> None:
        with lock:
            if inside:
                ctypes.pythonapi.PyThreadState_SetAsyncExc(target, ctypes.py_object(TimeIsUp))

    timer = threading.Timer(max(seconds, 1e-3), ask)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        with lock:
            inside = False
        timer.cancel()
