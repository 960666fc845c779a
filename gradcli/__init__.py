"""gradcli derives gradients from formula files, one contribution at a time.

The Python API is what the command itself uses:

    import gradcli

    report = gradcli.derive("x = 2\\ny = 3\\nz = x * y")
    report.value("z")        # 6.0
    report.gradient("x")     # 3.0
    report.order             # ['z', 'y', 'x']
    gradcli.check(report).verdict.value    # 'agree'
    gradcli.mark(report, "dx = y").right   # True

`derive`, `check`, `mark` and `Report` are imported when they are first used, so that `gradcli --help` needs no NumPy.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from gradcli.problems import GradError, Problem

if TYPE_CHECKING:
    from gradcli.api import derive
    from gradcli.homework import mark
    from gradcli.homework.rules import check
    from gradcli.report import Report

__all__ = ["GradError", "Problem", "Report", "check", "derive", "mark"]

_LAZY = {
    "derive": "gradcli.api",
    "Report": "gradcli.report",
    "check": "gradcli.homework.rules",
    "mark": "gradcli.homework",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'gradcli' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
