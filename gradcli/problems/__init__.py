"""The mistakes a user can make, and how one is told: see `gradcli.problems.core`."""

from gradcli.problems.core import (
    MISTAKES,
    GradError,
    Label,
    Problem,
    Source,
    Span,
    explanation,
    mistake,
)

__all__ = ["MISTAKES", "GradError", "Label", "Problem", "Source", "Span", "explanation", "mistake"]

# importing the modules registers their mistakes
from gradcli.problems import command, homework, meaning, syntax

__all__ += ["command", "homework", "meaning", "syntax"]
