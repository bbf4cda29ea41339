"""AWS::EC2::SecurityGroupEgress."""

from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.ec2_rules import permission


class SecurityGroupEgress(ResourceType):
    """One rule of a security group."""

    type = "AWS::EC2::SecurityGroupEgress"
    properties = frozenset(
        {"CidrIp", "Description", "FromPort", "GroupId", "IpProtocol", "DestinationSecurityGroupId", "ToPort"}
    )
    replaced_by = properties

    def create(self, request: Request) -> Made:
        """Add the rule; moto refuses one that exists and groups that do not."""
        answer = self.account.client("ec2").authorize_security_group_egress(
            GroupId=request.properties["GroupId"], IpPermissions=[permission(request.properties)]
        )
        made = answer["SecurityGroupRules"][0]["SecurityGroupRuleId"]
        return Made(made, {"Id": made})

    def delete(self, physical_id: str, request: Request) -> None:
        """Remove the rule."""
        self.account.client("ec2").revoke_security_group_egress(
            GroupId=request.properties["GroupId"], IpPermissions=[permission(request.properties)]
        )
