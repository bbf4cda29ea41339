"""CloudFormation's own limits. Source: CloudFormation user guide, "CloudFormation quotas"."""

import json
from collections.abc import Iterator

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule

MAX_RESOURCES = 500
MAX_TEMPLATE_BYTES = 1_000_000
MAX_PARAMETERS_OR_OUTPUTS = 200
MAX_LOGICAL_ID = 255
MAX_STACK_NAME = 128
MAX_EXPORT_NAME = 255


@rule("cfn-resources", "no stack has more resources than CloudFormation takes", phase=Phase.TEMPLATES)
def resource_count(subject: Subject) -> Iterator[Problem]:
    """500 in one template."""
    for stack, template in subject.templates.items():
        count = len(template.get("Resources", {}))
        if count > MAX_RESOURCES:
            yield _over(f"{stack}: Resources", count, MAX_RESOURCES)


@rule("cfn-size", "no template is larger than CloudFormation takes", phase=Phase.TEMPLATES)
def template_size(subject: Subject) -> Iterator[Problem]:
    """1 MB from S3."""
    for stack, template in subject.templates.items():
        size = len(json.dumps(template, indent=1).encode())
        if size > MAX_TEMPLATE_BYTES:
            yield _over(f"{stack}: bytes", f"{size:,}", f"{MAX_TEMPLATE_BYTES:,}")


@rule("cfn-outputs", "no stack has more parameters or outputs than CloudFormation takes", phase=Phase.TEMPLATES)
def parameters_and_outputs(subject: Subject) -> Iterator[Problem]:
    """References between stacks are outputs of one and, as imports, no parameters of the other."""
    for stack, template in subject.templates.items():
        for section in ("Parameters", "Outputs"):
            count = len(template.get(section, {}))
            if count > MAX_PARAMETERS_OR_OUTPUTS:
                yield _over(f"{stack}: {section}", count, MAX_PARAMETERS_OR_OUTPUTS)


@rule("cfn-names", "names are no longer than CloudFormation takes", phase=Phase.TEMPLATES)
def name_lengths(subject: Subject) -> Iterator[Problem]:
    """Of stacks, logical ids and exports."""
    for stack, template in subject.templates.items():
        name = f"{subject.settings.cluster_name}-{stack}"
        if len(name) > MAX_STACK_NAME:
            yield _over(f"{stack}: characters of the stack's name", len(name), MAX_STACK_NAME)
        for logical_id in template.get("Resources", {}):
            if len(logical_id) > MAX_LOGICAL_ID:
                yield _over(f"{stack}: characters of {logical_id[:40]}...", len(logical_id), MAX_LOGICAL_ID)
        for output in template.get("Outputs", {}).values():
            export = output.get("Export", {}).get("Name", "")
            if isinstance(export, str) and len(export) > MAX_EXPORT_NAME:
                yield _over(f"{stack}: characters of the export {export[:40]}...", len(export), MAX_EXPORT_NAME)


def _over(field: str, value: object, limit: object) -> Problem:
    return Problem(
        field=field, value=value, expected=f"at most {limit}", remedy="split the stack, or shorten what makes it long"
    )
