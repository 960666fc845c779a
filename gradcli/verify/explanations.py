"""What each verdict means, for a student: the text of `gradcli explain VERDICT`.

The first line says it in a sentence.  What is indented is a formula file that shows it, and a comment in it says what
the check finds.
"""

from __future__ import annotations

import inspect

from gradcli.verify.verdict import Verdict

_EXPLANATIONS = {
    Verdict.AGREE: """
        A verdict: the gradient is the derivative, as far as its precision can tell.

        Three ways lead to the number.  The reverse sweep multiplies local gradients backwards through the graph.  SymPy
        differentiates the formula and knows nothing of the sweep.  Differences move an input a little and look how
        much the output moves.  They meet in one value: closer than 1e-9 of it for float64, 2**-17 for float32 and
        2**-8 for float16, or as close as rounding lets the sweep come.

            x = 0.5
            L = sin(x * x)      # dL/dx = 2 * x * cos(x**2) = 0.968912, each way

        Nothing is to be done.  Agreement is about these inputs: where a function has other branches (relu, max,
        where), check it at inputs that take them, too.
        """,
    Verdict.KINK: """
        A verdict: the function has a corner at this input, so it has no derivative there.

        Coming from the left the slope is one number, from the right another.  Every number between the two is the slope
        of a line that touches the corner, a subgradient, and gradient descent may use any of them.  Programs pick one:
        relu takes 0, and so does abs.  The check shows both slopes, and whether the value of the sweep is one that is
        allowed.  If it is not, the command exits with 1.  A function that ends at the input has a slope on one side
        only.

            x = 0
            L = relu(x)      # left slope 0, right slope 1; the sweep uses 0, which is allowed

        Most often nothing is to be done: inputs seldom hit a corner exactly, unless they are zeros or ties.  To see the
        slope of one side, move the input a little: x = 0.001.
        """,
    Verdict.INACCURATE: """
        A verdict: the rule is right, but the arithmetic has lost its digits.

        The same sweep with many more digits gives the derivative, so no rule is wrong.  With the digits of float64
        (about 16) something was lost on the way: two nearly equal numbers were subtracted, a number so close to 1 that
        it became 1 was taken from 1, or something grew beyond the largest number there is.  The check names the first
        node where it happens and, if there is one, a formula that says the same and keeps the digits.

            x = 1e-8
            L = (exp(x) - 1) / x     # exp(x) is 1.00000001: half of the digits are gone

        Write the stable form: expm1(x) for exp(x) - 1, log1p(x) for log(1 + x), softplus(x), logsumexp(x), and
        cross_entropy(z, y) on scores rather than log(softmax(z)).  `--strict` makes the command exit with 1.
        """,
    Verdict.UNDEFINED: """
        A verdict: at this input the function, or its slope, does not exist.

        It may have no value (the logarithm of a negative number), jump (floor at a whole number), become
        infinitely steep (the cube root at 0), or oscillate without end (sin(1/x) at 0).  What the sweep says there is
        neither right nor wrong.  The check names the node at which it happens and which of these it is.

            x = 0
            y = cbrt(x)              # infinitely steep at 0
            L = y + 1

        Keep the inputs where the function is defined: clip them, or add a small number under the root
        (sqrt(x * x + 1e-12)).  An input at which nothing is to be learned can be marked as data: const(0).  `--strict`
        makes the command exit with 1.
        """,
    Verdict.UNRESOLVED: """
        A verdict: the check could not tell whether the gradient is right.

        It took differences at smaller and smaller steps, with up to 1,000 digits, and they did not settle on a number;
        or its time ran out.  It does not guess: the reason says what was tried.

            x = 0
            L = where(x == 0, 0, x / log(abs(x)))     # the slopes tend to 0, slower than any power of the step

        Check the gradient at other inputs, which is enough to find a wrong rule; check fewer gradients at a time
        (`--wrt x`); or take the formula apart and look at its nodes one by one (`--all`).  `--strict` makes the
        command exit with 1.
        """,
    Verdict.DISAGREE: """
        A verdict: the gradient is wrong.

        The derivative exists, it is known to many digits, and the value of the sweep is another number, by more than
        rounding explains.  The check names the entry that is furthest away, and if a rule of differentiation is wrong
        by itself, that rule: every operator is also checked alone, at its inputs in this file.

            x = 0
            L = relu(x) - relu(-x)   # is x, so its slope is 1; at the two corners the rules say 0, and add up to 0

        If the rule is yours, compare it with the formula that SymPy found: a sign, a factor, a transpose, a sum over a
        repeated axis, a second path on which the input reaches the output.  If it is gradcli's own, please report it.
        The command exits with 1.
        """,
}
assert _EXPLANATIONS.keys() == set(Verdict)


def verdict_explanation(verdict: Verdict) -> str:
    """A sentence, then paragraphs and an example."""
    return inspect.cleandoc(_EXPLANATIONS[verdict])
