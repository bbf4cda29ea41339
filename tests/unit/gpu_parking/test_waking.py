"""What is done before a job, so that its nodes run."""

from typing import Any

import pytest

from eks_ray_train.gpu_parking.asset.idle_nodes.waking import WakeError, on_event

from .fakes import MINUTE, NOON, World

NO_ROOM = "Could not launch On-Demand Instances. InsufficientInstanceCapacity"


def _event(kind: str, count: int = 2) -> dict[str, Any]:
    properties = {
        "ClusterName": "ray-train-dev",
        "NodegroupName": "nodes",
        "Bucket": "results",
        "SignKey": "runs/.deployed",
        "InstanceType": "g6.12xlarge",
        "Count": str(count),
        "RunName": "train-1",
        "IdleMinutes": "60",
    }
    known = {} if kind == "Create" else {"PhysicalResourceId": "gpu-nodes"}
    return {"RequestType": kind, "StackId": "arn:stack", "ResourceProperties": properties, **known}


def _parked(**given: Any) -> World:
    return World(size=0, running=0, **given)


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_parked_nodes_are_started_and_waited_for(kind: str) -> None:
    world = _parked()
    assert on_event(_event(kind), world.clients) == {"PhysicalResourceId": "gpu-nodes"}
    assert world.asked == [{"minSize": 2, "desiredSize": 2, "maxSize": 2}]
    assert world.running == 2


def test_more_nodes_than_before_are_let_in() -> None:
    world = _parked()
    on_event(_event("Update", count=3), world.clients)
    assert world.asked == [{"minSize": 3, "desiredSize": 3, "maxSize": 3}]


def test_the_sign_of_use_comes_before_the_look_at_the_nodes() -> None:
    world = World()
    on_event(_event("Update"), world.clients)
    assert world.said == ["put_object", "describe_nodegroup"]
    # Longer than what parks takes from its look at the bucket to its call.
    assert world.seconds == 10
    assert world.writes == {"runs/.deployed": NOON}
    assert world.asked == []


@pytest.mark.parametrize(
    ("kind", "stack"),
    [("Delete", "DELETE_IN_PROGRESS"), ("Update", "UPDATE_ROLLBACK_IN_PROGRESS"), ("Update", "unknown")],
)
def test_neither_deletion_nor_rollback_needs_nodes(kind: str, stack: str) -> None:
    world = _parked(stack=stack, refused=NO_ROOM)
    assert on_event(_event(kind), world.clients) == {"PhysicalResourceId": "gpu-nodes"}
    assert world.said == []


@pytest.mark.failure_mode("H1")
@pytest.mark.parametrize("room", [0, 1])
def test_nodes_that_do_not_all_come_are_parked_again(room: int) -> None:
    world = _parked(refused=f"{NO_ROOM}\n  in  us-east-2a.", room=room)
    with pytest.raises(WakeError) as error:
        on_event(_event("Update"), world.clients)
    assert str(error.value) == (
        "The parked GPU nodes, 2 x g6.12xlarge, did not start, and are parked again. Deploy again later, or set "
        f"another capacity.force_token, by which a zone with room is chosen anew. EC2 said: {NO_ROOM} in us-east-2a."
    )
    assert world.asked[-1] == {"minSize": 0, "desiredSize": 0, "maxSize": 2}
    assert world.running == 0


def test_a_refusal_from_before_is_none_of_this_launch() -> None:
    old = {"StatusCode": "Failed", "StartTime": NOON - MINUTE, "StatusMessage": NO_ROOM}
    world = _parked(activities=[old])
    on_event(_event("Update"), world.clients)
    assert world.running == 2


def test_nodes_that_never_come_are_parked_before_the_function_ends() -> None:
    world = _parked(room=1)
    with pytest.raises(WakeError, match=r"EC2 said: nothing; 1 of 2 ran in time"):
        on_event(_event("Update"), world.clients)
    assert world.asked[-1]["desiredSize"] == 0
    assert world.seconds <= 840 - 80


def test_what_may_bill_is_said_with_the_command_that_ends_it() -> None:
    world = _parked(room=0)
    sleep, busy_after = world.sleep, world.limit - 100

    def late(seconds: float) -> None:
        sleep(seconds)
        if world.seconds >= busy_after:
            world.busy = 99

    clients = world.clients.__class__(**{**vars(world.clients), "sleep": late})
    with pytest.raises(WakeError) as error:
        on_event(_event("Update"), clients)
    assert (
        "THEY MAY BILL: aws eks update-nodegroup-config --cluster-name ray-train-dev --nodegroup-name nodes "
        "--scaling-config minSize=0,desiredSize=0" in str(error.value)
    )


def test_a_group_that_somebody_else_changes_is_not_waited_for_for_ever() -> None:
    world = _parked(busy=999)
    with pytest.raises(WakeError, match="node group nodes is being changed by somebody else"):
        on_event(_event("Update"), world.clients)
    assert world.asked == []
    assert world.seconds <= 840 - 80
