"""Stacks through boto3, as a person would make them."""

import json
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import boto3
from botocore.config import Config

from rehearsal.cloud import Cloud

ROLE_TRUST = {
    "Version": "2012-10-17",
    "Statement": [{"Effect": "Allow", "Principal": {"Service": "ec2.amazonaws.com"}, "Action": "sts:AssumeRole"}],
}
Resources = dict[str, Any]
Properties = dict[str, Any]
SMALL = {"DesiredSize": 1, "MaxSize": 1, "MinSize": 1}
GPU = "g6.12xlarge"
_SESSION = boto3.session.Session()
POOL: list[dict[str, Any]] = [
    {"Type": "AWS::EC2::CapacityReservationPool"},
    {
        "Type": "AWS::ResourceGroups::Generic",
        "Parameters": [{"Name": "allowed-resource-types", "Values": ["AWS::EC2::CapacityReservation"]}],
    },
]


class Stacks:
    """CloudFormation of an emulated account."""

    def __init__(self, cloud: Cloud) -> None:
        self.cloud = cloud
        self.api = cloud.account.client("cloudformation")

    def create(self, name: str, resources: Resources, outputs: Resources | None = None) -> dict[str, Any]:
        """Create a stack that has to succeed."""
        self.api.create_stack(StackName=name, TemplateBody=template(resources, outputs))
        return self.wait(name, "CREATE_COMPLETE")

    def create_badly(self, name: str, resources: Resources, outputs: Resources | None = None) -> dict[str, Any]:
        """Create a stack that has to fail."""
        self.api.create_stack(StackName=name, TemplateBody=template(resources, outputs))
        return self.wait(name, "ROLLBACK_COMPLETE")

    def update(self, name: str, resources: Resources, outputs: Resources | None = None) -> dict[str, Any]:
        """Update a stack; it has to succeed."""
        self.api.update_stack(StackName=name, TemplateBody=template(resources, outputs))
        return self.wait(name, "UPDATE_COMPLETE")

    def update_badly(self, name: str, resources: Resources, outputs: Resources | None = None) -> dict[str, Any]:
        """Update a stack; it has to fail and to go back."""
        self.api.update_stack(StackName=name, TemplateBody=template(resources, outputs))
        return self.wait(name, "UPDATE_ROLLBACK_COMPLETE")

    def delete(self, name: str, status: str = "DELETE_COMPLETE") -> dict[str, Any]:
        """Delete a stack."""
        stack_id = self.describe(name)["StackId"]
        self.api.delete_stack(StackName=name)
        return self.wait(stack_id, status)

    def describe(self, name: str) -> dict[str, Any]:
        """Return a stack."""
        found: dict[str, Any] = self.api.describe_stacks(StackName=name)["Stacks"][0]
        return found

    def wait(self, name: str, status: str) -> dict[str, Any]:
        """Return a stack once nothing goes on any more; it must have the status."""
        deadline = time.monotonic() + 30
        while (stack := self.describe(name))["StackStatus"].endswith("_IN_PROGRESS"):
            assert time.monotonic() < deadline, f"{name}: {stack['StackStatus']}"
            time.sleep(0.02)
        assert stack["StackStatus"] == status, f"{stack['StackStatus']}: {stack.get('StackStatusReason')}"
        return stack

    def done(self, name: str, status: str) -> list[str]:
        """Return the logical ids of a stack's events with a status, oldest first."""
        events = self.api.describe_stack_events(StackName=name)["StackEvents"]
        return [event["LogicalResourceId"] for event in reversed(events) if event["ResourceStatus"] == status]

    def reason(self, name: str, logical_id: str, status: str = "CREATE_FAILED") -> str:
        """Return why a resource failed."""
        events = self.api.describe_stack_events(StackName=name)["StackEvents"]
        found = [e for e in events if e["LogicalResourceId"] == logical_id and e["ResourceStatus"] == status]
        assert found, f"{logical_id} has no {status} in {name}"
        return str(found[0]["ResourceStatusReason"])


def template(resources: Resources, outputs: Resources | None = None) -> str:
    """Return a template as text."""
    return json.dumps({"Resources": resources, **({"Outputs": outputs} if outputs else {})})


def log_group(name: str | None = None, **more: Any) -> Resources:
    """Return a log group's definition."""
    return {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": name} if name else {}, **more}


def parameter(value: Any, **more: Any) -> Resources:
    """Return a parameter's definition."""
    return {"Type": "AWS::SSM::Parameter", "Properties": {"Type": "String", "Value": value}, **more}


def cluster_properties(network: dict[str, str], name: str) -> dict[str, Any]:
    return {
        "Name": name,
        "Version": "1.36",
        "RoleArn": network["ClusterRole"],
        "AccessConfig": {"AuthenticationMode": "API"},
        "BootstrapSelfManagedAddons": False,
        "ResourcesVpcConfig": {"SubnetIds": [network["SubnetA"], network["SubnetB"]]},
    }


def group_properties(network: dict[str, str], cluster: dict[str, str], **changes: Any) -> Properties:
    wanted = {
        "AmiType": "AL2023_x86_64_NVIDIA",
        "ClusterName": cluster["Name"],
        "InstanceTypes": ["g6.12xlarge"],
        "Labels": {"role": "gpu-worker"},
        "NodeRole": network["NodeRole"],
        "ScalingConfig": SMALL,
        "Subnets": [network["SubnetA"]],
        "Taints": [{"Effect": "NO_SCHEDULE", "Key": "nvidia.com/gpu", "Value": "present"}],
    }
    return {key: value for key, value in {**wanted, **changes}.items() if value is not None}


def caller(cloud: Cloud, service: str, region: str = "us-east-2", attempts: int = 1) -> Any:
    """Return a client as a user of the account has it: its calls are counted, delayed and refused."""
    return _client(cloud.endpoint, service, region, attempts)


@cache
def _client(endpoint: str, service: str, region: str, attempts: int) -> Any:
    return _SESSION.client(
        service,
        region_name=region,
        endpoint_url=endpoint,
        aws_access_key_id="test",
        aws_secret_access_key="test",
        config=Config(proxies={}, retries={"total_max_attempts": attempts}, max_pool_connections=64),
    )


def control(cloud: Cloud, method: str, path: str, **fields: Any) -> Any:
    """Ask something of the emulation itself; raises AssertionError with its words when it refuses."""
    request = urllib.request.Request(
        f"{cloud.endpoint}/rehearsal/{path}", json.dumps(fields).encode() if fields else None, method=method
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read())
    except urllib.error.HTTPError as error:
        raise AssertionError(json.loads(error.read())["message"]) from error


def reservation_request(zone: str, token: str, count: int = 2, **changes: Any) -> dict[str, Any]:
    """Return what a targeted reservation that ends in an hour is asked for with."""
    return {
        "ClientToken": token,
        "InstanceType": GPU,
        "InstanceCount": count,
        "InstancePlatform": "Linux/UNIX",
        "AvailabilityZone": zone,
        "InstanceMatchCriteria": "targeted",
        "EndDateType": "limited",
        "EndDate": datetime.now(UTC).replace(microsecond=0) + timedelta(hours=1),
        "TagSpecifications": [{"ResourceType": "capacity-reservation", "Tags": [{"Key": "k", "Value": token}]}],
        **changes,
    }


def node_group(group: Properties, data: Properties) -> Resources:
    """Return a node group with a launch template."""
    launch = {"Id": {"Ref": "Template"}, "Version": {"Fn::GetAtt": ["Template", "LatestVersionNumber"]}}
    return {
        "Template": {"Type": "AWS::EC2::LaunchTemplate", "Properties": {"LaunchTemplateData": data}},
        "Nodes": {"Type": "AWS::EKS::Nodegroup", "Properties": {**group, "LaunchTemplate": launch}},
    }


def target(**aim: str) -> Properties:
    """Return launch template data that aims at a reservation or at a group."""
    return {"CapacityReservationSpecification": {"CapacityReservationTarget": aim}}
