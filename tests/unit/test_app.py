"""The app as the CDK command line runs it: alone, without credentials, the same bytes everywhere."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import aws_cdk as cdk
import pytest
from cdk_nag import AwsSolutionsChecks

from app import TRAINING_CODE, build
from eks_ray_train.training_job import read_code
from environments.loading import load
from tests.synthesis import CODE, ENVIRONMENTS, REPOSITORY, new_app, resources, settings_with, templates


def _synthesise(repository: Path, out: Path, **context: str) -> subprocess.CompletedProcess[str]:
    """Runs app.py as the CDK command line does, with no AWS credentials in reach."""
    merged = {**json.loads((REPOSITORY / "cdk.json").read_text())["context"], **context}
    environment = {key: value for key, value in os.environ.items() if not key.startswith("AWS_")}
    source_roots = f"{repository}{os.pathsep}{repository / 'constructs'}"
    return subprocess.run(
        [sys.executable, "app.py"],
        cwd=repository,
        env={
            **environment,
            "CDK_OUTDIR": str(out),
            "CDK_CONTEXT_JSON": json.dumps(merged),
            "CDK_VALIDATION": "false",
            "AWS_EC2_METADATA_DISABLED": "true",
            "PYTHONPATH": source_roots,
        },
        capture_output=True,
        text=True,
    )


@pytest.mark.failure_mode("D23")
def test_a_checkout_elsewhere_gives_the_same_bytes(tmp_path: Path) -> None:
    elsewhere = tmp_path / "another" / "checkout"
    for name in ("app.py", "environments", "stacks", "constructs", "k8s", "training"):
        source = REPOSITORY / name
        target = elsewhere / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(source, target)
    here, there = tmp_path / "here", tmp_path / "there"
    for repository, out in ((REPOSITORY, here), (elsewhere, there)):
        result = _synthesise(repository, out, environment="dev")
        assert result.returncode == 0, result.stderr
    names = sorted(path.name for path in here.glob("*.template.json"))
    assert len(names) == 5
    for name in names:
        assert (here / name).read_bytes() == (there / name).read_bytes(), name


def test_an_unknown_environment_writes_nothing(tmp_path: Path) -> None:
    result = _synthesise(REPOSITORY, tmp_path / "out", environment="staging")
    assert result.returncode == 1
    assert "environment = 'staging'" in result.stderr
    assert "expected: one of dev, prod" in result.stderr
    assert "Traceback" not in result.stderr
    assert list((tmp_path / "out").glob("*")) == []


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_cdk_nag_finds_nothing(environment: str) -> None:
    app = new_app()
    build(app, load(environment), read_code(TRAINING_CODE))
    app.synth()  # references between stacks are spelled as they will be
    report = AwsSolutionsChecks(app).validate_scope(app)
    assert [violation.rule_name for violation in report.violations] == []


def test_cdk_nag_would_find_a_bucket_that_is_open_to_plain_http() -> None:
    app = new_app()
    build(app, load("dev"), read_code(TRAINING_CODE))
    cdk.aws_s3.Bucket(cdk.Stack(app, "Extra"), "Open")
    report = AwsSolutionsChecks(app).validate_scope(app)
    assert "AwsSolutions-S10" in [violation.rule_name for violation in report.violations]


def test_stack_names() -> None:
    stacks = build(new_app(), load("prod"), CODE)
    assert [stack.stack_name for stack in stacks] == [
        f"ray-train-prod-{name}" for name in ("Network", "Cluster", "Gpu", "Platform", "Training")
    ]


def test_a_pinned_account_is_the_only_one_deployed_to() -> None:
    settings = settings_with({"account": "111122223333"})
    stacks = build(new_app(), settings, CODE)
    assert {(stack.account, stack.region) for stack in stacks} == {("111122223333", "us-east-2")}


@pytest.mark.failure_mode("D11")
@pytest.mark.failure_mode("D12")
def test_the_order_of_deletion() -> None:
    """Deletion runs backwards: the RayJob first, while its operator still runs; nodes and operator after Training."""
    app = new_app()
    stacks = {stack.node.id: stack for stack in build(app, load("dev"), CODE)}
    app.synth()  # references become dependencies
    needs = {name: {other.node.id for other in stack.dependencies} for name, stack in stacks.items()}
    assert needs["Cluster"] == {"Network"}
    assert needs["Platform"] == {"Cluster"}
    assert needs["Gpu"] == {"Network", "Cluster"}
    assert needs["Training"] >= {"Gpu", "Platform"}
    template = templates("dev")["Training"]
    by_name = {
        name: resource
        for name, resource in resources(template, "Custom::AWSCDK-EKS-KubernetesResource").items()
        if name.startswith("RayTraining")
    }
    (cluster,) = [name for name in by_name if name.startswith("RayTrainingray")]
    (job,) = [name for name in by_name if name.startswith("RayTrainingtrain")]
    assert cluster in by_name[job]["DependsOn"]
    # The bucket is emptied once no job can write to it any more, and not when jobs alone are destroyed.
    assert len(resources(templates("dev")["Cluster"], "Custom::S3AutoDeleteObjects")) == 1
    assert resources(template, "Custom::S3AutoDeleteObjects") == {}


@pytest.mark.failure_mode("D24")
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_stacks_are_far_from_cloudformations_limits(environment: str) -> None:
    for template in templates(environment).values():
        assert len(template["Resources"]) < 250  # of 500
        assert len(json.dumps(template)) < 500_000  # of 1 MB


def test_references_between_stacks_are_strong() -> None:
    text = json.dumps(templates("dev"))
    assert "Fn::ImportValue" in text
    assert "Fn::GetStackOutput" not in text


@pytest.mark.failure_mode("D17")
@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_manifests_are_applied_and_not_pruned(environment: str) -> None:
    for template in templates(environment).values():
        for manifest in resources(template, "Custom::AWSCDK-EKS-KubernetesResource").values():
            assert manifest["Properties"]["Overwrite"] is True
            assert "PruneLabel" not in manifest["Properties"]


@pytest.mark.failure_mode("D16")
def test_no_object_carries_a_prune_label() -> None:
    assert "aws.cdk.eks/prune" not in json.dumps(templates("dev"))


@pytest.mark.parametrize(("environment", "policy", "emptied"), [("dev", "Delete", 1), ("prod", "Retain", 0)])
def test_results(environment: str, policy: str, emptied: int) -> None:
    template = templates(environment)["Cluster"]
    (bucket,) = resources(template, "AWS::S3::Bucket").values()
    assert bucket["DeletionPolicy"] == policy
    assert len(resources(template, "Custom::S3AutoDeleteObjects")) == emptied
    properties = bucket["Properties"]
    assert set(properties["PublicAccessBlockConfiguration"].values()) == {True}
    assert properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]


def test_pods_may_write_below_runs_only() -> None:
    policies = resources(templates("dev")["Training"], "AWS::IAM::Policy")
    (policy,) = [policy for name, policy in policies.items() if "Identity" in name]
    objects, bucket = policy["Properties"]["PolicyDocument"]["Statement"]
    assert objects["Resource"]["Fn::Join"][1][-1] == "/runs/*"
    assert sorted(objects["Action"]) == [
        "s3:AbortMultipartUpload",
        "s3:DeleteObject",
        "s3:GetObject",
        "s3:PutObject",
    ]
    assert sorted(bucket["Action"]) == ["s3:GetBucketLocation", "s3:ListBucket"]
