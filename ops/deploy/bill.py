"""What exists and costs, by the hour: a deploy that stops half-way leaves nodes that bill."""

from collections.abc import Mapping
from dataclasses import dataclass

from eks_ray_train.costs import Part, hourly
from environments.settings import Settings
from ops.account import AWS_ERRORS, explain
from ops.capacity import probe
from ops.deploy.stacks import Stack, stack_name


@dataclass(frozen=True, kw_only=True)
class Bill:
    """Parts by the hour, and reservations in words.

    ``unsure`` names the stacks among them that failed half-way: of these the parts are the most that there may be.
    """

    parts: list[Part]
    unsure: list[str]
    held: list[str]


def of(settings: Settings, stacks: Mapping[str, Stack], clients: probe.Clients | None = None) -> Bill:
    """The bill of what may exist; with ``clients``, also what the Gpu stack holds."""
    found = [(part, stacks[_stack_of(part, settings)]) for part in hourly(settings)]
    standing = [(part, stack) for part, stack in found if stack.may_cost]
    return Bill(
        parts=[part for part, _ in standing],
        unsure=list(dict.fromkeys(stack.name for _, stack in standing if not stack.works)),
        held=[] if clients is None else _held(clients, settings),
    )


def _held(clients: probe.Clients, settings: Settings) -> list[str]:
    owner = stack_name(settings, "Gpu")
    try:
        found = probe.open_reservations(owner, clients)
    except AWS_ERRORS as error:
        why = str(explain(error, settings.region)).splitlines()[0]
        return [
            f"capacity reservations could not be read ({why}), and may cost as much as the nodes. Look: aws ec2 "
            f"describe-capacity-reservations --region {settings.region} --filters Name=tag:{probe.STACK_TAG},"
            f"Values={owner} Name=state,Values=active,pending"
        ]
    return [
        f"reservation {r['CapacityReservationId']} of {r['TotalInstanceCount']} x {settings.gpu_nodes.instance_type}, "
        f"until {r['EndDate']:%Y-%m-%d %H:%M} UTC"
        for r in found
    ]


def _stack_of(part: Part, settings: Settings) -> str:
    if part.name == settings.gpu_nodes.instance_type:
        return "Gpu"
    return "Network" if part.name == "NAT gateway" else "Cluster"
