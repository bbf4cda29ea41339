"""What a person reads last: the recommendation, its price and the next command, or what stands in the way."""

from collections.abc import Sequence

from rich.console import Console

from ops.capacity import probe
from ops.capacity.choice import Choice
from ops.capacity.recommend import Recommendation
from ops.capacity.scan import RegionAnswer
from ops.errors import ExitCode
from ops.price import price_text
from ops.reporting import say


def next_command(found: Recommendation | None, choice: Choice) -> str | None:
    """What to type next: deploy, or first write another region or zones down."""
    if found is None:
        return None
    network = choice.place.network
    name = choice.place.name
    written = choice.target is not None
    if written or (choice.settings.region == found.region and found.zone in network.availability_zones):
        return f"raytrain deploy {name}"
    if (choice.instance.name, choice.count) != (
        choice.settings.gpu_nodes.instance_type,
        choice.settings.gpu_nodes.count,
    ):
        return f"change gpu_nodes in environments/{name}.toml, then raytrain capacity {name} --write {name}"
    return f"raytrain capacity {name} --regions {found.region} --write {name}"


def show(
    console: Console,
    choice: Choice,
    wanted: probe.Properties,
    answers: Sequence[RegionAnswer],
    warnings: Sequence[str],
    found: Recommendation | None,
    following: str | None,
) -> None:
    """Print it."""
    for warning in warnings:
        say(console, f"Note: {warning}")
    if found is None:
        say(console, f"\nNo zone may take {wanted.wanted} now.")
        for answer in answers:
            short = answer.quota is not None and answer.quota.free < wanted.vcpus_needed
            if answer.quota is not None and short and any(v.facts.offered for v in answer.verdicts):
                say(console, f"  {probe.quota_text(wanted, answer.quota, answer.region)}")
        say(console, "  Other regions: raytrain capacity --all-regions")
        return
    how = "EC2 reserved them there a moment ago" if found.proven else "not proven: --probe reserves them for a moment"
    say(console, f"\nRecommended: {found.zone} ({how}); zones for the cluster: {', '.join(found.zones)}")
    say(console, f"Price: {wanted.wanted}, {price_text(choice.instance, choice.count)}")
    say(console, f"Next: {following}")


def exit_code(answers: Sequence[RegionAnswer]) -> ExitCode:
    """No capacity when at least one region answered, else no access: then nothing is known."""
    return ExitCode.NO_CAPACITY if any(answer.refused is None for answer in answers) else ExitCode.NO_ACCESS
