"""What the exit code of the command says."""

from enum import IntEnum


class ExitCode(IntEnum):
    """0 done · 1 a check or an answer disagrees · 2 the command or a file is wrong · 3 our own fault · 130 interrupted."""

    DONE = 0
    DISAGREES = 1
    WRONG_INPUT = 2
    INTERNAL_ERROR = 3
    INTERRUPTED = 130
