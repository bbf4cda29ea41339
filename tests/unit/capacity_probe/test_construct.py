import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import boto3
import pytest
from aws_cdk import App, Environment, Fn, Token, Validations
from aws_cdk.assertions import Match, Template
from cdk_nag import AwsSolutionsChecks

from eks_ray_train.capacity_probe import Search, construct
from eks_ray_train.capacity_probe.asset.gpu_capacity.errors import ProbeError
from eks_ray_train.capacity_probe.asset.gpu_capacity.properties import parse
from eks_ray_train.capacity_reservations import ReservationTarget

from .fakes import GROUP
from .stacks import SEARCHES, ZONES, small_app


@pytest.fixture(scope="module")
def template() -> Template:
    return Template.from_stack(small_app("probe")[1])


def test_the_resource_carries_what_the_function_reads(template: Template) -> None:
    (resource,) = template.find_resources("Custom::GpuCapacityProbe").values()
    properties = resource["Properties"]
    assert properties["SubnetsByZone"] == {"us-east-2a": {"Ref": "Subneta"}, "us-east-2b": {"Ref": "Subnetb"}}
    assert properties.keys() & {"Zone", "PlacementGroupArn", "ForceToken"} == set()
    deployed = properties | {"SubnetsByZone": dict.fromkeys(ZONES, "subnet-0a")}
    parsed = parse(deployed)
    assert (parsed.wanted, parsed.vcpus_needed, parsed.quota_code) == ("2 x g6.12xlarge", 96, "L-DB2E81BA")
    assert (parsed.quota_families, parsed.tags) == (("g", "vt"), {"eks-ray-train:stack": "dev-Gpu"})


def probe_of(template: Template) -> dict[str, Any]:
    (resource,) = template.find_resources("Custom::GpuCapacityProbe").values()
    properties: dict[str, Any] = resource["Properties"]
    return properties


@pytest.mark.parametrize("mode", SEARCHES)
def test_what_the_construct_sends_the_function_takes(mode: str) -> None:
    _, stack, _ = small_app(mode)
    properties = probe_of(Template.from_stack(stack))
    group = {"GroupArn": GROUP} if mode == "hold" else {}
    deployed = properties | group | {"SubnetsByZone": dict.fromkeys(ZONES, "subnet-0a")}
    assert parse(deployed).mode == mode


def test_optional_properties_are_passed_on() -> None:
    search = Search(mode="zone", zone="us-east-2b", force_token="2")
    _, stack, _ = small_app(in_group=True, search=search)
    template = Template.from_stack(stack)
    (group,) = template.find_resources("AWS::EC2::PlacementGroup")
    properties = probe_of(template)
    assert (properties["Mode"], properties["Zone"], properties["ForceToken"]) == ("zone", "us-east-2b", "2")
    *_, last = properties["PlacementGroupArn"]["Fn::Join"][1]
    assert last == {"Ref": group}


def test_only_the_zones_to_look_in_are_candidates() -> None:
    _, stack, _ = small_app(search=Search(mode="probe", zones=("us-east-2b",)))
    assert probe_of(Template.from_stack(stack))["SubnetsByZone"] == {"us-east-2b": {"Ref": "Subnetb"}}
    _, stack, _ = small_app(search=Search(mode="probe", exclude_zones=("us-east-2b",)))
    properties = probe_of(Template.from_stack(stack))
    assert (sorted(properties["SubnetsByZone"]), properties["ExcludeZones"]) == (ZONES, ["us-east-2b"])


@pytest.mark.failure_mode("C4")
def test_the_sweeper_is_made_before_the_probe_and_deleted_after_it(template: Template) -> None:
    ((name, sweeper),) = template.find_resources("Custom::GpuCapacitySweeper").items()
    (probe,) = template.find_resources("Custom::GpuCapacityProbe").values()
    assert name in probe["DependsOn"]
    assert sweeper["Properties"]["ServiceToken"] == probe["Properties"]["ServiceToken"]
    assert sweeper["Properties"]["Tags"] == probe["Properties"]["Tags"] == {"eks-ray-train:stack": "dev-Gpu"}


def test_the_group_is_made_before_the_probe_and_takes_reservations_only() -> None:
    template = Template.from_stack(small_app("hold")[1])
    ((name, group),) = template.find_resources("AWS::ResourceGroups::Group").items()
    assert group["Properties"]["Name"] == "dev-Gpu-CapacityReservations"
    assert group["Properties"]["Configuration"] == [
        {"Type": "AWS::EC2::CapacityReservationPool"},
        {
            "Type": "AWS::ResourceGroups::Generic",
            "Parameters": [{"Name": "allowed-resource-types", "Values": ["AWS::EC2::CapacityReservation"]}],
        },
    ]
    assert probe_of(template)["GroupArn"] == {"Fn::GetAtt": [name, "Arn"]}


@pytest.mark.parametrize("mode", ["probe", "offerings", "zone", "reservation"])
def test_other_modes_have_no_group(mode: str) -> None:
    Template.from_stack(small_app(mode)[1]).resource_count_is("AWS::ResourceGroups::Group", 0)


@pytest.mark.failure_mode("C8")
@pytest.mark.parametrize("target", [{}, {"group_arn": "arn", "reservation_id": "cr-0"}, {"group_arn": ""}])
def test_a_target_that_names_nothing_is_refused(target: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="has the ARN of a group or the id of a reservation, and not both"):
        ReservationTarget(**target)  # type: ignore[arg-type] # only strings are tried


def test_the_answers_are_tokens_of_the_resource() -> None:
    _, stack, probe = small_app()
    (logical_id,) = Template.from_stack(stack).find_resources("Custom::GpuCapacityProbe")
    answers = {
        "AvailabilityZone": probe.availability_zone,
        "SubnetId": probe.subnet_id,
        "ReservationId": probe.reservation_id,
        "Table": probe.table,
    }
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


def test_no_role_has_a_managed_policy(template: Template) -> None:
    roles = template.find_resources("AWS::IAM::Role")
    assert len(roles) == 2
    assert all("ManagedPolicyArns" not in role["Properties"] for role in roles.values())


@pytest.mark.parametrize("mode", SEARCHES)
@pytest.mark.parametrize("env", [None, Environment(account="111111111111", region="us-east-2")])
def test_cdk_nag_finds_nothing(env: Environment | None, mode: str) -> None:
    app, _, _ = small_app(mode, env=env)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app))
    app.synth()


def test_zone_names_must_be_known_at_synth() -> None:
    with pytest.raises(ValueError, match="subnets_by_zone has tokens for zone names: give the VPC its availability"):
        small_app("probe", subnets_by_zone={Fn.select(0, Fn.get_azs()): "subnet-0a"})


def test_a_group_of_none_is_refused() -> None:
    with pytest.raises(ValueError, match="count is 0: expected at least 1 instance"):
        small_app(count=0)


def test_mode_and_zone_are_checked_at_synth() -> None:
    with pytest.raises(ProbeError, match="Mode is 'holdd': expected one of hold, probe, offerings, zone, reservation"):
        small_app(search=Search(mode="holdd"))
    with pytest.raises(ProbeError, match="Zone is 'us-east-2c': expected one of the zones that have a subnet"):
        small_app(search=Search(mode="zone", zone="us-east-2c"))
    with pytest.raises(ProbeError, match="HoldMinutes is '60': expected none in mode probe, which would ignore it"):
        small_app(search=Search(mode="probe", hold_minutes=60))


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
