"""Excuses a finding of cdk-nag, or of CDK's own template validation, beside the construct that causes it."""

from aws_cdk import Acknowledgment, CfnElement, Stack, Token, Validations
from constructs import IConstruct

# CDK's own warning on zone names in a template, which is why synthesis needs no lookup.
HARD_CODED_ZONE = "CloudFormation-Validate::W3010"


def acknowledge(construct: IConstruct, *rules: str, reason: str) -> None:
    """Accepts ``rules``, each with its detail in brackets, for ``construct`` and all below it."""
    Validations.of(construct).acknowledge(*(Acknowledgment(id=rule, reason=reason) for rule in rules))


def managed_policy(name: str) -> str:
    """The rule against an AWS managed policy, such as AmazonEKS_CNI_Policy."""
    return f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/{name}]"


def wildcard_resource(resource: str) -> str:
    """The rule against a wildcard in a policy's resource."""
    return f"AwsSolutions-IAM5[Resource::{resource}]"


def arn_of(construct: IConstruct) -> str:
    """How a rule's detail spells the ARN of ``construct``."""
    resource = construct.node.default_child
    assert isinstance(resource, CfnElement)
    return f"<{Stack.of(construct).get_logical_id(resource)}.Arn>"


def imported(attribute: str, owner: IConstruct) -> str:
    """How a rule's detail spells an attribute of ``owner`` in another stack."""
    stack = Stack.of(owner)
    name: str = stack.resolve(stack.export_value(attribute))["Fn::ImportValue"]
    return name


def spelled(arn: str, stack: Stack) -> str:
    """An ARN as a rule's detail spells it: ``<AWS::AccountId>`` where the account is not known at synth, and so on."""
    for value, name in ((stack.partition, "Partition"), (stack.region, "Region"), (stack.account, "AccountId")):
        if Token.is_unresolved(value):
            arn = arn.replace(value, f"<AWS::{name}>")
    return arn
