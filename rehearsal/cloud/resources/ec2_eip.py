"""AWS::EC2::EIP."""

from rehearsal.cloud.resources.base import Made, Request
from rehearsal.cloud.resources.tags import TaggedInEc2, tag_specifications


class Eip(TaggedInEc2):
    """An elastic IP address."""

    type = "AWS::EC2::EIP"
    properties = frozenset({"Domain", "Tags"})
    replaced_by = frozenset({"Domain"})

    def create(self, request: Request) -> Made:
        """Allocate it."""
        wanted = request.properties
        made = self.account.client("ec2").allocate_address(
            Domain=wanted.get("Domain", "vpc"), TagSpecifications=tag_specifications("elastic-ip", wanted)
        )
        return Made(made["PublicIp"], {"AllocationId": made["AllocationId"], "PublicIp": made["PublicIp"]})

    def tagged_id(self, made: Made) -> str:
        """Return the allocation's id; the address is the physical id."""
        return str(made.attributes["AllocationId"])

    def delete(self, physical_id: str, request: Request) -> None:
        """Release it."""
        ec2 = self.account.client("ec2")
        found = ec2.describe_addresses(PublicIps=[physical_id])["Addresses"][0]
        ec2.release_address(AllocationId=found["AllocationId"])
