"""What EKS refuses when a cluster is created."""

from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError

OFFERED_VERSIONS = ("1.32", "1.33", "1.34", "1.35", "1.36")
_LOG_TYPES = {"api", "audit", "authenticator", "controllerManager", "scheduler"}


def check_cluster(wanted: dict[str, Any], version: str, account: Account) -> str:
    """Return the VPC of a cluster's subnets; raises RefusedError for a cluster that EKS would not make."""
    if version not in OFFERED_VERSIONS:
        raise RefusedError(
            f"unsupported Kubernetes version {version}; offered: {', '.join(OFFERED_VERSIONS)}", _INVALID
        )
    _check_automatic_parts(wanted)
    _check_role(wanted["RoleArn"], account)
    for item in wanted.get("EncryptionConfig", []):
        account.client("kms").describe_key(KeyId=item["Provider"]["KeyArn"])
    logs = wanted.get("Logging", {}).get("ClusterLogging", {}).get("EnabledTypes", [])
    if unknown := {item["Type"] for item in logs} - _LOG_TYPES:
        raise RefusedError(f"unknown log types {sorted(unknown)}", _INVALID)
    return _check_network(wanted["ResourcesVpcConfig"], account)


_INVALID = "InvalidParameterException"


def _check_automatic_parts(wanted: dict[str, Any]) -> None:
    parts = {
        "ComputeConfig": wanted.get("ComputeConfig", {}).get("Enabled", False),
        "KubernetesNetworkConfig.ElasticLoadBalancing": wanted.get("KubernetesNetworkConfig", {})
        .get("ElasticLoadBalancing", {})
        .get("Enabled", False),
        "StorageConfig.BlockStorage": wanted.get("StorageConfig", {}).get("BlockStorage", {}).get("Enabled", False),
    }
    if len(set(parts.values())) != 1:
        raise RefusedError(f"For EKS Auto Mode, all of {list(parts)} must be enabled or disabled together.", _INVALID)
    if any(parts.values()):
        raise RefusedError("AWS::EKS::Cluster: the rehearsal does not emulate EKS Auto Mode")


def _check_role(arn: str, account: Account) -> None:
    iam, name = account.client("iam"), arn.rsplit("/", 1)[-1]
    iam.get_role(RoleName=name)
    attached = iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]
    if "AmazonEKSClusterPolicy" not in {policy["PolicyName"] for policy in attached}:
        message = "The provided role doesn't have the Amazon EKS Managed Policies associated with it."
        raise RefusedError(f"{message} Missing: AmazonEKSClusterPolicy", _INVALID)


def _check_network(network: dict[str, Any], account: Account) -> str:
    ec2 = account.client("ec2")
    subnets = ec2.describe_subnets(SubnetIds=network["SubnetIds"])["Subnets"]
    vpcs = {subnet["VpcId"] for subnet in subnets}
    if len(vpcs) != 1:
        raise RefusedError(f"Subnets are in several VPCs: {sorted(vpcs)}", _INVALID)
    if len({subnet["AvailabilityZone"] for subnet in subnets}) < 2:
        raise RefusedError("Subnets specified must be in at least two different AZs", _INVALID)
    vpc_id = str(vpcs.pop())
    if groups := network.get("SecurityGroupIds"):
        for group in ec2.describe_security_groups(GroupIds=groups)["SecurityGroups"]:
            if group["VpcId"] != vpc_id:
                raise RefusedError(f"Security group {group['GroupId']} is not in {vpc_id}", _INVALID)
    public, private = network.get("EndpointPublicAccess", True), network.get("EndpointPrivateAccess", False)
    if not public and not private:
        raise RefusedError("Private and public endpoint access cannot be false", _INVALID)
    if private:
        for attribute, key in (("enableDnsSupport", "EnableDnsSupport"), ("enableDnsHostnames", "EnableDnsHostnames")):
            if not ec2.describe_vpc_attribute(VpcId=vpc_id, Attribute=attribute)[key]["Value"]:
                raise RefusedError(f"Private endpoint access needs {attribute} of {vpc_id}", _INVALID)
    return vpc_id
