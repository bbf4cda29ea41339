"""Placement scores break ties, where they say anything; questions do not wait for each other."""

import threading
from dataclasses import replace
from typing import Any

import pytest

from eks_ray_train.capacity_probe.asset.gpu_capacity.clients import in_threads
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event
from eks_ray_train.capacity_probe.asset.gpu_capacity.properties import parse
from eks_ray_train.capacity_probe.asset.gpu_capacity.scores import ask_scores

from .fakes import A, B, World, error
from .lines import lines
from .sent import create, properties

OFFERINGS = {"Mode": "offerings"}


@pytest.mark.failure_mode("C3")
def test_a_spot_quota_below_the_need_makes_scores_worthless(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    world.ec2.scores = {A: 3, B: 9}
    world.quotas.spot = 95.0
    answer = on_event(create(**OFFERINGS), world.clients)
    assert answer["Data"]["AvailabilityZone"] == A
    assert answer["Data"]["Reason"].endswith("; placement scores ignored: the Spot quota of 95 vCPUs caps them")
    assert "Spot placement scores ignored" in [line["message"] for line in lines(capsys)]


@pytest.mark.failure_mode("C3")
def test_a_1_everywhere_says_nothing(world: World) -> None:
    world.ec2.scores = {A: 1, B: 1}
    answer = on_event(create(**OFFERINGS), world.clients)
    assert answer["Data"]["Table"] == "us-east-2a: chosen (score unknown); us-east-2b: not tried (score unknown)"
    assert answer["Data"]["Reason"].endswith(
        "; placement scores ignored: every zone has 1, as where the Spot quota caps them"
    )


def test_the_spot_quota_s_default_counts_where_none_was_set(world: World) -> None:
    world.ec2.scores = {A: 3, B: 9}
    world.quotas.spot, world.quotas.default = None, 0.0
    assert on_event(create(**OFFERINGS), world.clients)["Data"]["AvailabilityZone"] == A
    world.quotas.default = 96.0
    assert on_event(create(**OFFERINGS), world.clients)["Data"]["AvailabilityZone"] == B


@pytest.mark.parametrize(
    ("instance_type", "code"),
    [
        ("g6.12xlarge", "L-3819A6DF"),
        ("p4d.24xlarge", "L-7212CCBC"),
        ("p5en.48xlarge", "L-C4BD4855"),
        ("p6-b200.48xlarge", None),
    ],
)
def test_each_family_has_its_own_spot_quota(world: World, instance_type: str, code: str | None) -> None:
    wanted = parse(properties(InstanceType=instance_type, QuotaCode="L-417A185B", QuotaFamilies=["p"]))
    ask_scores(wanted, world.clients)
    assert [given["QuotaCode"] for given in world.quotas.parameters_of("GetServiceQuota")] == ([code] if code else [])


def test_scores_count_where_the_spot_quota_is_not_known(world: World) -> None:
    world.ec2.scores = {A: 3, B: 9}
    original = world.quotas.get_service_quota

    def refuse_spot(**given: Any) -> dict[str, Any]:
        if given["QuotaCode"] == "L-3819A6DF":
            raise error("AccessDeniedException", "GetServiceQuota")
        return original(**given)

    world.quotas.get_service_quota = refuse_spot  # type: ignore[method-assign] # one odd case
    assert on_event(create(**OFFERINGS), world.clients)["Data"]["AvailabilityZone"] == B


def test_no_question_waits_for_another() -> None:
    """Each of the four waits until all four are asked: one after the other, they would wait for ever."""
    world, barrier = World(), threading.Barrier(4, timeout=20)
    together = {"DescribeInstanceTypeOfferings", "DescribeInstances", "GetSpotPlacementScores", "GetServiceQuota"}
    waited: set[str] = set()

    def waiting(operation: str, call: Any) -> Any:
        def ask(**given: Any) -> Any:
            if operation in together and given.get("QuotaCode") != "L-3819A6DF" and operation not in waited:
                waited.add(operation)
                barrier.wait()
            return call(**given)

        return ask

    ec2, quotas = world.ec2, world.quotas
    ec2.describe_instances = waiting("DescribeInstances", ec2.describe_instances)  # type: ignore[method-assign] # so that they wait
    ec2.describe_instance_type_offerings = waiting(  # type: ignore[method-assign]
        "DescribeInstanceTypeOfferings", ec2.describe_instance_type_offerings
    )
    ec2.get_spot_placement_scores = waiting("GetSpotPlacementScores", ec2.get_spot_placement_scores)  # type: ignore[method-assign]
    quotas.get_service_quota = waiting("GetServiceQuota", quotas.get_service_quota)  # type: ignore[method-assign]
    on_event(create(**OFFERINGS), replace(world.clients, at_once=in_threads))
    assert waited == together


def test_the_first_question_that_fails_fails_all() -> None:
    def fail() -> None:
        raise ValueError("the second")

    assert in_threads(lambda: 1, lambda: 2) == [1, 2]
    with pytest.raises(ValueError, match="the second"):
        in_threads(lambda: 1, fail)
