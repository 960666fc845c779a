"""A long scalar program: the command against PyTorch and micrograd, whole processes (goals 2 and 3).

Written is a file of N lines: eight inputs, then statements over recent names, a deep graph with much sharing.  Compared
are time and peak memory of `gradcli derive --no-check FILE > out` and of a child that executes the same text with
the peer's scalars and calls `backward()` on the last name.  PyTorch's child has the collector paused, as gradcli has;
micrograd's is run with it on and off.  The peers execute the text some lines at a time: as one string, Python's
parser alone would take them several times the memory.  micrograd, which has no tanh, gets the one of its lecture.

    pip install torch micrograd
    python tests/benchmarks/program.py [--lines 100000] [--pairs N]
"""

from __future__ import annotations

import gc
import math
import random
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import compare

RECENT = 200
"""How far back a statement reaches for its operands."""
PIECE = 1000
"""How many lines the peers execute at a time."""


def program(count: int, seed: int = 11) -> Iterator[str]:
    """The lines: inputs between -0.35 and 0.35, then statements that keep their values of that order."""
    draw = random.Random(seed)
    inputs = min(8, count)
    for k in range(inputs):
        yield f"v{k} = {0.1 * k - 0.35:.2f}"
    for k in range(inputs, count):
        a, b, c = (f"v{draw.randrange(max(0, k - RECENT), k)}" for _ in range(3))
        if draw.random() < 0.3:
            yield f"v{k} = v{k - 1} + 0.5*{a} - tanh(v{k - 1} + {b})"
        else:
            yield f"v{k} = 0.8*{a}*{b} + 0.9*tanh({c})"


# The peers' children ------------------------------------------------------------------------------


def execute(file: str, number: Any, tanh: Any) -> None:
    """Runs the text with the peer's scalars as inputs, then backward; reports the first input's gradient."""
    names: dict[str, Any] = {"tanh": tanh}
    lines = Path(file).read_text().splitlines()
    inputs = [line.partition(" = ") for line in lines[:8]]
    for name, _, value in inputs:
        names[name] = number(float(value))
    for start in range(len(inputs), len(lines), PIECE):
        exec(compile("\n".join(lines[start : start + PIECE]), file, "exec"), names)
    names[f"v{len(lines) - 1}"].backward()
    compare.report(gradients=[float(names[name].grad or 0.0) for name, _, _ in inputs])


def with_torch(file: str) -> None:
    gc.disable()
    import torch

    torch.set_num_threads(1)
    execute(file, lambda value: torch.tensor(value, dtype=torch.float64, requires_grad=True), torch.tanh)


def with_micrograd(file: str, collector: bool) -> None:
    from micrograd.engine import Value

    def tanh(x: Any) -> Any:
        y = math.tanh(x.data)
        out = Value(y, (x,), "tanh")

        def backward() -> None:
            x.grad += (1 - y * y) * out.grad

        out._backward = backward
        return out

    if not collector:
        gc.disable()
    sys.setrecursionlimit(10**8)  # its backward is recursive; Python 3.11 keeps such frames off the C stack
    execute(file, Value, tanh)


# The comparison -----------------------------------------------------------------------------------


def gradients(output: str, count: int) -> list[float]:
    """The inputs' gradients, as the command's last table shows them."""
    last = output.rpartition("Gradients as formulas")[2].splitlines()
    found = {line.split()[0]: line.split()[-1] for line in last if line.startswith("  d")}
    return [float(found[f"dv{count - 1}/dv{k}"]) for k in range(8)]


def main() -> None:
    parser = compare.options(__doc__)
    parser.add_argument("--lines", type=int, default=100_000)
    parser.add_argument("--child", nargs=2, metavar=("PEER", "FILE"), help="run one peer (what this script does)")
    arguments = parser.parse_args()
    if arguments.lines < 100:
        parser.error("--lines: at least 100 are needed")
    if arguments.child:
        peer, file = arguments.child
        if peer == "torch":
            with_torch(file)
        else:
            with_micrograd(file, collector=peer == "micrograd")
        return
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder, "program.txt"))
        Path(file).write_text("\n".join(program(arguments.lines)) + "\n")
        commands = {"ours": ("-m", "gradcli", "derive", "--no-check", file)}
        if compare.installed("torch"):
            commands["torch"] = (__file__, "--child", "torch", file)
        if compare.installed("micrograd"):
            commands["micrograd"] = (__file__, "--child", "micrograd", file)
            commands["micrograd, paused"] = (__file__, "--child", "micrograd, paused", file)
        found = compare.rounds({name: partial(compare.run, *c) for name, c in commands.items()}, arguments.pairs)
    seconds = {name: [run.seconds for run in runs] for name, runs in found.items()}
    peaks = {name: [float(run.peak) for run in runs] for name, runs in found.items()}
    ours = gradients(found["ours"][0].output, arguments.lines)
    for name in list(found)[1:]:
        for mine, other in zip(ours, found[name][0].report["gradients"], strict=True):
            compare.check_same(name, mine, other, 1e-3)  # the table has four digits
    rows = []
    if "torch" in found:
        rows.append(compare.time_row("time, PyTorch", seconds["ours"], seconds["torch"], 0.5))
        rows.append(compare.memory_row("peak memory, PyTorch", peaks["ours"], peaks["torch"], 0.5))
    if "micrograd" in found:
        rows.append(
            compare.time_row("time, micrograd, collector off", seconds["ours"], seconds["micrograd, paused"], 0.8)
        )
        rows.append(compare.time_row("time, micrograd, collector on", seconds["ours"], seconds["micrograd"], 0.25))
    print(f"Whole processes, a program of {arguments.lines:,} lines")
    compare.print_rows(rows, arguments.pairs)


if __name__ == "__main__":
    main()
