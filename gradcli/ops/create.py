"""Inputs that need not be typed in: `zeros(3)`, `randn(3, 4, seed=0)`, `load("weights.npz", "W1")`.

Each creator is one function that takes plain numbers and returns an array; its parameters are its call syntax.
Draws without a seed are repeatable too: a derivation must show the same numbers every time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from gradcli.ops.shapes import lengths, real, whole

Creator = Callable[..., Any]

CREATORS: dict[str, Creator] = {}
"""Every creator by its spellings."""

MAX_STEPS = 100_000
"""How many passes of loops and calls a program may take (`--max-steps` raises it)."""

MAX_ELEMENTS = 10_000_000
"""The largest tensor that is made without asking (`--max-elements` raises it)."""


class TooLarge(Exception):
    """A tensor past the limit: how many entries it would have."""

    def __init__(self, elements: int) -> None:
        super().__init__(elements)
        self.elements = elements


def creator(*spellings: str) -> Callable[[Creator], Creator]:
    """Files a creator under its spellings."""

    def register(function: Creator) -> Creator:
        for spelling in spellings:
            CREATORS[spelling] = function
        return function

    return register


class Limits:
    """What a creator may make and where it may look: passed to creators that ask for it as `limits`."""

    def __init__(self, directory: Path, max_elements: int = MAX_ELEMENTS, max_steps: int = MAX_STEPS) -> None:
        self.directory = directory
        self.max_elements = max_elements
        self.max_steps = max_steps
        self.draws = 0
        """How many random tensors were drawn without a seed of their own."""

    def allow(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape, if it is not too large.  Raises TooLarge, or ValueError for a negative length."""
        elements = 1
        for n in shape:
            if n < 0:
                raise ValueError(f"a length of at least 0, found {n}")
            elements *= n
        if elements > self.max_elements:
            raise TooLarge(elements)
        return shape


def _shape(lengths_given: tuple[Any, ...], limits: Limits) -> tuple[int, ...]:
    """`zeros(3, 4)`, `zeros((3, 4))` and `zeros(())` are all meant."""
    one = len(lengths_given) == 1 and isinstance(lengths_given[0], (tuple, list))
    return limits.allow(lengths(lengths_given[0] if one else lengths_given))


@creator("zeros", "empty")
def zeros(*shape: Any, limits: Limits) -> Any:
    """A tensor of zeros."""
    return np.zeros(_shape(shape, limits))


@creator("ones")
def ones(*shape: Any, limits: Limits) -> Any:
    """A tensor of ones."""
    return np.ones(_shape(shape, limits))


@creator("full")
def full(shape: Any, value: Any, *, limits: Limits) -> Any:
    """A tensor of one number."""
    return np.full(limits.allow(lengths(shape)), real(value))


@creator("eye", "identity_matrix")
def eye(n: Any, m: Any = None, *, limits: Limits) -> Any:
    """The identity matrix."""
    rows, columns = limits.allow((whole(n), whole(n if m is None else m)))
    return np.eye(rows, columns)


@creator("arange")
def arange(*bounds: Any, limits: Limits) -> Any:
    """Evenly spaced numbers: `arange(stop)`, `arange(start, stop)`, `arange(start, stop, step)`."""
    numbers = [real(b) for b in bounds]
    if not 1 <= len(numbers) <= 3:
        raise ValueError("one to three numbers: start, stop, step")
    start, stop, step = (0.0, numbers[0], 1.0) if len(numbers) == 1 else (*numbers, 1.0)[:3]
    if step == 0 or not np.isfinite([start, stop, step]).all():
        raise ValueError("finite bounds and a step that is not 0")
    limits.allow((max(0, int(min(np.ceil((stop - start) / step), 1e18))),))
    return np.arange(*bounds)


@creator("linspace")
def linspace(start: Any, stop: Any, num: Any = 50, *, limits: Limits) -> Any:
    """`num` numbers from `start` to `stop`, both included."""
    return np.linspace(real(start), real(stop), limits.allow((whole(num),))[0])


@creator("randn", "normal")
def randn(*shape: Any, seed: Any = None, limits: Limits) -> Any:
    """Normally distributed numbers (mean 0, standard deviation 1), the same for the same seed."""
    return _generator(seed, limits).standard_normal(_shape(shape, limits))


@creator("uniform", "rand")
def uniform(*shape: Any, low: Any = 0.0, high: Any = 1.0, seed: Any = None, limits: Limits) -> Any:
    """Numbers spread evenly between `low` and `high`, the same for the same seed."""
    bounds = real(low), real(high)
    if not (np.isfinite(bounds).all() and bounds[0] <= bounds[1]):
        raise ValueError("finite bounds, the lower one first")
    return _generator(seed, limits).uniform(*bounds, _shape(shape, limits))


def _generator(seed: Any, limits: Limits) -> np.random.Generator:
    """The generator of a draw.  Draws without a seed have the seeds 0, 1, 2, …: repeatable, and not all the same."""
    if seed is None:
        seed = limits.draws
        limits.draws += 1
    number = whole(seed)
    if number < 0:
        raise ValueError("a seed of at least 0")
    return np.random.default_rng(number)


@creator("load")
def load(path: Any, name: Any = None, *, limits: Limits) -> Any:
    """An array from a `.npy`, `.npz` or `.csv` file, relative to the formula file.  Pickles are never opened."""
    if not isinstance(path, str):
        raise ValueError('the name of a file, such as "weights.npz"')
    file = limits.directory / path
    try:
        if not file.is_file():
            raise ValueError(f"a file that exists (there is no {path!r} beside the formula file)")
        value = _read(file, name)
        limits.allow(value.shape)
    except (ValueError, TooLarge):
        raise
    except Exception as error:  # NumPy's readers meet broken files with exceptions of every kind
        raise ValueError(f"a file of numbers; {path!r} cannot be read ({_reason(error)})") from None
    if value.dtype.kind not in "fiub":
        raise ValueError(f"numbers; {path!r} holds {value.dtype}")
    native = value.dtype.newbyteorder("=")
    return value.astype(native if native.name in ("float16", "float32") else float)


def _read(file: Path, name: Any) -> Any:
    """The array in a file.  ValueError says what the user could change, any other exception that the file is broken."""
    if file.suffix == ".csv":
        try:
            return np.loadtxt(file, delimiter=",", ndmin=1)
        except ValueError as error:
            raise TypeError(error) from None
    try:
        loaded = np.load(file, allow_pickle=False)
    except Exception as error:  # NumPy's readers meet broken files with exceptions of every kind
        raise TypeError(why_unreadable(file, error)) from None
    if not isinstance(loaded, np.lib.npyio.NpzFile):
        if name is not None:
            raise ValueError(f"a file name alone; a .npy file has no array of the name {name!r}")
        return loaded
    with loaded:
        if name is None and len(loaded.files) == 1:
            name = loaded.files[0]
        if name not in loaded.files:
            raise ValueError(f"the name of one of its arrays: {', '.join(loaded.files)}")
        try:
            return np.asanyarray(loaded[name])
        except Exception as error:
            raise TypeError(why_unreadable(None, error)) from None


def why_unreadable(file: Path | None, error: Exception) -> str:
    """Why NumPy could not read a file of arrays, or an array of an archive, in words of our own.

    NumPy's advise to open what is no array as a pickle, which would run it.
    """
    said = str(error)
    head = b""
    if file is not None:
        with suppress(OSError), file.open("rb") as stream:
            head = stream.read(6)
        if not head and not isinstance(error, OSError):
            return "it is empty"
        if isinstance(error, OSError) and error.strerror:
            return error.strerror.lower()
        if head[:2] != b"PK" and head != b"\x93NUMPY"[: len(head)]:
            return "it is no NumPy file" if not said.startswith("it is ") else said
    if "Object arrays" in said:
        return "it holds Python objects, which are never opened"
    if "version" in said:
        return "its format is of a version that is not known"
    return said if said.startswith("it is ") else "it is damaged, or cut short"


def _reason(error: Exception) -> str:
    return (str(error) or type(error).__name__).split("\n")[0]


@creator("layer_weights")
def layer_weights(shape: Any, bound: Any, zero_row: Any = None, *, limits: Limits) -> Any:
    """The weights of a new layer, spread evenly between `-bound` and `bound`; one row of a table may be zero."""
    weights = _generator(None, limits).uniform(-real(bound), real(bound), _shape((shape,), limits))
    if zero_row is not None:
        row = whole(zero_row)
        if not 0 <= row < len(weights):
            raise ValueError(f"a row of {len(weights)} to be zero")
        weights[row] = 0
    return weights
