"""Where a node group's instances come from: reservations, groups, Capacity Blocks, or the zone's free capacity."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest

from rehearsal.cloud import Cloud
from tests.rehearsal_cloud.cloud_stacks import (
    GPU,
    POOL,
    Properties,
    Stacks,
    caller,
    control,
    group_properties,
    node_group,
    reservation_request,
    target,
)

ZONE = "us-east-2a"
TWO = {"DesiredSize": 2, "MaxSize": 2, "MinSize": 2}


class Launching:
    """Node groups of two in zone a, and what there is for them."""

    def __init__(self, cloud: Cloud, stacks: Stacks, network: dict[str, str], cluster: dict[str, str]) -> None:
        self.cloud, self.stacks = cloud, stacks
        self.ec2 = caller(cloud, "ec2")
        self._group = group_properties(network, cluster, ScalingConfig=TWO)
        self.left: list[str] = []

    def free(self, count: int) -> None:
        control(self.cloud, "POST", "capacity", zone=ZONE, instance_type=GPU, count=count)

    def reserve(self, count: int = 2, **changes: Any) -> dict[str, Any]:
        wanted = reservation_request(ZONE, uuid.uuid4().hex, count, **changes)
        return dict(self.ec2.create_capacity_reservation(**wanted)["CapacityReservation"])

    def plant(self, **changes: Any) -> str:
        wanted = {"InstanceType": GPU, "AvailabilityZone": ZONE, "InstanceCount": 2, **changes}
        return str(control(self.cloud, "POST", "reservations", **wanted)["capacityReservationId"])

    def launch(self, data: Properties, **changes: Any) -> list[str | None]:
        """Make a node group, and return the reservation of each instance."""
        name = f"launch-{uuid.uuid4().hex[:8]}"
        wanted = {key: value for key, value in {**self._group, **changes}.items() if value is not None}
        self.stacks.create(name, node_group(wanted, data))
        self.left.append(name)
        return self.instances()

    def refuse(self, data: Properties, **changes: Any) -> str:
        """Return why a node group fails."""
        name = f"refuse-{uuid.uuid4().hex[:8]}"
        wanted = {key: value for key, value in {**self._group, **changes}.items() if value is not None}
        self.stacks.create_badly(name, node_group(wanted, data))
        return self.stacks.reason(name, "Nodes")

    def instances(self) -> list[str | None]:
        found = [item["Instances"][0] for item in self.ec2.describe_instances()["Reservations"]]
        return [item.get("CapacityReservationId") for item in found]

    def available(self, id: str) -> int:
        (found,) = self.ec2.describe_capacity_reservations(CapacityReservationIds=[id])["CapacityReservations"]
        return int(found["AvailableInstanceCount"])


@pytest.fixture
def launching(room: Cloud, stacks: Stacks, network: dict[str, str], cluster: dict[str, str]) -> Iterator[Launching]:
    made = Launching(room, stacks, network, cluster)
    yield made
    for name in made.left:
        stacks.delete(name)


@pytest.fixture
def pool(room: Cloud) -> Iterator[str]:
    """The ARN of a group of capacity reservations."""
    groups = caller(room, "resource-groups")
    made = groups.create_group(Name=f"pool-{uuid.uuid4().hex[:8]}", Configuration=POOL)["Group"]
    yield str(made["GroupArn"])
    groups.delete_group(Group=made["GroupArn"])


def join(launching: Launching, pool: str, reservation: dict[str, Any], polls: int = 2) -> None:
    arns = [reservation["CapacityReservationArn"]]
    caller(launching.cloud, "resource-groups").group_resources(Group=pool, ResourceArns=arns)
    for _ in range(polls):
        id = reservation["CapacityReservationId"]
        launching.ec2.get_groups_for_capacity_reservation(CapacityReservationId=id)


def test_a_targeted_reservation_of_others_does_not_help(launching: Launching) -> None:
    launching.free(2)
    launching.reserve()
    assert "InsufficientInstanceCapacity" in launching.refuse({})


def test_an_open_reservation_is_eaten_by_any_launch_that_matches(launching: Launching) -> None:
    launching.free(2)
    id = launching.reserve(InstanceMatchCriteria="open")["CapacityReservationId"]
    assert launching.launch({}) == [id, id]


def test_instances_land_in_the_reservation_of_their_group(launching: Launching, pool: str) -> None:
    launching.free(2)
    reservation = launching.reserve()
    id = reservation["CapacityReservationId"]
    join(launching, pool, reservation)
    assert launching.launch(target(CapacityReservationResourceGroupArn=pool)) == [id, id]
    assert launching.available(id) == 0
    log = launching.cloud.account.events.read()
    visible = next(n for n, event in enumerate(log) if event["action"] == "MEMBER_VISIBLE" and event["group"] == pool)
    launches = [n for n, event in enumerate(log) if event["action"] == "LAUNCH" and event.get("reservation") == id]
    assert len(launches) == 2 and visible < launches[0]
    assert {log[n]["zone"] for n in launches} == {ZONE}


def test_a_member_that_ec2_does_not_see_yet_is_launched_beside(launching: Launching, pool: str) -> None:
    launching.free(4)
    reservation = launching.reserve()
    join(launching, pool, reservation, polls=1)
    assert launching.launch(target(CapacityReservationResourceGroupArn=pool)) == [None, None]
    assert launching.available(reservation["CapacityReservationId"]) == 2


def test_running_instances_that_target_a_group_move_into_what_joins_it(launching: Launching, pool: str) -> None:
    launching.free(5)
    assert launching.launch(target(CapacityReservationResourceGroupArn=pool)) == [None, None]
    reservation = launching.reserve(InstanceCount=3)
    join(launching, pool, reservation)
    assert launching.instances() == [reservation["CapacityReservationId"]] * 2
    assert launching.available(reservation["CapacityReservationId"]) == 1
    assert launching.cloud.account.capacity.free(ZONE, GPU) == 2


def test_without_room_in_the_group_instances_run_on_demand(launching: Launching, pool: str) -> None:
    launching.free(2)
    reservation = launching.reserve(1)
    join(launching, pool, reservation)
    aim = target(CapacityReservationResourceGroupArn=pool)
    assert launching.launch(aim) == [reservation["CapacityReservationId"], None]


def test_a_group_alone_can_be_demanded(launching: Launching, pool: str) -> None:
    aim = target(CapacityReservationResourceGroupArn=pool)
    aim["CapacityReservationSpecification"]["CapacityReservationPreference"] = "capacity-reservations-only"
    assert "ReservationCapacityExceeded" in launching.refuse(aim)


def test_instances_outlive_their_reservation_and_give_their_places_back(launching: Launching, pool: str) -> None:
    launching.free(3)
    reservation = launching.reserve(3)
    join(launching, pool, reservation)
    launching.launch(target(CapacityReservationResourceGroupArn=pool))
    launching.ec2.cancel_capacity_reservation(CapacityReservationId=reservation["CapacityReservationId"])
    assert launching.instances() == [None, None]
    assert launching.cloud.account.capacity.free(ZONE, GPU) == 1
    launching.stacks.delete(launching.left.pop())
    assert launching.cloud.account.capacity.free(ZONE, GPU) == 3


def test_a_larger_group_launches_the_difference_only(launching: Launching, network: Any, cluster: Any) -> None:
    launching.free(3)
    launching.launch({})
    first = set(launching.cloud.account.capacity.instances)
    three = group_properties(network, cluster, ScalingConfig={"DesiredSize": 3, "MaxSize": 3, "MinSize": 3})
    launching.stacks.update(launching.left[0], node_group(three, {}))
    assert first < set(launching.cloud.account.capacity.instances)
    two = group_properties(network, cluster, ScalingConfig=TWO)
    launching.stacks.update(launching.left[0], node_group(two, {}))
    assert set(launching.cloud.account.capacity.instances) == first


@pytest.mark.parametrize(
    ("planted", "reason"),
    [
        ({"InstanceCount": 1}, "ReservationCapacityExceeded"),
        ({"state": "expired"}, "ReservationCapacityExceeded"),
        ({"AvailabilityZone": "us-east-2b"}, "Availability Zone us-east-2b, not us-east-2a"),
        ({"InstanceType": "m7i.xlarge"}, "instance type m7i.xlarge, not g6.12xlarge"),
        ({"Tenancy": "dedicated"}, "tenancy dedicated, not default"),
        ({"InstancePlatform": "Windows"}, "platform Windows, not Linux/UNIX"),
        ({"ReservationType": "capacity-block"}, "market capacity-block, not on-demand"),
        ({"PlacementGroupArn": "arn:aws:ec2:us-east-2:123456789012:placement-group/pg"}, "placement group pg"),
    ],
)
def test_a_reservation_that_is_aimed_at_must_fit(launching: Launching, planted: Properties, reason: str) -> None:
    id = launching.plant(**planted)
    assert reason in launching.refuse(target(CapacityReservationId=id))
    assert launching.instances() == []


def test_a_reservation_that_was_there_before_is_used_by_id(launching: Launching) -> None:
    launching.free(0)
    id = launching.plant()
    assert launching.launch(target(CapacityReservationId=id)) == [id, id]


def test_an_empty_target_is_none_without_a_word(launching: Launching) -> None:
    launching.free(2)
    assert launching.launch(target()) == [None, None]


def block(id: str | None, **changes: Any) -> Properties:
    aim = target(CapacityReservationId=id) if id else {}
    data = {"InstanceType": GPU, "InstanceMarketOptions": {"MarketType": "capacity-block"}, **aim, **changes}
    return {key: value for key, value in data.items() if value is not None}


def test_a_capacity_block_is_launched_into(launching: Launching, nodes: dict[str, Any]) -> None:
    id = launching.plant(ReservationType="capacity-block")
    used = launching.launch(block(id), CapacityType="CAPACITY_BLOCK", InstanceTypes=None)
    assert used == [id, id]
    instances = [item["Instances"][0] for item in launching.ec2.describe_instances()["Reservations"]]
    assert {item["InstanceLifecycle"] for item in instances} == {"capacity-block"}
    assert {node["metadata"]["labels"]["eks.amazonaws.com/capacityType"] for node in nodes.values()} == {
        "CAPACITY_BLOCK"
    }


@pytest.mark.parametrize(
    ("data", "changes", "reason"),
    [
        (
            target(CapacityReservationId="ID"),
            {"CapacityType": "CAPACITY_BLOCK"},
            "market type capacity-block, not None",
        ),
        (block("ID"), {"CapacityType": "CAPACITY_BLOCK"}, "in both the node group and the launch template"),
        (block("ID", InstanceType=None), {"CapacityType": "CAPACITY_BLOCK"}, "instance type in the launch template"),
        (block("ID"), {"InstanceTypes": None}, "instance market options (capacity-block) for capacity type ON_DEMAND"),
        (block(None), {"CapacityType": "CAPACITY_BLOCK", "InstanceTypes": None}, "must target it"),
        ({}, {"CapacityType": "SPOT"}, "does not emulate CapacityType SPOT"),
        (target(CapacityReservationId="cr-0"), {}, "InvalidCapacityReservationId.NotFound"),
        (
            target(CapacityReservationResourceGroupArn="arn:aws:resource-groups:us-east-2:123456789012:group/none"),
            {},
            "group/none does not exist",
        ),
        (target(CapacityReservationId="ID", CapacityReservationResourceGroupArn="arn"), {}, "not both"),
    ],
)
def test_a_launch_template_is_refused_for_its_capacity(
    launching: Launching, data: Properties, changes: Properties, reason: str
) -> None:
    id = launching.plant(ReservationType="capacity-block")
    aim = data.get("CapacityReservationSpecification", {}).get("CapacityReservationTarget", {})
    named = {key: id if value == "ID" else value for key, value in aim.items()}
    given = {**data, **target(**named)} if aim else data
    assert reason in launching.refuse(given, **changes)
