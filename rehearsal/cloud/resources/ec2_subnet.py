"""AWS::EC2::Subnet."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request
from rehearsal.cloud.resources.tags import TaggedInEc2, tag_specifications


class Subnet(TaggedInEc2):
    """A subnet."""

    type = "AWS::EC2::Subnet"
    properties = frozenset({"AvailabilityZone", "CidrBlock", "MapPublicIpOnLaunch", "Tags", "VpcId"})
    replaced_by = frozenset({"AvailabilityZone", "CidrBlock", "VpcId"})
    updated_by = frozenset({"MapPublicIpOnLaunch"})

    def create(self, request: Request) -> Made:
        """Create it; moto refuses overlapping and outside ranges, and unknown zones."""
        ec2, wanted = self.account.client("ec2"), request.properties
        zone = {"AvailabilityZone": wanted["AvailabilityZone"]} if "AvailabilityZone" in wanted else {}
        made = ec2.create_subnet(
            VpcId=wanted["VpcId"],
            CidrBlock=wanted["CidrBlock"],
            TagSpecifications=tag_specifications("subnet", wanted),
            **zone,
        )["Subnet"]
        request.claim(made["SubnetId"])
        self._set_public(made["SubnetId"], wanted)
        return Made(
            made["SubnetId"],
            {
                "SubnetId": made["SubnetId"],
                "AvailabilityZone": made["AvailabilityZone"],
                "AvailabilityZoneId": made["AvailabilityZoneId"],
                "CidrBlock": made["CidrBlock"],
                "VpcId": made["VpcId"],
                "Ipv6CidrBlocks": [],
            },
        )

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Change whether instances get public addresses."""
        self._set_public(made.physical_id, request.properties)
        return made

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("ec2").delete_subnet(SubnetId=physical_id)

    def _set_public(self, subnet_id: str, wanted: dict[str, Any]) -> None:
        public = {"Value": wanted.get("MapPublicIpOnLaunch", False)}
        self.account.client("ec2").modify_subnet_attribute(SubnetId=subnet_id, MapPublicIpOnLaunch=public)
