"""A change of tags alone reaches what has them, in place."""

from collections.abc import Callable
from typing import Any

import pytest

from rehearsal.cloud import Cloud
from tests.rehearsal_cloud.cloud_stacks import POOL, ROLE_TRUST, Resources, Stacks, cluster_properties, group_properties

BEFORE = {"stays": "1", "changes": "old", "goes": "x"}
AFTER = {"stays": "1", "changes": "new", "comes": "y"}
KEY_POLICY = {
    "Version": "2012-10-17",
    "Statement": [
        {
            "Effect": "Allow",
            "Principal": {"AWS": "arn:aws:iam::123456789012:root"},
            "Action": "kms:*",
            "Resource": "*",
        }
    ],
}
Read = Callable[[Cloud, dict[str, str]], Any]


def plain(tags: list[dict[str, str]], key: str = "Key", value: str = "Value") -> dict[str, str]:
    return {tag[key]: tag[value] for tag in tags}


def ec2(cloud: Cloud, found: dict[str, str]) -> dict[str, str]:
    tags = cloud.account.client("ec2").describe_tags(Filters=[{"Name": "resource-id", "Values": [found["Id"]]}])
    return plain(tags["Tags"])


VPC = {"Type": "AWS::EC2::VPC", "Properties": {"CidrBlock": "10.9.0.0/16"}}
VPC_ID = {"VpcId": {"Ref": "Vpc"}}


@pytest.mark.parametrize(
    ("resource", "read", "attribute"),
    [
        (VPC, ec2, None),
        ({"Type": "AWS::EC2::Subnet", "Properties": {**VPC_ID, "CidrBlock": "10.9.1.0/24"}}, ec2, None),
        ({"Type": "AWS::EC2::RouteTable", "Properties": VPC_ID}, ec2, None),
        ({"Type": "AWS::EC2::SecurityGroup", "Properties": {**VPC_ID, "GroupDescription": "d"}}, ec2, "GroupId"),
        ({"Type": "AWS::EC2::InternetGateway", "Properties": {}}, ec2, None),
        ({"Type": "AWS::EC2::EIP", "Properties": {}}, ec2, "AllocationId"),
        (
            {"Type": "AWS::EC2::PlacementGroup", "Properties": {"Strategy": "cluster"}},
            lambda cloud, found: plain(cloud.account.placement_groups[found["Id"]].tags),
            None,
        ),
        (
            {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": ROLE_TRUST}},
            lambda cloud, found: plain(cloud.account.client("iam").list_role_tags(RoleName=found["Id"])["Tags"]),
            None,
        ),
        (
            {"Type": "AWS::Logs::LogGroup", "Properties": {}},
            lambda cloud, found: cloud.account.client("logs").list_tags_for_resource(
                resourceArn=found["Id"].removesuffix(":*")
            )["tags"],
            "Arn",
        ),
        (
            {"Type": "AWS::S3::Bucket", "Properties": {}},
            lambda cloud, found: plain(cloud.account.client("s3").get_bucket_tagging(Bucket=found["Id"])["TagSet"]),
            None,
        ),
        (
            {"Type": "AWS::KMS::Key", "Properties": {"KeyPolicy": KEY_POLICY}},
            lambda cloud, found: plain(
                cloud.account.client("kms").list_resource_tags(KeyId=found["Id"])["Tags"], "TagKey", "TagValue"
            ),
            None,
        ),
        (
            {"Type": "AWS::ECR::Repository", "Properties": {}},
            lambda cloud, found: plain(
                cloud.account.client("ecr").list_tags_for_resource(resourceArn=found["Id"])["tags"]
            ),
            "Arn",
        ),
        (
            {"Type": "AWS::ResourceGroups::Group", "Properties": {"Name": "tagged", "Configuration": POOL}},
            lambda cloud, found: cloud.account.client("resource-groups").get_tags(Arn=found["Id"])["Tags"],
            "Arn",
        ),
    ],
    ids=lambda value: value["Type"] if isinstance(value, dict) and "Type" in value else "",
)
def test_tags_are_changed_in_place(stacks: Stacks, resource: dict[str, Any], read: Read, attribute: str | None) -> None:
    name = f"tags-{resource['Type'].rsplit('::', 1)[-1]}"
    outputs = {"Id": {"Value": {"Fn::GetAtt": ["Tagged", attribute]} if attribute else {"Ref": "Tagged"}}}

    def resources(tags: dict[str, str]) -> Resources:
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        tagged = {**resource, "Properties": {**resource["Properties"], "Tags": listed}}
        return {"Tagged": tagged, **({"Vpc": VPC} if VPC_ID.items() <= resource["Properties"].items() else {})}

    found = plain(stacks.create(name, resources(BEFORE), outputs)["Outputs"], "OutputKey", "OutputValue")
    assert read(stacks.cloud, found) == BEFORE
    after = plain(stacks.update(name, resources(AFTER), outputs)["Outputs"], "OutputKey", "OutputValue")
    assert after == found, "a change of tags replaces nothing"
    assert read(stacks.cloud, found) == AFTER
    assert stacks.done(name, "UPDATE_COMPLETE") == ["Tagged", name]
    stacks.delete(name)


def test_a_parameters_tags_are_a_map(stacks: Stacks) -> None:
    def resources(tags: dict[str, str]) -> Resources:
        properties = {"Name": "tagged", "Type": "String", "Value": "v", "Tags": tags}
        return {"Value": {"Type": "AWS::SSM::Parameter", "Properties": properties}}

    def tags() -> dict[str, str]:
        ssm = stacks.cloud.account.client("ssm")
        return plain(ssm.list_tags_for_resource(ResourceType="Parameter", ResourceId="tagged")["TagList"])

    stacks.create("tags-parameter", resources(BEFORE))
    assert tags() == BEFORE
    stacks.update("tags-parameter", resources(AFTER))
    assert tags() == AFTER
    stacks.delete("tags-parameter")


def test_the_tags_of_eks_are_changed_without_new_nodes(
    stacks: Stacks, network: dict[str, str], cluster: dict[str, str], nodes: dict[str, Any]
) -> None:
    def resources(tags: dict[str, str]) -> Resources:
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        addon = {"AddonName": "metrics-server", "ClusterName": cluster["Name"], "Tags": listed}
        return {
            "Cluster": {
                "Type": "AWS::EKS::Cluster",
                "Properties": {**cluster_properties(network, "tagged"), "Tags": listed},
            },
            "Addon": {"Type": "AWS::EKS::Addon", "Properties": addon},
            "Nodes": {
                "Type": "AWS::EKS::Nodegroup",
                "Properties": group_properties(network, cluster, NodegroupName="tagged", Tags=tags),
            },
        }

    eks = stacks.cloud.account.eks

    def found() -> list[dict[str, str]]:
        addon = eks.cluster(cluster["Name"]).addons["metrics-server"]["Tags"]
        group = eks.node_group(cluster["Name"], "tagged").description
        return [eks.cluster("tagged").description["tags"], plain(addon), group["tags"]]

    stacks.create("tags-eks", resources(BEFORE))
    before = list(nodes)
    assert found() == [BEFORE] * 3
    stacks.update("tags-eks", resources(AFTER))
    assert found() == [AFTER] * 3 and list(nodes) == before
    stacks.delete("tags-eks")


def test_tags_and_another_property_change_together(stacks: Stacks) -> None:
    def resources(days: int, value: str) -> Resources:
        properties = {
            "LogGroupName": "both",
            "RetentionInDays": days,
            "Tags": [{"Key": "k", "Value": value}],
        }
        return {"Group": {"Type": "AWS::Logs::LogGroup", "Properties": properties}}

    logs = stacks.cloud.account.client("logs")
    stacks.create("tags-both", resources(7, "old"))
    stacks.update("tags-both", resources(30, "new"))
    (group,) = logs.describe_log_groups(logGroupNamePrefix="both")["logGroups"]
    assert group["retentionInDays"] == 30
    assert logs.list_tags_for_resource(resourceArn=group["logGroupArn"])["tags"] == {"k": "new"}
    stacks.delete("tags-both")


def test_tags_that_cannot_be_changed_are_refused_by_name(stacks: Stacks) -> None:
    def resources(value: str) -> Resources:
        tags = [{"ResourceType": "launch-template", "Tags": [{"Key": "k", "Value": value}]}]
        properties = {"LaunchTemplateData": {"ImageId": "ami-1"}, "TagSpecifications": tags}
        return {"Template": {"Type": "AWS::EC2::LaunchTemplate", "Properties": properties}}

    stacks.create("tags-template", resources("old"))
    stacks.update_badly("tags-template", resources("new"))
    assert "does not emulate updates of ['TagSpecifications']" in stacks.reason(
        "tags-template", "Template", "UPDATE_FAILED"
    )
    stacks.delete("tags-template")
