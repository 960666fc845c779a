"""From a text to a report: the pipeline that the command and the Python API share."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import gradcli.ops  # noqa: F401  (fills the registry)
from gradcli.differentiate import Sweep, sweep
from gradcli.evaluate import CannotEvaluate, Values, evaluate
from gradcli.graph import CONSTANT, INPUT, Node, backward_order, constant
from gradcli.graph.collector import paused_collector
from gradcli.graph.dtypes import FLOATS
from gradcli.language import read
from gradcli.ops.create import MAX_ELEMENTS, MAX_STEPS, Limits
from gradcli.problems import GradError, Source, command, meaning
from gradcli.report import Report
from gradcli.report.sequences import clip, compare, members
from gradcli.sources import read_source
from gradcli.trace import Traced, trace
from gradcli.trace.spelling import root_of
from gradcli.trace.truncate import truncated

CLAIMS_KEPT = "claims (`==`) are kept, and not checked by this command"
"""The end of the note on claims that are not marked."""

WIDER_NODES = 2_000
"""Of a larger graph, it is not found out how large a number would be that float64 cannot hold."""

SEED_LENGTH, SEED_ENTRIES = 24, 12
"""A seed of more characters or numbers than this is called `seed` in formulas."""


def derive(
    text_or_path: str | Path | Source,
    *,
    of: str | None = None,
    wrt: Iterable[str] | str = (),
    upstream: Mapping[str, Any] | None = None,
    dtype: str = "float64",
    max_elements: int = MAX_ELEMENTS,
    max_steps: int = MAX_STEPS,
    truncate: Mapping[str, int] | None = None,
    clip_norm: float | None = None,
) -> Report:
    """Derives every gradient of a formula file.

    `text_or_path` is a `Path`, the name of a file, or the text itself (a string with a line break or a `=`).
    `of` names the node to differentiate, instead of the file's own output.  `wrt` restricts the sweep to the ways that
    lead to these nodes.  `upstream` gives the seed, `{"c": [[1, 0], [0, 1]]}`, needed where the output is
    no scalar: its value is a number, a nested list, an array, or the name of a node.  `dtype` is the
    precision of inputs that name none, `max_elements` the size of the largest tensor allowed, `max_steps` the number
    of passes of loops and calls of functions.  `truncate={"h": 5}` cuts the way back at every fifth state of
    the family h, and `clip_norm` scales the gradients of the inputs to that joint norm.

    Raises GradError, which carries every problem found.

    >>> report = derive("x = 2\\ny = 3\\nz = x * y")
    >>> report.gradient("x")
    3.0
    """
    if upstream is not None and not isinstance(upstream, Mapping):
        raise TypeError('upstream must be a mapping such as {"c": [[1, 0], [0, 1]]}')
    if dtype not in FLOATS or " " in dtype:
        raise GradError(command.bad_option("--dtype", "float64, float32 or float16", dtype))
    wrt = _names(wrt) if isinstance(wrt, str) else list(wrt)
    with paused_collector():
        traced = read_graph(text_or_path, dtype=dtype, max_elements=max_elements, max_steps=max_steps)
        cut = _truncated(traced, truncate) if truncate else None
        report = _derived(traced, of, wrt, dict(upstream or {}))
        if cut is not None:
            shorter, name, every, cuts = cut
            whole, report = report, _derived(shorter, of, wrt, dict(upstream or {}))
            report = replace(report, truncation=compare(whole, report, name, every, cuts))
        return report if clip_norm is None else replace(report, clipping=clip(report, clip_norm))


def _truncated(
    traced: Traced, truncate: Mapping[str, int]
) -> tuple[Traced, str, int, list[tuple[str, tuple[str, ...]]]]:
    """The program with the way back through a family of states cut."""
    if len(truncate) != 1:
        raise GradError(command.bad_option("--truncate", "one family, NAME=STEPS", ", ".join(truncate)))
    ((name, every),) = truncate.items()
    found = members(traced.graph.nodes)
    if name not in found:
        raise GradError(command.unknown_family("--truncate", name, list(found)))
    if every < 1:
        raise GradError(command.bad_option("--truncate", "a number of steps from 1", str(every)))
    shorter, cuts = truncated(traced, found[name], every)
    return shorter, name, every, cuts


def _derived(traced: Traced, of: str | None, wrt: Iterable[str], upstream: Mapping[str, Any]) -> Report:
    for name in upstream:
        _named(traced, "--upstream", name)
    output = _output(traced, of or (next(iter(upstream)) if len(upstream) == 1 else None))
    for name in upstream:
        if name != output.name:
            way_out = f"name `{name}` as the output, too: `--of {name}`"
            raise GradError(command.bad_option("--upstream", f"for the output `{output.name}`", name, way_out))
    targets = [_target(traced, name) for name in wrt]
    values = _values(traced)
    seed = _seed(traced, output, upstream, values)
    traced.seed = _seed_node(traced, output, upstream.get(output.name), seed)
    order = backward_order(output, targets or None, traced.graph.nodes)
    if output not in order:
        order = [output]
    swept = sweep(order, values, seed, plain=traced.graph.plain)
    notes = (*traced.notes, *_claims(traced), *_not_finite(traced, values, swept, seed))
    return Report(traced, output, values, swept, tuple(order), seed, tuple(n.name for n in targets), notes)


def read_graph(
    text_or_path: str | Path | Source,
    *,
    dtype: str = "float64",
    max_elements: int = MAX_ELEMENTS,
    max_steps: int = MAX_STEPS,
) -> Traced:
    """The graph of a formula file, read but not evaluated.  Raises GradError."""
    source = _source(text_or_path)
    program = read(source)
    traced = trace(program, Limits(source.directory, max_elements, max_steps), dtype)
    if not traced.graph.nodes and not traced.claims:
        raise GradError(command.empty_file(source.name))
    return traced


def _source(text_or_path: str | Path | Source) -> Source:
    if isinstance(text_or_path, Source):
        return text_or_path
    if isinstance(text_or_path, str) and ("\n" in text_or_path or "=" in text_or_path or not text_or_path.strip()):
        return Source("<text>", text_or_path)
    return read_source(Path(text_or_path))


def _output(traced: Traced, of: str | None) -> Node:
    """The node to differentiate: the one asked for, else the file's own, else its last definition."""
    if of is not None:
        output = _named(traced, "--of", of)
    elif traced.output is not None:
        output = traced.output
    else:
        output = _last_definition(traced)
    if output.dtype not in FLOATS:
        floats = [n for n, node in traced.names.items() if node.dtype in FLOATS and node.operands]
        raise GradError(meaning.not_differentiable(traced.line_span(output.line), output.name, output.dtype, floats))
    return output


def _last_definition(traced: Traced) -> Node:
    if traced.last is not None:
        if (after := traced.without_gradient) is not None:
            traced.notes.append(
                f"the output is `{traced.last.name}`; `{after.name}`, defined after it, has no derivative"
            )
        return _scalar_beside(traced, traced.last)
    for node in reversed(traced.graph.nodes):
        if node.op is not INPUT and node.op is not CONSTANT and node.number not in traced.inner:
            return _scalar_beside(traced, node)
    if traced.inner:
        line = traced.line_span(traced.graph.nodes[max(traced.inner)].line)
        raise GradError(meaning.nothing_to_derive(line, traced.source.name, "this value has no name: `L = …`"))
    inputs = ", ".join(f"`{name}`" for name in list(traced.names)[:5])
    span = traced.line_span(traced.graph.nodes[-1].line) if traced.graph.nodes else None
    raise GradError(meaning.nothing_to_derive(span, traced.source.name, f"only inputs are defined: {inputs}"))


_LOSS = re.compile(
    r"(?:.*[._])?(?:loss(?:es)?|costs?|L|J|objective)(?:_history)?(?:\[\d+\])?(?:\.(?:value|data|val|output))?",
    re.IGNORECASE,
)
"""What programs call the number that they make small."""


_SMOOTHED = re.compile(r"(?:.*[._])?(?:smooth(?:ed)?|running|moving|avg|average|mean|ema)_\w+")
"""What they call its mean over many passes, which is made to be looked at."""


def _scalar_beside(traced: Traced, last: Node) -> Node:
    """The output of a file that says nothing about it, given its last definition.

    A pasted program may go on after its loss, with the gradients that it computes by hand.  So a last definition that
    is a tensor gives way to a scalar that nothing uses, if there is just one: that is a result, too.
    """
    if math.prod(last.shape) == 1 and ("import " not in traced.source.text or _LOSS.fullmatch(last.name)):
        return last
    used = {o.number for n in traced.graph.nodes for o in n.operands}
    losses = [
        node
        for node in traced.names.values()
        if node.operands
        and not node.shape
        and node.differentiable
        and _LOSS.fullmatch(node.name)
        and node.number not in used
    ]
    if losses and _SMOOTHED.fullmatch(losses[-1].name):
        plain = [n for n in traced.names.values() if n.operands and not n.shape and _LOSS.fullmatch(n.name)]
        plain = [n for n in plain if not _SMOOTHED.fullmatch(n.name) and n.differentiable]
        plain.sort(key=lambda n: n.number)
        if plain:
            traced.notes.append(f"the output is `{plain[-1].name}`, and not the running mean `{losses[-1].name}`")
            return plain[-1]
    if losses and "import " in traced.source.text:
        traced.notes.append(
            f"the output is `{losses[-1].name}`, which nothing uses; the last definition is `{last.name}`"
        )
        return losses[-1]
    by_hand = "import " in traced.source.text and _is_gradient(last)
    if math.prod(last.shape) == 1 and not by_hand:
        return last
    results = [
        node
        for node in traced.names.values()
        if node.operands and not node.shape and node.number not in used and node.op.passing(node.operands)
    ]
    if by_hand:
        results = [node for node in results if node is not last and not _is_gradient(node)]
    if len(results) != 1:
        return last
    what = "a gradient by its name" if by_hand else "a tensor"
    traced.notes.append(
        f"the output is `{results[0].name}`, a number that nothing uses; the last definition, `{last.name}`, is {what}"
    )
    return results[0]


def _is_gradient(node: Node) -> bool:
    """Whether a program calls a number a gradient: `db`, `grads["b"]`, `b.grad`."""
    return any(root_of(word) for word in re.findall(r"[^\W\d]\w*", node.name.partition("'")[0]))


def _names(text: str) -> list[str]:
    """The names of a list such as `x, a[0, 1]`: a comma between brackets belongs to a name."""
    return [name for part in re.split(r",(?![^\[]*\])", text) if (name := part.strip())]


def _named(traced: Traced, option: str, name: str) -> Node:
    name = name.replace("['", '["').replace("']", '"]')
    for node in traced.graph.nodes:
        if node.name == name and node.op is not CONSTANT:
            return node
    known = [n.name for n in traced.graph.nodes if n.op is not CONSTANT and n.number not in traced.inner]
    raise GradError(command.unknown_node(option, name, known))


def _target(traced: Traced, name: str) -> Node:
    node = _named(traced, "--wrt", name)
    if not node.differentiable:
        reason = f"its values are {node.dtype}" if node.dtype not in FLOATS else "it is marked as data"
        raise GradError(command.no_gradient("--wrt", name, reason))
    return node


def _values(traced: Traced) -> Values:
    try:
        return evaluate(traced.graph)
    except CannotEvaluate as error:
        raise GradError(meaning.cannot_evaluate(traced.line_span(error.node.line), error.reason)) from None


def _seed(traced: Traced, output: Node, upstream: Mapping[str, Any], values: Values) -> Any:
    """The gradient that the sweep starts from, in the output's shape and precision."""
    if output.name in upstream:
        seed = _given(traced, upstream[output.name], values)
    elif traced.seed is not None and output is traced.output:
        seed = values[traced.seed.number]
    elif math.prod(output.shape) == 1:  # a scalar, or a tensor of one entry, which is as good
        seed = 1.0
    else:
        raise GradError(meaning.seed_needed(traced.line_span(output.line), output.name, output.shape))
    array = np.asarray(seed, dtype=output.dtype)
    if array.shape not in (output.shape, ()):
        span = traced.line_span(output.line)
        raise GradError(meaning.seed_shape(span, output.name, output.shape, array.shape))
    if output.shape == ():
        return float(array) if output.dtype == "float64" else array[()]
    return np.broadcast_to(array, output.shape)


def _seed_node(traced: Traced, output: Node, given: Any, seed: Any) -> Node | None:
    """What stands for the seed in formulas: the node that was named, or the numbers; None for a plain 1."""
    node: Node | None = traced.seed if output is traced.output else None
    if isinstance(given, str) and given.isidentifier():
        node = _named(traced, "--upstream", given)
    elif given is not None:
        node = None
    if node is not None and node.shape == output.shape:
        return node
    if output.shape == () and seed == 1:
        return None
    short = isinstance(given, str) and len(given) <= SEED_LENGTH
    return constant(seed, given if short else "" if np.size(seed) <= SEED_ENTRIES else "seed")


def _given(traced: Traced, given: Any, values: Values) -> Any:
    """A seed from an option: the name of a node, or numbers."""
    if not isinstance(given, str):
        return given
    if given.isidentifier():
        return values[_named(traced, "--upstream", given).number]
    try:
        return np.asarray(ast.literal_eval(given), dtype=float)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise GradError(
            command.bad_option(
                "--upstream", "NAME=NODE or NAME=NUMBERS", given, "as in `--upstream c=[[1, 2], [3, 4]]`"
            )
        ) from None


def _claims(traced: Traced) -> Sequence[str]:
    """A note that claims were read and not judged: nobody shall take silence for a mark."""
    if not traced.claims:
        return []
    return [f"{traced.source.told(*(claim.line for claim in traced.claims[:8]))}: {CLAIMS_KEPT}"]


def _not_finite(traced: Traced, values: Values, swept: Sweep, seed: Any) -> Iterator[str]:
    """Notes on the first value and the first gradient that are no finite numbers."""
    value = _first_value_not_finite(traced, values)
    gradient = _first_gradient_not_finite(swept)
    wide = _in_a_wider_range(traced, swept.order, seed) if value is not None or gradient is not None else None
    for what, node, found, true in (
        ("value", value, values, wide[0] if wide else None),
        ("gradient", gradient, swept.gradients, wide[1] if wide else None),
    ):
        if node is not None:
            size = None if true is None or node.number >= len(true) else _beyond(found[node.number], true[node.number])
            how = "is not finite"
            if size is not None:
                about = np.format_float_scientific(size, precision=0, trim="-")
                beyond = abs(size) > np.finfo(node.dtype).max
                how = (
                    f"is beyond the range of {node.dtype} (about {about})"
                    if beyond
                    else f"{how}, and should be {about}"
                )
            yield f"{traced.source.told(node.line)}: the {what} of `{node.name}` {how}; it is the first such {what}"


def _first_value_not_finite(traced: Traced, values: Values) -> Node | None:
    """The first node with a value that is no finite number, if an operation (and not an input) made it."""
    for node in traced.graph.nodes:
        if node.dtype in FLOATS and node.operands and not _finite(values[node.number]):
            return node
    return None


def _first_gradient_not_finite(swept: Sweep) -> Node | None:
    return next((node for node in swept.order if not _finite(swept.gradients[node.number])), None)


def _finite(value: Any) -> bool:
    return -np.inf < value < np.inf if isinstance(value, float) else bool(np.isfinite(value).all())


def _in_a_wider_range(traced: Traced, order: Sequence[Node], seed: Any) -> tuple[list[Any], Sequence[Any]] | None:
    """All values and gradients in numbers that go further than float64, where there are any and the graph is small."""
    if len(traced.graph.nodes) > WIDER_NODES or np.finfo(np.longdouble).max <= np.finfo(float).max:
        return None
    values: list[Any] = []
    try:
        with np.errstate(all="ignore"):
            for node in traced.graph.nodes:
                if node.leaf:
                    values.append(np.asarray(node.data, np.longdouble)[()] if node.dtype in FLOATS else node.data)
                else:
                    values.append(node.op.forward(*[values[o.number] for o in node.operands], **node.data or {}))
        return values, sweep(list(order), values, np.asarray(seed, np.longdouble)[()], plain=True).gradients
    except Exception:  # not every function takes such numbers, and a note is not worth a failure
        return None


def _beyond(value: Any, true: Any) -> Any:
    """The first entry of the truth where a value is infinite and the truth is not; None if there is none."""
    if true is None or np.shape(value) != np.shape(true):
        return None
    wrong = np.isinf(value) & np.isfinite(true)
    return np.asarray(true)[wrong][0] if np.any(wrong) else None
