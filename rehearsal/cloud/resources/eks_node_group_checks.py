"""What EKS and EC2 refuse when a node group is created or resized."""

from collections.abc import Mapping
from typing import Any

from eks_ray_train.instance_types import INSTANCE_TYPES, InstanceType
from rehearsal.cloud.account import Account
from rehearsal.cloud.eks import Cluster
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.node_plans import NodePlan
from rehearsal.cloud.resources.eks_capacity_checks import capacity_target, check_market
from rehearsal.cloud.resources.spelling import lower_keys

_INVALID = "InvalidParameterException"
_NVIDIA = ("AL2023_x86_64_NVIDIA", "AL2023_ARM_64_NVIDIA", "AL2_x86_64_GPU", "BOTTLEROCKET_x86_64_NVIDIA")
_STANDARD = ("AL2023_x86_64_STANDARD", "AL2_x86_64", "BOTTLEROCKET_x86_64")
_EFFECTS = {"NO_SCHEDULE": "NoSchedule", "NO_EXECUTE": "NoExecute", "PREFER_NO_SCHEDULE": "PreferNoSchedule"}
_JOINED_NOT = "NodeCreationFailure: Instances failed to join the kubernetes cluster"


def plan_nodes(wanted: dict[str, Any], cluster: Cluster, account: Account) -> NodePlan:
    """Return the plan; raises RefusedError for a group that EKS would not make, or whose nodes would not join."""
    check_sizes(scaling_config(wanted))
    _check_version(str(wanted.get("Version", cluster.description["version"])), cluster.description["version"])
    taints = _taints(wanted.get("Taints", []))
    data = _launch_template(wanted, account)
    market = check_market(wanted, data)
    instance = _instance(wanted, data)
    subnets = _zones(wanted["Subnets"], instance, cluster, account)
    zones = tuple(subnets)
    interfaces = data.get("NetworkInterfaces", [])
    groups = data.get("SecurityGroupIds", [])
    if groups and interfaces:
        raise RefusedError(
            "Network interfaces and an instance-level security groups may not be specified on the same request",
            "InvalidParameterCombination",
        )
    if any("SubnetId" in interface for interface in interfaces):
        raise RefusedError("Launch template should not contain a subnet id in its network interfaces", _INVALID)
    efa = [interface for interface in interfaces if interface.get("InterfaceType") in ("efa", "efa-only")]
    if len(efa) > instance.efa_interfaces:
        raise RefusedError(
            f"{instance.name} has {instance.efa_interfaces} EFA interfaces, the launch template has {len(efa)}",
            "InvalidParameterCombination",
        )
    if efa and len(zones) > 1:
        raise RefusedError(f"EFA needs subnets of one Availability Zone, not of {sorted(zones)}", _INVALID)
    # Each once: the interfaces of a type with many cards share them.
    groups = list(dict.fromkeys([*groups, *(group for one in interfaces for group in one.get("Groups", []))]))
    if groups:
        account.client("ec2").describe_security_groups(GroupIds=groups)
        if cluster.security_group_id not in groups:
            raise RefusedError(
                f"{_JOINED_NOT} (the launch template's security groups lack {cluster.security_group_id})"
            )
    placement = data.get("Placement", {}).get("GroupName")
    _check_placement(placement, zones, account)
    _check_joining(wanted, cluster, account)
    return NodePlan(
        instance=instance,
        subnets=subnets,
        security_groups=tuple(groups) or (cluster.security_group_id,),
        placement_group=placement,
        efa_interfaces=len(efa),
        gpus=instance.gpus if wanted.get("AmiType") in _NVIDIA else 0,
        market=market,
        target=capacity_target(data, market, account),
        labels=dict(wanted.get("Labels", {})),
        taints=taints,
    )


def scaling_config(wanted: dict[str, Any]) -> dict[str, int]:
    """Return a node group's sizes as EKS's own API spells them."""
    return {key: int(size) for key, size in lower_keys(wanted["ScalingConfig"]).items()}


def check_sizes(sizes: Mapping[str, int]) -> None:
    """Raise RefusedError for a scaling config that EKS does not take."""
    least, desired, most = (sizes[key] for key in ("minSize", "desiredSize", "maxSize"))
    if most < 1 or least < 0:
        raise RefusedError(f"Scaling config: MaxSize {most} must be at least 1, MinSize {least} at least 0", _INVALID)
    if least > desired:
        raise RefusedError(f"Minimum capacity {least} can't be greater than desired size {desired}", _INVALID)
    if desired > most:
        raise RefusedError(f"desired capacity {desired} can't be greater than max size {most}", _INVALID)


def _taints(taints: list[dict[str, Any]]) -> tuple[dict[str, str], ...]:
    for number, taint in enumerate(taints, start=1):
        if taint["Effect"] not in _EFFECTS:
            raise RefusedError(
                f"1 validation error detected: Value '{taint['Effect']}' at 'taints.{number}.member.effect' failed to "
                f"satisfy constraint: Member must satisfy enum value set: {list(_EFFECTS)}",
                _INVALID,
            )
    return tuple(
        {"key": taint["Key"], "value": taint.get("Value", ""), "effect": _EFFECTS[taint["Effect"]]} for taint in taints
    )


def _check_version(version: str, cluster_version: str) -> None:
    behind = int(cluster_version.split(".")[1]) - int(version.split(".")[1])
    if not 0 <= behind <= 3:
        raise RefusedError(
            f"Requested Nodegroup version {version} is not supported for cluster version {cluster_version}", _INVALID
        )


def _instance(wanted: dict[str, Any], data: dict[str, Any]) -> InstanceType:
    names = wanted.get("InstanceTypes") or [name for name in [data.get("InstanceType")] if name]
    if len(names) != 1:
        raise RefusedError(f"AWS::EKS::Nodegroup: the rehearsal needs exactly one instance type, not {names}")
    if names[0] not in INSTANCE_TYPES:
        raise RefusedError(
            f"The following supplied instance types do not exist: {names} (none of {sorted(INSTANCE_TYPES)})"
        )
    instance, ami = INSTANCE_TYPES[names[0]], wanted.get("AmiType")
    if ami not in (*_NVIDIA, *_STANDARD):
        raise RefusedError(f"AWS::EKS::Nodegroup: AmiType {ami} is unknown or not emulated", _INVALID)
    if (ami in _NVIDIA and not instance.gpus) or "ARM" in ami:
        raise RefusedError(f"[{instance.name}] is not a valid instance type for requested amiType {ami}", _INVALID)
    return instance


def _zones(subnets: list[str], instance: InstanceType, cluster: Cluster, account: Account) -> dict[str, str]:
    ec2 = account.client("ec2")
    found = {subnet["SubnetId"]: subnet for subnet in ec2.describe_subnets(SubnetIds=subnets)["Subnets"]}
    if outside := [name for name in subnets if found[name]["VpcId"] != cluster.vpc_id]:
        raise RefusedError(f"Subnets {outside} are not in the cluster's VPC {cluster.vpc_id}", _INVALID)
    zones = {str(found[name]["AvailabilityZone"]): name for name in subnets}
    offerings = ec2.describe_instance_type_offerings(
        LocationType="availability-zone", Filters=[{"Name": "instance-type", "Values": [instance.name]}]
    )["InstanceTypeOfferings"]
    offered = {offering["Location"] for offering in offerings}
    if missing := sorted(set(zones) - offered):
        raise RefusedError(
            f"Your requested instance type ({instance.name}) is not supported in your requested Availability Zone "
            f"({', '.join(missing)}). Offered in: {sorted(offered)}",
            "Unsupported",
        )
    return zones


def _launch_template(wanted: dict[str, Any], account: Account) -> dict[str, Any]:
    if "LaunchTemplate" not in wanted:
        return {}
    template = wanted["LaunchTemplate"]
    if "DiskSize" in wanted:
        raise RefusedError("Disk size must be specified within the launch template.", _INVALID)
    versions = account.client("ec2").describe_launch_template_versions(
        LaunchTemplateId=template["Id"], Versions=[str(template["Version"])]
    )["LaunchTemplateVersions"]
    if not versions:
        raise RefusedError(f"Could not find the specified version {template['Version']} for {template['Id']}", _INVALID)
    data: dict[str, Any] = versions[0]["LaunchTemplateData"]
    if "InstanceType" in data and wanted.get("InstanceTypes"):
        raise RefusedError("You cannot specify instance types in both the node group and the launch template", _INVALID)
    for refused in ("IamInstanceProfile", "ImageId"):
        if data.get(refused):
            raise RefusedError(
                f"Launch template: {refused} is refused where the group gives a role and an AMI type", _INVALID
            )
    return data


def _check_placement(name: str | None, zones: tuple[str, ...], account: Account) -> None:
    if name is None:
        return
    if name not in account.placement_groups:
        raise RefusedError(f"The placement group '{name}' is unknown.", "InvalidPlacementGroup.Unknown")
    if account.placement_groups[name].strategy == "cluster" and len(zones) > 1:
        raise RefusedError(f"The cluster placement group {name} cannot span {sorted(zones)}", _INVALID)


def _check_joining(wanted: dict[str, Any], cluster: Cluster, account: Account) -> None:
    iam, name = account.client("iam"), wanted["NodeRole"].rsplit("/", 1)[-1]
    iam.get_role(RoleName=name)
    attached = {p["PolicyName"] for p in iam.list_attached_role_policies(RoleName=name)["AttachedPolicies"]}
    if "AmazonEKSWorkerNodePolicy" not in attached:
        raise RefusedError(f"{_JOINED_NOT} (the node role {name} lacks AmazonEKSWorkerNodePolicy)")
    if not cluster.self_managed_addons and not {"vpc-cni", "kube-proxy"} <= cluster.addons.keys():
        raise RefusedError(
            "NodeCreationFailure: Unhealthy nodes in the kubernetes cluster (no vpc-cni or kube-proxy add-on)"
        )
