"""Checking every parameter of a network by differences: gradcli against the checkers of other libraries (goal 6).

The loss is that of a tanh perceptron on a batch of 16, with about 10², 10³ and 10⁴ parameters.  Ours takes central
differences of every parameter, with an error bound for each, from a graph that is built and evaluated once.  The peers
are `torch.autograd.gradcheck` in its slow mode (every parameter: the goal is for 0.25 of its time) and in its fast
mode (one random direction), `scipy.optimize.check_grad`, and numdifftools, each with its defaults, on a loss written in
its own way.  Differences of ours must be within 1e-9 of the reverse sweep's gradients, relative to the largest.

    pip install torch scipy numdifftools
    python tests/benchmarks/gradcheck.py [--pairs N] [--only TEXT] [--peers torch,fast,scipy,numdifftools]
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import compare

BATCH = 16
GOAL = 0.25
"""Of PyTorch's slow mode, from 10³ parameters on."""
ACCURACY = 1e-9
SIZES = {"P = 108": (8, 8, 4), "P = 992": (20, 32, 10, 0), "P = 9868": (64, 128, 12)}
"""Inputs, hidden units and outputs; a fourth number stands for no bias at the output."""
PEERS = {
    "torch": ("torch", "torch gradcheck, slow"),
    "fast": ("torch", "torch gradcheck, fast"),
    "scipy": ("scipy", "scipy check_grad"),
    "numdifftools": ("numdifftools", "numdifftools"),
}
SLOWEST = {"numdifftools": 1000, "scipy": 10**5}
"""The most parameters that a peer is asked for."""


def _arrays(size: tuple[int, ...]) -> dict[str, Any]:
    import numpy as np

    inputs, hidden, outputs = size[:3]
    rng = np.random.default_rng(7)
    return {
        "X": rng.standard_normal((BATCH, inputs)),
        "Y": rng.standard_normal((BATCH, outputs)),
        "W1": rng.standard_normal((inputs, hidden)) / inputs**0.5,
        "b1": 0.1 * rng.standard_normal(hidden),
        "W2": rng.standard_normal((hidden, outputs)) / hidden**0.5,
        "b2": 0.1 * rng.standard_normal(outputs),
    }


def _parameters(size: tuple[int, ...]) -> list[str]:
    return ["W1", "b1", "W2", "b2"][: 3 if len(size) == 4 else 4]


def _numpy_loss(arrays: dict[str, Any], names: list[str]) -> tuple[Callable[[Any], float], Callable[[Any], Any], Any]:
    """The loss and its gradient as functions of one flat vector, and that vector."""
    import numpy as np

    cuts = np.cumsum([arrays[n].size for n in names])[:-1]

    def parts(flat: Any) -> dict[str, Any]:
        pieces = np.split(flat, cuts)
        return arrays | {n: p.reshape(arrays[n].shape) for n, p in zip(names, pieces, strict=True)}

    def loss(flat: Any) -> float:
        a = parts(flat)
        e = np.tanh(a["X"] @ a["W1"] + a["b1"]) @ a["W2"] + a["b2"] - a["Y"]
        return float(np.mean(e * e))

    def gradient(flat: Any) -> Any:
        a = parts(flat)
        h = np.tanh(a["X"] @ a["W1"] + a["b1"])
        e = h @ a["W2"] + a["b2"] - a["Y"]
        e = 2 * e / e.size
        z = (e @ a["W2"].T) * (1 - h * h)
        found = {"W1": a["X"].T @ z, "b1": z.sum(0), "W2": h.T @ e, "b2": e.sum(0)}
        return np.concatenate([found[n].reshape(-1) for n in names])

    return loss, gradient, np.concatenate([arrays[n].reshape(-1) for n in names])


# The sides: each makes ready a call that checks every parameter and gives the largest error it sees ---------------


def ours(size: tuple[int, ...]) -> Callable[[], float]:
    import numpy as np

    import gradcli.ops  # noqa: F401  (fills the registry)
    from gradcli.differentiate import sweep
    from gradcli.evaluate import evaluate
    from gradcli.graph import REGISTRY, Graph, backward_order
    from gradcli.graph.op import INFIX
    from gradcli.verify.differences import differences

    graph = Graph()
    names = _parameters(size)
    nodes = {
        name: graph.input(value, "float64", name, 1, differentiable=name in names)
        for name, value in _arrays(size).items()
    }

    def call(op: Any, *operands: Any) -> Any:
        return graph.add(op, operands, None, 1)

    z = call(INFIX["+"], call(INFIX["@"], nodes["X"], nodes["W1"]), nodes["b1"])
    out = call(INFIX["+"], call(INFIX["@"], call(REGISTRY["tanh"], z), nodes["W2"]), nodes["b2"])
    error = call(INFIX["-"], out, nodes["Y"])
    loss = call(REGISTRY["mean"], call(INFIX["*"], error, error))
    order = backward_order(loss, None, graph.nodes)

    def check() -> float:
        values = evaluate(graph)
        gradients = sweep(order, values, 1.0).gradients
        largest = max(float(np.max(np.abs(gradients[nodes[n].number]))) for n in names)
        worst = 0.0
        for name in names:
            found = differences(graph.nodes, values, nodes[name], loss, 1.0)
            away = np.abs(found.slope - gradients[nodes[name].number].reshape(-1))
            assert (away <= found.bound).all(), "an error bound does not hold"
            worst = max(worst, float(np.max(away)))
        return worst / largest

    return check


def torch_check(size: tuple[int, ...], fast: bool) -> Callable[[], float]:
    import torch

    torch.set_num_threads(1)
    names = _parameters(size)
    tensors = {n: torch.tensor(v).requires_grad_(n in names) for n, v in _arrays(size).items()}

    def loss(*given: Any) -> Any:
        a = tensors | dict(zip(names, given, strict=True))
        e = torch.tanh(a["X"] @ a["W1"] + a["b1"]) @ a["W2"] + a["b2"] - a["Y"]
        return (e * e).mean()

    free = tuple(tensors[n] for n in names)
    return lambda: float(not torch.autograd.gradcheck(loss, free, fast_mode=fast))


def scipy_check(size: tuple[int, ...]) -> Callable[[], float]:
    from scipy.optimize import check_grad

    loss, gradient, start = _numpy_loss(_arrays(size), _parameters(size))
    return lambda: float(check_grad(loss, gradient, start))


def numdifftools_check(size: tuple[int, ...]) -> Callable[[], float]:
    import numdifftools
    import numpy as np

    loss, gradient, start = _numpy_loss(_arrays(size), _parameters(size))
    return lambda: float(np.max(np.abs(numdifftools.Gradient(loss)(start) - gradient(start))))


SIDES: dict[str, Callable[[tuple[int, ...]], Callable[[], float]]] = {
    "ours": ours,
    "torch": partial(torch_check, fast=False),
    "fast": partial(torch_check, fast=True),
    "scipy": scipy_check,
    "numdifftools": numdifftools_check,
}


def serve(side: str) -> None:
    """A worker: asked for a size, answers with the seconds of one check and the largest error it saw."""
    ready: dict[str, Callable[[], float]] = {}

    def reply(name: str) -> dict[str, float]:
        if name not in ready:
            ready[name] = SIDES[side](SIZES[name])
            if side in ("ours", "torch", "fast"):
                ready[name]()
        error = 0.0

        def work() -> None:
            nonlocal error
            error = ready[name]()

        seconds = compare.timed(work)
        return {"seconds": seconds, "error": error}

    compare.answer(reply)


def main() -> None:
    parser = compare.options(__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="sizes with this in their names")
    parser.add_argument("--peers", default=",".join(PEERS), metavar="NAMES", help="peers, separated by commas")
    parser.add_argument("--child", choices=SIDES, help="be one side's worker (what this script starts)")
    arguments = parser.parse_args()
    if arguments.child:
        serve(arguments.child)
        return
    peers = [p for p in arguments.peers.split(",") if compare.installed(PEERS[p][0])]
    workers = {side: compare.Worker(__file__, "--child", side) for side in ("ours", *peers)}
    rows, errors = [], []
    for name, size in SIZES.items():
        if arguments.only not in name:
            continue
        count = int(name.rpartition(" ")[2])
        asked = [p for p in peers if count <= SLOWEST.get(p, count)]
        found = compare.rounds({s: partial(workers[s].ask, name) for s in ("ours", *asked)}, arguments.pairs)
        spent = {side: [reply["seconds"] for reply in replies] for side, replies in found.items()}
        errors.append((name, max(reply["error"] for reply in found["ours"])))
        for peer in asked:
            row = compare.time_row(f"{name}: {PEERS[peer][1]}", spent["ours"], spent[peer], GOAL)
            judged = peer == "torch" and len(size) and count > 500
            rows.append(row if judged else compare.Row(row.workload, row.ours, row.peer, row.ratio))
    for worker in workers.values():
        worker.close()
    print(f"Central differences of every parameter, batch {BATCH}; the peer is named in each line")
    compare.print_rows(rows, arguments.pairs)
    for name, error in errors:
        met = "met" if error <= ACCURACY else "MISSED"
        print(f"{name}: the largest error of ours is {error:.1e} of the largest gradient (goal <= {ACCURACY:g}: {met})")


if __name__ == "__main__":
    main()
