"""One emulated account for the session, because moto's state is global, with a network and a cluster in it."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rehearsal.cloud import Cloud
from rehearsal.cloud.capacity import Capacity
from rehearsal.cloud.chart_sources import STAND_INS
from tests.rehearsal_cloud.chart_repository import Quiet, chart_repository, served
from tests.rehearsal_cloud.cloud_functions import BUCKET
from tests.rehearsal_cloud.cloud_stacks import ROLE_TRUST, Stacks, cluster_properties
from tests.rehearsal_kubernetes.clients import unpack_tools

NODES: dict[str, dict[str, Any]] = {}


class NodesOnly(BaseHTTPRequestHandler):
    """As much of a Kubernetes API as node groups need."""

    def do_POST(self) -> None:
        node = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        NODES[node["metadata"]["name"]] = node
        self._answer(201)

    def do_DELETE(self) -> None:
        self._answer(200 if NODES.pop(self.path.rsplit("/", 1)[-1], None) else 404)

    def _answer(self, status: int) -> None:
        self.send_response(status)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture(scope="session")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cloud]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), NodesOnly)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    folder: Path = tmp_path_factory.mktemp("cloud")
    try:
        url = f"http://127.0.0.1:{server.server_address[1]}"
        with Cloud(kubernetes=url, tools=folder / "tools", charts=STAND_INS, log=folder / "events.jsonl") as made:
            yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="session")
def stacks(cloud: Cloud) -> Stacks:
    return Stacks(cloud)


@pytest.fixture(scope="session")
def bucket(stacks: Stacks) -> None:
    """The bucket of the functions' code."""
    location = {"LocationConstraint": "us-east-2"}
    stacks.cloud.account.client("s3").create_bucket(Bucket=BUCKET, CreateBucketConfiguration=location)


@pytest.fixture
def room(cloud: Cloud) -> Iterator[Cloud]:
    """The account, whose capacity, quotas, clock and traffic a test may change: all of it is as before afterwards."""
    yield cloud
    capacity = cloud.account.capacity
    assert not capacity.instances, "a test left instances"
    cloud.account.capacity = Capacity()
    cloud.account.groups.polls, cloud.account.groups.seconds = 2, 30.0
    cloud.account.traffic.reset()


@pytest.fixture(scope="session")
def nodes() -> dict[str, dict[str, Any]]:
    return NODES


@pytest.fixture(scope="session")
def network(stacks: Stacks) -> dict[str, str]:
    """A VPC with a subnet in each zone, and the roles of a cluster and of nodes."""
    policy = "arn:aws:iam::aws:policy/"
    resources: dict[str, Any] = {
        "Vpc": {
            "Type": "AWS::EC2::VPC",
            "Properties": {"CidrBlock": "10.0.0.0/16", "EnableDnsHostnames": True, "EnableDnsSupport": True},
        },
        "ClusterRole": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": ROLE_TRUST,
                "ManagedPolicyArns": [f"{policy}AmazonEKSClusterPolicy"],
            },
        },
        "NodeRole": {
            "Type": "AWS::IAM::Role",
            "Properties": {
                "AssumeRolePolicyDocument": ROLE_TRUST,
                "ManagedPolicyArns": [f"{policy}AmazonEKSWorkerNodePolicy"],
            },
        },
        "PlainRole": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": ROLE_TRUST}},
        "EfaGroup": {
            "Type": "AWS::EC2::SecurityGroup",
            "Properties": {"GroupDescription": "EFA", "VpcId": {"Ref": "Vpc"}},
        },
    }
    for number, zone in enumerate("abc"):
        resources[f"Subnet{zone.upper()}"] = {
            "Type": "AWS::EC2::Subnet",
            "Properties": {
                "AvailabilityZone": f"us-east-2{zone}",
                "CidrBlock": f"10.0.{number}.0/24",
                "VpcId": {"Ref": "Vpc"},
            },
        }
    outputs: dict[str, Any] = {
        name: {"Value": {"Ref": name}} for name in ("Vpc", "SubnetA", "SubnetB", "SubnetC", "EfaGroup")
    }
    outputs.update(
        {name: {"Value": {"Fn::GetAtt": [name, "Arn"]}} for name in ("ClusterRole", "NodeRole", "PlainRole")}
    )
    made = stacks.create("network", resources, outputs)
    return {output["OutputKey"]: output["OutputValue"] for output in made["Outputs"]}


@pytest.fixture(scope="session")
def cluster(stacks: Stacks, network: dict[str, str]) -> dict[str, str]:
    """A cluster with the add-ons that nodes need."""
    resources: dict[str, Any] = {
        "Cluster": {"Type": "AWS::EKS::Cluster", "Properties": cluster_properties(network, "shared")}
    }
    for addon in ("vpc-cni", "kube-proxy", "eks-pod-identity-agent"):
        resources[addon.title().replace("-", "")] = {
            "Type": "AWS::EKS::Addon",
            "Properties": {"AddonName": addon, "ClusterName": {"Ref": "Cluster"}},
        }
    outputs = {
        "Name": {"Value": {"Ref": "Cluster"}},
        "Group": {"Value": {"Fn::GetAtt": ["Cluster", "ClusterSecurityGroupId"]}},
    }
    made = stacks.create("cluster", resources, outputs)
    return {output["OutputKey"]: output["OutputValue"] for output in made["Outputs"]}


@pytest.fixture(scope="session")
def helm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The layer's own helm."""
    return unpack_tools(tmp_path_factory.mktemp("tools")) / "helm"


@pytest.fixture(scope="session")
def repository(helm: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of a chart repository."""
    with chart_repository(helm, tmp_path_factory.mktemp("charts")) as url:
        yield url


@pytest.fixture
def closed() -> str:
    """The address of a port that nobody listens on."""
    with served(Quiet) as url:
        return url
