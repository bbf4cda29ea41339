"""Errors, word by word."""

from datetime import datetime
from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event

from .fakes import NOW, A, B, C, World, error, instance
from .lines import lines
from .sent import create, of_mode


def reason(world: World, **changes: Any) -> str:
    with pytest.raises(ProbeError) as caught:
        on_event(create(**changes), world.clients)
    text = str(caught.value)
    assert len(text) <= 800
    assert "\n" not in text
    assert world.ec2.open_reservations == []
    return text


@pytest.mark.failure_mode("C17")
def test_quota(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.quotas.applied = 96.0
    world.ec2.instances = [instance("g6.12xlarge", 24)]
    assert reason(world) == (
        "vCPU quota too small: 2 x g6.12xlarge need 96 vCPUs, but quota L-DB2E81BA in us-east-2 is 96 and 48 are in "
        "use. aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-DB2E81BA "
        "--desired-value 144 --region us-east-2"
    )
    assert world.ec2.tried == []
    logged = lines(capsys)[-1]
    assert (logged["level"], logged["message"]) == ("error", "quota")
    assert (logged["needed"], logged["limit"], logged["used"]) == (96, 96, 48)


@pytest.mark.parametrize("code", ["InstanceLimitExceeded", "VcpuLimitExceeded"])
def test_quota_as_ec2_counts_it(world: World, code: str) -> None:
    world.ec2.no_room = {A: code}
    assert reason(world) == (
        f"EC2 refused 2 x g6.12xlarge with {code}: they need 96 vCPUs, quota L-DB2E81BA in us-east-2 is 192, instances "
        "use 0, and unused capacity reservations count as well. Cancel those, or: "
        "aws service-quotas request-service-quota-increase --service-code ec2 --quota-code L-DB2E81BA "
        "--desired-value 288 --region us-east-2"
    )
    assert world.ec2.tried == [A]


def test_no_capacity_anywhere(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.ec2.offered = [A, B, C]
    world.ec2.no_room = {A: "InsufficientInstanceCapacity", B: "ReservationCapacityExceeded"}
    assert reason(world) == (
        "No zone of us-east-2 has room for 2 x g6.12xlarge now. "
        "us-east-2a: no capacity (InsufficientInstanceCapacity); "
        "us-east-2b: no capacity (ReservationCapacityExceeded); us-east-2c: no subnet. "
        "Deploy again later, or with more zones, another instance type or another region."
    )
    assert lines(capsys)[-1]["message"] == "no-capacity"


def test_not_offered_in_the_candidates_but_elsewhere(world: World) -> None:
    world.ec2.offered = [C]
    assert reason(world) == (
        "g6.12xlarge is offered in none of the candidate zones (us-east-2a, us-east-2b). It is offered in us-east-2c: "
        "make one of these a candidate, with a subnet."
    )


def test_not_offered_anywhere_comes_before_quota(world: World) -> None:
    world.ec2.offered = []
    world.quotas.applied = 0.0
    assert reason(world) == (
        "g6.12xlarge is offered in none of the candidate zones (us-east-2a, us-east-2b). No zone of us-east-2 "
        "offers it: choose another region or instance type."
    )


def test_fixed_zone_that_does_not_offer_the_type(world: World) -> None:
    world.ec2.offered = [C, B]
    assert reason(world, Mode="zone", Zone=A) == (
        "Zone is 'us-east-2a': expected a zone that offers g6.12xlarge, which are: us-east-2b, us-east-2c."
    )


def test_fixed_zone_without_a_subnet(world: World) -> None:
    assert reason(world, Mode="zone", Zone=C) == (
        "Zone is 'us-east-2c': expected one of the zones that have a subnet (us-east-2a, us-east-2b)."
    )


ALLOW = "Allow it in the role's policy, its permissions boundary and the organisation's service control policies."


@pytest.mark.parametrize(
    "operation",
    ["DescribeInstanceTypeOfferings", "DescribeInstances", "DescribeCapacityReservations", "CreateCapacityReservation"],
)
def test_not_authorised_names_the_action(world: World, operation: str) -> None:
    world.ec2.failures[operation] = error("UnauthorizedOperation", operation, "Encoded authorization failure")
    assert reason(world) == (
        f"Not authorised: the capacity probe's role may not call ec2:{operation} in us-east-2. {ALLOW}"
    )


def test_not_authorised_names_the_service_of_the_action(world: World) -> None:
    world.quotas.failures["GetServiceQuota"] = error("AccessDeniedException", "GetServiceQuota")
    assert reason(world) == (
        f"Not authorised: the capacity probe's role may not call servicequotas:GetServiceQuota in us-east-2. {ALLOW}"
    )


def test_not_authorised_names_the_action_behind_the_call(world: World) -> None:
    said = "User: arn:aws:sts::1:assumed-role/x is not authorized to perform: ec2:CreateTags on resource: arn:aws:ec2:"
    operation = "CreateCapacityReservation"
    world.ec2.failures[operation] = error("UnauthorizedOperation", operation, said)
    assert "may not call ec2:CreateTags in us-east-2." in reason(world)


def test_another_refusal_of_a_reservation_names_zone_and_code(world: World) -> None:
    world.ec2.no_room = {A: "Unsupported"}
    assert reason(world) == "EC2 refused CreateCapacityReservation in us-east-2a: Unsupported: EC2's words."


def test_another_refusal_of_a_question_names_the_operation(world: World) -> None:
    world.ec2.failures["DescribeInstances"] = error("InternalError", "DescribeInstances")
    assert reason(world) == "EC2 refused DescribeInstances in us-east-2: InternalError: EC2's words."


def test_a_reservation_that_cannot_be_cancelled_is_named_with_its_end(world: World) -> None:
    world.ec2.failures["CancelCapacityReservation"] = error("InternalError", "CancelCapacityReservation")
    with pytest.raises(ProbeError) as caught:
        on_event(create(), world.clients)
    assert str(caught.value) == (
        "Capacity reservation cr-00000000000000000 could not be cancelled and bills until 2026-11-29 13:00 UTC. Cancel "
        "it: aws ec2 cancel-capacity-reservation --capacity-reservation-id cr-00000000000000000 --region us-east-2. "
        "EC2 said: An error occurred (InternalError) when calling the CancelCapacityReservation operation: EC2's words."
    )


def test_a_reservation_that_has_ended_need_not_be_cancelled(world: World) -> None:
    def create_and_end(**parameters: Any) -> dict[str, Any]:
        answer = original(**parameters)
        world.ec2.reservations[-1]["State"] = "cancelled"
        return answer

    original, world.ec2.create_capacity_reservation = world.ec2.create_capacity_reservation, create_and_end  # type: ignore[method-assign] # one odd case
    assert on_event(create(), world.clients)["Data"]["AvailabilityZone"] == A


def test_a_long_answer_is_cut_to_one_line(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.ec2.failures["DescribeInstances"] = error("InternalError", "DescribeInstances", "words\n" * 500)
    assert len(reason(world)) == 800
    assert len(lines(capsys)[-1]["reason"]) > 3000


def test_end_dates_are_whole_seconds_in_the_future(world: World) -> None:
    on_event(create(), world.clients)
    end: datetime = world.ec2.parameters_of("CreateCapacityReservation")[0]["EndDate"]
    assert end > NOW and end.microsecond == 0 and end.tzinfo is not None


@pytest.mark.parametrize(
    ("service", "operation", "code"),
    [
        ("EC2", "DescribeInstances", "RequestLimitExceeded"),
        ("EC2", "CreateCapacityReservation", "Throttling"),
        ("Service Quotas", "GetServiceQuota", "TooManyRequestsException"),
    ],
)
def test_throttled(world: World, service: str, operation: str, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    client = world.ec2 if service == "EC2" else world.quotas
    client.failures[operation] = error(code, operation)
    where = "us-east-2a" if operation.startswith("Create") else "us-east-2"
    assert reason(world) == (
        f"{service} still throttles {operation} in {where} after several tries with growing pauses. Something calls it "
        "often in this account: deploy again in some minutes. It said: EC2's words."
    )
    assert lines(capsys)[-1]["message"] == "throttled"


def test_not_authorised_to_group(world: World) -> None:
    world.groups.failures["GroupResources"] = error("AccessDeniedException", "GroupResources")
    assert "may not call resource-groups:GroupResources in us-east-2." in reason(world, **of_mode("hold"))
