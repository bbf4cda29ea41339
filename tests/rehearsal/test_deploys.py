"""Deploys after the first, and destroys, with the real CDK CLI against one emulated account.

The tests of this module run in order, each on what the one before it left.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from eks_ray_train.ray_workload import NAMESPACE
from rehearsal.account import ask_json
from rehearsal.deployment import STACKS, expected_to_stay
from rehearsal.errors import RehearsalError
from tests.rehearsal.deploying import (
    DELETED,
    LAUNCH_TEMPLATE,
    NODE_GROUP,
    STACK,
    Copy,
    Event,
    bootstrapped_copy,
    chosen,
    position,
)

BEGUN = "DELETE_IN_PROGRESS"
PREFIX = "ray-train-dev-"
GPU = f"{PREFIX}Gpu"
GPU_TYPE = "g6.12xlarge"
ZONES = ("us-east-2a", "us-east-2b", "us-east-2c")


@dataclass
class World:
    """The copy of the app, and the account before the first deploy."""

    app: Copy
    before: dict[str, list[str]]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with bootstrapped_copy(tmp_path_factory.mktemp("deploys")) as app:
        yield World(app, app.account.inventory())


def test_the_first_deploy_brings_everything_up(world: World) -> None:
    app = world.app
    events = app.deploy()
    made = chosen(events, type=STACK, action="CREATE_COMPLETE")
    assert {event["stack"] for event in made} == {f"{PREFIX}{name}" for name in STACKS}
    assert [event for event in events if "FAILED" in event["action"] or "ROLLBACK" in event["action"]] == []
    (probe,) = chosen(events, type="Custom::GpuCapacityProbe", action="CREATE_COMPLETE")
    zone = probe["physical_id"].split("/")[0]
    assert app.zones["gpu-worker"] == [zone, zone]
    assert len(app.zones["system"]) == 1
    assert app.releases == ["aws-efa-k8s-device-plugin", "kuberay-operator", "nvidia-device-plugin"]
    # No test asks a repository.
    notes = [event["reason"] for event in chosen(events, action="NOTE") if " chart " in event["reason"]]
    assert len(notes) == 3
    assert [note for note in notes if "(--charts names the stand-ins)" not in note] == []
    # Which waits until the operator says that the job is running.
    app.finish_job()
    state = app.state()
    assert len(state.fabric_checks) == len(state.ray_clusters) == len(state.ray_jobs) == 1


def test_a_second_deploy_does_nothing(world: World) -> None:
    app = world.app
    before = app.state()
    assert app.deploy() == []
    assert app.state() == before
    diff = app.diff()
    assert diff.count("There were no differences") == len(STACKS), diff


def test_idle_gpu_nodes_are_scaled_to_zero(world: World) -> None:
    app = world.app
    assert parked(app, minutes=59) is False
    assert len(app.zones["gpu-worker"]) == 2
    # The reservation that they were launched into has ended by then.
    assert parked(app, minutes=61) is True
    assert app.zones.keys() == {"system"}
    pods = ask_json(f"{app.account.kubernetes}/api/v1/namespaces/{NAMESPACE}/pods")["items"]
    workers = [pod for pod in pods if pod["metadata"]["labels"].get("ray.io/node-type") == "worker"]
    assert [pod["status"]["phase"] for pod in workers] == ["Pending", "Pending"]
    assert parked(app, minutes=66) is False


def test_without_room_for_the_nodes_the_next_job_is_refused_and_they_stay_parked(world: World) -> None:
    app = world.app
    before = app.state()
    app.edit("steps = 200", "steps = 201")
    for zone in ZONES:
        app.limit_capacity(zone, GPU_TYPE, 0)
    with pytest.raises(
        RehearsalError, match=r"(?s)did not start\. EC2 said: .*InsufficientInstanceCapacity.*They are parked again"
    ):
        app.deploy()
    assert app.state() == before


def test_a_changed_parameter_starts_the_nodes_and_runs_one_new_job_on_the_standing_cluster(world: World) -> None:
    app = world.app
    before = app.state()
    for zone in ZONES:
        app.limit_capacity(zone, GPU_TYPE, None)
    events = app.deploy()
    assert {event["stack"] for event in chosen(events, type=STACK)} == {f"{PREFIX}Training"}
    launches = [event["zone"] for event in chosen(events, action="LAUNCH")]
    assert launches == app.zones["gpu-worker"]
    assert len(launches) == 2
    app.finish_job()
    after = app.state()
    assert len(after.ray_jobs) == 1
    assert not after.ray_jobs.keys() & before.ray_jobs.keys()
    assert after.nodes.items() > before.nodes.items()
    assert after.but(ray_jobs={}, nodes={}) == before.but(ray_jobs={}, nodes={})
    assert parked(app, minutes=0) is False


def test_a_changed_disk_keeps_the_node_group(world: World) -> None:
    app = world.app
    before, group = app.state(), app.gpu_node_groups
    app.edit("disk_gib = 300", "disk_gib = 400")
    # With the same credentials a pull request says what the deploy is about to do, and nothing else.
    said = app.pull_request_diff()
    assert "| dev | Gpu | 0 | 1 | 0 |" in said
    assert said.count("(unchanged) | 0 | 0 | 0 |") == len(STACKS) - 1
    assert '[-]     "VolumeSize": 300' in said
    assert '[+]     "VolumeSize": 400' in said
    events = app.deploy()
    assert len(chosen(events, type=LAUNCH_TEMPLATE, action="UPDATE_COMPLETE")) == 1
    assert len(chosen(events, type=NODE_GROUP, action="UPDATE_COMPLETE")) == 1
    assert [event for event in events if event["action"].startswith(("CREATE", "DELETE"))] == []
    assert len(group) == 1
    assert app.gpu_node_groups == group
    after = app.state()
    assert after.but(nodes={}) == before.but(nodes={})


def test_other_candidate_zones_replace_the_node_group_and_check_it_again(world: World) -> None:
    app = world.app
    before, groups = app.state(), app.gpu_node_groups
    zone = app.zones["gpu-worker"][0]
    others = sorted({"us-east-2a", "us-east-2b", "us-east-2c"} - {zone})
    app.edit('mode = "hold"', f'mode = "hold"\nzones = {json.dumps(others)}')
    events = app.deploy()
    made = position(events, "UPDATE_COMPLETE", GPU, NODE_GROUP)
    assert made < position(events, BEGUN, GPU, NODE_GROUP)
    assert events[position(events, DELETED, GPU, NODE_GROUP)]["physical_id"] != events[made]["physical_id"]
    assert len(app.gpu_node_groups) == 1
    assert app.gpu_node_groups != groups
    (new_zone,) = set(app.zones["gpu-worker"])
    assert new_zone in others
    after = app.state()
    # Kubernetes takes the old Job away twenty minutes after its end.
    assert len(after.fabric_checks - before.fabric_checks) == 1
    assert len(after.nodes) == len(before.nodes)
    assert len(after.nodes.keys() & before.nodes.keys()) == 1, "the system node stays, the GPU nodes go"
    assert after.but(nodes={}, fabric_checks=set()) == before.but(nodes={}, fabric_checks=set())


def test_another_image_makes_a_new_cluster_and_a_new_job(world: World) -> None:
    app = world.app
    before = app.state()
    app.edit("train-ml-cuda-v1.1", "train-ml-cuda-v1.1.0")
    app.deploy()
    app.finish_job()
    after = app.state()
    assert len(after.ray_clusters) == len(after.ray_jobs) == 1
    assert not after.ray_clusters.keys() & before.ray_clusters.keys()
    assert not after.ray_jobs.keys() & before.ray_jobs.keys()
    assert after.nodes == before.nodes


def test_an_interrupted_destroy_is_finished_by_the_next_in_order_and_leaves_nothing(world: World) -> None:
    app = world.app
    begun = len(app.account.events())
    app.destroy_and_kill(f"{PREFIX}Training")
    assert len(chosen(app.account.events()[begun:], type=STACK, action=DELETED)) < len(STACKS)
    app.destroy()
    check_order(app.account.events()[begun:])
    check_nothing_left(world)


def parked(app: Copy, minutes: float) -> bool:
    """Let the schedule look, as if so many minutes had passed, and return whether it has parked the nodes."""
    app.tell("clock", minutes=minutes)
    (look,) = app.tell("schedules")
    app.tell("clock", minutes=0)
    assert look["answer"]["reason"]
    return bool(look["answer"]["parked"])


def check_order(events: list[Event]) -> None:
    """Each of these is gone before the next begins to go."""
    training, platform, cluster = f"{PREFIX}Training", f"{PREFIX}Platform", f"{PREFIX}Cluster"
    job = (training, "", "RayTrainingtrain")
    emptying = (cluster, "Custom::S3AutoDeleteObjects", "")
    ray_cluster = (training, "", "RayTrainingray")
    operator = (platform, "", "KubeRayOperatorChart")
    gpu_nodes = (GPU, NODE_GROUP, "")
    system_nodes = (cluster, NODE_GROUP, "")
    control_plane = (cluster, "AWS::EKS::Cluster", "")
    vpc = (f"{PREFIX}Network", "AWS::EC2::VPC", "")
    for first, then in (
        (job, ray_cluster),
        (job, emptying),
        (ray_cluster, operator),
        (ray_cluster, gpu_nodes),
        (operator, system_nodes),
        (gpu_nodes, system_nodes),
        (system_nodes, control_plane),
        (control_plane, vpc),
    ):
        assert position(events, DELETED, *first) < position(events, BEGUN, *then), f"{then} before {first}"


def check_nothing_left(world: World) -> None:
    """The account is what it was before the first deploy."""
    before, after = pairs(world.before), pairs(world.app.account.inventory())
    assert before - after == set()
    assert {item for item in after - before if not expected_to_stay(item)} == set()
    state = world.app.state()
    assert (state.ray_jobs, state.ray_clusters, state.fabric_checks, state.nodes) == ({}, {}, set(), {})
    assert NAMESPACE not in world.app.objects("api/v1/namespaces")
    assert world.app.releases == []
    assert ask_json(f"{world.app.account.kubernetes}/rehearsal/pending") == []


def pairs(inventory: dict[str, list[str]]) -> set[str]:
    return {f"{kind} {name}" for kind, names in inventory.items() for name in names}
