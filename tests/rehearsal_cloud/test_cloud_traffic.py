"""Calls are counted, wait at the same time, and fail as often as they are told to."""

import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from botocore.exceptions import ClientError

from rehearsal.cloud import Cloud
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.regions import ENABLED
from rehearsal.cloud.traffic import Traffic
from tests.rehearsal_cloud.cloud_stacks import caller, control, reservation_request


def test_calls_are_counted_by_service_action_and_region(room: Cloud) -> None:
    control(room, "DELETE", "calls")
    caller(room, "ec2", "eu-west-1").describe_regions()
    caller(room, "ec2").describe_regions()
    caller(room, "ec2").describe_regions()
    caller(room, "eks").list_clusters()
    caller(room, "service-quotas").get_aws_default_service_quota(ServiceCode="ec2", QuotaCode="L-DB2E81BA")
    caller(room, "resource-groups").list_groups()
    caller(room, "sts").get_caller_identity()
    assert control(room, "GET", "calls") == {
        "ec2": {"DescribeRegions": {"eu-west-1": 1, "us-east-2": 2}},
        "eks": {"ListClusters": {"us-east-2": 1}},
        "resource-groups": {"ListGroups": {"us-east-2": 1}},
        "servicequotas": {"GetAWSDefaultServiceQuota": {"us-east-2": 1}},
        "sts": {"GetCallerIdentity": {"us-east-2": 1}},
    }


def test_what_the_emulation_asks_itself_is_neither_counted_nor_delayed(room: Cloud) -> None:
    control(room, "DELETE", "calls")
    control(room, "POST", "latency", ms=60_000)
    room.account.client("ec2").describe_vpcs()
    assert control(room, "GET", "calls") == {}


def test_calls_wait_at_the_same_time(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nobody gets past the barrier unless all of them wait at once.
    together = threading.Barrier(len(ENABLED), timeout=30)
    asked: list[float] = []

    def sleep(seconds: float) -> None:
        asked.append(seconds)
        together.wait()

    monkeypatch.setattr("rehearsal.cloud.traffic.time.sleep", sleep)
    traffic = Traffic(seconds=0.2)
    with ThreadPoolExecutor(len(ENABLED)) as threads:
        list(threads.map(lambda region: traffic.arrive("ec2", "DescribeInstances", region), ENABLED))
    assert asked == [0.2] * 17


def test_calls_over_http_wait_at_the_same_time(room: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    together = threading.Barrier(8, timeout=30)
    monkeypatch.setattr("rehearsal.cloud.traffic.time.sleep", lambda seconds: together.wait())
    ec2 = caller(room, "ec2")
    control(room, "POST", "latency", ms=1)
    with ThreadPoolExecutor(8) as threads:
        answers = list(threads.map(lambda _: ec2.describe_regions()["Regions"], range(8)))
    assert [len(answer) for answer in answers] == [17] * 8


@pytest.mark.parametrize(
    ("service", "call", "parameters", "action"),
    [
        ("ec2", "create_capacity_reservation", reservation_request("us-east-2a", "fault"), "CreateCapacityReservation"),
        ("autoscaling", "describe_scaling_activities", {}, "DescribeScalingActivities"),
        ("eks", "list_clusters", {}, "ListClusters"),
        ("resource-groups", "list_groups", {}, "ListGroups"),
        (
            "service-quotas",
            "get_aws_default_service_quota",
            {"ServiceCode": "ec2", "QuotaCode": "L-DB2E81BA"},
            "GetAWSDefaultServiceQuota",
        ),
        ("s3", "list_buckets", {}, "GET"),
    ],
)
def test_a_call_fails_as_often_as_it_is_told_to(
    room: Cloud, service: str, call: str, parameters: dict[str, Any], action: str
) -> None:
    client = caller(room, service)
    name = "servicequotas" if service == "service-quotas" else service
    control(room, "POST", "faults", action=f"{name}:{action}", code="AccessDenied", times=2, message="not you")
    for _ in range(2):
        with pytest.raises(ClientError) as refused:
            getattr(client, call)(**parameters)
        assert refused.value.response["Error"] == {"Code": "AccessDenied", "Message": "not you"} | (
            {"Type": "Sender"} if service == "autoscaling" else {}
        )
    getattr(client, call)(**parameters)


def test_botocore_retries_a_throttle(room: Cloud) -> None:
    control(room, "DELETE", "calls")
    control(room, "POST", "faults", action="ec2:DescribeRegions", code="RequestLimitExceeded")
    assert len(caller(room, "ec2", attempts=2).describe_regions()["Regions"]) == 17
    assert control(room, "GET", "calls")["ec2"]["DescribeRegions"] == {"us-east-2": 2}


def test_a_fault_can_be_one_regions() -> None:
    from rehearsal.cloud.traffic import Fault

    traffic = Traffic()
    traffic.fail("ec2:X", Fault(code="Unavailable", times=1, message="m", region="eu-west-1"))
    traffic.arrive("ec2", "X", "us-east-1")
    with pytest.raises(RefusedError):
        traffic.arrive("ec2", "X", "eu-west-1")
    traffic.arrive("ec2", "X", "eu-west-1")


@pytest.mark.parametrize(
    ("method", "path", "fields", "said"),
    [
        ("POST", "nothing", {}, "no POST /rehearsal/nothing; there are GET /rehearsal/inventory"),
        ("POST", "latency", {"seconds": 1}, "seconds"),
        ("POST", "capacity", {"zone": "us-east-2a"}, "instance_type"),
        ("POST", "faults", {"action": "DescribeRegions", "code": "X"}, "expected SERVICE:ACTION"),
    ],
)
def test_a_control_that_is_wrong_is_refused(
    room: Cloud, method: str, path: str, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(AssertionError, match=said):
        control(room, method, path, **fields)


def test_the_history_that_the_cdk_asks_for_after_a_failure_is_empty(room: Cloud) -> None:
    assert caller(room, "cloudtrail").lookup_events()["Events"] == []
