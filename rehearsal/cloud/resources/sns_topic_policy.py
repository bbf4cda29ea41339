"""AWS::SNS::TopicPolicy."""

from typing import Any

from rehearsal.cloud.resources.base import Made, Request, ResourceType
from rehearsal.cloud.resources.iam_documents import document


class TopicPolicy(ResourceType):
    """The policy of topics, which is kept and not applied."""

    type = "AWS::SNS::TopicPolicy"
    properties = frozenset({"PolicyDocument", "Topics"})
    updated_by = frozenset({"PolicyDocument"})

    def create(self, request: Request) -> Made:
        """Put it on each topic; refused where one does not exist."""
        for topic in request.properties["Topics"]:
            self.account.client("sns").set_topic_attributes(
                TopicArn=topic, AttributeName="Policy", AttributeValue=document(request.properties["PolicyDocument"])
            )
        return Made(request.name("Id"))

    def update(self, made: Made, request: Request, old: dict[str, Any]) -> Made:
        """Put it anew."""
        self.create(request)
        return made

    def delete(self, physical_id: str, request: Request) -> None:
        """Leave it to its topics, which go after it."""
