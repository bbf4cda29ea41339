"""The calls of CloudFormation that the CDK command line and boto3 make. One that is missing is refused by name."""

from collections.abc import Callable, Mapping
from typing import Any

from rehearsal.cloud.calls.cloudformation_submissions import body_of, submission_of
from rehearsal.cloud.calls.cloudformation_views import (
    change_set_view,
    resource_detail,
    resource_view,
    stack_view,
    template_summary,
)
from rehearsal.cloud.cloudformation.backend import CloudFormation
from rehearsal.cloud.cloudformation.stack import Stack
from rehearsal.cloud.cloudformation.submission import ChangeSet, Submission
from rehearsal.cloud.cloudformation.template import Template
from rehearsal.cloud.errors import RefusedError

Fields = dict[str, Any]


class CloudFormationCalls:
    """Answers one call at a time."""

    def __init__(self, backend: CloudFormation) -> None:
        self._backend = backend
        self._actions: Mapping[str, Callable[[Fields], Fields]] = {
            "CreateChangeSet": self._create_change_set,
            "CreateStack": self._create_stack,
            "DeleteChangeSet": self._delete_change_set,
            "DeleteStack": self._delete_stack,
            "DescribeChangeSet": lambda fields: change_set_view(self._change_set(fields)),
            "DescribeStackEvents": lambda fields: {"StackEvents": self._stack(fields).events[::-1]},
            "DescribeStackResource": self._describe_stack_resource,
            "DescribeStackResources": self._describe_stack_resources,
            "DescribeStacks": self._describe_stacks,
            "ExecuteChangeSet": self._execute_change_set,
            "GetTemplate": self._get_template,
            "GetTemplateSummary": self._get_template_summary,
            "ListChangeSets": self._list_change_sets,
            "ListExports": self._list_exports,
            "ListImports": lambda fields: {"Imports": self._backend.exports.importers(fields["ExportName"])},
            "ListStackResources": self._list_stack_resources,
            "ListStacks": self._list_stacks,
            "UpdateStack": self._update_stack,
            "UpdateTerminationProtection": self._update_termination_protection,
            "ValidateTemplate": self._get_template_summary,
        }

    def answer(self, action: str, fields: Fields) -> Fields:
        """Return a call's result; raises RefusedError."""
        if action not in self._actions:
            raise RefusedError(f"The rehearsal does not emulate cloudformation:{action}", "InvalidAction")
        return self._actions[action](fields)

    def _stack(self, fields: Fields) -> Stack:
        return self._backend.find(fields["StackName"])

    def _create_stack(self, fields: Fields) -> Fields:
        submission = submission_of(fields, None, self._backend.account)
        stack = self._backend.open(fields["StackName"])
        try:
            stack.protected = str(fields.get("EnableTerminationProtection", "")).lower() == "true"
            self._backend.start(stack, submission)
        except RefusedError:
            self._backend.stacks.pop(stack.name)
            raise
        return {"StackId": stack.id}

    def _update_stack(self, fields: Fields) -> Fields:
        stack = self._stack(fields)
        submission = submission_of(fields, stack, self._backend.account)
        proposed = self._backend.propose(stack, "direct", submission)
        self._backend.change_sets.pop(proposed.id)
        if proposed.status == "FAILED":
            raise RefusedError("No updates are to be performed.")
        self._backend.start(stack, submission)
        return {"StackId": stack.id}

    def _delete_stack(self, fields: Fields) -> Fields:
        try:
            stack = self._stack(fields)
        except RefusedError:
            return {}
        self._backend.delete(stack, fields.get("ClientRequestToken"))
        return {}

    def _create_change_set(self, fields: Fields) -> Fields:
        kind = fields.get("ChangeSetType", "UPDATE")
        if kind == "IMPORT" or fields.get("ResourcesToImport"):
            raise RefusedError("The rehearsal does not emulate imports of resources")
        name = fields["StackName"]
        known = self._backend.stacks.get(name)
        created = known is None
        if kind == "CREATE":
            if known is not None and known.status != "REVIEW_IN_PROGRESS":
                raise RefusedError(f"Stack [{name}] already exists and cannot be created again with the changeSet")
            stack = known or self._backend.open(name)
        else:
            stack = self._stack(fields)
        try:
            submission = submission_of(fields, stack, self._backend.account)
            change_set = self._backend.propose(stack, fields["ChangeSetName"], submission)
        except Exception:
            if kind == "CREATE" and created:
                self._backend.stacks.pop(name, None)
            raise
        return {"Id": change_set.id, "StackId": stack.id}

    def _change_set(self, fields: Fields) -> ChangeSet:
        wanted, stack = fields["ChangeSetName"], fields.get("StackName")
        for found in reversed(self._backend.change_sets.values()):
            if found.id == wanted or (found.name == wanted and stack in (found.stack.name, found.stack.id)):
                return found
        raise RefusedError(f"ChangeSet [{wanted}] does not exist", "ChangeSetNotFound")

    def _execute_change_set(self, fields: Fields) -> Fields:
        found = self._change_set(fields)
        if found.status != "CREATE_COMPLETE":
            raise RefusedError(f"ChangeSet [{found.id}] cannot be executed in its current status of [{found.status}]")
        submission = found.submission
        if str(fields.get("DisableRollback", "")).lower() == "true":
            submission = Submission(**{**vars(submission), "roll_back": False})
        token = fields.get("ClientRequestToken")
        self._backend.start(found.stack, Submission(**{**vars(submission), "token": token}))
        self._backend.change_sets.pop(found.id, None)
        return {}

    def _delete_change_set(self, fields: Fields) -> Fields:
        try:
            self._backend.change_sets.pop(self._change_set(fields).id, None)
        except RefusedError as error:
            if error.code != "ChangeSetNotFound":
                raise
        return {}

    def _describe_stacks(self, fields: Fields) -> Fields:
        stacks = [self._stack(fields)] if fields.get("StackName") else list(self._backend.stacks.values())
        return {"Stacks": [stack_view(stack) for stack in stacks]}

    def _describe_stack_resources(self, fields: Fields) -> Fields:
        stack = self._stack(fields)
        return {"StackResources": [resource_view(stack, item) for item in list(stack.resources.values())]}

    def _describe_stack_resource(self, fields: Fields) -> Fields:
        stack, name = self._stack(fields), fields["LogicalResourceId"]
        if name not in stack.resources:
            raise RefusedError(f"Resource {name} does not exist for stack {stack.name}")
        return {"StackResourceDetail": resource_detail(stack, stack.resources[name])}

    def _list_stack_resources(self, fields: Fields) -> Fields:
        stack = self._stack(fields)
        return {"StackResourceSummaries": [resource_detail(stack, item) for item in list(stack.resources.values())]}

    def _list_stacks(self, fields: Fields) -> Fields:
        wanted = fields.get("StackStatusFilter")
        stacks = [*self._backend.stacks.values(), *self._backend.deleted.values()]
        return {"StackSummaries": [stack_view(stack) for stack in stacks if not wanted or stack.status in wanted]}

    def _list_change_sets(self, fields: Fields) -> Fields:
        stack = self._stack(fields)
        found = [c for c in self._backend.change_sets.values() if c.stack is stack]
        return {"Summaries": [{"ChangeSetId": c.id, "ChangeSetName": c.name, "Status": c.status} for c in found]}

    def _list_exports(self, fields: Fields) -> Fields:
        return {
            "Exports": [
                {"ExportingStackId": stack.id, "Name": name, "Value": value}
                for stack in list(self._backend.stacks.values())
                for name, value in stack.exports.items()
            ]
        }

    def _get_template(self, fields: Fields) -> Fields:
        stack = self._stack(fields)
        return {"TemplateBody": stack.template.body if stack.template else "{}", "StagesAvailable": ["Original"]}

    def _get_template_summary(self, fields: Fields) -> Fields:
        if "StackName" in fields:
            stack = self._stack(fields)
            return template_summary(stack.template) if stack.template else {}
        return template_summary(Template(body_of(fields, self._backend.account)))

    def _update_termination_protection(self, fields: Fields) -> Fields:
        stack = self._stack(fields)
        stack.protected = str(fields["EnableTerminationProtection"]).lower() == "true"
        return {"StackId": stack.id}
