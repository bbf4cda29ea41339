"""The command: its options, and the order of its steps."""

import json
import sys
from typing import Annotated

import typer
from rich.console import Console

from ops.account import look, new_session
from ops.capacity import conclusion, probe
from ops.capacity.choice import choose, regions_to_ask
from ops.capacity.document import document
from ops.capacity.notes import kept
from ops.capacity.recommend import recommend
from ops.capacity.reserving import reserve
from ops.capacity.scan import not_enabled, scan
from ops.capacity.view import ScanView
from ops.capacity.writing import write
from ops.errors import ExitCode
from ops.reporting import reported


@reported
def capacity(
    environment: Annotated[
        str, typer.Argument(metavar="ENV", help="Its region, instance type and count are asked about.")
    ] = "dev",
    regions: Annotated[str | None, typer.Option(metavar="A,B", help="Ask these regions instead.")] = None,
    all_regions: Annotated[bool, typer.Option("--all-regions", help="Ask every region of the account.")] = False,
    instance_type: Annotated[str | None, typer.Option(help="Ask for this instance type instead.")] = None,
    count: Annotated[int | None, typer.Option(min=1, max=64, help="Ask for so many instances instead.")] = None,
    with_proof: Annotated[
        bool, typer.Option("--probe", help="Reserve them for a moment as proof, best zone first. Asks before.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Reserve without asking.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    write_to: Annotated[
        str | None, typer.Option("--write", metavar="ENV", help="Write region and zones to this environment's file.")
    ] = None,
) -> None:
    """Find a region and zones that may take the GPU nodes, before anything exists.

    Asks every zone whether it offers the type, the quota, and EC2's Spot placement score. That only reads, and says
    where the nodes are possible. Whether they are there now, only a reservation shows: --probe. Ctrl-C leaves none.
    """
    choice = choose(environment, instance_type, count, write_to)
    console = Console(file=sys.stderr if as_json else sys.stdout, stderr=as_json)
    session, home = new_session(), choice.settings.region
    who, known = look(session, home)
    names, closed = regions_to_ask(regions, all_regions, home, known)
    wanted = probe.group(choice.instance, choice.count, owner=who.owner, exclude_zones=choice.excluded)
    view = ScanView(console, [*names, *closed], f"Room for {wanted.wanted}, account {who.account}")
    with kept() as notes, view.showing():
        answers = [not_enabled(region) for region in closed]
        for answer in answers:
            view(answer)
        answers += scan(session, names, wanted, on_answer=view).values()
    proof = reserve(session, answers, wanted, choice, console, notes, yes=yes) if with_proof else None
    gateways = choice.place.network.nat_gateways
    recommendation = recommend(answers, choice.place, at_least=max(2, gateways), at_most=6, proof=proof)
    following = conclusion.next_command(recommendation, choice)
    if as_json:
        told = document(
            account=who.account,
            choice=choice,
            answers=answers,
            warnings=notes.warnings,
            proof=proof,
            recommendation=recommendation,
            next_command=following,
        )
        sys.stdout.write(json.dumps(told, indent=2) + "\n")
    else:
        conclusion.show(console, choice, wanted, answers, notes.warnings, recommendation, following)
    if recommendation is None:
        raise typer.Exit(conclusion.exit_code(answers))
    if choice.target is not None:
        write(choice.target, recommendation, console)
    raise typer.Exit(ExitCode.OK)
