"""What the benchmarks share: single-threaded children, interleaved rounds, ratios, and the table of results.

Import this module before NumPy or PyTorch: it tells their libraries, here and in every child, to use one thread.

A ratio is the median over the rounds of ours / peer.  The sides of a round run one after the other and take turns in
going first, so whatever else the machine is doing meets both alike; absolute times are printed for orientation only.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from time import perf_counter
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[2]
"""The checkout that is measured, installed or not."""

THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}

os.environ.update(THREADS)
sys.path.insert(0, str(ROOT))

T = TypeVar("T")


def options(text: str | None) -> argparse.ArgumentParser:
    """A parser that knows `--pairs` and shows a script's docstring as its help."""
    parser = argparse.ArgumentParser(description=text, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=_positive, default=5, help="rounds of ours and peer (default: 5; 2 is quick)")
    return parser


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1 is needed")
    return number


def installed(name: str) -> bool:
    """Whether a peer is there to be compared with; if it is not, says so."""
    if find_spec(name) is not None:
        return True
    print(f"{name} is not installed, so it is left out: pip install {name}", file=sys.stderr)
    return False


# Children -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Run:
    """One child process: its time from start to end, its peak memory in bytes, and what it wrote.

    `report` is what a script of ours, run as a child, says about itself by `report(...)`.
    """

    seconds: float
    peak: int
    output: str = field(repr=False)
    report: dict[str, Any]


def run(*arguments: str, **environment: str) -> Run:
    """Runs Python with these arguments in the checkout, its output going to a file.

    Linux counts the memory that a child shares with its parent before it becomes a program of its own, so the parent
    had better be small: a script that asks for peaks imports neither NumPy nor PyTorch itself.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        start = perf_counter()
        process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=_environment() | environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
        )
        _, status, usage = os.wait4(process.pid, 0)
        seconds = perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        written, complaints = _text(output), _text(errors)
    if process.returncode:
        raise SystemExit(f"{' '.join(arguments)}: exit code {process.returncode}\n{complaints}")
    reports = [line.removeprefix(_MARK) for line in complaints.splitlines() if line.startswith(_MARK)]
    return Run(seconds, _peak(usage.ru_maxrss), written, json.loads(reports[-1]) if reports else {})


def report(**facts: Any) -> None:
    """In a child: tells the parent, beside whatever goes to standard output."""
    print(_MARK + json.dumps(facts), file=sys.stderr, flush=True)


class Worker:
    """A child that stays alive and answers questions: a line of JSON in, a line of JSON out.

    It keeps the two sides' allocators and thread pools apart, and still lets short runs take turns.
    """

    def __init__(self, *arguments: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, question: Any) -> Any:
        """The answer; ends the benchmark if the child has died (its traceback is on standard error)."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the child for {question} has ended without an answer")
        return json.loads(line)

    def close(self) -> None:
        """Lets the child end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def answer(reply: Callable[[Any], Any]) -> None:
    """In a worker: answers questions until there are no more."""
    for line in sys.stdin:
        print(json.dumps(reply(json.loads(line))), flush=True)


_MARK = "benchmark: "


def _environment() -> dict[str, str]:
    paths = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed command is not compiled anew on every run
    return environment


def _text(file: Any) -> str:
    file.seek(0)
    return str(file.read().decode("utf-8", "replace"))


def _peak(maxrss: int) -> int:
    return maxrss if sys.platform == "darwin" else maxrss * 1024


# Rounds -------------------------------------------------------------------------------------------


def rounds(sides: Mapping[str, Callable[[], T]], pairs: int) -> dict[str, list[T]]:
    """Runs every side `pairs` times, in rounds; each round begins with another side."""
    results: dict[str, list[T]] = {name: [] for name in sides}
    names = list(sides)
    for number in range(pairs):
        shift = number % len(names)
        for name in names[shift:] + names[:shift]:
            results[name].append(sides[name]())
    return results


def ratio(ours: Iterable[float], peer: Iterable[float]) -> float:
    """The median of ours / peer, round by round."""
    return statistics.median(a / b for a, b in zip(ours, peer, strict=True))


def timed(work: Callable[[], Any], at_least: float = 0.0) -> float:
    """The seconds that one call takes; of calls repeated for `at_least` seconds, the median."""
    times: list[float] = []
    begin = perf_counter()
    while not times or perf_counter() - begin < at_least:
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return statistics.median(times)


def close(ours: float, peer: float, tolerance: float = 1e-6) -> bool:
    """Whether both sides computed the same thing."""
    return abs(ours - peer) <= tolerance * max(abs(ours), abs(peer))


def check_same(workload: str, ours: float, peer: float, tolerance: float = 1e-6) -> None:
    """Ends the benchmark if the two sides did not: their times would say nothing."""
    if not close(ours, peer, tolerance):
        raise SystemExit(f"{workload}: the sides disagree, ours {ours!r}, peer {peer!r}")


# The table ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Row:
    """One line of the table; `met` is None where nothing is asked for."""

    workload: str
    ours: str
    peer: str
    ratio: float
    goal: str = ""
    met: bool | None = None


def time_row(workload: str, ours: Sequence[float], peer: Sequence[float], goal: float) -> Row:
    """Times against each other: the ratio shall be `goal` or less."""
    return _against(workload, ours, peer, goal, seconds_text)


def memory_row(workload: str, ours: Sequence[float], peer: Sequence[float], goal: float) -> Row:
    """Peaks of memory against each other."""
    return _against(workload, ours, peer, goal, bytes_text)


def _against(
    workload: str, ours: Sequence[float], peer: Sequence[float], goal: float, text: Callable[[float], str]
) -> Row:
    found = ratio(ours, peer)
    shown = text(statistics.median(ours)), text(statistics.median(peer))
    return Row(workload, *shown, found, f"<= {goal:g}", found <= goal)


def print_rows(rows: Sequence[Row], pairs: int) -> None:
    """The table, columns as wide as their cells."""
    table = [("workload", "ours", "peer", "ratio", "goal", "")]
    for row in rows:
        verdict = "" if row.met is None else "met" if row.met else "MISSED"
        table.append((row.workload, row.ours, row.peer, f"{row.ratio:.3f}", row.goal, verdict))
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    for cells in table:
        left, *others = [
            cell.rjust(width) if 0 < place < 4 else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(cells, widths, strict=True))
        ]
        print("  ".join([left, *others]).rstrip())
    print(f"(ratio: the median of {pairs} interleaved {'pair' if pairs == 1 else 'pairs'}; the rest are medians, too)")


def seconds_text(seconds: float) -> str:
    """`1.23 s`, `45.6 ms`, `789 µs`."""
    for scale, unit in ((1.0, "s"), (1e-3, "ms")):
        if seconds >= scale:
            return f"{seconds / scale:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} µs"


def bytes_text(count: float) -> str:
    """`123 MiB`."""
    return f"{count / 2**20:.0f} MiB"
