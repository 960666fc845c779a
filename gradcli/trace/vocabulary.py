"""Words of NumPy, PyTorch and JAX that are no operators: what they mean here, or why they are left out."""

from __future__ import annotations

import ast
import math

MODULES = frozenset({"np", "numpy", "torch", "F", "nn", "linalg", "jnp", "jax", "math", "tf", "cp", "anp"})
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
    | {"__future__", "cupy", "torchvision", "tinygrad"}
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
        "requires_grad_",
        "zero_",
        "set_printoptions",
    }
    | {"display", "eval", "train", "show", "plot", "set_default_dtype", "zero_grads"}
)
"""Functions and methods whose line has no meaning for a derivation."""

SEEDERS = frozenset({"manual_seed", "seed"})
"""Of these, what would set the seed of a generator that we do not have."""

_LOOP = "write out the lines that it would run, one below the other"

NOT_YET: dict[type[ast.AST], tuple[str, str]] = {
    ast.For: ("a `for` loop", _LOOP),
    ast.AsyncFor: ("a `for` loop", _LOOP),
    ast.FunctionDef: ("a function definition", "write its body where it is called, with names of its own"),
    ast.AsyncFunctionDef: ("a function definition", "write its body where it is called"),
    ast.ClassDef: ("a class", "write out the formulas of its forward part"),
    ast.If: ("an `if` block", "write the branch that applies, or use where(condition, a, b)"),
    ast.IfExp: ("a condition `a if c else b`", "use where(c, a, b)"),
    ast.With: ("a `with` block", "write its lines without the `with`"),
    ast.GeneratorExp: ("a generator", "write the terms out: a[0] + a[1] + …"),
    ast.ListComp: ("a list comprehension", "write the entries out: [a, b, c]"),
    ast.SetComp: ("a comprehension", "write the entries out"),
    ast.DictComp: ("a comprehension", "write the entries out, a name each"),
    ast.Dict: ("a dictionary", "give every entry a name of its own"),
    ast.JoinedStr: ("an f-string", "leave it out"),
    ast.NamedExpr: ("an assignment inside an expression", "give it a line of its own"),
    ast.Starred: ("a starred expression", "write the entries out"),
}
"""Python that the language will have, and what to write until then."""

LEFT_OUT: dict[type[ast.AST], tuple[str, str]] = {
    ast.While: ("a `while` loop", _LOOP),
    ast.Lambda: ("`lambda`", "write the formula where it is used; for a name, use `lam`"),
    ast.Try: ("`try`", "write its lines without the `try`"),
    ast.Raise: ("`raise`", "leave it out"),
    ast.Assert: ("`assert`", "a claim is written with `==`, without `assert`"),
    ast.Delete: ("`del`", "leave it out"),
    ast.Global: ("`global`", "leave it out"),
    ast.Nonlocal: ("`nonlocal`", "leave it out"),
    ast.Return: ("`return` outside a function", "leave it out, or give the value a name"),
    ast.Await: ("`await`", "leave it out"),
    ast.Yield: ("`yield`", "leave it out"),
    ast.YieldFrom: ("`yield`", "leave it out"),
    ast.Match: ("`match`", "write the branch that applies"),
    ast.Set: ("a set", "use a list: [a, b]"),
    ast.Break: ("`break` outside a loop", "leave it out"),
    ast.Continue: ("`continue` outside a loop", "leave it out"),
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
