"""How stacks, resources and change sets look in CloudFormation's answers."""

from typing import Any

from rehearsal.cloud.cloudformation.stack import Deployed, Stack
from rehearsal.cloud.cloudformation.submission import ChangeSet
from rehearsal.cloud.cloudformation.template import Template


def stack_view(stack: Stack) -> dict[str, Any]:
    """Return a stack as DescribeStacks does."""
    with stack.lock:
        return {
            "StackId": stack.id,
            "StackName": stack.name,
            "Description": stack.template.data.get("Description") if stack.template else None,
            "CreationTime": stack.created,
            "StackStatus": stack.status,
            "StackStatusReason": stack.reason,
            "DisableRollback": False,
            "EnableTerminationProtection": stack.protected,
            "RoleARN": stack.role,
            "Tags": stack.tags,
            "Parameters": [
                {"ParameterKey": key, "ParameterValue": stack.given.get(key, _shown(value))}
                for key, value in stack.parameters.items()
            ],
            "Outputs": [
                {
                    "OutputKey": output.key,
                    "OutputValue": output.value,
                    "Description": output.description,
                    "ExportName": output.export,
                }
                for output in stack.outputs.values()
            ],
        }


def _shown(value: Any) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def resource_view(stack: Stack, resource: Deployed) -> dict[str, Any]:
    """Return a resource as DescribeStackResources does."""
    status, reason, changed = stack.statuses[resource.logical_id]
    return {
        "StackName": stack.name,
        "StackId": stack.id,
        "LogicalResourceId": resource.logical_id,
        "PhysicalResourceId": resource.physical_id,
        "ResourceType": resource.type,
        "Timestamp": changed,
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
    }


def resource_detail(stack: Stack, resource: Deployed) -> dict[str, Any]:
    """Return a resource as ListStackResources does."""
    view = resource_view(stack, resource)
    return {"LastUpdatedTimestamp": view.pop("Timestamp"), **view}


def change_set_view(change_set: ChangeSet) -> dict[str, Any]:
    """Return a change set as DescribeChangeSet does."""
    return {
        "ChangeSetName": change_set.name,
        "ChangeSetId": change_set.id,
        "StackId": change_set.stack.id,
        "StackName": change_set.stack.name,
        "CreationTime": change_set.created,
        "ExecutionStatus": "AVAILABLE" if change_set.status == "CREATE_COMPLETE" else "UNAVAILABLE",
        "Status": change_set.status,
        "StatusReason": change_set.reason,
        "Changes": change_set.changes,
    }


def template_summary(template: Template) -> dict[str, Any]:
    """Return a template as GetTemplateSummary does."""
    return {
        "Parameters": [
            {
                "ParameterKey": name,
                "DefaultValue": spec.get("Default"),
                "ParameterType": spec["Type"],
                "NoEcho": False,
                "Description": spec.get("Description"),
            }
            for name, spec in template.section("Parameters").items()
        ],
        "Description": template.data.get("Description"),
        "ResourceTypes": sorted({resource["Type"] for resource in template.resources.values()}),
    }
