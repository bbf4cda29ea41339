"""How a command ends: an error becomes a text on stderr and an exit code."""

import functools
from collections.abc import Callable
from typing import ParamSpec

import typer
from rich.console import Console

from environments.loading import SettingsError
from ops.account import AWS_ERRORS, explain
from ops.errors import ExitCode, OpsError

P = ParamSpec("P")


def say(console: Console, text: str = "") -> None:
    """Print a line as it is: broken between words on a terminal, and not at all in a file."""
    console.print(text, highlight=False, markup=False, soft_wrap=not console.is_terminal)


def reported(command: Callable[P, None]) -> Callable[P, None]:
    """Wraps a command so that what it raises is told to a person, without a traceback."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            command(*args, **kwargs)
        except OpsError as error:
            typer.echo(f"\n{error}\n", err=True)
            raise typer.Exit(error.code) from None
        except SettingsError as error:
            typer.echo(f"\n{error}\n", err=True)
            raise typer.Exit(ExitCode.USAGE) from None
        except AWS_ERRORS as error:
            explained = explain(error, "this account")
            typer.echo(f"\n{explained}\n", err=True)
            raise typer.Exit(explained.code) from None
        except KeyboardInterrupt:
            typer.echo("\nInterrupted.\n", err=True)
            raise typer.Exit(ExitCode.INTERRUPTED) from None

    return run
