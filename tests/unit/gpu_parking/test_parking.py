"""When the nodes are scaled to zero, and when not."""

from datetime import datetime, timedelta
from typing import Any

import pytest

from eks_ray_train.gpu_parking.asset.idle_nodes import handlers
from eks_ray_train.gpu_parking.asset.idle_nodes.nodes import NodeGroup
from eks_ray_train.gpu_parking.asset.idle_nodes.parking import Watched, newest_write, on_schedule
from eks_ray_train.gpu_parking.asset.idle_nodes.waking import SECONDS_AFTER_SIGN

from .fakes import MINUTE, NOON, World

WATCHED = Watched(
    group=NodeGroup(cluster="ray-train-dev", name="nodes"),
    bucket="results",
    prefix="runs/",
    sign="runs/.deployed",
    patience=timedelta(minutes=60),
)
EVENT = {"at": "2026-11-30T12:00:00Z"}
OLD = NOON - 600 * MINUTE


def _activity(status: str, minutes_ago: int, what: str = "Launching") -> dict[str, Any]:
    return {"StatusCode": status, "StartTime": NOON - minutes_ago * MINUTE, "Description": f"{what} a new EC2 instance"}


@pytest.mark.failure_mode("H1")
@pytest.mark.parametrize(
    ("world", "reason"),
    [
        (World(), "600 of 60 minutes since a node group was made, at 2026-11-30T02:00:00Z"),
        (World(writes={"runs/a/result.json": NOON - 60 * MINUTE}), "60 of 60 minutes since a run wrote"),
        (World(status="DEGRADED"), "600 of 60 minutes since a node group was made"),
        # Auto Scaling tries for ever what EC2 refuses, and ends what it was told to.
        (World(activities=[_activity("Failed", 1), _activity("Successful", 2, "Terminating")]), "600 of 60 minutes"),
    ],
)
def test_idle_nodes_are_parked(world: World, reason: str) -> None:
    said = on_schedule(EVENT, WATCHED, world.clients)
    assert said["parked"] is True
    assert reason in said["reason"]
    # The largest size stays: EKS wants 1 at least.
    assert world.asked == [{"minSize": 0, "desiredSize": 0, "maxSize": 2}]


@pytest.mark.parametrize(
    ("world", "reason"),
    [
        (World(writes={"runs/a/result.json": NOON - 59 * MINUTE}), "59 of 60 minutes since a run wrote"),
        (World(writes={"runs/a/b": OLD, "runs/.deployed": NOON}), "0 of 60 minutes since a run wrote"),
        (World(created=NOON - 20 * MINUTE), "20 of 60 minutes since a node group was made"),
        # As when somebody has just started the nodes by hand.
        (
            World(activities=[_activity("Cancelled", 1), _activity("Successful", 5)]),
            "5 of 60 minutes since a node was launched",
        ),
        (World(activities=[_activity("InProgress", 2)]), "2 of 60 minutes since a node was launched"),
        (World(size=0, launched=[]), "parked already"),
        (World(status="UPDATING"), "the node group is UPDATING"),
        (World(writes={"runs/a/result.json": NOON + MINUTE}), "0 of 60 minutes since a run wrote"),
    ],
)
def test_others_are_not(world: World, reason: str) -> None:
    said = on_schedule(EVENT, WATCHED, world.clients)
    assert said["parked"] is False
    assert reason in said["reason"]
    assert world.asked == []


def test_the_sign_of_a_deploy_is_looked_for_right_before_the_nodes_go() -> None:
    world = World()
    on_schedule(EVENT, WATCHED, world.clients)
    assert world.said == [
        "describe_nodegroup",
        "list_objects_v2 runs/",
        "list_objects_v2 runs/.deployed",
        "update_nodegroup_config",
    ]


def test_a_deploy_that_begins_during_the_look_keeps_its_nodes() -> None:
    world = World(writes={"runs/a/result.json": OLD})

    def deploy(calls: int) -> None:
        if calls == 3:
            world.writes["runs/.deployed"] = NOON

    world.listed = deploy
    said = on_schedule(EVENT, WATCHED, world.clients)
    assert (said["parked"], world.asked) == (False, [])
    assert "0 of 60 minutes since a deploy began" in said["reason"]


def test_parked_nodes_cost_no_look_at_the_bucket() -> None:
    world = World(size=0, launched=[])
    on_schedule(EVENT, WATCHED, world.clients)
    assert world.said == ["describe_nodegroup"]


def test_a_group_that_is_being_changed_is_left_to_the_next_look() -> None:
    """A call that comes later than the sign's keeper waits would take the nodes of a job that was let through."""
    world = World(busy=1)
    assert on_schedule(EVENT, WATCHED, world.clients)["parked"] is False
    assert (world.seconds, world.asked) == (0, [])
    assert handlers.ONCE.retries == {"total_max_attempts": 1}
    assert handlers.ONCE.connect_timeout + handlers.ONCE.read_timeout < SECONDS_AFTER_SIGN


@pytest.mark.parametrize(
    ("times", "newest"),
    [([], None), ([OLD], OLD), ([OLD, NOON, OLD], NOON), ([NOON, OLD, OLD, OLD], NOON), ([OLD] * 4 + [NOON], NOON)],
)
def test_the_newest_write_is_found_on_every_page(times: list[datetime], newest: datetime | None) -> None:
    world = World(writes={f"runs/{number}": at for number, at in enumerate(times)}, page=2)
    assert newest_write("results", "runs/", world.clients) == newest
    assert len(world.said) == max(1, -(-len(times) // 2))
