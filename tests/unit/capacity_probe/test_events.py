import json
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event
from eks_ray_train.capacity_probe.asset.gpu_capacity.reservation import client_token

from .fakes import NOW, SUBNETS, A, B, C, Crash, FakeQuotas, World, create, error, instance, properties, update

GROUP = "arn:aws:ec2:us-east-2:111111111111:placement-group/efa"


@pytest.fixture
def world() -> World:
    return World()


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


# Create


def test_create_answers_with_zone_subnet_table_and_reason(world: World) -> None:
    world.ec2.offered = [A, B, C]
    world.ec2.scores = {A: 3, B: 7, C: 9}
    answer = on_event(create(), world.clients)
    assert answer["PhysicalResourceId"].startswith("us-east-2b/subnet-0b/")
    assert answer["Data"] == {
        "AvailabilityZone": B,
        "SubnetId": SUBNETS[B],
        "Table": "us-east-2b: chosen (score 7); us-east-2a: not tried (score 3); us-east-2c: no subnet",
        "Reason": "EC2 reserved 2 x g6.12xlarge in us-east-2b, and the reservation was cancelled at once",
    }
    assert len(json.dumps(answer)) < 3000  # CloudFormation takes 4,096 bytes


@pytest.mark.failure_mode("C9")
@pytest.mark.failure_mode("C4")
def test_the_reservation_is_what_the_nodes_will_need_and_ends_by_itself(world: World) -> None:
    on_event(create(PlacementGroupArn=GROUP), world.clients)
    assert world.ec2.parameters_of("CreateCapacityReservation") == [
        {
            "ClientToken": client_token("request-1", A, 0),
            "InstanceType": "g6.12xlarge",
            "InstanceCount": 2,
            "InstancePlatform": "Linux/UNIX",
            "Tenancy": "default",
            "AvailabilityZone": A,
            "InstanceMatchCriteria": "targeted",
            "EndDateType": "limited",
            "EndDate": NOW.replace(microsecond=0) + timedelta(minutes=60),
            "TagSpecifications": [
                {
                    "ResourceType": "capacity-reservation",
                    "Tags": [
                        {"Key": "eks-ray-train:request", "Value": "request-1"},
                        {"Key": "eks-ray-train:stack", "Value": "dev-Gpu"},
                    ],
                }
            ],
            "PlacementGroupArn": GROUP,
        }
    ]
    assert world.ec2.parameters_of("CancelCapacityReservation") == [{"CapacityReservationId": "cr-0"}]
    assert world.ec2.open_reservations == []


def test_without_a_placement_group_none_is_named(world: World) -> None:
    on_event(create(), world.clients)
    assert "PlacementGroupArn" not in world.ec2.parameters_of("CreateCapacityReservation")[0]


def test_client_tokens_fit_ec2_and_differ_by_request_zone_and_try() -> None:
    tokens = {client_token(r, z, n) for r in ("request-1", "request-2") for z in (A, B) for n in (0, 1)}
    assert len(tokens) == 8
    assert all(len(token) <= 64 for token in tokens)


@pytest.mark.parametrize("code", ["InsufficientInstanceCapacity", "ReservationCapacityExceeded"])
def test_a_zone_without_room_is_passed_over_with_its_reason(world: World, code: str) -> None:
    world.ec2.no_room = {A: code}
    answer = on_event(create(), world.clients)
    assert world.ec2.tried == [A, B]
    assert answer["Data"]["AvailabilityZone"] == B
    assert answer["Data"]["Table"] == f"us-east-2a: no capacity ({code}); us-east-2b: chosen (score unknown)"


def test_a_zone_that_does_not_offer_the_type_is_not_tried(world: World) -> None:
    world.ec2.offered = [B]
    assert on_event(create(), world.clients)["Data"]["Table"] == (
        "us-east-2b: chosen (score unknown); us-east-2a: not offered"
    )
    assert world.ec2.tried == [B]


@pytest.mark.failure_mode("C3")
@pytest.mark.parametrize("operation", ["GetSpotPlacementScores", "DescribeAvailabilityZones"])
def test_scores_are_a_hint_whose_absence_is_a_warning(
    world: World, operation: str, capsys: pytest.CaptureFixture[str]
) -> None:
    world.ec2.scores = {A: 1, B: 9}
    world.ec2.failures[operation] = error("UnauthorizedOperation", operation)
    assert on_event(create(), world.clients)["Data"]["AvailabilityZone"] == A
    assert any(line["level"] == "warning" and "UnauthorizedOperation" in line["error"] for line in lines(capsys))


def test_scores_are_asked_for_single_zones_of_this_region(world: World) -> None:
    world.ec2.scores = {A: 1, B: 9}
    on_event(create(), world.clients)
    assert world.ec2.parameters_of("GetSpotPlacementScores")[0] == {
        "InstanceTypes": ["g6.12xlarge"],
        "TargetCapacity": 2,
        "SingleAvailabilityZone": True,
        "RegionNames": ["us-east-2"],
    }


def test_a_pending_reservation_is_waited_for(world: World) -> None:
    world.ec2.new_states = ["pending", "pending", "active"]
    on_event(create(), world.clients)
    assert world.now - NOW == timedelta(seconds=4)
    assert world.ec2.tried == [A]


@pytest.mark.parametrize("states", [["pending"], ["pending", "failed"]])
def test_a_reservation_that_never_gets_active_proves_nothing(world: World, states: list[str]) -> None:
    world.ec2.new_states = states
    with pytest.raises(ProbeError, match=rf"us-east-2a: no capacity \(reservation {states[-1]}\); us-east-2b: no cap"):
        on_event(create(), world.clients)
    assert world.ec2.open_reservations == []


def test_the_presigned_url_is_not_in_the_log(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    on_event(create(), world.clients)
    out = capsys.readouterr().out
    assert "secret.example" not in out
    assert '"message": "answer"' in out


# Quota


def test_only_on_demand_instances_of_the_quota_s_families_use_it(world: World) -> None:
    world.quotas = FakeQuotas(applied=192.0)
    world.ec2.instances = [
        instance("g6.12xlarge", 24),
        instance("g5.xlarge", 2),
        instance("g6.48xlarge", 96, InstanceLifecycle="spot"),
        instance("vt1.3xlarge", 12, threads=1),
        instance("m7i.xlarge", 2),
    ]
    with pytest.raises(ProbeError) as caught:
        on_event(create(Count="3"), world.clients)
    assert caught.value.details["used"] == 48 + 4 + 12
    assert world.ec2.parameters_of("DescribeInstances")[0]["Filters"] == [
        {"Name": "instance-state-name", "Values": ["pending", "running"]},
        {"Name": "instance-type", "Values": ["g*", "vt*"]},
    ]


def test_exactly_enough_quota_is_enough(world: World) -> None:
    world.quotas = FakeQuotas(applied=144.0)
    world.ec2.instances = [instance("g6.12xlarge", 24)]
    on_event(create(), world.clients)
    assert world.ec2.tried == [A]


def test_the_default_quota_applies_where_none_was_set(world: World) -> None:
    world.quotas = FakeQuotas(applied=None, default=96.0)
    on_event(create(), world.clients)
    assert world.quotas.operations == ["GetServiceQuota", "GetAWSDefaultServiceQuota"]
    world.quotas = FakeQuotas(applied=None, default=0.0)
    with pytest.raises(ProbeError, match="is 0 and 0 are in use"):
        on_event(create(), world.clients)


# A crash and what comes after it


@pytest.mark.failure_mode("C4")
def test_a_retry_after_a_crash_cancels_what_was_left_and_proves_afresh(world: World) -> None:
    world.ec2.failures["CancelCapacityReservation"] = Crash()
    with pytest.raises(Crash):
        on_event(create(), world.clients)
    assert world.ec2.open_reservations == ["cr-0"]

    del world.ec2.failures["CancelCapacityReservation"]
    world.ec2.calls.clear()
    assert on_event(create(), world.clients)["Data"]["AvailabilityZone"] == A
    assert world.ec2.operations[:2] == ["DescribeCapacityReservations", "CancelCapacityReservation"]
    assert world.ec2.parameters_of("CancelCapacityReservation") == [
        {"CapacityReservationId": "cr-0"},
        {"CapacityReservationId": "cr-1"},
    ]
    assert [r["State"] for r in world.ec2.reservations] == ["cancelled", "cancelled"]


def test_the_next_deploy_cancels_what_a_crashed_one_left(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = Crash()
    with pytest.raises(Crash):
        on_event(create("request-1"), world.clients)
    del world.ec2.failures["after CreateCapacityReservation"]
    on_event(create("request-9"), world.clients)
    assert world.ec2.open_reservations == []
    assert world.ec2.parameters_of("CreateCapacityReservation")[-1]["ClientToken"] == client_token("request-9", A, 0)


def test_what_has_ended_is_not_cancelled_again(world: World) -> None:
    on_event(create("request-1"), world.clients)
    on_event(create("request-2"), world.clients)
    cancelled = [p["CapacityReservationId"] for p in world.ec2.parameters_of("CancelCapacityReservation")]
    assert cancelled == ["cr-0", "cr-1"]


def test_another_stack_s_reservation_is_left_alone(world: World) -> None:
    on_event(create(), world.clients)
    world.ec2.reservations[0] |= {"State": "active", "Tags": [{"Key": "eks-ray-train:stack", "Value": "prod-Gpu"}]}
    on_event(create("request-2"), world.clients)
    assert world.ec2.open_reservations == ["cr-0"]


def test_a_reservation_that_the_search_did_not_show_yet_is_no_proof_and_not_doubled(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = Crash()
    with pytest.raises(Crash):
        on_event(create(), world.clients)
    del world.ec2.failures["after CreateCapacityReservation"]
    world.ec2.hidden = {"cr-0"}
    world.now += timedelta(seconds=30)  # so the end date, and with it the request, differs: EC2 refuses the token

    def appear(seconds: float) -> None:
        world.ec2.hidden = set()

    on_event(create(), replace(world.clients, sleep=appear))
    assert [r["State"] for r in world.ec2.reservations] == ["cancelled", "cancelled"]


def test_an_answer_from_an_earlier_try_is_no_proof(world: World) -> None:
    on_event(create(), world.clients)
    world.ec2.hidden = {"cr-0"}  # same request, same second: the token is answered with the cancelled reservation
    on_event(create(), world.clients)
    tokens = [p["ClientToken"] for p in world.ec2.parameters_of("CreateCapacityReservation")]
    assert tokens == [client_token("request-1", A, n) for n in (0, 0, 1)]
    assert world.ec2.open_reservations == []


def test_a_reservation_whose_answer_never_came_is_looked_for_and_cancelled(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = ReadTimeoutError(endpoint_url="https://ec2.example")
    with pytest.raises(ProbeError, match="AWS did not answer in us-east-2: Read timeout"):
        on_event(create(), world.clients)
    assert world.ec2.reservations[0]["State"] == "cancelled"


def test_a_reservation_is_cancelled_when_waiting_for_it_fails(world: World) -> None:
    world.ec2.new_states = ["pending", "active"]

    def fail(seconds: float) -> None:
        raise RuntimeError("a bug")

    with pytest.raises(RuntimeError, match="a bug"):
        on_event(create(), replace(world.clients, sleep=fail))
    assert world.ec2.open_reservations == []


def test_the_search_stops_while_there_is_time_to_cancel(world: World) -> None:
    world.ec2.no_room = {A: "InsufficientInstanceCapacity"}
    left = iter([90_000, 89_999])
    world.remaining = lambda: next(left)
    with pytest.raises(ProbeError) as caught:
        on_event(create(), world.clients)
    assert str(caught.value) == (
        "Out of time: 89 s are left, and 90 s are kept for making a reservation and cancelling it. So far: "
        "us-east-2a: no capacity (InsufficientInstanceCapacity); us-east-2b: not tried (score unknown). Deploy again."
    )
    assert world.ec2.tried == [A]


# Mode zone


def test_a_fixed_zone_is_checked_and_nothing_is_reserved(world: World) -> None:
    answer = on_event(create(Mode="zone", Zone=B), world.clients)
    assert answer["Data"] == {
        "AvailabilityZone": B,
        "SubnetId": SUBNETS[B],
        "Table": "us-east-2b: chosen (fixed)",
        "Reason": "fixed by the settings; g6.12xlarge is offered there, its capacity was not tried",
    }
    assert set(world.ec2.operations) == {"DescribeInstanceTypeOfferings"}
    assert world.ec2.parameters_of("DescribeInstanceTypeOfferings")[0] == {
        "LocationType": "availability-zone",
        "Filters": [{"Name": "instance-type", "Values": ["g6.12xlarge"]}],
    }


# Update


@pytest.mark.parametrize("mode", [{"Mode": "probe"}, {"Mode": "zone", "Zone": A}])
def test_a_changed_count_keeps_everything_and_asks_aws_nothing(world: World, mode: dict[str, str]) -> None:
    old = properties(**mode)
    made = on_event(create(**mode), world.clients)
    world = World()
    answer = on_event(update(made["PhysicalResourceId"], old, old | {"Count": "4"}), world.clients)
    assert world.ec2.calls == world.quotas.calls == []
    assert answer["PhysicalResourceId"] == made["PhysicalResourceId"]
    assert answer["Data"] == {
        "AvailabilityZone": A,
        "SubnetId": SUBNETS[A],
        "Table": "us-east-2a: kept",
        "Reason": "kept: no input differs from those that chose this zone",
    }
    assert answer["Data"].keys() == made["Data"].keys()


def test_a_changed_token_probes_again_and_remembers_where_it_was(world: World) -> None:
    made = on_event(create(), world.clients)
    world.ec2.no_room = {A: "InsufficientInstanceCapacity"}
    forced = update(made["PhysicalResourceId"], properties(), properties(ForceToken="2"))
    moved = on_event(forced, world.clients)
    assert moved["Data"]["AvailabilityZone"] == B
    assert moved["PhysicalResourceId"].endswith(f",{made['PhysicalResourceId']}")

    world.ec2.calls.clear()
    undo = update(moved["PhysicalResourceId"], properties(ForceToken="2"), properties())
    back = on_event(undo, world.clients)
    assert back["PhysicalResourceId"] == made["PhysicalResourceId"]
    assert back["Data"]["SubnetId"] == SUBNETS[A]
    assert world.ec2.calls == []


def test_undoing_a_forced_update_that_found_no_room_does_not_fail_as_well(world: World) -> None:
    made = on_event(create(), world.clients)
    world.ec2.no_room = dict.fromkeys((A, B), "InsufficientInstanceCapacity")
    forced = update(made["PhysicalResourceId"], properties(), properties(ForceToken="2"))
    with pytest.raises(ProbeError, match="No zone of us-east-2 has room"):
        on_event(forced, world.clients)
    # The framework reports the failure under the id as it was.
    undo = update(made["PhysicalResourceId"], properties(ForceToken="2"), properties(), request_id="request-3")
    assert on_event(undo, world.clients)["PhysicalResourceId"] == made["PhysicalResourceId"]


def test_a_subnet_that_was_replaced_is_chosen_anew(world: World) -> None:
    made = on_event(create(), world.clients)
    subnets = SUBNETS | {A: "subnet-0aa"}
    answer = on_event(
        update(made["PhysicalResourceId"], properties(), properties(SubnetsByZone=subnets)), world.clients
    )
    assert answer["Data"]["SubnetId"] == "subnet-0aa"
    assert world.ec2.tried == [A, A]


def test_an_update_with_wrong_properties_is_refused_even_where_it_would_keep_the_zone(world: World) -> None:
    made = on_event(create(), world.clients)
    with pytest.raises(ProbeError, match="Count is '0'"):
        on_event(update(made["PhysicalResourceId"], properties(), properties(Count="0")), world.clients)


# Delete


def delete(**changes: Any) -> dict[str, Any]:
    return create(**changes) | {"RequestType": "Delete", "PhysicalResourceId": "us-east-2a/subnet-0a/digest"}


def test_delete_cancels_what_carries_the_stack_s_tag(world: World) -> None:
    world.ec2.failures["after CreateCapacityReservation"] = Crash()
    with pytest.raises(Crash):
        on_event(create(), world.clients)
    answer = on_event(delete(), world.clients)
    assert answer == {"PhysicalResourceId": "us-east-2a/subnet-0a/digest"}
    assert world.ec2.open_reservations == []


@pytest.mark.parametrize(
    "failure",
    [
        error("UnauthorizedOperation", "DescribeCapacityReservations"),
        ReadTimeoutError(endpoint_url="https://ec2.example"),
        ValueError("a bug"),
    ],
)
def test_delete_never_fails_and_says_so_in_the_log(
    world: World, failure: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    world.ec2.failures["DescribeCapacityReservations"] = failure
    on_event(delete(), world.clients)
    assert [line["message"] for line in lines(capsys) if line["level"] == "error"] == [
        "could not cancel leftover reservations"
    ]


def test_delete_does_not_mind_properties_that_could_never_be_created(world: World) -> None:
    on_event(delete(Tags=None, Mode="unheard of"), world.clients)


# Errors, word by word


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
    world.quotas = FakeQuotas(applied=96.0)
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
        "g6.12xlarge is offered in none of the zones that have a subnet (us-east-2a, us-east-2b). It is offered in "
        "us-east-2c: give one of these a subnet."
    )


def test_not_offered_anywhere_comes_before_quota(world: World) -> None:
    world.ec2.offered = []
    world.quotas = FakeQuotas(applied=0.0)
    assert reason(world) == (
        "g6.12xlarge is offered in none of the zones that have a subnet (us-east-2a, us-east-2b). No zone of us-east-2 "
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
    world.ec2.failures["DescribeInstances"] = error("RequestLimitExceeded", "DescribeInstances")
    assert reason(world) == "EC2 refused DescribeInstances in us-east-2: RequestLimitExceeded: EC2's words."


def test_a_reservation_that_cannot_be_cancelled_is_named_with_its_end(world: World) -> None:
    world.ec2.failures["CancelCapacityReservation"] = error("InternalError", "CancelCapacityReservation")
    with pytest.raises(ProbeError) as caught:
        on_event(create(), world.clients)
    assert str(caught.value) == (
        "Capacity reservation cr-0 could not be cancelled and bills until 2026-11-29 13:00 UTC. Cancel it: aws ec2 "
        "cancel-capacity-reservation --capacity-reservation-id cr-0 --region us-east-2. EC2 said: An error occurred "
        "(InternalError) when calling the CancelCapacityReservation operation: EC2's words."
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
