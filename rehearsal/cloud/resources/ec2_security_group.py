"""AWS::EC2::SecurityGroup."""

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request
from rehearsal.cloud.resources.ec2_rules import permission
from rehearsal.cloud.resources.tags import TaggedInEc2, tag_specifications


class SecurityGroup(TaggedInEc2):
    """A security group; without rules for outbound traffic EC2 allows all of it."""

    type = "AWS::EC2::SecurityGroup"
    properties = frozenset(
        {"GroupDescription", "GroupName", "SecurityGroupEgress", "SecurityGroupIngress", "Tags", "VpcId"}
    )
    replaced_by = frozenset({"GroupDescription", "GroupName", "VpcId"})

    def create(self, request: Request) -> Made:
        """Create it with its rules."""
        ec2, wanted = self.account.client("ec2"), request.properties
        group_id = ec2.create_security_group(
            GroupName=request.name("GroupName"),
            Description=wanted["GroupDescription"],
            VpcId=wanted["VpcId"],
            TagSpecifications=tag_specifications("security-group", wanted),
        )["GroupId"]
        request.claim(group_id)
        if "SecurityGroupEgress" in wanted:
            everything = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
            ec2.revoke_security_group_egress(GroupId=group_id, IpPermissions=everything)
            for rule in wanted["SecurityGroupEgress"]:
                ec2.authorize_security_group_egress(GroupId=group_id, IpPermissions=[permission(rule)])
        for rule in wanted.get("SecurityGroupIngress", []):
            ec2.authorize_security_group_ingress(GroupId=group_id, IpPermissions=[permission(rule)])
        return Made(group_id, {"GroupId": group_id, "Id": group_id, "VpcId": wanted["VpcId"]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it; AWS refuses while a network interface uses it or another group's rule names it."""
        ec2 = self.account.client("ec2")
        for cluster in self.account.eks.clusters.values():
            if physical_id in cluster.description["resourcesVpcConfig"]["securityGroupIds"]:
                raise RefusedError(
                    f"resource {physical_id} has a dependent object (an EKS cluster)", "DependencyViolation"
                )
        if in_use := self.account.eks.interfaces_with(physical_id):
            raise RefusedError(f"resource {physical_id} has a dependent object ({in_use})", "DependencyViolation")
        ec2.delete_security_group(GroupId=physical_id)
