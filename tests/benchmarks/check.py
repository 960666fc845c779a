"""`gradcli check` as a whole: a long file against `import sympy` (goal 7), networks against PyTorch's gradcheck.

The file has 1,000 nested tanh statements; compared are whole processes.  The networks are tanh perceptrons with about
10², 10³ and 10⁴ parameters: a whole check with verdicts for every entry, SymPy, kinks and rules included, against
`torch.autograd.gradcheck` in its slow mode, which takes differences alone (those are compared in `gradcheck.py`).

    pip install torch
    python tests/benchmarks/check.py [--pairs N] [--largest P]
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import compare
import gradcheck

STATEMENTS = 1000
GOAL = 2.0
"""Of `python -c "import sympy"`, for the file."""


def nested_tanh() -> str:
    """A file of a thousand statements, each within the next."""
    lines = ["w = 0.9", "z0 = 0.5", *(f"z{k} = tanh(w * z{k - 1} + 0.1)" for k in range(1, STATEMENTS))]
    return "\n".join(lines) + "\n"


def network(size: tuple[int, ...]) -> str:
    """The loss of `gradcheck.py` as a formula file; data is constant."""
    names = gradcheck._parameters(size)
    lines = []
    for name, value in gradcheck._arrays(size).items():
        numbers = value.tolist()
        lines.append(f"{name} = {numbers!r}" if name in names else f"{name} = const({numbers!r})")
    return "\n".join([*lines, "E = tanh(X @ W1 + b1) @ W2 + b2 - Y", "L = mean(E * E)"]) + "\n"


def ours(size: tuple[int, ...]) -> Callable[[], float]:
    """A check of a network's report, which is made once."""
    import gradcli
    from gradcli.verify.check import check

    report = gradcli.derive(network(size))
    return lambda: float(check(report).wrong)


def main() -> None:
    parser = compare.options(__doc__)
    parser.add_argument("--largest", type=int, default=10**5, metavar="P", help="leave larger networks out")
    arguments = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "nested.txt"
        path.write_text(nested_tanh(), encoding="utf-8")
        commands = {"ours": ("-m", "gradcli", "check", str(path)), "peer": ("-c", "import sympy")}
        runs = compare.rounds({side: partial(compare.run, *c) for side, c in commands.items()}, arguments.pairs)
    spent = {side: [run.seconds for run in each] for side, each in runs.items()}
    rows.append(compare.time_row(f"{STATEMENTS} nested tanh: import sympy", spent["ours"], spent["peer"], GOAL))
    if compare.installed("torch"):
        for name, size in gradcheck.SIZES.items():
            if int(name.rpartition(" ")[2]) > arguments.largest:
                continue
            sides: dict[str, Any] = {"ours": ours(size), "peer": gradcheck.torch_check(size, fast=False)}
            found = compare.rounds({s: partial(compare.timed, work) for s, work in sides.items()}, arguments.pairs)
            row = compare.time_row(f"{name}: torch gradcheck, slow", found["ours"], found["peer"], GOAL)
            rows.append(compare.Row(row.workload, row.ours, row.peer, row.ratio))
    print("A whole check, verdicts for every entry; the peer is named in each line")
    compare.print_rows(rows, arguments.pairs)


if __name__ == "__main__":
    main()
