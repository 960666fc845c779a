"""The start of the command: whole processes against `python -c "import sympy"` (goal 1).

Compared are `gradcli derive --no-check` of a ten-line scalar file and `gradcli --help`, from the start of Python to its
end, with what a tool that begins by importing SymPy has spent before its first line of work.

The peer comes with gradcli; with the others' benchmarks: pip install torch micrograd

    python tests/benchmarks/startup.py [--pairs N]
"""

from __future__ import annotations

from functools import partial

import compare

DERIVE = ("-m", "gradcli", "derive", "--no-check", "samples/sigmoid_neuron.txt")
HELP = ("-m", "gradcli", "--help")
PEER = ("-c", "import sympy")


def main() -> None:
    arguments = compare.options(__doc__).parse_args()
    commands = {"derive": DERIVE, "help": HELP, "peer": PEER}
    for command in commands.values():  # once for the caches: bytecode, and the files themselves
        compare.run(*command)
    runs = compare.rounds({name: partial(compare.run, *c) for name, c in commands.items()}, arguments.pairs)
    found = {name: [run.seconds for run in each] for name, each in runs.items()}
    rows = [
        compare.time_row("derive of ten lines", found["derive"], found["peer"], 0.6),
        compare.time_row("--help", found["help"], found["peer"], 0.3),
    ]
    print('Whole processes; peer: python -c "import sympy"')
    compare.print_rows(rows, arguments.pairs)


if __name__ == "__main__":
    main()
