"""AWS::EC2::FlowLog."""

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request
from rehearsal.cloud.resources.tags import TaggedInEc2, tag_specifications


class FlowLog(TaggedInEc2):
    """A flow log that goes to a log group."""

    type = "AWS::EC2::FlowLog"
    properties = frozenset(
        {
            "DeliverLogsPermissionArn",
            "LogDestinationType",
            "LogGroupName",
            "ResourceId",
            "ResourceType",
            "Tags",
            "TrafficType",
        }
    )
    replaced_by = properties - {"Tags"}

    def create(self, request: Request) -> Made:
        """Create it; what EC2 reports as unsuccessful is an error."""
        given = {key: value for key, value in request.properties.items() if key not in ("ResourceId", "Tags")}
        answer = self.account.client("ec2").create_flow_logs(
            ResourceIds=[request.properties["ResourceId"]],
            TagSpecifications=tag_specifications("vpc-flow-log", request.properties),
            **given,
        )
        if answer.get("Unsuccessful"):
            raise RefusedError(answer["Unsuccessful"][0]["Error"]["Message"])
        return Made(answer["FlowLogIds"][0], {"Id": answer["FlowLogIds"][0]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it."""
        self.account.client("ec2").delete_flow_logs(FlowLogIds=[physical_id])
