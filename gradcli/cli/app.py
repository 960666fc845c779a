"""The `gradcli` command: one file per subcommand, and here what happens when something goes wrong."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from gradcli.cli.check import check
from gradcli.cli.derive import derive
from gradcli.cli.exit_codes import ExitCode
from gradcli.cli.explain import explain
from gradcli.cli.ops import ops
from gradcli.cli.streams import ascii_only, console, discard, heard_or_not, prepare_streams
from gradcli.problems import GradError
from gradcli.problems.command import unwritable_output, usage

app = typer.Typer(
    name="gradcli",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the help in colours would import half of Rich, for longer than a derivation takes
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Derives gradients from formula files, step by step: forward values, the reverse order, every contribution. "
    "Checks them by SymPy and by differences.",
)
app.command(name="derive")(derive)
app.command(name="check")(check)
app.command(name="explain")(explain)
app.command(name="ops")(ops)


@app.callback(invoke_without_command=True)
def options(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and stop.", is_eager=True)] = False,
) -> None:
    """Options before any command."""
    if version:
        from importlib.metadata import version as installed

        typer.echo(f"gradcli {installed('gradcli')}")
        raise typer.Exit


def main() -> None:
    """Runs the command; every outcome is an exit code, never a traceback."""
    prepare_streams()
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except GradError as error:
        code = _wrong(error)
    except typer.Abort:
        code = ExitCode.INTERRUPTED
    except KeyboardInterrupt:
        code = ExitCode.INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click exits with 1 where the reader has gone, which means something else
        discard(sys.stdout)
        code = ExitCode.DONE
    except OSError as error:  # what goes wrong in reading has problems of its own
        discard(sys.stdout)
        code = _wrong(GradError(unwritable_output((error.strerror or str(error)).lower())))
    except Exception as error:
        code = _failed(error)
    sys.exit(int(code or ExitCode.DONE))


def _wrong(error: GradError) -> int:
    from gradcli.render.problems import print_problems

    with heard_or_not():
        print_problems(console(sys.stderr), error.problems, ascii_only=ascii_only(sys.stderr))
    return ExitCode.WRONG_INPUT


def _failed(error: Exception) -> int:
    if isinstance(error, typer.BadParameter.__mro__[2]):  # click's own exceptions, which typer may have bundled
        context = getattr(error, "ctx", None)
        message = error.format_message().rstrip(".")  # type: ignore[attr-defined]
        path = context.command_path if context else "gradcli"
        return _wrong(GradError(usage(message[:1].lower() + message[1:], path)))
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    place = f"{frame.filename.rsplit('gradcli', 1)[-1].lstrip('/')}:{frame.lineno}"
    with heard_or_not():
        print(
            f"internal error: {type(error).__name__}: {error} (at {place})\n"
            "This is a mistake of gradcli's own. Please report it with the command and the file that led to it.",
            file=sys.stderr,
        )
    return ExitCode.INTERNAL_ERROR
