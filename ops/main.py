"""The ``raytrain`` console script: one line a command, one module a command."""

import typer

from ops.capacity.command import capacity
from ops.check import check
from ops.deploy.command import PASS_ON, deploy
from ops.errors import EXIT_CODES
from ops.plan import plan

app = typer.Typer(
    name="raytrain",
    help="Find GPU capacity, deploy an environment, and know the price before. See docs/commands.md.",
    epilog=EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",  # joins the lines of a paragraph
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(epilog=EXIT_CODES)(capacity)
app.command(epilog=EXIT_CODES, context_settings=PASS_ON)(deploy)
app.command(epilog=EXIT_CODES)(check)
app.command(epilog=EXIT_CODES)(plan)
