"""What CloudFormation has of an environment."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from botocore.exceptions import ClientError

from environments.settings import Settings
from ops.account import AWS_ERRORS, explain
from ops.workers import all_of

ORDER = ("Network", "Cluster", "Gpu", "Platform", "Training")

_REVIEW = "REVIEW_IN_PROGRESS"
"""Of a stack that has no resources yet, and waits for its first change."""

_EMPTY = (None, _REVIEW, "ROLLBACK_COMPLETE", "DELETE_COMPLETE")
_FAILED_BEFORE = ("ROLLBACK_COMPLETE", "ROLLBACK_FAILED")
_PAUSED = ("CREATE_FAILED", "UPDATE_FAILED")
_STUCK = {
    "DELETE_FAILED": "npx cdk destroy {id} -c environment={environment}",
    "UPDATE_ROLLBACK_FAILED": "npx cdk rollback {id} -c environment={environment}",
}
_KEEP = {"--no-rollback", "-R", "--rollback=false"}
"""Options of the CDK command line that keep what a failed change made, and go on from there."""


@dataclass(frozen=True, kw_only=True)
class Stack:
    """One stack; ``status`` is CloudFormation's, or None where the stack does not exist."""

    id: str
    name: str
    status: str | None = None
    outputs: Mapping[str, str] = field(default_factory=dict)

    @property
    def works(self) -> bool:
        """Whether it was created in full once: the last change of it may have failed, or been undone."""
        return self.status == "CREATE_COMPLETE" or (self.status or "").startswith(("UPDATE_", "IMPORT_"))

    @property
    def may_cost(self) -> bool:
        """Whether it may hold resources that bill, even where they are only the rest of something that failed."""
        return self.status not in _EMPTY

    @property
    def moving(self) -> bool:
        """Whether CloudFormation is at work on it."""
        return self.status is not None and self.status.endswith("_IN_PROGRESS") and self.status != _REVIEW

    @property
    def paused(self) -> bool:
        """Whether a change failed without a rollback: what it made stays, and half of it is missing."""
        return self.status in _PAUSED

    @property
    def failed_before(self) -> bool:
        """Whether it is the rest of a creation that failed, which CDK deletes before it creates anew."""
        return self.status in _FAILED_BEFORE

    def way_out(self, environment: str, further: Sequence[str] = ()) -> str | None:
        """The command that has to come first, where the stack cannot be changed.

        ``further`` are the options for the CDK command line, which goes on from a paused stack only when told to.
        """
        if self.paused and not _KEEP & set(further):
            return (
                f"npx cdk rollback {self.id} -c environment={environment}, or go on with what is there: "
                f"raytrain deploy {environment} -- --no-rollback"
            )
        command = _STUCK.get(self.status or "")
        return None if command is None else command.format(id=self.id, environment=environment)

    def output(self, key: str) -> str | None:
        """The output whose key is ``key``, with what CDK puts before and after it."""
        return next((value for name, value in self.outputs.items() if key in name), None)


def stuck(stacks: Mapping[str, Stack], environment: str, further: Sequence[str] = ()) -> tuple[Stack, str] | None:
    """The first stack that cannot be changed, with the command that has to come first; None where all can."""
    for stack in stacks.values():
        if command := stack.way_out(environment, further):
            return stack, command
    return None


def stack_name(settings: Settings, id: str) -> str:
    """The stack's name in CloudFormation."""
    return f"{settings.cluster_name}-{id}"


def read_stacks(cloudformation: Any, settings: Settings) -> dict[str, Stack]:
    """Each stack of the environment, by id.

    Raises:
        OpsError: CloudFormation refuses to tell.
    """
    try:
        found = all_of(*((lambda id=id: _read(cloudformation, settings, id)) for id in ORDER))
    except AWS_ERRORS as error:
        raise explain(error, settings.region) from error
    return {stack.id: stack for stack in found}


def is_missing(error: ClientError) -> bool:
    """Whether CloudFormation says that there is no such stack, for which it has no code of its own."""
    return "does not exist" in error.response["Error"].get("Message", "")


def _read(cloudformation: Any, settings: Settings, id: str) -> Stack:
    name = stack_name(settings, id)
    try:
        found = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
    except ClientError as error:
        if is_missing(error):
            return Stack(id=id, name=name)
        raise
    outputs = {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", [])}
    return Stack(id=id, name=name, status=found["StackStatus"], outputs=outputs)


def deployed_template(cloudformation: Any, stack: Stack) -> Any:
    """The template that the stack was last deployed with, None where it has none that worked."""
    if not stack.works:
        return None
    try:
        return cloudformation.get_template(StackName=stack.name, TemplateStage="Original")["TemplateBody"]
    except AWS_ERRORS as error:
        raise explain(error, cloudformation.meta.region_name) from error
