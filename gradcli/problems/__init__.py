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
