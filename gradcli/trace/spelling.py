"""How programs spell the names of gradients: `dW` is that of W, `grad_b` that of b, `W_grad`, `l2_delta`."""

from __future__ import annotations

import re

_SPELLINGS = (
    re.compile(r"d(?:L|J|E|C|loss)?_?d?_?(\w+)"),
    re.compile(r"g(?:rad)?_(\w+)"),
    re.compile(r"grad(\w+)"),
    re.compile(r"(\w+?)_?grads?"),
    re.compile(r"(\w+?)_(?:gradient|error|delta)s?"),
)
LONG_NAMES = {"w": ("weight", "weights", "coef_"), "b": ("bias", "biases", "intercept_")}
"""What a gradient of one letter, `dw`, is the gradient of where names are long."""

_ENDINGS = ("grad", "grads", "gradient", "gradients", "error", "errors", "delta", "deltas")
_ALL = re.compile(r"_?(?:grads?|gradients?|dparams|d_params|param_grads)")


def root_of(name: str) -> str:
    """The name whose gradient a name is by its spelling, in small letters; `*` for a whole collection, "" for none."""
    if name[:1] not in "dg_∂" and not name.endswith(_ENDINGS):
        return ""
    if _ALL.fullmatch(name):
        return "*"
    for spelling in _SPELLINGS:
        if found := spelling.fullmatch(name):
            return found[1].lower()
    return ""


STEP_OF_ITS_OWN = re.compile(r"d[a-z]|delta|error|diff")
"""Names that are as likely a step of an integration, or a difference, as a gradient."""
