"""Every way to find capacity, with the real CDK CLI: Network and Cluster once, then Gpu alone for each mode.

The tests of this module run in order; each leaves no Gpu stack.
"""

from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.errors import RehearsalError
from tests.rehearsal.deploying import NODE_GROUP, Copy, Event, bootstrapped_copy

PREFIX = "ray-train-dev-"
GPU = f"{PREFIX}Gpu"
TYPE = "g6.12xlarge"
SOLD_IN_BLOCKS = "p5.4xlarge"
ZONES = ("us-east-2a", "us-east-2b", "us-east-2c")
NODES = 2
COUNT = '[gpu_nodes]\ninstance_type = "g6.12xlarge"\ncount = {}'
HOLD = 'mode = "hold"\nhold_minutes = 60'
OPEN = ("active", "pending")


@pytest.fixture(scope="module")
def deployed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    with bootstrapped_copy(tmp_path_factory.mktemp("modes")) as app:
        app.deploy_only("Network", "Cluster")
        yield app


@pytest.fixture
def app(deployed: Copy) -> Iterator[Copy]:
    """The account with all capacity there again, and the settings as they are shipped."""
    for zone in ZONES:
        deployed.limit_capacity(zone, TYPE, None)
    with deployed.settings_kept():
        yield deployed


def launches(events: list[Event]) -> list[Event]:
    return [event for event in events if event["action"] == "LAUNCH"]


def reservations(app: Copy, *states: str) -> list[dict[str, Any]]:
    """The account's capacity reservations in these states; in any, without one."""
    found = app.client("ec2").describe_capacity_reservations()["CapacityReservations"]
    return [item for item in found if not states or item["State"] in states]


def target(app: Copy) -> dict[str, Any] | None:
    """What the launch template of the GPU nodes says of capacity reservations."""
    (template,) = [
        item
        for item in app.client("ec2").describe_launch_templates()["LaunchTemplates"]
        if any(tag["Value"] == GPU for tag in item.get("Tags", [])) or "Gpu" in item["LaunchTemplateName"]
    ]
    version = app.client("ec2").describe_launch_template_versions(
        LaunchTemplateId=template["LaunchTemplateId"], Versions=["$Latest"]
    )["LaunchTemplateVersions"][0]
    found: dict[str, Any] | None = version["LaunchTemplateData"].get("CapacityReservationSpecification")
    return found


def first(events: list[Event], **wanted: str) -> int:
    """The place in the log of the first event with these fields."""
    places = [place for place, event in enumerate(events) if wanted.items() <= event.items()]
    assert places, f"no {wanted} in {[event['action'] for event in events]}"
    return places[0]


def destroy(app: Copy) -> None:
    app.destroy_only("Gpu")
    inventory = app.account.inventory()
    assert "capacity reservation" not in inventory
    assert "resource group" not in inventory
    assert [group for group in inventory["node group"] if "-Gpu-" in group] == []


def test_hold_reserves_for_the_nodes_before_they_begin(app: Copy) -> None:
    app.limit_capacity("us-east-2a", TYPE, 1)
    events = app.deploy_only("Gpu")

    (held,) = reservations(app, "active")
    assert (held["AvailabilityZone"], held["TotalInstanceCount"], held["EndDateType"]) == (
        "us-east-2b",
        NODES,
        "limited",
    )
    assert held["InstanceMatchCriteria"] == "targeted"
    assert held["AvailableInstanceCount"] == 0, "the nodes fill it, so it costs nothing beside them"
    made = launches(events)
    assert [(event["zone"], event["reservation"]) for event in made] == [
        ("us-east-2b", held["CapacityReservationId"])
    ] * NODES
    seen = first(events, action="MEMBER_VISIBLE", reservation=held["CapacityReservationId"])
    assert seen < first(events, action="CREATE_IN_PROGRESS", type=NODE_GROUP)
    assert target(app) == {"CapacityReservationTarget": {"CapacityReservationResourceGroupArn": events[seen]["group"]}}
    assert app.output(GPU, "AvailabilityZone") == "us-east-2b"
    assert app.output(GPU, "CapacityReservation") == held["CapacityReservationId"]
    assert "us-east-2a: no capacity (InsufficientInstanceCapacity)" in app.output(GPU, "CapacityTable")

    destroy(app)
    (ended,) = [item for item in reservations(app) if item["CapacityReservationId"] == held["CapacityReservationId"]]
    assert ended["State"] == "cancelled"


def test_hold_keeps_what_vanishes_after_the_choice(app: Copy) -> None:
    for zone in ZONES:
        app.limit_capacity(zone, TYPE, NODES)
        app.tell("capacity/vanish", zone=zone, instance_type=TYPE, after="GetGroupsForCapacityReservation")
    events = app.deploy_only("Gpu")
    assert {event["zone"] for event in launches(events)} == {"us-east-2a"}
    destroy(app)


def test_probe_does_not_keep_what_vanishes_and_the_stack_is_rolled_back(app: Copy) -> None:
    app.edit(HOLD, 'mode = "probe"')
    app.tell("capacity/vanish", zone="us-east-2a", instance_type=TYPE, after="CancelCapacityReservation")
    with pytest.raises(RehearsalError, match=f"sufficient {TYPE} capacity in the Availability Zone you"):
        app.deploy_only("Gpu")
    assert reservations(app, *OPEN) == []
    activities = app.client("autoscaling").describe_scaling_activities(IncludeDeletedGroups=True)["Activities"]
    assert activities[0]["StatusCode"] == "Failed"
    assert "InsufficientInstanceCapacity" in activities[0]["StatusMessage"]

    app.edit('mode = "probe"', 'mode = "probe"\nexclude_zones = ["us-east-2a"]')
    events = app.deploy_only("Gpu")
    assert {event["zone"] for event in launches(events)} == {"us-east-2b"}
    assert {event.get("reservation") for event in launches(events)} == {None}
    assert target(app) is None
    assert {item["State"] for item in reservations(app)} == {"cancelled"}
    destroy(app)


def test_offerings_reserves_nothing(app: Copy) -> None:
    before = len(reservations(app))
    app.edit(HOLD, 'mode = "offerings"\nzones = ["us-east-2c"]')
    events = app.deploy_only("Gpu")
    assert {event["zone"] for event in launches(events)} == {"us-east-2c"}
    assert len(reservations(app)) == before
    destroy(app)


def test_a_fixed_zone_is_taken(app: Copy) -> None:
    app.edit(HOLD, 'mode = "zone"\nzone = "us-east-2b"')
    events = app.deploy_only("Gpu")
    assert {event["zone"] for event in launches(events)} == {"us-east-2b"}
    destroy(app)


def test_a_refusal_reads_well_in_the_cli(app: Copy) -> None:
    app.tell("quota", code="L-DB2E81BA", vcpus=48)
    with pytest.raises(RehearsalError) as refused:
        app.deploy_only("Gpu")
    said = " ".join(str(refused.value).split())
    assert "vCPU quota too small: 2 x g6.12xlarge need 96 vCPUs, but quota L-DB2E81BA in us-east-2 is 48" in said
    assert "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-DB2E81BA" in said
    app.tell("quota", code="L-DB2E81BA", vcpus=None)


def test_one_more_node_is_reserved_for_in_the_zone_of_the_others(app: Copy) -> None:
    app.deploy_only("Gpu")
    (group,) = app.gpu_node_groups
    assert app.zones["gpu-worker"] == ["us-east-2a"] * NODES

    app.edit(COUNT.format(NODES), COUNT.format(NODES + 1))
    events = app.deploy_only("Gpu")
    assert app.gpu_node_groups == [group]
    assert app.zones["gpu-worker"] == ["us-east-2a"] * (NODES + 1)
    held = {item["CapacityReservationId"]: item["TotalInstanceCount"] for item in reservations(app, "active")}
    assert sorted(held.values()) == [1, NODES]
    (new,) = launches(events)
    assert held[new["reservation"]] == 1
    destroy(app)


@pytest.mark.parametrize("kind", ["on-demand", "capacity-block"])
def test_a_reservation_of_ones_own_is_used_and_survives(app: Copy, kind: str) -> None:
    fields: dict[str, Any] = {"InstanceType": TYPE, "AvailabilityZone": "us-east-2c", "InstanceCount": NODES}
    if kind == "capacity-block":
        # Of the other type there are none.
        app.edit(f'instance_type = "{TYPE}"', f'instance_type = "{SOLD_IN_BLOCKS}"')
        fields["InstanceType"] = SOLD_IN_BLOCKS
        fields |= {"ReservationType": "capacity-block", "EndDateType": "limited", "EndDate": "2099-01-01T00:00:00Z"}
    own = app.tell("reservations", **fields)["capacityReservationId"]
    app.edit(HOLD, f'mode = "reservation"\nreservation_id = "{own}"\nreservation_type = "{kind}"')
    events = app.deploy_only("Gpu")
    assert [(event["zone"], event["reservation"], event["market"]) for event in launches(events)] == [
        ("us-east-2c", own, kind)
    ] * NODES
    assert target(app) == {"CapacityReservationTarget": {"CapacityReservationId": own}}

    app.destroy_only("Gpu")
    assert [item["State"] for item in reservations(app) if item["CapacityReservationId"] == own] == ["active"]
