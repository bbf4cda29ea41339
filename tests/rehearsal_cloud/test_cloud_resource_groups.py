"""Resource groups for capacity reservations, and the membership that EC2 sees only after a while."""

import uuid
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.cloud import Cloud
from rehearsal.cloud.inventory import inventory
from tests.rehearsal_cloud.cloud_stacks import GPU, POOL, Stacks, caller, control, reservation_request

ZONE = "us-east-2a"


def group(name: str, **changes: Any) -> dict[str, Any]:
    properties = {"Name": name, "Configuration": POOL, **changes}
    return {
        "Type": "AWS::ResourceGroups::Group",
        "Properties": {key: value for key, value in properties.items() if value is not None},
    }


@pytest.fixture
def pool(room: Cloud) -> Any:
    """The name of a group of its own."""
    groups, name = caller(room, "resource-groups"), f"pool-{uuid.uuid4().hex[:8]}"
    groups.create_group(Name=name, Configuration=POOL)
    yield name
    groups.delete_group(Group=name)


@pytest.fixture
def reservation(room: Cloud) -> dict[str, Any]:
    made: dict[str, Any] = caller(room, "ec2").create_capacity_reservation(**reservation_request(ZONE, "member"))
    return dict(made["CapacityReservation"])


def test_a_stack_makes_a_group_and_takes_it_along(stacks: Stacks) -> None:
    outputs = {"Name": {"Value": {"Ref": "Group"}}, "Arn": {"Value": {"Fn::GetAtt": ["Group", "Arn"]}}}
    stack = stacks.create("grouped", {"Group": group("the-pool")}, outputs)
    found = {output["OutputKey"]: output["OutputValue"] for output in stack["Outputs"]}
    assert found == {
        "Name": "the-pool",
        "Arn": "arn:aws:resource-groups:us-east-2:123456789012:group/the-pool",
    }
    assert inventory(stacks.cloud.account)["resource group"] == ["the-pool"]
    stacks.delete("grouped")
    assert "resource group" not in inventory(stacks.cloud.account)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"Name": None}, "required key [Name] not found"),
        ({"Name": "a b"}, "[a-zA-Z0-9_"),
        ({"Name": "aws-pool"}, "must not start with 'AWS'"),
        ({"Configuration": POOL[:1]}, "requires one of type AWS::ResourceGroups::Generic"),
        ({"Configuration": []}, "either a ResourceQuery or a Configuration"),
        ({"Configuration": [{"Type": "AWS::EC2::HostManagement"}]}, "HostManagement"),
        ({"ResourceQuery": {"Type": "TAG_FILTERS_1_0"}}, "does not emulate the properties ['ResourceQuery']"),
    ],
)
def test_a_group_is_refused(stacks: Stacks, changes: dict[str, Any], reason: str) -> None:
    name = f"refused-group-{uuid.uuid4().hex[:8]}"
    stacks.create_badly(name, {"Group": group("pool", **changes)})
    assert reason in stacks.reason(name, "Group")


def test_a_name_that_is_taken_is_refused(stacks: Stacks, pool: str) -> None:
    stacks.create_badly("taken", {"Group": group(pool)})
    assert "group already exists" in stacks.reason("taken", "Group")


def test_membership_is_visible_to_ec2_only_after_some_polls(
    room: Cloud, pool: str, reservation: dict[str, Any]
) -> None:
    groups, ec2 = caller(room, "resource-groups"), caller(room, "ec2")
    arn, id = reservation["CapacityReservationArn"], reservation["CapacityReservationId"]
    answer = groups.group_resources(Group=pool, ResourceArns=[arn])
    assert (answer["Succeeded"], answer["Failed"], answer["Pending"]) == ([], [], [{"ResourceArn": arn}])

    def seen() -> list[str]:
        found = ec2.get_groups_for_capacity_reservation(CapacityReservationId=id)["CapacityReservationGroups"]
        return [item["GroupArn"].rsplit("/", 1)[-1] for item in found]

    def status() -> list[Any]:
        return [item.get("Status") for item in groups.list_group_resources(Group=pool)["Resources"]]

    assert seen() == [] and status() == [{"Name": "PENDING"}]
    assert seen() == [pool] and status() == [None]
    assert groups.group_resources(Group=pool, ResourceArns=[arn])["Succeeded"] == [arn]
    events = [event["action"] for event in room.account.events.read(reservation=id)]
    assert events == ["MEMBER_PENDING", "MEMBER_VISIBLE"]
    assert groups.ungroup_resources(Group=pool, ResourceArns=[arn])["Succeeded"] == [arn]
    assert seen() == []


def test_membership_is_visible_after_a_while_without_a_poll(
    room: Cloud, pool: str, reservation: dict[str, Any]
) -> None:
    control(room, "POST", "membership", polls=9, seconds=0)
    groups = caller(room, "resource-groups")
    arn = reservation["CapacityReservationArn"]
    assert groups.group_resources(Group=pool, ResourceArns=[arn])["Succeeded"] == [arn]


def test_what_cannot_be_a_member_is_in_the_list_of_failures(
    room: Cloud, pool: str, reservation: dict[str, Any]
) -> None:
    groups, ec2 = caller(room, "resource-groups"), caller(room, "ec2")
    ec2.cancel_capacity_reservation(CapacityReservationId=reservation["CapacityReservationId"])
    arn = reservation["CapacityReservationArn"]
    unknown = arn.rsplit("/", 1)[0] + "/cr-00000000000000000"
    other = "arn:aws:ec2:us-east-2:123456789012:instance/i-0"
    failed = groups.group_resources(Group=pool, ResourceArns=[arn, unknown, other])["Failed"]
    assert [item["ErrorCode"] for item in failed] == [
        "RESOURCE_NOT_FOUND",
        "RESOURCE_NOT_FOUND",
        "RESOURCE_TYPE_NOT_ALLOWED",
    ]
    assert "is cancelled" in failed[0]["ErrorMessage"]
    gone = groups.ungroup_resources(Group=pool, ResourceArns=[arn])["Failed"]
    assert [item["ResourceArn"] for item in gone] == [arn]


def test_calls_for_a_group_that_is_none_are_refused(room: Cloud, reservation: dict[str, Any]) -> None:
    groups, arn = caller(room, "resource-groups"), reservation["CapacityReservationArn"]
    with pytest.raises(ClientError, match="NotFoundException"):
        groups.group_resources(Group="nowhere", ResourceArns=[arn])
    with pytest.raises(ClientError, match="NotFoundException"):
        groups.get_group(Group="nowhere")
    with pytest.raises(ClientError, match="BadRequestException"):
        groups.create_group(Name="both", Configuration=POOL, ResourceQuery={"Type": "TAG_FILTERS_1_0", "Query": "{}"})
    with pytest.raises(ClientError, match="NotFound"):
        caller(room, "ec2").get_groups_for_capacity_reservation(CapacityReservationId="cr-0")


def test_a_group_is_deleted_with_members_which_stay(room: Cloud, reservation: dict[str, Any]) -> None:
    groups, ec2 = caller(room, "resource-groups"), caller(room, "ec2")
    groups.create_group(Name="short-lived", Configuration=POOL)
    groups.group_resources(Group="short-lived", ResourceArns=[reservation["CapacityReservationArn"]])
    groups.delete_group(Group="short-lived")
    id = reservation["CapacityReservationId"]
    for _ in range(3):
        assert ec2.get_groups_for_capacity_reservation(CapacityReservationId=id)["CapacityReservationGroups"] == []
    (found,) = ec2.describe_capacity_reservations(CapacityReservationIds=[id])["CapacityReservations"]
    assert (found["State"], found["InstanceType"]) == ("active", GPU)
