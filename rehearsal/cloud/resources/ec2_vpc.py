"""AWS::EC2::VPC."""

from typing import Any

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request
from rehearsal.cloud.resources.tags import TaggedInEc2, tag_specifications


class Vpc(TaggedInEc2):
    """A VPC."""

    type = "AWS::EC2::VPC"
    properties = frozenset({"CidrBlock", "EnableDnsHostnames", "EnableDnsSupport", "InstanceTenancy", "Tags"})
    replaced_by = frozenset({"CidrBlock", "InstanceTenancy"})
    updated_by = frozenset({"EnableDnsHostnames", "EnableDnsSupport"})

    def create(self, request: Request) -> Made:
        """Create it with its DNS settings; EKS needs both of them."""
        ec2, wanted = self.account.client("ec2"), request.properties
        made = ec2.create_vpc(
            CidrBlock=wanted["CidrBlock"],
            InstanceTenancy=wanted.get("InstanceTenancy", "default"),
            TagSpecifications=tag_specifications("vpc", wanted),
        )["Vpc"]
        request.claim(made["VpcId"])
        self._set_dns(made["VpcId"], wanted)
        groups = ec2.describe_security_groups(
            Filters=[{"Name": "vpc-id", "Values": [made["VpcId"]]}, {"Name": "group-name", "Values": ["default"]}]
        )["SecurityGroups"]
        return Made(
            made["VpcId"],
            {
                "VpcId": made["VpcId"],
                "CidrBlock": made["CidrBlock"],
                "DefaultSecurityGroup": groups[0]["GroupId"],
                "CidrBlockAssociations": [item["AssociationId"] for item in made["CidrBlockAssociationSet"]],
                "Ipv6CidrBlocks": [],
            },
        )

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change the DNS settings."""
        self._set_dns(made.physical_id, request.properties)
        return made

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; refused while something is inside. moto deletes a VPC with security groups in it, AWS does not."""
        ec2 = self.account.client("ec2")
        inside = [{"Name": "vpc-id", "Values": [physical_id]}]
        groups = ec2.describe_security_groups(Filters=inside)["SecurityGroups"]
        left = [group["GroupId"] for group in groups if group["GroupName"] != "default"]
        left += [subnet["SubnetId"] for subnet in ec2.describe_subnets(Filters=inside)["Subnets"]]
        if left:
            raise RefusedError(
                f"The vpc '{physical_id}' has dependencies and cannot be deleted: {left}", "DependencyViolation"
            )
        ec2.delete_vpc(VpcId=physical_id)

    def _set_dns(self, vpc_id: str, wanted: dict[str, Any]) -> None:
        ec2 = self.account.client("ec2")
        ec2.modify_vpc_attribute(VpcId=vpc_id, EnableDnsSupport={"Value": wanted.get("EnableDnsSupport", True)})
        ec2.modify_vpc_attribute(VpcId=vpc_id, EnableDnsHostnames={"Value": wanted.get("EnableDnsHostnames", False)})
