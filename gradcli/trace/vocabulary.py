"""Words of NumPy, PyTorch and JAX that are no operators: what they mean here, or why they are left out."""

from __future__ import annotations

import ast
import math

MODULES = frozenset({"optim", "np", "numpy", "torch", "F", "nn", "linalg", "jnp", "jax", "math", "tf", "cp", "anp"})
"""Names that a function may be called through, unless the file gives them a value: `np.exp`, `nn.functional.relu`."""

LIBRARIES = frozenset(
    {
        "numpy",
        "torch",
        "jax",
        "math",
        "micrograd",
        "autograd",
        "matplotlib",
        "scipy",
        "tensorflow",
        "random",
        "typing",
    }
    | {"__future__", "functools", "itertools", "time", "os", "sys", "copy", "collections", "dataclasses", "tqdm", "abc"}
    | {"sklearn", "pandas", "seaborn", "IPython", "flax", "optax", "jaxlib", "logging", "warnings", "json", "pathlib"}
    | {"cupy", "torchvision", "tinygrad", "argparse", "operator", "enum", "contextlib", "string", "re", "datetime"}
    | {"pickle", "csv", "glob", "gzip", "shutil", "textwrap", "pprint", "statistics", "heapq", "graphviz", "networkx"}
    | {"PIL", "cv2", "keras", "chex", "jaxtyping", "numba", "tabulate", "plotly", "nnfs", "urllib", "inspect", "gc"}
)
"""Libraries whose imports are passed over: the functions they would bring are known here or reported where used."""

CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan, "tau": math.tau}
"""Numbers with a name; a definition of that name replaces them."""

OTHER_CONSTANTS: dict[str, object] = {"newaxis": None, "Inf": math.inf, "infty": math.inf, "NaN": math.nan}
"""Further names that modules have."""

DTYPES = frozenset({"float64", "float32", "float16", "double", "half", "single", "int64", "int32", "long", "bool"})
"""Precisions, as names of a module or as functions: `torch.float32`, `float32([...])`."""

WRAPPERS = frozenset(
    {
        "array",
        "asarray",
        "tensor",
        "as_tensor",
        "Tensor",
        "Variable",
        "Parameter",
        "Value",
        "FloatTensor",
        "DoubleTensor",
        "LongTensor",
        "IntTensor",
        "from_numpy",
        "ascontiguousarray",
        "param",
    }
)
"""Functions that make a tensor of what they are given."""

PASSED_OVER = frozenset(
    {
        "print",
        "zero_grad",
        "step",
        "manual_seed",
        "seed",
        "retain_grad",
        "zero_",
        "set_printoptions",
    }
    | {"watch", "save", "figure", "legend", "xlabel", "ylabel", "title"}
    | {"apply_gradients", "set_seed", "display", "eval", "train", "show", "plot", "set_default_dtype", "zero_grads"}
)
"""Functions and methods whose line has no meaning for a derivation."""

SEEDERS = frozenset({"manual_seed", "seed", "set_seed"})
"""Of these, what would set the seed of a generator that we do not have."""

PATHS = {
    "np": "numpy",
    "anp": "autograd.numpy",
    "jnp": "jax.numpy",
    "cp": "cupy",
    "nn": "torch.nn",
    "F": "torch.nn.functional",
    "optim": "torch.optim",
    "tf": "tensorflow",
}
"""What the usual short names of libraries stand for."""

ASIDE = frozenset({"matplotlib", "seaborn", "time", "logging", "warnings", "IPython"})
"""Libraries whose calls have no meaning for a derivation, whatever they are."""

SWITCHES = ("jax.config", "jax.debug", "numpy.testing", "tensorflow.config", "tensorflow.debugging")
"""Parts of libraries whose calls change how a program runs, or what it says, and no value."""

BOOKKEEPING = frozenset({"grad", "requires_grad", "label", "_prev", "name"})
"""Attributes of a tensor whose setting changes no value."""

WITHOUT_GRADIENT = frozenset({"no_grad", "inference_mode"})
"""Blocks in which nothing is differentiated."""

CONTEXTS = WITHOUT_GRADIENT | {
    "enable_grad",
    "set_grad_enabled",
    "detect_anomaly",
    "set_detect_anomaly",
    "autocast",
    "GradientTape",
    "errstate",
    "printoptions",
    "warnings",
}
"""`with` blocks whose lines are read as if they stood alone."""

BUILTIN_NAMES = frozenset(
    {"int", "float", "list", "tuple", "dict", "str", "bool", "len", "range", "zip", "enumerate", "reversed", "sorted"}
    | {"map", "print", "set", "isinstance", "slice"}
)
"""Functions and types of Python's own that can be handed about: `isinstance(x, list)`, `map(float, xs)`."""

OPTIMISERS = frozenset(
    {"SGD", "Adam", "AdamW", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "LBFGS", "Rprop"}
    | {"StepLR", "ExponentialLR", "CosineAnnealingLR", "ReduceLROnPlateau", "MultiStepLR", "LambdaLR"}
)
"""What changes parameters after a backward pass; how, is no part of a derivation."""

TREES = frozenset({"tree_map", "tree_multimap"})
"""JAX's functions that apply one function to every entry of nested containers."""

LEFT_OUT: dict[type[ast.AST], tuple[str, str]] = {
    ast.AsyncFor: ("an `async for` loop", "write it without `async`"),
    ast.AsyncFunctionDef: ("an `async` function", "write it without `async`"),
    ast.Starred: ("a starred expression here", "write the entries out"),
    ast.Raise: ("`raise`", "change what leads here: this line stops the program"),
    ast.Delete: ("`del` of this", "leave it out"),
    ast.Return: ("`return` outside a function", "leave it out, or give the value a name"),
    ast.Break: ("`break` outside a loop", "leave it out"),
    ast.Continue: ("`continue` outside a loop", "leave it out"),
    ast.Await: ("`await`", "leave it out"),
    ast.Yield: ("`yield` outside a function", "leave it out"),
    ast.YieldFrom: ("`yield` outside a function", "leave it out"),
    ast.Match: ("`match`", "write it with `if` and `elif`"),
    ast.AsyncWith: ("`async with`", "leave it out"),
    ast.TryStar: ("`try`", "write its lines without the `try`"),
}
"""Python that the language leaves out for good, and what to write instead."""

BINARY: dict[type[ast.AST], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.MatMult: "@",
    ast.Mod: "%",
    ast.FloorDiv: "//",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}
"""Python's operator signs."""
