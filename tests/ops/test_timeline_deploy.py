"""The steps of dev's deploy, and the table of durations."""

from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest

from app import build
from environments.loading import load
from ops.timeline.durations import read_durations
from ops.timeline.graph import IMAGE_ON_GPU_NODES, IMAGE_ON_HEAD, START, deploy_steps
from ops.timeline.outlook import Outlook, bases, outlook, sample_span
from tests.synthesis import CODE, new_app, templates

DURATIONS = read_durations()


@pytest.fixture(scope="module")
def needs() -> dict[str, tuple[str, ...]]:
    app = new_app()
    stacks = build(app, load("dev"), CODE)
    app.synth()
    return {stack.node.id: tuple(other.node.id for other in stack.dependencies) for stack in stacks}


@pytest.fixture(scope="module")
def course(needs: dict[str, tuple[str, ...]]) -> Outlook:
    return outlook(templates("dev"), needs, DURATIONS, concurrency=3)


def test_the_steps_of_a_small_template() -> None:
    template = {
        "Resources": {
            "Key": {"Type": "AWS::KMS::Key"},
            "Cluster": {
                "Type": "AWS::EKS::Cluster",
                "DependsOn": ["Key"],
                "Properties": {
                    "RoleArn": {"Fn::GetAtt": ["Role", "Arn"]},
                    "Name": {"Fn::Join": ["", [{"Ref": "AWS::Region"}, {"Ref": "Key"}]]},
                },
            },
            "Role": {"Type": "AWS::IAM::Role"},
        }
    }
    steps = {step.id: step for step in deploy_steps({"Cluster": template}, DURATIONS)}
    assert steps["Cluster/Cluster"].after == (f"Cluster/{START}", "Cluster/Key", "Cluster/Role")
    assert steps["Cluster/Cluster"].seconds == 540
    assert steps["Cluster/Role"].after == (f"Cluster/{START}",)
    assert len(steps) == 4


def test_every_resource_is_a_step() -> None:
    steps = deploy_steps(templates("dev"), DURATIONS)
    resources = sum(len(template["Resources"]) for template in templates("dev").values())
    assert len(steps) == resources + len(templates("dev")) + 2  # the stacks' starts, and the pulls of the image
    assert len({step.id for step in steps}) == len(steps)


def test_the_critical_path_is_in_an_order_that_can_be(course: Outlook) -> None:
    labels = [placed.step.label for placed in course.path]
    wanted = [
        "EC2::NatGateway",
        "EKS::Cluster",
        "EKS::Addon coredns",
        "GpuCapacityProbe",
        IMAGE_ON_GPU_NODES,
        "fabric check",
    ]
    assert [label for label in labels if label in wanted] == wanted
    for before, after in pairwise(course.path):
        assert before.end == after.start
    stacks = [placed.step.stack for placed in course.path if placed.step.stack]
    assert list(dict.fromkeys(stacks)) == ["Network", "Cluster", "Gpu", "Training"]


def test_gpu_and_platform_run_side_by_side_with_three_at_a_time(
    course: Outlook, needs: dict[str, tuple[str, ...]]
) -> None:
    assert course.of_stack("Gpu")[0] == course.of_stack("Platform")[0]
    alone = outlook(templates("dev"), needs, DURATIONS, concurrency=1)
    assert alone.of_stack("Platform")[0] == alone.of_stack("Gpu")[1]
    assert alone.ready.typical >= course.ready.typical


def test_the_image_is_pulled_while_others_are_waited_for(course: Outlook) -> None:
    pull = course.placed[IMAGE_ON_GPU_NODES]
    (prefetch,) = pull.step.after
    assert prefetch.startswith("Gpu/ImagePrefetch")
    assert pull.start == course.placed[prefetch].end
    (check,) = [placed for placed in course.placed.values() if placed.step.label == "fabric check"]
    assert check.start >= pull.end
    head = course.placed[IMAGE_ON_HEAD]
    (prefetch,) = head.step.after
    assert prefetch.startswith("Platform/HeadImagePrefetch")
    assert head.end <= course.placed[IMAGE_ON_GPU_NODES].end


def test_the_heads_image_is_pulled_early_where_something_prefetches_it() -> None:
    manifest = '[{"kind":"Job","metadata":{"name":"image-prefetch-1"},"spec":{"nodeSelector":{"role":"system"}}}]'
    cluster = {"Fn::Join": ["", ['[{"kind":"RayCluster","metadata":{"name":"', {"Ref": "Name"}, '"}}]']]}
    resource = "Custom::AWSCDK-EKS-KubernetesResource"
    late = {"Ray": {"Type": resource, "Properties": {"Manifest": cluster}}}
    early = {**late, "Prefetch": {"Type": resource, "Properties": {"Manifest": manifest}}}
    for resources, wanted in ((late, "Training/Ray"), (early, "Training/Prefetch")):
        steps = deploy_steps({"Training": {"Resources": resources}}, DURATIONS)
        (pull,) = [step for step in steps if step.id == IMAGE_ON_HEAD]
        assert pull.after == (wanted,)


def test_shortest_and_longest_enclose_what_is_typical(course: Outlook) -> None:
    for span in (course.deployed, course.ready, sample_span(DURATIONS)):
        assert span.low < span.typical < span.high


def test_the_samples_chain_is_the_sum_of_its_readmes_times() -> None:
    minutes = timedelta(seconds=sample_span(DURATIONS).typical) / timedelta(minutes=1)
    assert minutes == pytest.approx(17.5 + 4 + 1.5 + 1.5 + 266 / 60)


def test_each_row_has_a_source_and_a_range_around_its_seconds(course: Outlook) -> None:
    rows: list[Any] = [*DURATIONS.resources, DURATIONS.other, DURATIONS.image_pull, *DURATIONS.sample]
    for row in rows:
        assert row.low <= row.seconds <= row.high, row.type
        assert len(row.source) > 5
    based = bases(course.path, templates("dev"), DURATIONS)
    assert all(placed.step.seconds == row.seconds for placed, row in based)
    long = [row for placed, row in based if placed.step.seconds > 60]
    assert not any(row.estimate for row in long), "what takes more than a minute rests on a source"


def test_no_row_of_the_table_is_dead() -> None:
    used = {
        DURATIONS.of(resource["Type"], stack)
        for stack, template in templates("dev").items()
        for resource in template["Resources"].values()
    } | {DURATIONS.of(START, "Gpu")}
    assert set(DURATIONS.resources) <= used
