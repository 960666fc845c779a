"""Mistakes in a command: files that cannot be read, options that name nothing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gradcli.problems.core import Problem, mistake
from gradcli.problems.meaning import did_you_mean


@mistake("missing-file")
def missing_file(path: str, nearby: Sequence[str]) -> Problem:
    """There is no file of that name.

    The path is taken from the directory the command runs in.  `-` reads from standard input.
    """
    return Problem(
        "missing-file",
        f"there is no file `{path}`",
        help=did_you_mean(path, nearby, "check the path, or use `-` to read from standard input"),
    )


@mistake("directory")
def directory(path: str, inside: Sequence[str]) -> Problem:
    """A directory is named where a formula file is expected.

    Name the files in it: `gradcli derive samples/*.txt`.
    """
    example = f": {', '.join(inside[:3])}" if inside else ""
    return Problem("directory", f"`{path}` is a directory", help=f"name a formula file in it{example}")


@mistake("no-hessian")
def no_hessian(reason: str, way_out: str) -> Problem:
    """Second derivatives are those of a number, by inputs.

    A tensor output has none: choose a number with `--of`, or sum the tensor up.  A Hessian has a row and a column for
    every entry of the inputs, so for many inputs there are too many second derivatives to check each: `--wrt b` asks
    for those of a few.

        x = [1, 2]
        y = x * x        # fails with `--hessian`: y is no number
        L = sum(y)       # works: the second derivatives are 2 on the diagonal, 0 elsewhere
    """
    return Problem("no-hessian", f"there is no Hessian: {reason}", help=way_out)


@mistake("unreadable-file")
def unreadable_file(path: str, reason: str) -> Problem:
    """The operating system does not let the file be read.

    A permission may be missing, the name may be too long, or what bears the name is a device and no file.
    `ls -l FILE` shows whose it is and who may read it.
    """
    return Problem("unreadable-file", f"`{path}` cannot be read: {reason}", help="check its permissions")


@mistake("unwritable-output")
def unwritable_output(reason: str) -> Problem:
    """What was found could not be written to the standard output.

    The disk may be full, or the device that the output is sent to may have gone.  What was written before is
    incomplete, so throw it away:

        gradcli derive circuit.txt > /dev/full     # fails: nothing can be written there
    """
    return Problem("unwritable-output", f"the output cannot be written: {reason}", help="send it somewhere else")


@mistake("wrong-encoding")
def wrong_encoding(path: str, offset: int, byte: int, likely: str = "GBK") -> Problem:
    """The file is not UTF-8 text.

    It may have been saved in another encoding (GBK, UTF-16, Latin-1), or it may not be text at all.  Most editors
    have "save with encoding: UTF-8".
    """
    return Problem(
        "wrong-encoding",
        f"`{path}` is not UTF-8 text",
        notes=(f"byte {offset} is 0x{byte:02x}",),
        help=f"save it as UTF-8, or convert it: `iconv -f {likely} -t UTF-8 FILE`"
        if likely
        else "it does not look like text at all: name a file of formulas",
    )


@mistake("bad-notebook")
def bad_notebook(path: str) -> Problem:
    """A file whose name ends in `.ipynb` is no Jupyter notebook.

    A notebook is a JSON document with a list of cells, of which the code cells are read.  A file that holds plain code
    needs another ending, such as `.py` or `.txt`.
    """
    return Problem(
        "bad-notebook",
        f"`{path}` is not a Jupyter notebook",
        help="save it from Jupyter again, or rename it to `.py` if it holds plain code",
    )


@mistake("empty-file")
def empty_file(name: str) -> Problem:
    """The file has no formula in it: it is empty, or has only comments.

    A first formula file:

        x = 2
        y = 3
        z = x * y
    """
    return Problem("empty-file", f"{name} has no formula in it", help="write a line such as `z = x * y`")


@mistake("unknown-node")
def unknown_node(option: str, name: str, known: Iterable[str]) -> Problem:
    """An option names a node that the file does not define.

    `--of`, `--wrt` and `--upstream` take names from the file, separated by commas.  A name that is assigned several
    times means its last definition; the earlier ones are `h'1`, `h'2`, …
    """
    known = list(known)
    return Problem(
        "unknown-node",
        f"{option}: the file has no node `{name}`",
        help=did_you_mean(name, known, f"its nodes are {', '.join(known[-12:])}"),
    )


@mistake("no-gradient")
def no_gradient(option: str, name: str, reason: str) -> Problem:
    """A gradient is asked for at a node that has none.

    Labels and masks are whole numbers and truth values, which do not vary smoothly; an input marked with
    `const(...)` is data.  Take `const` away if the gradient with respect to the data is wanted:

        X = const([[1, 2], [3, 4]])     # no dL/dX
        X = [[1, 2], [3, 4]]            # dL/dX, too
    """
    return Problem("no-gradient", f"{option}: `{name}` has no gradient: {reason}", help="name another node")


@mistake("bad-option")
def bad_option(option: str, expected: str, found: str, way_out: str = "") -> Problem:
    """An option's value cannot be understood.

    `--upstream` gives the gradient that arrives at the output, by the name of a node or in numbers; a list needs
    quotes where the shell would take its brackets or blanks for its own:

        gradcli derive product.txt --upstream C=dC
        gradcli derive product.txt --upstream "C=[[1, 0], [0, 1]]"
    """
    return Problem("bad-option", f"{option} must be {expected}, found `{found}`", help=way_out)


@mistake("unknown-family")
def unknown_family(option: str, name: str, known: Iterable[str]) -> Problem:
    """An option names a family of states that the file does not define.

    A family is defined by subscripts, `h[t] = …`, or by giving one name again and again in a loop; each state is
    computed from the one before, so that a gradient can flow back through all of them.

        gradcli derive samples/rnn.txt --truncate h=2
    """
    known = list(known)
    otherwise = f"its families are {', '.join(known)}" if known else "it has none"
    return Problem(
        "unknown-family",
        f"{option}: the file has no family of states `{name}`",
        help=did_you_mean(name, known, otherwise),
    )


@mistake("unknown-code")
def unknown_code(word: str, known: Iterable[str]) -> Problem:
    """`gradcli explain` was asked about a word that it does not know.

    `gradcli explain` alone lists everything that can be explained.
    """
    known = list(known)
    holding = [code for code in known if word.lower() in code]
    otherwise = "`gradcli explain` lists everything that can be explained"
    way_out = f"did you mean {' or '.join(f'`{code}`' for code in holding)}?" if holding else ""
    return Problem(
        "unknown-code",
        f"there is nothing to explain about `{word}`",
        help=way_out or did_you_mean(word, known, otherwise),
    )


@mistake("unknown-operator")
def unknown_operator(word: str, known: Iterable[str]) -> Problem:
    """`gradcli ops` was asked about an operator that there is not.

    `gradcli ops` alone lists them all, by family.
    """
    way_out = did_you_mean(word, known, "`gradcli ops` lists all there are")
    return Problem("unknown-operator", f"there is no operator `{word}`", help=way_out)


@mistake("usage")
def usage(message: str, command_path: str) -> Problem:
    """The command was called in a way that it does not know: an option it does not have, a value it cannot read.

    `gradcli derive --help` lists the options of `derive`, and so for every command:

        gradcli derive samples/circuit.txt
        gradcli derive samples/circuit.txt --of p --digits 6
    """
    return Problem("usage", message, help=f"`{command_path} --help` shows how it is called")
