"""Mistakes in what a formula says: names, arguments, shapes, values."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from functools import lru_cache

from gradcli.problems.core import Label, Problem, Span, mistake


def nearest(word: str, known: Iterable[str]) -> str:
    """The known word closest in spelling, or ""."""
    if len(word) > 60:
        return ""  # no name is so long, and comparing it would take long, too
    return _nearest(word, tuple(dict.fromkeys(known)))


@lru_cache(maxsize=256)  # a slip in a name is often made again and again
def _nearest(word: str, known: tuple[str, ...]) -> str:
    folded = {k.lower(): k for k in reversed(known)}
    if word.lower() in folded:
        return folded[word.lower()]
    close = difflib.get_close_matches(word, known, n=1, cutoff=0.7)
    return close[0] if close else ""


_LOOKALIKES = str.maketrans("АВЕКМНОРСТХаеорсухіјѕΑΒΕΖΗΙΚΜΝΟΡΤΥΧορν", "ABEKMHOPCTXaeopcyxijsABEZHIKMNOPTYXopv")


def lookalike(word: str, known: Iterable[str]) -> str:
    """A known word that looks the same and has letters of another alphabet, or ""."""
    seen = word.translate(_LOOKALIKES)
    return next((k for k in known if k != word and k.translate(_LOOKALIKES) == seen), "")


def did_you_mean(word: str, known: Iterable[str], otherwise: str = "") -> str:
    """A suggestion for a misspelt word."""
    close = nearest(word, known)
    return f"did you mean `{close}`?" if close else otherwise


@mistake("unknown-name")
def unknown_name(span: Span, name: str, known: Sequence[str], defined_later: int = 0) -> Problem:
    """A name is used before it is defined, or never defined at all.

    A formula file is read from top to bottom, and a line can use only what stands above it:

        z = p * w        # wrong: p is not known yet
        p = x + y

    Put the definition first, or check the spelling: names are case-sensitive, `W1` and `w1` are two names.
    """
    if defined_later:
        way_out = f"`{name}` is defined {span.source.on(defined_later)}; move that line above this one"
    elif twin := lookalike(name, known):
        codes = [f"U+{ord(b):04X} for U+{ord(a):04X}" for a, b in zip(name, twin, strict=True) if a != b]
        way_out = f"the `{twin}` that is defined looks the same, but has other letters: {', '.join(codes)}"
    else:
        way_out = did_you_mean(name, known, f"define it on a line above: `{name} = …`")
    return Problem("unknown-name", f"`{name}` is not defined", (Label(span, "not known here"),), help=way_out)


@mistake("unknown-function")
def unknown_function(span: Span, name: str, known: Iterable[str]) -> Problem:
    """A function is called that the tool does not know.

    Functions bear NumPy's and PyTorch's names: `relu(x)`, `torch.relu(x)`, `F.relu(x)` and `x.relu()` are all read.
    If the name is right but not known yet, write the function with the operators there are:

        y = softsign(x)         # not known
        y = x / (1 + abs(x))    # the same thing
    """
    way_out = did_you_mean(name, known, "write it out with the operators there are: + - * / ** @ exp log …")
    return Problem("unknown-function", f"there is no function `{name}`", (Label(span, "unknown"),), help=way_out)


@mistake("unknown-attribute")
def unknown_attribute(span: Span, name: str, known: Iterable[str]) -> Problem:
    """Something is asked of a tensor that tensors do not have.

    A tensor has `.T`, `.mT`, `.shape`, `.ndim`, `.size`, and every function as a method: `x.sum(axis=0)`, `z.relu()`.
    """
    return Problem(
        "unknown-attribute",
        f"a tensor has no `.{name}`",
        (Label(span, "unknown"),),
        help=did_you_mean(name, known, "tensors have .T, .mT, .shape, .ndim, .size and functions as methods"),
    )


@mistake("not-a-function")
def not_a_function(span: Span, name: str, is_function_elsewhere: bool = False) -> Problem:
    """Something that is no function is called like one.

    On paper `2(x + 1)` and `x(y + z)` are products.  Here a bracket after a name is a call, so write the sign:

        z = 2*(x + 1)
    """
    way_out = f"a product needs its sign: `{name}*(…)`"
    if is_function_elsewhere:
        way_out = f"this file gives `{name}` a value of its own, which hides the function; rename one of them"
    return Problem(
        "not-a-function", f"`{name}` is a value, not a function", (Label(span, "called here"),), help=way_out
    )


@mistake("function-as-value")
def function_as_value(span: Span, name: str) -> Problem:
    """A function's name stands where a number belongs.

    Functions need their brackets: `y = relu(x)`, not `y = relu`.
    """
    return Problem(
        "function-as-value",
        f"`{name}` is a function, not a value",
        (Label(span, "used as a value"),),
        help=f"call it: `{name}(…)`" + (f", or define a name `{name}` first" if name.isidentifier() else ""),
    )


@mistake("shape-mismatch")
def shape_mismatch(
    span: Span, text: str, needs: str, operands: Sequence[tuple[Span, str]], way_out: str = ""
) -> Problem:
    """The shapes of the operands do not fit the operation.

    A matrix product `A @ B` needs as many columns in A as there are rows in B.  Sums and products entry by entry need
    equal shapes, or shapes that can be stretched: axes are compared from the last one, and two axes
    fit if they are equal or one of them is 1.

        W = [[1, 2], [3, 4]]
        z = W @ [1, 2, 3]    # wrong: W has 2 columns, the vector has 3 entries
        z = W @ [1, 2]       # right
    """
    labels = tuple(Label(s, found) for s, found in operands) or (Label(span, "here"),)
    message = f"{text} {needs}"
    return Problem("shape-mismatch", message, labels, help=way_out)


@mistake("argument-count")
def argument_count(span: Span, name: str, expected: str, found: int, usage: str) -> Problem:
    """A function is given too many arguments, or too few.

    The help line shows how the function is called; what stands behind a `=` there may be left out.
    """
    return Problem(
        "argument-count",
        f"`{name}` takes {expected}, {found} given",
        (Label(span, f"{found} given"),),
        help=f"the call is `{usage}`",
    )


@mistake("unknown-argument")
def unknown_argument(span: Span, name: str, argument: str, known: Sequence[str], usage: str) -> Problem:
    """A function is given an argument by a name that it does not have.

    NumPy's and PyTorch's names are both read: `axis` and `dim`, `keepdims` and `keepdim`.
    """
    return Problem(
        "unknown-argument",
        f"`{name}` has no argument `{argument}`",
        (Label(span, "unknown"),),
        help=did_you_mean(argument, known, f"the call is `{usage}`"),
    )


@mistake("wrong-argument")
def wrong_argument(span: Span, what: str, expected: str, found: str, way_out: str = "") -> Problem:
    """An argument (or an index) is of the wrong kind.

    Axes, indices, shapes and labels are whole numbers; `keepdims` is True or False.
    """
    return Problem("wrong-argument", f"{what} must be {expected}", (Label(span, f"found {found}"),), help=way_out)


@mistake("wrong-kind")
def wrong_kind(span: Span, message: str, found: str, way_out: str) -> Problem:
    """A value of a kind that has no place in a formula: text, a complex number, a list inside arithmetic, …

    Formulas are about numbers and tensors of numbers.
    """
    return Problem("wrong-kind", message, (Label(span, found),), help=way_out)


@mistake("ragged-list")
def ragged_list(span: Span, expected: str, found: str) -> Problem:
    """The rows of a nested list differ in length, so it is no tensor.

    W = [[1, 2], [3]]      # wrong: rows of 2 and of 1
    W = [[1, 2], [3, 4]]   # right
    """
    return Problem(
        "ragged-list",
        "the rows of a tensor must be equally long",
        (Label(span, f"expected {expected}, found {found}"),),
        help="fill in the missing entries",
    )


@mistake("unpack")
def unpack(span: Span, expected: int, found: str) -> Problem:
    """Several names on the left, and not as many values on the right.

    a, b = 1, 2, 3         # wrong: two names, three values
    """
    return Problem(
        "unpack",
        f"{expected} names need {expected} values",
        (Label(span, f"found {found}"),),
        help="give every name one value",
    )


@mistake("cannot-assign")
def cannot_assign(span: Span, what: str, way_out: str) -> Problem:
    """What stands on the left of `=` cannot take a value.

    A name can, and so can a part of a tensor, an entry of a list or a dictionary, and an attribute of an object that
    the program made.  A tuple does not change, and a tensor has no attributes of its own:

        x.scale = 3        # wrong
        scale = 3          # right
    """
    return Problem("cannot-assign", f"{what} cannot be assigned to", (Label(span, "not to be set"),), help=way_out)


@mistake("not-in-language")
def not_in_language(span: Span, what: str, way_out: str) -> Problem:
    """Python that formula files leave out.

    A formula file is only read, never run: it cannot import modules of its own, open files, or catch exceptions.
    Loops, conditions, functions and classes are read; imports of the usual numerical libraries are passed over.
    """
    return Problem(
        "not-in-language", f"{what} is not part of the formula language", (Label(span, "here"),), help=way_out
    )


@mistake("number-too-large")
def number_too_large(span: Span, text: str, largest: str = "1.8e308") -> Problem:
    """A number is too large for its precision.

    A float64 ends at about 1.8e308, a float32 at 3.4e38 and a float16 at 65504.  Written as it stands it
    would silently become infinity.  If infinity is meant, write `inf`.
    """
    return Problem(
        "number-too-large",
        f"{text} is too large to hold",
        (Label(span, f"larger than {largest}"),),
        help="write `inf` if infinity is meant, or rescale the problem",
    )


@mistake("division-by-zero")
def division_by_zero(span: Span) -> Problem:
    """A number that is written in the file is divided by zero (or zero is raised to a negative power).

    Such a constant has no value.  (A division of *nodes* by zero is computed as NumPy does, giving inf or nan,
    and the report says where that happened.)
    """
    return Problem(
        "division-by-zero",
        "division by zero",
        (Label(span, "has no value"),),
        help="write `inf` or `nan` if that is what is meant",
    )


@mistake("too-large")
def too_large(span: Span, elements: int, limit: int) -> Problem:
    """A tensor has more entries than the limit.

    The limit keeps a slip such as `zeros(1000000, 1000000)` from filling the memory.  `--max-elements N` raises it.
    """
    return Problem(
        "too-large",
        f"a tensor of {elements} entries is past the limit of {limit}",
        (Label(span, f"{elements} entries"),),
        help=f"raise the limit with `--max-elements {elements}` if it is meant",
    )


@mistake("too-many-axes")
def too_many_axes(span: Span, found: int, limit: int) -> Problem:
    """A tensor has more axes than NumPy can hold, which is 64.

    A real tensor has a few: a batch of images has four.  Look for a `reshape` or an index with many `None`s.
    """
    return Problem(
        "too-many-axes",
        f"a tensor of {found} axes is past the limit of {limit}",
        (Label(span, f"{found} axes"),),
        help="use fewer axes; `reshape` joins several into one",
    )


@mistake("bare-list")
def bare_list(span: Span, sign: str, text: str) -> Problem:
    """Arithmetic with a list that is no tensor yet.

    In Python `[1, 2] * 2` is the longer list `[1, 2, 1, 2]`, and `[1] + [2]` is `[1, 2]`; in mathematics something
    else is meant.  So that nothing is silently misread, say that it is an array, or give it a name first:

        y = [1, 2] * 2            # refused
        y = array([1, 2]) * 2     # [2, 4]
    """
    shown = text if len(text) < 30 else "[…]"
    return Problem(
        "bare-list",
        f"`{sign}` means different things for lists and for tensors",
        (Label(span, "a list"),),
        help=f"for a tensor, write `array({shown})`",
    )


@mistake("cannot-evaluate")
def cannot_evaluate(span: Span, reason: str) -> Problem:
    """An operation has no value at these inputs.

    The shapes fit, but the numbers do not: a label that names no class, a whole number raised to a negative power, …
    """
    return Problem(
        "cannot-evaluate",
        "this has no value at these inputs",
        (Label(span, reason),),
        help="check the inputs",
    )


@mistake("nothing-to-derive")
def nothing_to_derive(span: Span | None, name: str, found: str) -> Problem:
    """The file defines inputs only, or its output does not depend on any number that can vary.

    A derivation needs a formula: at least one line that computes something from the inputs.

        x = 2
        y = 3
        z = x * y          # this line is the formula
    """
    label = (Label(span, found),) if span else ()
    return Problem(
        "nothing-to-derive",
        f"there is nothing to derive in {name}",
        label,
        help="add a line such as `z = x * y`",
    )


@mistake("not-differentiable")
def not_differentiable(span: Span, name: str, dtype: str, candidates: Sequence[str]) -> Problem:
    """The output is no number that varies smoothly: it is a mask, or whole numbers.

    A comparison such as `z > 0` jumps between True and False and has no derivative.  Differentiate the
    number that is computed with it.
    """
    way_out = f"name another output with `--of`: {', '.join(candidates[-5:])}" if candidates else ""
    return Problem(
        "not-differentiable",
        f"`{name}` cannot be differentiated: its values are {dtype}",
        (Label(span, f"dtype {dtype}"),),
        help=way_out or "compute a number with it first",
    )


@mistake("seed-needed")
def seed_needed(span: Span, name: str, shape: tuple[int, ...]) -> Problem:
    """The output is a tensor, so the sweep needs to be told what gradient to start from.

    A gradient is the derivative of one number.  For a tensor `c` either sum it up, `L = sum(c)`, or give
    the gradient that arrives from above:

        dc = [[1, 2], [3, 4]]
        c.backward(dc)              # in the file, or --upstream c=dc on the command line
    """
    return Problem(
        "seed-needed",
        f"the output `{name}` is a tensor of shape {shape}, so its upstream gradient must be given",
        (Label(span, f"shape {shape}"),),
        help=f"add a scalar such as `L = sum({name})`, or `{name}.backward(d{name})`, or `--upstream {name}=…`",
    )


@mistake("seed-shape")
def seed_shape(span: Span, name: str, expected: tuple[int, ...], found: tuple[int, ...]) -> Problem:
    """The upstream gradient that was given does not have the shape of its node.

    A gradient always has the shape of what it is the gradient of: that is the first check of every derivation.
    """
    return Problem(
        "seed-shape",
        f"the upstream gradient of `{name}` must have the shape of `{name}`",
        (Label(span, f"expected {expected}, found {found}"),),
        help=f"a gradient has the shape of its node, {expected}",
    )


@mistake("unknown-member")
def unknown_member(span: Span, text: str, known: Sequence[str]) -> Problem:
    """An entry or an attribute is asked for that is not there.

    A list has entries from 0 to its length less one, a dictionary those that were put in, and a family such as `h[t]`
    those that were defined before; an object has what its methods gave it.

        h[0] = zeros(2)
        for t in range(2):
            h[t] = tanh(W @ h[t-1])    # wrong: there is no h[-1]; begin with t = 1
    """
    if not known:
        way_out = "define it first"
    else:
        shown = ", ".join(known[-6:])
        way_out = did_you_mean(text, known, f"there are {shown}" if len(known) > 1 else f"there is {shown}")
    return Problem("unknown-member", f"there is no `{text}`", (Label(span, "not there"),), help=way_out)


@mistake("too-many-steps")
def too_many_steps(span: Span, limit: int) -> Problem:
    """A program takes more steps than the limit: passes of loops, and calls of functions.

    Three lines of their bodies may be read for every step, too, so that a long body is no way around the limit.
    The limit ends a loop that would not end by itself.  `--max-steps N` raises it.

        while x > 0:
            y = x * 2      # x does not change: the loop never ends
    """
    return Problem(
        "too-many-steps",
        f"this takes more than {limit} steps",
        (Label(span, "still running"),),
        help="check that the loop ends, or raise the limit with `--max-steps N`",
    )


@mistake("recursion")
def recursion(span: Span, name: str) -> Problem:
    """A function calls itself too often.

    Functions are read where they are called, and one that calls itself is read inside itself, up to 200 times.  What
    goes on without end, or goes deeper, is refused.  Write a loop:

        def power(x, n):
            return x * power(x, n - 1)    # it never stops

        y = x
        for k in range(3):
            y = y * x
    """
    return Problem(
        "recursion",
        f"`{name}` calls itself more than 200 times, one inside the other",
        (Label(span, "called inside itself"),),
        help="let it stop earlier, or write it as a loop",
    )


@mistake("gradient-as-value")
def gradient_as_value(span: Span, text: str) -> Problem:
    """A gradient that the reverse sweep finds is used in a formula.

    `w.grad` and what `grad(f)` gives are results of the derivation, not numbers in its graph.  They can be printed and
    used to change parameters; a formula that needs one (a gradient penalty, a second derivative) must write it out.

        w = 3
        L = w * w
        L.backward()
        penalty = sum(w.grad)     # refused
        penalty = 2 * w           # the gradient as a formula
    """
    return Problem(
        "gradient-as-value",
        f"`{text}` is a gradient, which is known only after the sweep",
        (Label(span, "not in the graph"),),
        help="write the gradient as a formula: `--formulas` shows it",
    )


@mistake("repeated-index")
def repeated_index(span: Span, way_out: str) -> Problem:
    """An assignment sets an entry twice.

    Where an index names an entry twice, `x[i] = v` keeps only one of its numbers, and so does `x[i] += v`, in NumPy and
    in PyTorch alike: the sum over what belongs to one entry is lost.  That is what goes wrong in the gradient of rows
    that are taken from a table, where a row may be taken twice.

        i = [1, 0, 1]
        dW[i] += dy             # wrong: row 1 receives one of its two rows
        np.add.at(dW, i, dy)    # right: row 1 receives both
    """
    return Problem(
        "repeated-index",
        "the indices that are set must be different ones: an entry that is set twice keeps one of the numbers only",
        (Label(span, "an entry is named twice"),),
        help=way_out,
    )


@mistake("in-place-update")
def in_place_update(span: Span, name: str, line: int, needs: str) -> Problem:
    """A parameter is changed before the backward pass is finished.

    The gradients of a pass belong to the parameters of that pass.  Once `W2` is changed, a gradient that is computed
    with it belongs to neither the old nor the new one.  Compute all gradients first, then change all parameters:

        dW2 = outer(dz2, h)
        W2 -= lr * dW2
        dh = W2.T @ dz2       # wrong: this W2 is the new one
    """
    return Problem(
        "in-place-update",
        f"`{name}` was changed {span.source.on(line)}, before `{needs}` needs it",
        (Label(span, f"needs the `{name}` of the forward pass"),),
        help=f"compute every gradient first, and change `{name}` after that",
    )
