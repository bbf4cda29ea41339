"""``--probe``: the question with its price, then the reservation in ranked order."""

import boto3
import typer
from rich.console import Console

from eks_ray_train.capacity_probe.exposure import most_usd
from ops.capacity import probe
from ops.capacity.choice import Choice
from ops.capacity.notes import Notes, kept
from ops.capacity.proof import Proof, prove
from ops.capacity.recommend import order
from ops.capacity.scan import RegionAnswer
from ops.errors import ExitCode, OpsError
from ops.price import price_text
from ops.reporting import say
from ops.wording import without_deploys


def reserve(
    session: boto3.Session,
    answers: list[RegionAnswer],
    wanted: probe.Properties,
    choice: Choice,
    console: Console,
    notes: Notes,
    *,
    yes: bool,
) -> Proof | None:
    """Ask, then reserve and cancel in the usable zones; None where there are none, or the person says no.

    ``notes`` takes what the probe logs meanwhile.

    Raises:
        OpsError: there is nobody to ask, or a reservation could not be made or cancelled.
        KeyboardInterrupt: after what was open is cancelled.
    """
    candidates = [(region, verdict.facts.zone) for region, verdict in order(answers, choice.place)]
    if not candidates:
        return None
    say(console, question(candidates, choice))
    if not yes and not _agreed(console):
        say(console, "Nothing was reserved.")
        return None
    clients = {region: probe.connect(session, region) for region in dict.fromkeys(region for region, _ in candidates)}
    try:
        with kept(notes):
            proof = prove(
                wanted,
                candidates,
                clients,
                on_try=lambda zone: say(console, f"  {zone}: reserving {wanted.wanted}"),
                on_interrupt=lambda: say(console, "Stopping: the reservation under way is cancelled first."),
            )
    except probe.ProbeError as error:
        raise OpsError(without_deploys(str(error)), "a reservation made and cancelled", "see above") from error
    for zone, reason in proof.answers.items():
        say(console, f"  {zone}: {without_deploys(reason)}")
    if proof.zone is not None:
        say(console, f"  {proof.zone}: EC2 reserved {wanted.wanted}; the reservation is cancelled")
    return proof


def question(candidates: list[tuple[str, str]], choice: Choice) -> str:
    """What will be made, what it costs, and the most that it can cost."""
    zones = f"up to {len(candidates)} zones, one after the other" if len(candidates) > 1 else candidates[0][1]
    minutes = int(probe.ENDS_AFTER.total_seconds() // 60)
    price = choice.instance.usd_per_hour
    most = "" if price is None else f", ${most_usd('probe', None, count=choice.count, usd_per_hour=price):.2f} at most"
    return (
        f"\nThis reserves {choice.count} x {choice.instance.name} in {zones}, until one has room, and cancels at once: "
        f"seconds of {price_text(choice.instance, choice.count)}. Were this machine to die meanwhile, EC2 ends the "
        f"reservation after {minutes} minutes and up to an hour more{most}."
    )


def _agreed(console: Console) -> bool:
    try:
        return typer.confirm("Reserve?", err=console.stderr)
    except typer.Abort:
        raise OpsError("--probe", "an answer, y or n", "say --yes where nobody can answer", ExitCode.USAGE) from None
