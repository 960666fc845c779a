"""Every operator beside PyTorch's of the same name: values, shapes and gradients on the examples of the tests.

Run by hand, where PyTorch is installed (`pip install torch`):

    python tests/beside_torch.py            # or with names: softmax logsumexp

For each operator the function is looked for in torch, torch.nn.functional, torch.linalg and torch.special, under every
spelling.  A difference that is on purpose is listed with its reason; any other makes the script exit with 1.
"""

import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from support.examples import OPERATORS, Example, accepted, derived

from gradcli.graph import Op
from gradcli.graph.op import REGISTRY

PLACES = (torch, torch.nn.functional, torch.linalg, torch.special, torch.Tensor)
WORDS = {"axis": "dim", "keepdims": "keepdim", "axes": "dims", "classes": "num_classes", "ord": "ord", "k": "diagonal"}
"""Our settings in PyTorch's words."""

ON_PURPOSE = {
    "var": "a bare name is NumPy's: ddof 0, where torch.var takes n - 1",
    "std": "a bare name is NumPy's: ddof 0, where torch.std takes n - 1",
    "cholesky": "the input is taken as symmetric, so its gradient is symmetric too",
    "sort": "NumPy's: the values alone, where torch gives a pair",
    "topk": "the values alone, where torch gives a pair",
    "median": "of an even number of entries the middle of two, as in NumPy; torch takes the lower",
    "squeeze": "a bare name is NumPy's: an axis that is named must have length 1",
    "repeat": "a bare name is NumPy's; torch's is tile, and is what the method x.repeat means",
    "cummax": "the values alone, where torch gives a pair",
    "cummin": "the values alone, where torch gives a pair",
    "softplus": "without torch's threshold, beyond which it returns x itself",
    "transpose": "axes in their new order, as in NumPy; two axes of three or more change places, as in torch",
    "celu": "torch rounds alpha to float32",
    "hardsigmoid": "torch rounds 1/6 to float32",
    "cosine_similarity": "below eps the norm is a constant, so it has no slope; torch gives it one",
    "cross_entropy": "the classes are along the last axis, also beyond two axes",
    "hinge_embedding_loss": "targets other than 1 and -1",
    "index_select": "negative indices count from the end",
    "gather": "negative indices count from the end",
}


def counterparts(op: Op) -> list[Callable[..., Any]]:
    """PyTorch's functions of the operator's names."""
    names = [op.name, *(s for s, o in REGISTRY.items() if o is op)]
    found = [getattr(place, name) for name in names for place in PLACES if hasattr(place, name)]
    return [f for f in found if callable(f)]


def tensor(value: Any) -> torch.Tensor:
    """A value for PyTorch, which follows its gradient if it has one."""
    made = torch.tensor(np.array(value))
    return made.requires_grad_() if made.is_floating_point() else made


def difference(example: Example, function: Callable[..., Any]) -> str | None:
    """What differs between the two; "" for nothing, None where PyTorch does not take the example."""
    if example.settings.get("axis") == ():  # no axes: NumPy reduces nothing, torch everything
        return None
    tensors = [tensor(o) for o in example.operands]
    settings = {WORDS.get(k, k): v for k, v in example.settings.items()}
    try:
        operands = [tensors] if example.op.variadic and not example.op.leading else tensors
        theirs = function(*operands, **settings)
        if not isinstance(theirs, torch.Tensor):
            return None
        ours = derived(example)
        value = np.asarray(ours.values[ours.node.number])
        if tuple(theirs.shape) != value.shape:
            return f"shape {value.shape}, torch {tuple(theirs.shape)}"
        if not np.allclose(value, theirs.detach().numpy(force=True), rtol=1e-9, atol=1e-12, equal_nan=True):
            return "the value"
        if theirs.requires_grad:
            theirs.backward(torch.tensor(np.array(ours.values[ours.seed.number])))
    except (TypeError, RuntimeError, ValueError, IndexError, NotImplementedError):
        return None
    for node, other in zip(ours.inputs, tensors, strict=True):
        right = np.zeros(node.shape) if other.grad is None else other.grad.numpy(force=True)
        if node.differentiable and not np.allclose(ours.gradient(node), right, rtol=1e-8, atol=1e-11, equal_nan=True):
            return f"the gradient of operand {node.name}"
    return ""


def compared(op: Op) -> tuple[int, str]:
    """How many examples could be compared, and the first difference, by the counterpart that takes the most."""
    best = (0, "")
    for function in counterparts(op):
        found = [(e, difference(e, function)) for e in accepted(op)]
        taken = [(e, d) for e, d in found if d is not None]
        wrong = next((f"{d}: {e}" for e, d in taken if d), "")
        if len(taken) > best[0] or (len(taken) == best[0] and not wrong):
            best = (len(taken), wrong)
    return best


def main(names: list[str]) -> int:
    """Prints a line for each operator; 1 if a difference is not on purpose."""
    surprises = 0
    alone = []
    for name, op in OPERATORS.items():
        if op.hidden or (names and name not in names):
            continue
        count, wrong = compared(op)
        if not count:
            alone.append(name)
        elif wrong:
            reason = ON_PURPOSE.get(name)
            surprises += reason is None
            print(f"{name:24} {'differs on purpose: ' + reason if reason else 'DIFFERS: ' + wrong}")
        else:
            print(f"{name:24} agrees on {count} examples")
    print(f"\nnot compared, for PyTorch has no function of that name and call: {', '.join(alone)}")
    return 1 if surprises else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
