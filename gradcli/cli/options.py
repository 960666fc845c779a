"""Options and arguments that several commands share, declared once."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer


class Format(StrEnum):
    """How the outcome is written."""

    TABLE = "table"
    JSON = "json"


class Precision(StrEnum):
    """The precision of the inputs that name none."""

    FLOAT64 = "float64"
    FLOAT32 = "float32"
    FLOAT16 = "float16"


Files = Annotated[list[str], typer.Argument(help="Formula files; - reads standard input.", show_default=False)]
Of = Annotated[str, typer.Option(help="The node to differentiate, instead of the file's output.")]
Wrt = Annotated[str, typer.Option(help="Only the gradients of these nodes, e.g. x,W1.")]
Upstream = Annotated[
    list[str] | None,
    typer.Option(help="The gradient that arrives at a tensor output: c=dc or c=[[1,2],[3,4]]."),
]
Digits = Annotated[int, typer.Option(help="Significant digits.", min=1, max=17)]
Full = Annotated[bool, typer.Option("--full", help="Show large tensors and long tables whole.")]
OutputFormat = Annotated[Format, typer.Option("--format", help="Tables for people or JSON for programs.")]
Dtype = Annotated[Precision, typer.Option("--dtype", help="Precision of inputs that name none.")]
MaxElements = Annotated[int, typer.Option(help="The largest tensor allowed.", min=1)]
MaxSteps = Annotated[int, typer.Option(help="How many passes of loops and calls are allowed.", min=1)]

LARGEST = 10_000_000
"""The largest tensor allowed, unless told otherwise."""
LONGEST = 100_000
"""How many passes of loops and calls are allowed, unless told otherwise."""
