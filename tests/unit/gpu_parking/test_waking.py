"""What is done before a job, so that its nodes run."""

from dataclasses import replace
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from eks_ray_train.gpu_parking.asset.idle_nodes.waking import SECONDS_AFTER_SIGN, WakeError, on_event

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
        "Idle": "go",
    }
    known = {} if kind == "Create" else {"PhysicalResourceId": "gpu-nodes"}
    return {"RequestType": kind, "StackId": "arn:stack", "ResourceProperties": properties, **known}


def _parked(**given: Any) -> World:
    return World(size=0, launched=[], **given)


@pytest.mark.parametrize("kind", ["Create", "Update"])
def test_parked_nodes_are_started_and_waited_for(kind: str) -> None:
    world = _parked()
    assert on_event(_event(kind), world.clients) == {"PhysicalResourceId": "gpu-nodes"}
    assert world.asked == [{"minSize": 2, "desiredSize": 2, "maxSize": 2}]
    assert world.running == 2


def test_the_sign_of_use_comes_before_the_look_at_the_nodes() -> None:
    world = World()
    on_event(_event("Update"), world.clients)
    assert world.said[:2] == ["put_object", "describe_nodegroup"]
    assert world.seconds == SECONDS_AFTER_SIGN
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
    # Auto Scaling has had four minutes to try again.
    assert 220 <= world.seconds - SECONDS_AFTER_SIGN < 300
    assert str(error.value) == (
        f"The parked GPU nodes, 2 x g6.12xlarge, did not start. EC2 said: {NO_ROOM} in us-east-2a. They are parked "
        "again. Deploy again later, or set another capacity.force_token, by which a zone with room is chosen anew."
    )
    assert world.asked[-1] == {"minSize": 0, "desiredSize": 0, "maxSize": 2}
    assert world.running == 0


@pytest.mark.parametrize("room_after", [150, 200])
def test_what_ec2_refuses_at_first_and_serves_later_is_waited_for(room_after: float) -> None:
    world = _parked(refused=NO_ROOM, room=0, boot=60)

    def sleep(seconds: float) -> None:
        world.room = 64 if world.seconds > room_after else 0
        world.sleep(seconds)

    on_event(_event("Update"), replace(world.clients, sleep=sleep))
    assert world.running == 2
    assert world.size == 2


def test_a_cancelled_launch_is_a_refusal_and_a_cancelled_end_is_none() -> None:
    world = _parked(room=0, activities=[_activity("Launching", "no room"), _activity("Terminating", "kept")])
    with pytest.raises(WakeError, match=r"EC2 said: no room They are parked again"):
        on_event(_event("Update"), world.clients)


def _activity(what: str, said: str) -> dict[str, Any]:
    return {
        "StatusCode": "Cancelled",
        "StartTime": NOON + 10 * MINUTE,
        "StatusMessage": said,
        "Description": f"{what} an EC2 instance",
    }


def test_nodes_that_are_still_going_are_let_go_first() -> None:
    world = _parked(going=3)
    on_event(_event("Update"), world.clients)
    assert world.seconds >= SECONDS_AFTER_SIGN + 3 * 15
    assert world.running == 2


def test_the_size_from_before_an_update_that_is_under_way_is_not_believed() -> None:
    world = World(statuses=["UPDATING", "UPDATING"])

    def sleep(seconds: float) -> None:
        world.sleep(seconds)
        if seconds != SECONDS_AFTER_SIGN and world.size == 2 and not world.asked:
            world.size, world.launched = 0, []

    on_event(_event("Update"), replace(world.clients, sleep=sleep))
    assert [asked["desiredSize"] for asked in world.asked] == [2]
    assert world.running == 2


def test_some_nodes_are_not_all() -> None:
    world = World(size=1, launched=[-1000.0])
    on_event(_event("Update"), world.clients)
    assert [asked["desiredSize"] for asked in world.asked] == [2]


def test_nodes_that_this_did_not_start_are_not_parked_when_one_is_missing() -> None:
    world = World(launched=[-1000.0], room=1)
    with pytest.raises(WakeError, match=r"do not all run\. Only 1 of 2 ran in time\."):
        on_event(_event("Update"), world.clients)
    assert world.asked == []


def test_a_refusal_from_before_is_none_of_this_launch() -> None:
    old = {"StatusCode": "Failed", "StartTime": NOON - MINUTE, "StatusMessage": NO_ROOM, "Description": "Launching"}
    world = _parked(activities=[old], room=0)

    def sleep(seconds: float) -> None:
        world.room = 64 if world.seconds > 400 else 0
        world.sleep(seconds)

    on_event(_event("Update"), replace(world.clients, sleep=sleep))
    assert world.running == 2


def test_nodes_that_never_come_are_parked_before_the_function_ends() -> None:
    world = _parked(room=1)
    with pytest.raises(WakeError, match=r"did not start. Only 1 of 2 ran in time. They are parked again"):
        on_event(_event("Update"), world.clients)
    assert world.asked[-1]["desiredSize"] == 0
    assert world.seconds <= 840 - 80


def test_what_may_bill_is_said_with_the_command_that_ends_it() -> None:
    world = _parked(room=1)

    def late(seconds: float) -> None:
        world.sleep(seconds)
        world.busy = 99 if world.seconds >= 700 else 0  # long after the nodes were asked for

    with pytest.raises(WakeError) as error:
        on_event(_event("Update"), replace(world.clients, sleep=late))
    assert world.seconds <= 840 - 45  # Lambda must be there to answer
    assert str(error.value) == (
        "The parked GPU nodes, 2 x g6.12xlarge, did not start. Only 1 of 2 ran in time. THEY MAY BILL, for they could "
        "not be parked again (the node group is being changed). End that, then deploy again: aws eks "
        "update-nodegroup-config --cluster-name ray-train-dev --nodegroup-name nodes --scaling-config "
        "minSize=0,desiredSize=0 --region us-east-2"
    )


def test_nodes_of_which_nothing_can_be_read_are_parked_again() -> None:
    class Denied(World):
        def describe_scaling_activities(self, **parameters: Any) -> dict[str, Any]:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "DescribeScalingActivities")

    world = Denied(size=0, launched=[])
    with pytest.raises(
        WakeError, match=r"Whether they run could not be read: .*AccessDenied.* They are parked again\."
    ):
        on_event(_event("Update"), world.clients)
    assert [asked["desiredSize"] for asked in world.asked] == [2, 0]


@pytest.mark.parametrize("asked_first", [True, False])
def test_a_call_whose_answer_is_lost_may_have_been_taken(asked_first: bool) -> None:
    class Lost(World):
        def update_nodegroup_config(self, **parameters: Any) -> dict[str, Any]:
            if parameters["scalingConfig"]["desiredSize"] == 2:
                super().update_nodegroup_config(**parameters)
                raise ReadTimeoutError(endpoint_url="https://eks")
            if asked_first:
                return super().update_nodegroup_config(**parameters)
            raise ReadTimeoutError(endpoint_url="https://eks")

    world = Lost(size=0, launched=[])
    said = "They are parked again" if asked_first else "THEY MAY BILL, for they could not be parked again .Read timeout"
    with pytest.raises(WakeError, match=f"Whether they run could not be read: Read timeout.* {said}"):
        on_event(_event("Update"), world.clients)


def test_what_eks_refuses_is_no_bill() -> None:
    class Denied(World):
        def update_nodegroup_config(self, **parameters: Any) -> dict[str, Any]:
            raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "UpdateNodegroupConfig")

    with pytest.raises(ClientError):
        on_event(_event("Update"), Denied(size=0, launched=[]).clients)


def test_parking_again_waits_for_the_update_that_asked_for_the_nodes() -> None:
    world = _parked(room=0, refused=NO_ROOM, busy_after=2)
    with pytest.raises(WakeError, match=r"They are parked again\."):
        on_event(_event("Update"), world.clients)
    assert [asked["desiredSize"] for asked in world.asked] == [2, 0]


def test_a_group_that_somebody_else_changes_is_not_waited_for_for_ever() -> None:
    world = _parked(busy=999)
    with pytest.raises(WakeError, match="node group nodes is being changed, or its nodes are still going"):
        on_event(_event("Update"), world.clients)
    assert world.asked == []
    # What is left would be enough for nodes to come.
    assert 840 - 330 <= world.seconds <= 840 - 270
