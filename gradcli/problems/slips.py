"""The catalogue of slips: what goes wrong in derivations by hand, each as one small declaration.

A slip has a name, a sentence for whoever made it, a paragraph that explains it, and an example: a formula file, a line
that is right and the same line with the slip in it.  The example is a test, too.  How a slip is found stands elsewhere:
the searches try edits, and an edit that fits points to the slip it undoes.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Slip:
    """One kind of slip.

    `sentence` is what a student reads; `alike` are names of slips that can be one and the same edit, and that are
    merged where both fit; `formula`, `right` and `wrong` are its example.
    """

    name: str
    sentence: str
    doc: str
    formula: str = field(repr=False)
    right: str = field(repr=False)
    wrong: str = field(repr=False)
    alike: tuple[str, ...] = ()

    @property
    def code(self) -> str:
        """The name as one word: `missing-transpose`."""
        return self.name.replace(" ", "-")

    @property
    def explanation(self) -> str:
        """What `gradcli explain` prints: the sentence, the paragraph and the example."""
        lines = self.formula.splitlines()
        for word, side in (("right", self.right), ("wrong", self.wrong)):
            lines += [
                f"{line}    # {word}" if line in _differ(self.right, self.wrong) else line for line in side.splitlines()
            ]
        example = "\n".join(f"    {line}" for line in dict.fromkeys(lines))
        return f"{self.sentence[0].upper()}{self.sentence[1:]}.\n\n{self.doc}\n\n{example}"


def _differ(right: str, wrong: str) -> set[str]:
    """The lines that are in one and not in the other."""
    return set(right.splitlines()) ^ set(wrong.splitlines())


SLIPS: dict[str, Slip] = {}
"""Every slip by its name."""


def _slip(
    name: str, sentence: str, doc: str, *, formula: str, right: str, wrong: str, alike: tuple[str, ...] = ()
) -> Slip:
    slip = Slip(name, sentence, " ".join(doc.split()), formula, right, wrong, alike)
    SLIPS[name] = slip
    return slip


def find(word: str) -> Slip | None:
    """The slip of a name, written with blanks or with hyphens."""
    return SLIPS.get(" ".join(word.lower().replace("-", " ").split()))


_LINEAR = "W = [[1, 2], [3, 5]]\nx = [2, -1]\nt = [1, 4]\nz = W @ x\nL = sum((z - t) ** 2)"
_TANH = "W = [[1, 2], [3, 5]]\nx = [0.2, -0.1]\nt = [1, 4]\nz = W @ x\nh = tanh(z)\nL = sum((h - t) ** 2)"
_RELU = "W = [[1, 2], [3, 5]]\nx = [2, -1.1]\nt = [1, 4]\nz = W @ x\nh = relu(z)\nL = sum((h - t) ** 2)"
_SOFTMAX = "z = [1, 0.5, -1]\nt = [0.2, 0.7, 0.1]\np = softmax(z)\nL = sum((p - t) ** 2)"
_BATCH = "X = [[1, 2], [3, 4], [5, 7]]\nb = [1, -1]\nT = [[0, 1], [2, 2], [1, 0]]\nY = X + b\nL = sum((Y - T) ** 2)"

# Products --------------------------------------------------------------------------------------------------------

MISSING_TRANSPOSE = _slip(
    "missing transpose",
    "a transpose is missing",
    """For z = W @ x the gradient goes back through W.T: dx = W.T @ dz, and dW = dz @ x.T where x is a matrix.  A square
    matrix fits both ways, so its shape cannot warn you.""",
    formula=_LINEAR,
    right="dx = W.T @ (2 * (z - t))",
    wrong="dx = W @ (2 * (z - t))",
)
EXTRA_TRANSPOSE = _slip(
    "extra transpose",
    "there is a transpose too many",
    """Where the forward pass multiplies with W.T, the backward pass multiplies with W: two transposes undo each
    other.""",
    formula=_LINEAR.replace("W @ x", "x @ W"),
    right="dx = W @ (2 * (z - t))",
    wrong="dx = W.T @ (2 * (z - t))",
    alike=("missing transpose",),
)
OPERANDS_SWAPPED = _slip(
    "operands swapped",
    "the two operands changed places",
    """A matrix product, an outer product, a difference and a quotient are not the same with their operands
    exchanged: the gradient of W in W @ x is outer(dz, x), rows from dz, columns from x.""",
    formula=_LINEAR,
    right="dW = outer(2 * (z - t), x)",
    wrong="dW = outer(x, 2 * (z - t))",
    alike=("missing transpose", "extra transpose", "sign"),
)
ELEMENTWISE_FOR_MATMUL = _slip(
    "elementwise for matmul",
    "the matrix product @ belongs here, not *",
    """`*` multiplies entry by entry, and broadcasting lets shapes pass that a product of matrices needs; the chain
    rule of z = W @ x sums over the entries of z.""",
    formula="W = [[1, 2], [3, 5]]\nX = [[2, -1], [1, 1]]\nT = [[1, 4], [0, 2]]\nZ = W @ X\nL = sum((Z - T) ** 2)",
    right="dX = W.T @ (2 * (Z - T))",
    wrong="dX = W.T * (2 * (Z - T))",
)
MATMUL_FOR_ELEMENTWISE = _slip(
    "matmul for elementwise",
    "the product entry by entry, *, belongs here, not @",
    """A function that works entry by entry has a local gradient entry by entry: dz = dh * f'(z).""",
    formula="Z = [[0.2, -1], [1, 0.5]]\nT = [[1, 4], [0, 2]]\nH = tanh(Z)\nL = sum(H * T)",
    right="dZ = T * (1 - H ** 2)",
    wrong="dZ = T @ (1 - H ** 2)",
)
MISSING_OUTER = _slip(
    "missing outer",
    "the outer product is missing",
    """The gradient of W in z = W @ x has an entry for every entry of W: outer(dz, x), every dz[i] times every x[j].""",
    formula=_LINEAR,
    right="dW = outer(2 * (z - t), x)",
    wrong="dW = 2 * (z - t) * x",
)
MISSING_SLICE = _slip(
    "missing slice",
    "only a part of this belongs here",
    """Where tensors were joined before a product, each receives the gradient of its own part: the columns of W that
    met x, not all of them.""",
    formula="h = [1, 2]\nx = [2, -1, 3]\nw = [[1, 2, 3, 4, 5], [2, 0, 1, 1, 3]]\nt = [1, 4]\nj = concat([h, x])\n"
    "z = w @ j\nL = sum(z * t)",
    right="dh = w[:, :2].T @ t",
    wrong="dh = w.T @ t",
)
KERNEL_FLIP = _slip(
    "kernel flip",
    "here the kernel must be flipped, or must not be",
    """The gradient of a convolution's input is a convolution with the kernel flipped along every axis; the gradient of
    the kernel is one with nothing flipped.""",
    formula="x = [1, 2, -1, 0.5, 3]\nk = [0.2, -0.4, 0.6]\nt = [1, -1, 2]\ny = conv1d(x, k)\nL = sum(y * t)",
    right="dk = conv1d(x, t)",
    wrong="dk = flip(conv1d(x, t), 0)",
)

# Sums ------------------------------------------------------------------------------------------------------------

MISSING_SUM = _slip(
    "missing sum",
    "a sum is missing: what was repeated by broadcasting receives the sum over its copies",
    """b in X + b is added to every row; each row sends its gradient back, so db is their sum over the rows.""",
    formula=_BATCH,
    right="db = sum(2 * (Y - T), axis=0)",
    wrong="db = 2 * (Y - T)",
    alike=("lost axis",),
)
EXTRA_SUM = _slip(
    "extra sum",
    "there is a sum too many",
    """A gradient has the shape of its node; what the forward pass did not repeat is not summed on the way back.""",
    formula="x = [1, 2, 3]\nt = [2, 0, 1]\ny = x ** 2\nL = sum(y * t)",
    right="dx = 2 * x * t",
    wrong="dx = 2 * x * sum(t)",
)
WRONG_AXIS = _slip(
    "wrong axis",
    "this runs over the wrong axis",
    """The sum that undoes broadcasting runs over the axis that was repeated, and the sum in a softmax over the axis
    whose entries add up to one.  A square matrix fits both ways.""",
    formula="X = [[1, 2], [3, 4]]\nb = [1, -1]\nT = [[0, 1], [2, 2]]\nY = X + b\nL = sum((Y - T) ** 2)",
    right="db = sum(2 * (Y - T), axis=0)",
    wrong="db = sum(2 * (Y - T), axis=1)",
)
LOST_AXIS = _slip(
    "lost axis",
    "an axis of length 1 was lost, so that broadcasting pairs the wrong entries",
    """sum(x, axis=1) has one axis less than x; with keepdims=True the sums stand beside the rows they belong to.""",
    formula="z = [[1, 2], [3, 5]]\nt = [[0.2, 0.7], [1, -1]]\np = softmax(z, axis=1)\nL = sum(p * t)",
    right="dz = p * (t - sum(t * p, axis=1, keepdims=True))",
    wrong="dz = p * (t - sum(t * p, axis=1))",
)
MEAN_FOR_SUM = _slip(
    "mean for sum",
    "this is divided by the number of entries (or rows) although it is a sum, not a mean",
    """If the loss divides by N, its gradient does so once, and only once: a second 1/N, or a mean in place of a sum,
    makes every entry N times too small.""",
    formula=_BATCH,
    right="db = sum(2 * (Y - T), axis=0)",
    wrong="db = mean(2 * (Y - T), axis=0)",
    alike=("constant",),
)
SUM_FOR_MEAN = _slip(
    "sum for mean",
    "the division by the number of entries (or rows) is missing",
    """A mean sends the upstream gradient divided by N to each of its N entries.""",
    formula=_BATCH.replace("sum(", "mean("),
    right="dY = 2 * (Y - T) / 6",
    wrong="dY = 2 * (Y - T)",
    alike=("constant",),
)
CONSTANT = _slip(
    "constant",
    "a constant factor is wrong",
    """The gradient has the right direction, but every entry is off by one and the same factor: the 2 of a square, a
    learning rate, the weight of a penalty.""",
    formula="x = [1, 2, 3]\nt = [2, 0, 1]\nL = sum((x - t) ** 2)",
    right="dx = 2 * (x - t)",
    wrong="dx = x - t",
    alike=("mean for sum", "sum for mean"),
)
SIGN = _slip(
    "sign",
    "a sign is wrong",
    """In t - y, y receives minus the upstream gradient; a quotient's denominator and a negative exponent bring a minus
    of their own.""",
    formula="x = [1, 2, 3]\nt = [2, 0, 1]\nL = sum((t - x) ** 2)",
    right="dx = -2 * (t - x)",
    wrong="dx = 2 * (t - x)",
)

# The chain rule ---------------------------------------------------------------------------------------------------

MISSING_LOCAL = _slip(
    "missing local",
    "a local gradient is missing",
    """Every operation on the way multiplies the upstream gradient by its own local gradient: tanh by 1 - h**2, sigmoid
    by s * (1 - s), a product by its other factor.""",
    formula=_TANH,
    right="dz = 2 * (h - t) * (1 - h ** 2)",
    wrong="dz = 2 * (h - t)",
    alike=("missing mask",),
)
MISSING_MASK = _slip(
    "missing mask",
    "a mask is missing: where the unit was off, nothing passes",
    """relu lets the gradient through where its input was positive, and blocks it elsewhere: dz = dh * (z > 0).""",
    formula=_RELU,
    right="dz = 2 * (h - t) * (z > 0)",
    wrong="dz = 2 * (h - t)",
    alike=("missing local",),
)
MISSING_UPSTREAM = _slip(
    "missing upstream",
    "this is only the local gradient: the upstream gradient is missing",
    """A contribution is the upstream gradient times the local one.  The local one alone says how h moves with z, not
    how the output does.""",
    formula=_TANH,
    right="dz = 2 * (h - t) * (1 - h ** 2)",
    wrong="dz = 1 - h ** 2",
)
MISSING_PATH = _slip(
    "missing path",
    "a path to the output is missing: its contribution must be added",
    """A node that is used more than once receives a contribution from every use, and its gradient is their sum.  A
    later contribution that overwrites an earlier one loses a path, too.""",
    formula="x = 2\ny = 3\na = x * y\nb = x + y\nL = a * b",
    right="dx = b * y + a",
    wrong="dx = b * y",
)
SOFTMAX_DIAGONAL = _slip(
    "softmax diagonal",
    "every output depends on every input here: only the diagonal of the Jacobian is there",
    """Raising one score lowers all other probabilities: dz = p * (g - sum(g * p)).  With the sum left out it is the
    rule of a function that works entry by entry, p * (1 - p).""",
    formula=_SOFTMAX,
    right="dz = p * (2 * (p - t) - sum(2 * (p - t) * p))",
    wrong="dz = 2 * (p - t) * p * (1 - p)",
)
DERIVATIVE_AT_WRONG_NODE = _slip(
    "derivative at wrong node",
    "the derivative is taken at the wrong node",
    """tanh'(z) is 1 - tanh(z)**2: written with the output h it is 1 - h**2, written with the input z it is not
    1 - z**2.""",
    formula=_TANH,
    right="dz = 2 * (h - t) * (1 - h ** 2)",
    wrong="dz = 2 * (h - t) * (1 - z ** 2)",
    alike=("wrong operand",),
)
FUNCTION_FOR_DERIVATIVE = _slip(
    "function for derivative",
    "the function itself stands where its derivative belongs",
    """The chain rule multiplies by f'(z), not by f(z).""",
    formula=_TANH,
    right="dz = 2 * (h - t) * (1 - h ** 2)",
    wrong="dz = 2 * (h - t) * h",
)
DERIVATIVE_FOR_FUNCTION = _slip(
    "derivative for function",
    "the derivative stands where the function itself belongs",
    """The local gradient of a product is its other factor as it stands, not that factor's derivative.""",
    formula="a = 0.5\nb = 2\nh = tanh(a)\nL = h * b",
    right="db = h",
    wrong="db = 1 - h ** 2",
)

# Masks -------------------------------------------------------------------------------------------------------------

MASK_INVERTED = _slip(
    "mask inverted",
    "the mask is the wrong way round",
    """The gradient passes where the unit was on.""",
    formula=_RELU,
    right="dz = 2 * (h - t) * (z > 0)",
    wrong="dz = 2 * (h - t) * (z < 0)",
)
MASK_ON_WRONG_TENSOR = _slip(
    "mask on wrong tensor",
    "the mask is made from the wrong tensor",
    """relu blocks the gradient where its input was negative, not where the gradient is.""",
    formula="z = [-1, 2, 0.5, -3]\nt = [0.4, -0.7, 0.9, -0.2]\nh = relu(z)\nL = sum(h * t)",
    right="dz = t * (z > 0)",
    wrong="dz = t * (t > 0)",
    alike=("wrong operand",),
)

# Names --------------------------------------------------------------------------------------------------------------

GRADIENT_FOR_VALUE = _slip(
    "gradient for value",
    "a gradient stands where the value belongs",
    """Rules mix gradients and values: dh = W.T @ dz takes the weight itself, not its gradient dW.""",
    formula=_TANH,
    right="dx = W.T @ (2 * (h - t) * (1 - h ** 2))",
    wrong="dW = outer(2 * (h - t) * (1 - h ** 2), x)\ndx = dW.T @ (2 * (h - t) * (1 - h ** 2))",
    alike=("wrong operand",),
)
VALUE_FOR_GRADIENT = _slip(
    "value for gradient",
    "a value stands where the gradient belongs",
    """What arrives from upstream is a gradient: dW = outer(dz, x), not outer(z, x).""",
    formula=_TANH,
    right="dz = 2 * (h - t) * (1 - h ** 2)\ndW = outer(dz, x)",
    wrong="dz = 2 * (h - t) * (1 - h ** 2)\ndW = outer(z, x)",
    alike=("wrong operand",),
)
WRONG_OPERAND = _slip(
    "wrong operand",
    "another name belongs here",
    """The local gradient of a product is its other factor, of a matrix product the other matrix: look which node was
    multiplied in the forward pass.""",
    formula="x = [1, 2]\ny = [3, -1]\nu = [2, 5]\nL = sum(x * y + u)",
    right="dx = y",
    wrong="dx = u",
)
UPDATED_WEIGHTS = _slip(
    "updated weights",
    "the weights are already updated: the gradient belongs to those of the forward pass",
    """All gradients of a step are taken at the same weights; updating W before it is used to pass the gradient on
    mixes two steps.""",
    formula=_LINEAR,
    right="dz = 2 * (z - t)\ndW = outer(dz, x)\ndx = W.T @ dz",
    wrong="dz = 2 * (z - t)\ndW = outer(dz, x)\ndx = (W - 0.1 * dW).T @ dz",
)
GRADIENTS_SWAPPED = _slip(
    "gradients swapped",
    "two gradients are exchanged",
    """The two operands of a product receive different gradients: each is multiplied by the other one.""",
    formula="x = [1, 2]\nw = [3, -1]\nL = sum(x * w)",
    right="dx = w\ndw = x",
    wrong="dx = x\ndw = w",
    alike=("wrong operand", "other gradient"),
)
OTHER_GRADIENT = _slip(
    "other gradient",
    "this is the gradient of another node",
    """The formula is right, but it is the gradient of a node further on or further back.""",
    formula=_TANH,
    right="dh = 2 * (h - t)",
    wrong="dh = 2 * (h - t) * (1 - h ** 2)",
    alike=("missing local", "missing mask", "extra factor", "wrong operand"),
)

# Arithmetic -----------------------------------------------------------------------------------------------------------

WRONG_EXPONENT = _slip(
    "wrong exponent",
    "an exponent is wrong",
    """The slope of x**n is n * x**(n - 1).""",
    formula="x = [1.5, 2]\nt = [1, 2]\nL = sum(t * x ** 3)",
    right="dx = t * 3 * x ** 2",
    wrong="dx = t * 3 * x ** 3",
)
MULTIPLIED_FOR_DIVIDED = _slip(
    "multiplied for divided",
    "a product stands where a quotient belongs, or the reverse",
    """The slope of log(x) is 1 / x, that of a / b in a is 1 / b: the upstream gradient is divided.""",
    formula="x = [1.5, 2]\nt = [1, 2]\nL = sum(t * log(x))",
    right="dx = t / x",
    wrong="dx = t * x",
)
PRECEDENCE = _slip(
    "precedence",
    "brackets are missing or in the wrong place",
    """`a / b * c` is (a / b) * c, and `a - b * c` multiplies first.""",
    formula="x = 3\ny = 2\nu = 5\nL = x / (y * u)",
    right="dx = 1 / (y * u)",
    wrong="dx = 1 / y * u",
    alike=("multiplied for divided",),
)
LOOK_ALIKE_FUNCTION = _slip(
    "look alike function",
    "another function belongs here",
    """sin for cos, log for exp, a norm for its square: the name is close, the function is another one.""",
    formula="x = [0.5, 2]\nt = [1, 2]\nL = sum(t * sinh(x))",
    right="dx = t * cosh(x)",
    wrong="dx = t * cos(x)",
    alike=("function for derivative",),
)
EXTRA_FACTOR = _slip(
    "extra factor",
    "a factor does not belong here",
    """Something was multiplied in that the chain rule does not ask for, or that was multiplied in before.""",
    formula="z = 0.4\ny = 1\np = sigmoid(z)\nL = -(y * log(p) + (1 - y) * log(1 - p))",
    right="dz = p - y",
    wrong="dz = (p - y) * p * (1 - p) / (1 - p)",
)
MISSING_TERM = _slip(
    "missing term",
    "a term is missing",
    """A rule has more than one term, and all of them belong to the contribution: p - y of a cross-entropy, not p.""",
    formula="z = [0.4, 1]\ny = [1, 2]\nL = sum((z - y) ** 2) / 2",
    right="dz = z - y",
    wrong="dz = z",
    alike=("missing path",),
)
EXTRA_TERM = _slip(
    "extra term",
    "a term does not belong here",
    """Something was added that no path to the output sends, or that was added before.""",
    formula="z = [0.4, 1]\ny = [1, 2]\nb = [3, -1]\nL = sum((z - y) ** 2 + b)",
    right="dz = 2 * (z - y)",
    wrong="dz = 2 * (z - y) + b",
)
