"""AWS::SNS::Topic."""

from rehearsal.cloud.resources.base import Made, Request, ResourceType, ignored


class Topic(ResourceType):
    """A topic; nothing here publishes to it, and no mail is sent."""

    type = "AWS::SNS::Topic"
    properties = frozenset({"TopicName"})
    harmless = ignored(Tags="nothing reads them")
    replaced_by = frozenset({"TopicName"})

    def create(self, request: Request) -> Made:
        """Create it."""
        arn = self.account.client("sns").create_topic(Name=request.name("TopicName", 256))["TopicArn"]
        return Made(arn, {"TopicArn": arn, "TopicName": arn.rsplit(":", 1)[-1]})

    def delete(self, physical_id: str, request: Request) -> None:
        """Delete it, and its subscriptions with it."""
        self.account.client("sns").delete_topic(TopicArn=physical_id)
