"""Whether an update is CloudFormation's, undoing one that failed, or the user's, who may want the same inputs back."""

from botocore.exceptions import BotoCoreError, ClientError

from .clients import Clients
from .log import log

_UNDOING = "UPDATE_ROLLBACK_IN_PROGRESS"


def undoing(stack_id: str, clients: Clients) -> bool:
    """Tell whether the stack is being rolled back; where CloudFormation does not say, take it for that.

    A user's update that is taken for an undoing misses a reservation; an undoing that is taken for a user's may fail,
    and the stack be stuck.
    """
    assert clients.stacks is not None  # the handler makes the client
    try:
        (stack,) = clients.stacks.describe_stacks(StackName=stack_id)["Stacks"]
    except (BotoCoreError, ClientError) as error:
        log("error", "the stack's state is unknown: the update is taken for the undoing of one", error=str(error))
        return True
    return bool(stack["StackStatus"] == _UNDOING)
