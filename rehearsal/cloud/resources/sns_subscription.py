"""AWS::SNS::Subscription."""

from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.resources.base import Made, Request, ResourceType


class Subscription(ResourceType):
    """An e-mail address of a topic; nobody is asked to confirm it."""

    type = "AWS::SNS::Subscription"
    properties = frozenset({"Endpoint", "Protocol", "TopicArn"})
    replaced_by = properties

    def create(self, request: Request) -> Made:
        """Subscribe."""
        wanted = request.properties
        if wanted["Protocol"] != "email":
            raise RefusedError(f"AWS::SNS::Subscription: the rehearsal does not emulate Protocol {wanted['Protocol']}")
        made = self.account.client("sns").subscribe(ReturnSubscriptionArn=True, **wanted)
        return Made(made["SubscriptionArn"])

    def delete(self, physical_id: str, request: Request) -> None:
        """Unsubscribe."""
        self.account.client("sns").unsubscribe(SubscriptionArn=physical_id)
