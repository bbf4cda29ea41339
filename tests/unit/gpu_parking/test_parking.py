"""When the nodes are scaled to zero, and when not."""

from datetime import datetime, timedelta

import pytest

from eks_ray_train.gpu_parking.asset.idle_nodes.nodes import NodeGroup
from eks_ray_train.gpu_parking.asset.idle_nodes.parking import Watched, newest_write, on_schedule

from .fakes import MINUTE, NOON, World

WATCHED = Watched(
    group=NodeGroup(cluster="ray-train-dev", name="nodes"),
    bucket="results",
    prefix="runs/",
    patience=timedelta(minutes=60),
)
EVENT = {"at": "2026-11-30T12:00:00Z"}
OLD = NOON - 600 * MINUTE


@pytest.mark.failure_mode("H1")
@pytest.mark.parametrize(
    ("world", "reason"),
    [
        (World(), "600 of 60 minutes since a node group changed, at 2026-11-30T02:00:00Z"),
        (World(writes={"runs/a/result.json": NOON - 60 * MINUTE}), "60 of 60 minutes since a run wrote"),
        (World(status="DEGRADED"), "600 of 60 minutes since a node group changed"),
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
        (World(created=NOON - 20 * MINUTE), "20 of 60 minutes since a node group changed"),
        # As when somebody has just started the nodes by hand.
        (World(modified=NOON - 5 * MINUTE), "5 of 60 minutes since a node group changed"),
        (World(size=0, running=0), "parked already"),
        (World(status="UPDATING"), "the node group is UPDATING"),
        (World(writes={"runs/a/result.json": NOON + MINUTE}), "0 of 60 minutes since a run wrote"),
    ],
)
def test_others_are_not(world: World, reason: str) -> None:
    said = on_schedule(EVENT, WATCHED, world.clients)
    assert said["parked"] is False
    assert reason in said["reason"]
    assert world.asked == []


def test_the_bucket_is_looked_at_last() -> None:
    world = World()
    on_schedule(EVENT, WATCHED, world.clients)
    assert world.said == ["describe_nodegroup", "list_objects_v2", "update_nodegroup_config"]


def test_a_group_that_is_being_changed_is_asked_again_while_there_is_time() -> None:
    world = World(busy=2, limit=120)
    assert on_schedule(EVENT, WATCHED, world.clients)["parked"] is True
    assert world.seconds == 20
    world = World(busy=99, limit=120)
    assert on_schedule(EVENT, WATCHED, world.clients)["parked"] is False
    assert world.seconds <= 120


@pytest.mark.parametrize(
    ("times", "newest"),
    [([], None), ([OLD], OLD), ([OLD, NOON, OLD], NOON), ([NOON, OLD, OLD, OLD], NOON), ([OLD] * 4 + [NOON], NOON)],
)
def test_the_newest_write_is_found_on_every_page(times: list[datetime], newest: datetime | None) -> None:
    world = World(writes={f"runs/{number}": at for number, at in enumerate(times)}, page=2)
    assert newest_write("results", "runs/", world.clients) == newest
    assert len(world.said) == max(1, -(-len(times) // 2))
