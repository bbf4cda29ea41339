import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest
from aws_cdk import App, CfnParameter, Environment, Fn, Stack, Token, Validations
from aws_cdk.assertions import Match, Template
from cdk_nag import AwsSolutionsChecks

from eks_ray_train.capacity_probe import CapacityProbe, construct
from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.events import on_event
from eks_ray_train.capacity_probe.asset.gpu_capacity.properties import parse
from eks_ray_train.instance_types import INSTANCE_TYPES
from eks_ray_train.placement_group import PlacementGroup

from .fakes import World, create

ZONES = ["us-east-2a", "us-east-2b"]


def small_app(
    env: Environment | None = None, in_group: bool = False, **changes: Any
) -> tuple[App, Stack, CapacityProbe]:
    app = App(analytics_reporting=False)
    stack = Stack(app, "dev-Gpu", env=env)
    subnets = {zone: CfnParameter(stack, f"Subnet{zone[-1]}").value_as_string for zone in ZONES}
    given: dict[str, Any] = {
        "instance_type": INSTANCE_TYPES["g6.12xlarge"],
        "count": 2,
        "mode": "probe",
        "zone": None,
        "subnets_by_zone": subnets,
        "placement_group": None,
        "force_token": None,
    }
    if in_group:
        given["placement_group"] = PlacementGroup(stack, "PlacementGroup")
    return app, stack, CapacityProbe(stack, "CapacityProbe", **(given | changes))


@pytest.fixture(scope="module")
def template() -> Template:
    return Template.from_stack(small_app()[1])


def test_the_resource_carries_what_the_function_reads(template: Template) -> None:
    (resource,) = template.find_resources("Custom::GpuCapacityProbe").values()
    properties = resource["Properties"]
    assert properties["SubnetsByZone"] == {"us-east-2a": {"Ref": "Subneta"}, "us-east-2b": {"Ref": "Subnetb"}}
    assert properties.keys() & {"Zone", "PlacementGroupArn", "ForceToken"} == set()
    deployed = properties | {"SubnetsByZone": dict.fromkeys(ZONES, "subnet-0a")}
    parsed = parse(deployed)
    assert (parsed.wanted, parsed.vcpus_needed, parsed.quota_code) == ("2 x g6.12xlarge", 96, "L-DB2E81BA")
    assert (parsed.quota_families, parsed.tags) == (("g", "vt"), {"eks-ray-train:stack": "dev-Gpu"})


def test_optional_properties_are_passed_on() -> None:
    _, stack, _ = small_app(in_group=True, mode="zone", zone="us-east-2b", force_token="2")
    template = Template.from_stack(stack)
    (group,) = template.find_resources("AWS::EC2::PlacementGroup")
    (resource,) = template.find_resources("Custom::GpuCapacityProbe").values()
    properties = resource["Properties"]
    assert (properties["Mode"], properties["Zone"], properties["ForceToken"]) == ("zone", "us-east-2b", "2")
    *_, last = properties["PlacementGroupArn"]["Fn::Join"][1]
    assert last == {"Ref": group}


def test_the_function_may_reserve_in_the_placement_group_when_there_is_one() -> None:
    def resources(in_group: bool) -> list[Any]:
        template = Template.from_stack(small_app(in_group=in_group)[1])
        return [
            statement["Resource"]
            for policy in template.find_resources("AWS::IAM::Policy").values()
            for statement in policy["Properties"]["PolicyDocument"]["Statement"]
            if statement["Action"] == "ec2:CreateCapacityReservation"
        ]

    assert len(resources(False)) == 1
    assert len(resources(True)) == 2
    assert "placement-group/" in str(resources(True))


def test_the_answers_are_tokens_of_the_resource() -> None:
    _, stack, probe = small_app()
    (logical_id,) = Template.from_stack(stack).find_resources("Custom::GpuCapacityProbe")
    answers = {"AvailabilityZone": probe.availability_zone, "SubnetId": probe.subnet_id, "Table": probe.table}
    for name, token in answers.items():
        assert Token.is_unresolved(token)
        assert stack.resolve(token) == {"Fn::GetAtt": [logical_id, name]}


def test_the_function_runs_the_handler_for_five_minutes_and_logs_to_its_own_group(template: Template) -> None:
    template.has_resource_properties(
        "AWS::Lambda::Function",
        {
            "Handler": "gpu_capacity.handler.handler",
            "Runtime": "python3.13",
            "Timeout": 300,
            "LoggingConfig": {"LogGroup": {"Ref": Match.string_like_regexp("^CapacityProbeLog")}},
        },
    )
    template.all_resources_properties("AWS::Logs::LogGroup", {"RetentionInDays": 30})
    template.resource_count_is("AWS::Logs::LogGroup", 2)
    template.all_resources("AWS::Logs::LogGroup", {"DeletionPolicy": "Delete"})


def statements(template: Template, role: str) -> dict[str, dict[str, Any]]:
    (policy,) = (
        p["Properties"]
        for p in template.find_resources("AWS::IAM::Policy").values()
        if p["Properties"]["Roles"][0]["Ref"].startswith(role)
    )
    return {s.get("Sid", str(s["Action"])): s for s in policy["PolicyDocument"]["Statement"]}


def log_group(template: Template) -> dict[str, list[str]]:
    groups = template.find_resources("AWS::Logs::LogGroup")
    return {"Fn::GetAtt": [next(name for name in groups if name.startswith("CapacityProbeLog")), "Arn"]}


RESERVATIONS = {
    "Fn::Join": [
        "",
        [
            "arn:",
            {"Ref": "AWS::Partition"},
            ":ec2:",
            {"Ref": "AWS::Region"},
            ":",
            {"Ref": "AWS::AccountId"},
            ":capacity-reservation/*",
        ],
    ]
}


def test_the_function_may_read_and_make_and_cancel_only_what_carries_the_stack_s_tag(template: Template) -> None:
    allowed = statements(template, "CapacityProbeRole")
    assert allowed.pop("['logs:CreateLogStream', 'logs:PutLogEvents']")["Resource"] == log_group(template)
    read = allowed.pop("Read")
    assert read["Resource"] == "*"
    assert all(action.split(":")[1].startswith(("Describe", "Get")) for action in read["Action"])
    asked = {"aws:RequestTag/eks-ray-train:stack": "dev-Gpu"}
    assert {sid: (s["Effect"], s["Action"], s["Resource"], s["Condition"]) for sid, s in allowed.items()} == {
        "Reserve": ("Allow", "ec2:CreateCapacityReservation", RESERVATIONS, {"StringEquals": asked}),
        "TagWhileReserving": (
            "Allow",
            "ec2:CreateTags",
            RESERVATIONS,
            {"StringEquals": asked | {"ec2:CreateAction": "CreateCapacityReservation"}},
        ),
        "CancelOwn": (
            "Allow",
            "ec2:CancelCapacityReservation",
            RESERVATIONS,
            {"StringEquals": {"aws:ResourceTag/eks-ray-train:stack": "dev-Gpu"}},
        ),
    }


def test_the_function_may_do_all_that_it_does_and_nothing_else(template: Template) -> None:
    world = World()
    world.quotas.applied, world.quotas.default = None, 96.0
    on_event(create(), world.clients)
    done = {f"ec2:{name}" for name in world.ec2.operations} | {f"servicequotas:{n}" for n in world.quotas.operations}
    actions = [s["Action"] for s in statements(template, "CapacityProbeRole").values()]
    allowed = {action for a in actions for action in ([a] if isinstance(a, str) else a)}
    assert allowed - done == {"ec2:CreateTags", "logs:CreateLogStream", "logs:PutLogEvents"}
    assert done <= allowed


def test_no_role_has_a_managed_policy(template: Template) -> None:
    roles = template.find_resources("AWS::IAM::Role")
    assert len(roles) == 2
    assert all("ManagedPolicyArns" not in role["Properties"] for role in roles.values())


@pytest.mark.parametrize("env", [None, Environment(account="111111111111", region="us-east-2")])
def test_cdk_nag_finds_nothing(env: Environment | None) -> None:
    app, _, _ = small_app(env)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()


def test_zone_names_must_be_known_at_synth() -> None:
    with pytest.raises(ValueError, match="subnets_by_zone has tokens for zone names: give the VPC its availability"):
        small_app(subnets_by_zone={Fn.select(0, Fn.get_azs()): "subnet-0a"})


def test_a_group_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="count is 0: expected at least 1 instance"):
        small_app(count=0)


def test_mode_and_zone_are_checked_at_synth() -> None:
    with pytest.raises(ProbeError, match="Mode is 'holdd': expected one of probe, zone"):
        small_app(mode="holdd")
    with pytest.raises(ProbeError, match="Zone is 'us-east-2c': expected one of the zones that have a subnet"):
        small_app(mode="zone", zone="us-east-2c")


def staged(app: App) -> Path:
    assembly = Path(app.synth().directory)
    (asset,) = (path for path in assembly.glob("asset.*") if (path / "gpu_capacity").is_dir())
    return asset


def test_bytecode_does_not_change_the_asset(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    copy = tmp_path / "asset"
    shutil.copytree(construct.ASSET, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(construct, "ASSET", copy)
    clean = staged(small_app()[0])
    (copy / "gpu_capacity" / "__pycache__").mkdir()
    (copy / "gpu_capacity" / "__pycache__" / "events.cpython-311.pyc").write_bytes(b"x")
    (copy / "gpu_capacity" / "events.pyc").write_bytes(b"x")
    littered = staged(small_app()[0])
    assert littered.name == clean.name
    (copy / "gpu_capacity" / "events.py").write_text("")
    assert staged(small_app()[0]).name != clean.name


def test_the_asset_alone_has_the_handler(template: Template) -> None:
    (handler,) = {
        f["Properties"]["Handler"]
        for f in template.find_resources("AWS::Lambda::Function").values()
        if f["Properties"]["Runtime"] == "python3.13"
    }
    module, _, name = handler.rpartition(".")
    code = f"import {module}; assert callable({module}.{name})"
    packages = Path(boto3.__file__).parents[1]
    paths = os.pathsep.join(map(str, (staged(small_app()[0]), packages)))
    subprocess.run([sys.executable, "-S", "-c", code], check=True, env={"PYTHONPATH": paths})
