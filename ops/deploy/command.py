"""The command: its options, and the order of its steps."""

import sys
from typing import Annotated

import typer
from rich.console import Console

from ops.account import client, look, new_session
from ops.deploy import cdk
from ops.deploy.before import check_account, check_bootstrap, check_region, check_stacks, settled
from ops.deploy.capacity_first import ask
from ops.deploy.plan import make_plan
from ops.deploy.run import Run
from ops.deploy.stacks import deployed_template
from ops.deploy.view import question, show_plan
from ops.environment_file import read
from ops.errors import ExitCode, OpsError
from ops.reporting import reported, say

PASS_ON = {"allow_extra_args": True}
"""What follows -- is the CDK command line's."""


@reported
def deploy(
    context: typer.Context,
    environment: Annotated[str, typer.Argument(metavar="ENV", help="The environment to deploy.")],
    only_plan: Annotated[bool, typer.Option("--plan", help="Print what it would do and cost; create nothing.")] = False,
    with_proof: Annotated[
        bool, typer.Option("--probe", help="Reserve the nodes for a moment first, as raytrain capacity --probe does.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Deploy an environment: capacity first, one question with the price, then `cdk deploy`.

    When EC2 has no room for the nodes in the zone that was chosen, it says what the Auto Scaling group said, adds the
    zone to `capacity.exclude_zones` in the environment's file, and goes on with the next. When no zone is left it says
    what exists and what it costs. Run it again after a failure or Ctrl-C: it picks up where it stopped.

    What follows `--` goes to the CDK command line: `raytrain deploy dev -- --no-rollback`.
    """
    if only_plan and with_proof:
        raise OpsError("--plan and --probe", "one of them: --plan reserves nothing", "leave one out", ExitCode.USAGE)
    settings = read(environment)
    console = Console(file=sys.stdout)
    session = new_session()
    who, known = look(session, settings.region)
    check_account(settings, who)
    check_region(settings, known)
    check_bootstrap(session, settings, who)
    templates = cdk.synthesise(environment)
    cloudformation = client(session, "cloudformation", settings.region)
    stacks = settled(cloudformation, settings, console)
    check_stacks(stacks, settings, context.args)
    gpu = stacks["Gpu"]
    if gpu.works:
        say(console, f"The GPU nodes are there, in {gpu.output('AvailabilityZone')}: capacity is not asked.")
    elif gpu.may_cost:
        say(console, f"{gpu.name} is {gpu.status}, and what is left of it uses quota: capacity is not asked.")
    elif settings.capacity.mode == "reservation":
        say(console, "capacity.mode = 'reservation': its room is the reservation's, and is not asked.")
    else:
        ask(session, settings, who, console, with_proof=with_proof, yes=yes)
    deployed = {id: deployed_template(cloudformation, stack) for id, stack in stacks.items()}
    plan = make_plan(settings, who, stacks, templates, deployed)
    show_plan(console, plan)
    if only_plan:
        say(console, f"\nNothing was created. To do it: raytrain deploy {environment}")
        return
    if not yes and not _agreed(question(plan)):
        say(console, "Nothing was changed.")
        return
    run = Run.of(session, settings, console, context.args)
    try:
        code = run.until_deployed(settings, stacks)
    except KeyboardInterrupt:
        run.interrupted(settings)
        raise
    raise typer.Exit(code)


def _agreed(text: str) -> bool:
    try:
        return typer.confirm(f"\n{text}")
    except typer.Abort:
        raise OpsError(
            "the question", "an answer, y or n", "say --yes where nobody can answer", ExitCode.USAGE
        ) from None
