"""Networks of tensors, the graph built once: gradcli's evaluation and sweep against PyTorch eager (goal 5).

Timed are the forward values and the reverse sweep (ours records every contribution) of two-layer perceptrons, a
recurrent network and attention, all in float64.  Ours evaluates one and the same graph again; PyTorch runs the
forward pass and `backward()`.  Each side lives in a process of its own, and they take turns.  A second table has
the price of a gradient: forward and sweep together over forward alone.

    pip install torch
    python tests/benchmarks/tensors.py [--pairs N] [--only TEXT]
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import compare

SLICE = 0.15
"""For how long a side repeats a workload when it is its turn, in seconds."""

Inputs = dict[str, Any]
Forward = Callable[[Any, Any], Any]
"""From the operations of a side and the inputs (as attributes) to the scalar loss."""


@dataclass(frozen=True)
class Workload:
    """Inputs by name (arrays; those in `data` have no gradient) and the formulas, in either side's operations."""

    inputs: Callable[[], Inputs]
    forward: Forward
    data: tuple[str, ...] = ()


@dataclass
class Names:
    """A side's tensors, to be had as attributes or, for a step of a sequence, by index."""

    tensors: dict[str, Any] = field(default_factory=dict)

    def __getattr__(self, name: str) -> Any:
        return self.tensors[name]

    def __getitem__(self, name: str) -> Any:
        return self.tensors[name]


def _arrays(**shapes: tuple[int, ...]) -> Inputs:
    import numpy as np

    draw = np.random.default_rng(3)
    return {name: draw.standard_normal(s) / (s[-1] ** 0.5 if s else 1.0) for name, s in shapes.items()}


# Workloads ------------------------------------------------------------------------------------------


def _small_inputs() -> Inputs:
    return _arrays(x=(2,), W1=(2, 2), b1=(2,), W2=(2, 2), b2=(2,), t=(2,))


def _small(op: Any, n: Any) -> Any:
    h = op.tanh(op.add(op.matmul(n.W1, n.x), n.b1))
    e = op.subtract(op.add(op.matmul(n.W2, h), n.b2), n.t)
    return op.sum(op.multiply(e, e))


def _perceptron(batch: int, inner: tuple[int, int, int]) -> Workload:
    def inputs() -> Inputs:
        import numpy as np

        a, b, c = inner
        arrays = _arrays(X=(batch, a), W1=(a, b), b1=(b,), W2=(b, c), b2=(c,))
        return {**arrays, "y": np.random.default_rng(4).integers(0, c, batch)}

    def forward(op: Any, n: Any) -> Any:
        h = op.relu(op.add(op.matmul(n.X, n.W1), n.b1))
        return op.cross_entropy(op.add(op.matmul(h, n.W2), n.b2), n.y)

    return Workload(inputs, forward, ("X", "y"))


def _recurrent(steps: int, hidden: int = 64, width: int = 16) -> Workload:
    xs = [f"x{t}" for t in range(steps)]

    def inputs() -> Inputs:
        shapes = dict.fromkeys(xs, (width,))
        return _arrays(W=(hidden, hidden), U=(hidden, width), b=(hidden,), h=(hidden,), **shapes)

    def forward(op: Any, n: Any) -> Any:
        h = n.h
        for x in xs:
            h = op.tanh(op.add(op.add(op.matmul(n.W, h), op.matmul(n.U, n[x])), n.b))
        return op.sum(op.multiply(h, h))

    return Workload(inputs, forward, tuple(xs))


def _attention(rows: int = 128, width: int = 64) -> Workload:
    def inputs() -> Inputs:
        square = (width, width)
        return _arrays(X=(rows, width), Q=square, K=square, V=square, scale=())

    def forward(op: Any, n: Any) -> Any:
        scores = op.matmul(op.matmul(n.X, n.Q), op.transpose(op.matmul(n.X, n.K)))
        out = op.matmul(op.softmax(op.multiply(scores, n.scale)), op.matmul(n.X, n.V))
        return op.sum(op.multiply(out, out))

    return Workload(inputs, forward, ("scale",))


WORKLOADS = {
    "MLP 2x2": Workload(_small_inputs, _small, ("t",)),
    "MLP 32 x 64-32-10": _perceptron(32, (64, 32, 10)),
    "MLP 256 x 784-512-10": _perceptron(256, (784, 512, 10)),
    "RNN 64, T = 10": _recurrent(10),
    "RNN 64, T = 100": _recurrent(100),
    "RNN 64, T = 1000": _recurrent(1000),
    "attention 128 x 64": _attention(),
}


# The two sides: each gives the forward pass alone, the gradient, and the sum of all gradients -------------


@dataclass(frozen=True)
class Side:
    """A workload made ready."""

    forward: Callable[[], Any]
    gradient: Callable[[], Any]
    total: Callable[[], float]


def ours(workload: Workload) -> Side:
    import numpy as np

    import gradcli.ops  # noqa: F401  (fills the registry)
    from gradcli.differentiate import sweep
    from gradcli.evaluate import evaluate
    from gradcli.graph import REGISTRY, Graph, backward_order
    from gradcli.ops.cross_entropy import cross_entropy_of_labels

    graph = Graph()

    class Operations:
        def __getattr__(self, name: str) -> Callable[..., Any]:
            op = cross_entropy_of_labels if name == "cross_entropy" else REGISTRY[name]
            return lambda *operands: graph.add(op, operands, None, 1)

    names = Names()
    for name, value in workload.inputs().items():
        free = name not in workload.data
        value = value if np.shape(value) else float(value)
        dtype = str(np.asarray(value).dtype)
        names.tensors[name] = graph.input(value, dtype, name, 1, differentiable=free)
    loss = workload.forward(Operations(), names)
    order = backward_order(loss, None, graph.nodes)
    plain = graph.plain

    def gradient() -> Any:
        return sweep(order, evaluate(graph), 1.0, plain=plain).gradients

    def total() -> float:
        found = gradient()
        return sum(float(np.sum(found[n.number])) for n in names.tensors.values() if n.differentiable)

    return Side(lambda: evaluate(graph), gradient, total)


def pytorch(workload: Workload) -> Side:
    import torch

    torch.set_num_threads(1)
    names = Names()
    for name, value in workload.inputs().items():
        free = name not in workload.data
        names.tensors[name] = torch.tensor(value).requires_grad_(free)

    class Operations:
        """PyTorch by NumPy's names."""

        cross_entropy = staticmethod(torch.nn.functional.cross_entropy)
        transpose = staticmethod(torch.t)
        softmax = staticmethod(lambda x: torch.softmax(x, -1))

        def __getattr__(self, name: str) -> Any:
            return getattr(torch, name)

    op = Operations()
    free = [tensor for tensor in names.tensors.values() if tensor.requires_grad]

    def forward() -> Any:
        with torch.no_grad():
            return workload.forward(op, names)

    def gradient() -> Any:
        for tensor in free:
            tensor.grad = None
        workload.forward(op, names).backward()

    def total() -> float:
        gradient()
        return sum(float(tensor.grad.sum()) for tensor in free)

    return Side(forward, gradient, total)


SIDES = {"ours": ours, "torch": pytorch}


def serve(make: Callable[[Workload], Side]) -> None:
    """A worker: asked for a workload, answers with its seconds, those of its forward pass, and the gradients' sum."""
    ready: dict[str, Side] = {}

    def reply(name: str) -> dict[str, float]:
        if name not in ready:
            ready.clear()
            gc.collect()
            ready[name] = make(WORKLOADS[name])
            ready[name].gradient()
        side = ready[name]
        return {
            "gradient": compare.timed(side.gradient, SLICE),
            "forward": compare.timed(side.forward, SLICE),
            "total": side.total(),
        }

    compare.answer(reply)


# The comparison -------------------------------------------------------------------------------------


def main() -> None:
    parser = compare.options(__doc__)
    parser.add_argument("--only", default="", metavar="TEXT", help="workloads with this in their names")
    parser.add_argument("--child", choices=SIDES, help="be one side's worker (what this script starts)")
    arguments = parser.parse_args()
    if arguments.child:
        serve(SIDES[arguments.child])
        return
    if not compare.installed("torch"):
        return
    workers = {side: compare.Worker(__file__, "--child", side) for side in SIDES}
    times, prices = [], []
    for name in WORKLOADS:
        if arguments.only not in name:
            continue
        sides = {side: partial(worker.ask, name) for side, worker in workers.items()}
        found = compare.rounds(sides, arguments.pairs)
        compare.check_same(name, *(found[side][0]["total"] for side in sides))
        spent = {side: [reply["gradient"] for reply in replies] for side, replies in found.items()}
        times.append(compare.time_row(name, spent["ours"], spent["torch"], 0.9))
        forward = [reply["forward"] for reply in found["ours"]]
        prices.append(compare.time_row(name, spent["ours"], forward, 4.0))
    for worker in workers.values():
        worker.close()
    print("Forward and reverse sweep of a graph built once; peer: PyTorch eager")
    compare.print_rows(times, arguments.pairs)
    print("\nThe price of a gradient; ours: forward and sweep, peer: our forward alone")
    compare.print_rows(prices, arguments.pairs)


if __name__ == "__main__":
    main()
