"""AWS::EKS::Cluster."""

import base64
import uuid
from datetime import UTC, datetime
from typing import Any

from rehearsal.cloud.certificate import self_signed
from rehearsal.cloud.eks import Cluster
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored
from rehearsal.cloud.resources.eks_cluster_checks import OFFERED_VERSIONS, check_cluster
from rehearsal.cloud.resources.spelling import lower_keys
from rehearsal.cloud.resources.tags import as_map


class EksCluster(ResourceType):
    """A cluster, whose endpoint is the Kubernetes API that the emulation was given."""

    type = "AWS::EKS::Cluster"
    properties = frozenset(
        {
            "AccessConfig",
            "BootstrapSelfManagedAddons",
            "ComputeConfig",
            "EncryptionConfig",
            "KubernetesNetworkConfig",
            "Logging",
            "Name",
            "ResourcesVpcConfig",
            "RoleArn",
            "StorageConfig",
            "Tags",
            "Version",
        }
    )
    harmless = ignored(UpgradePolicy="nothing here lives until a version's end")
    replaced_by = frozenset({"BootstrapSelfManagedAddons", "EncryptionConfig", "Name", "RoleArn"})
    updated_by = frozenset({"Logging", "ResourcesVpcConfig", "Version"})

    def create(self, request: Request) -> Made:
        """Create it with the security group that EKS makes for it."""
        wanted, eks = request.properties, self.account.eks
        name, version = request.name("Name", 100), str(wanted.get("Version", OFFERED_VERSIONS[-1]))
        with eks.lock:
            if name in eks.clusters:
                raise RefusedError(f"Cluster already exists with name: {name}", "ResourceInUseException")
        vpc_id = check_cluster(wanted, version, self.account)
        ec2 = self.account.client("ec2")
        group_id = ec2.create_security_group(
            GroupName=f"eks-cluster-sg-{name}-{uuid.uuid4().int % 10**9}",
            Description="EKS created security group applied to ENI that is attached to EKS Control Plane master nodes",
            VpcId=vpc_id,
        )["GroupId"]
        network = lower_keys(wanted["ResourcesVpcConfig"])
        network.setdefault("securityGroupIds", [])
        description = {
            "name": name,
            "arn": self.account.arn("eks", f"cluster/{name}"),
            "createdAt": datetime.now(UTC).timestamp(),
            "version": version,
            "endpoint": self.account.kubernetes.url,
            "roleArn": wanted["RoleArn"],
            "resourcesVpcConfig": {**network, "clusterSecurityGroupId": group_id, "vpcId": vpc_id},
            "kubernetesNetworkConfig": lower_keys(wanted.get("KubernetesNetworkConfig", {})),
            "accessConfig": lower_keys(wanted.get("AccessConfig", {"AuthenticationMode": "CONFIG_MAP"})),
            "identity": {"oidc": {"issuer": f"https://oidc.eks.{self.account.region}.amazonaws.com/id/{name}"}},
            "status": "ACTIVE",
            "certificateAuthority": {"data": base64.b64encode(self_signed()).decode()},
            "platformVersion": "eks.1",
            "tags": as_map(wanted.get("Tags")),
        }
        with eks.lock:
            eks.clusters[name] = Cluster(
                description=description,
                vpc_id=vpc_id,
                security_group_id=group_id,
                self_managed_addons=wanted.get("BootstrapSelfManagedAddons", True),
            )
        return Made(name, _attributes(description, wanted))

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change the endpoint's access, the logs or the version, one minor version at a time."""
        wanted, cluster = request.properties, self.account.eks.cluster(made.physical_id)
        before, after = cluster.description["version"], str(wanted.get("Version", cluster.description["version"]))
        check_cluster(wanted, after, self.account)
        if after != before and int(after.split(".")[1]) != int(before.split(".")[1]) + 1:
            message = f"Unsupported Kubernetes minor version update from {before} to {after}"
            raise RefusedError(message, "InvalidParameterException")
        if before != after and (groups := cluster.node_groups):
            self.account.events.write(action="NOTE", reason=f"{list(groups)} stay at {before}, as on AWS")
        cluster.description["version"] = after
        cluster.description["resourcesVpcConfig"].update(lower_keys(wanted["ResourcesVpcConfig"]))
        return Made(made.physical_id, _attributes(cluster.description, wanted))

    def retag(self, made: Made, request: Request, old: dict[str, Any]) -> None:
        """Change its tags."""
        self.account.eks.cluster(made.physical_id).description["tags"] = as_map(request.properties.get("Tags"))

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it with its security group; refused while it has node groups."""
        eks = self.account.eks
        with eks.lock:
            cluster = eks.cluster(physical_id)
            if cluster.node_groups:
                message = f"Cluster has nodegroups attached: {sorted(cluster.node_groups)}"
                raise RefusedError(message, "ResourceInUseException")
            del eks.clusters[physical_id]
        self.account.client("ec2").delete_security_group(GroupId=cluster.security_group_id)


def _attributes(description: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    keys = [item["Provider"]["KeyArn"] for item in wanted.get("EncryptionConfig", [])]
    return {
        "Arn": description["arn"],
        "CertificateAuthorityData": description["certificateAuthority"]["data"],
        "ClusterSecurityGroupId": description["resourcesVpcConfig"]["clusterSecurityGroupId"],
        "EncryptionConfigKeyArn": keys[0] if keys else "",
        "Endpoint": description["endpoint"],
        "Id": description["name"],
        "OpenIdConnectIssuerUrl": description["identity"]["oidc"]["issuer"],
    }
