"""What differs between a stack and a template that is to replace its own."""

from collections.abc import Mapping
from typing import Any

from rehearsal.cloud.cloudformation.stack import Stack
from rehearsal.cloud.cloudformation.template import Template


def changes(stack: Stack, template: Template, parameters: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the changes of a change set, as DescribeChangeSet does: by definition, without details."""
    before = stack.template.resources if stack.template and stack.resources else {}
    after = template.resources
    found = []
    for name in [*after, *(name for name in before if name not in after)]:
        if name not in before:
            action = "Add"
        elif name not in after:
            action = "Remove"
        elif before[name] != after[name] or dict(parameters) != stack.parameters:
            action = "Modify"
        else:
            continue
        deployed = stack.resources.get(name)
        found.append(
            {
                "Type": "Resource",
                "ResourceChange": {
                    "Action": action,
                    "LogicalResourceId": name,
                    "PhysicalResourceId": deployed.physical_id if deployed else None,
                    "ResourceType": (after.get(name) or before[name])["Type"],
                    "Replacement": "Conditional" if action == "Modify" else None,
                },
            }
        )
    return found


def nothing_changes(
    stack: Stack, template: Template, parameters: Mapping[str, Any], tags: list[dict[str, str]]
) -> bool:
    """Whether a template, its parameters and tags are what the stack has already."""
    return (
        stack.template is not None
        and stack.template.data == template.data
        and stack.parameters == dict(parameters)
        and _as_set(stack.tags) == _as_set(tags)
    )


def _as_set(tags: list[dict[str, str]]) -> set[tuple[str, str]]:
    return {(tag["Key"], tag["Value"]) for tag in tags}
