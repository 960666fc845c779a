"""What the exit code of the command says."""

from enum import IntEnum


class ExitCode(IntEnum):
    """Done, a check or an answer disagrees, the command or a file is wrong, our own fault, interrupted."""

    DONE = 0
    DISAGREES = 1
    WRONG_INPUT = 2
    INTERNAL_ERROR = 3
    INTERRUPTED = 130
