"""Lambda functions of our own: each with a role and a log group that are its alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_logs as logs
from aws_cdk import custom_resources as cr
from constructs import Construct

from eks_ray_train.acknowledge import acknowledge, arn_of, wildcard_resource


def python_function(
    scope: Construct,
    *,
    description: str,
    asset: Path,
    handler: str,
    timeout: Duration,
    statements: Sequence[iam.PolicyStatement],
    wildcards: Mapping[str, str],
) -> lambda_.Function:
    """The one function of ``scope``, which may do what ``statements`` say and write its log.

    ``wildcards`` are the resources among them that name more than one thing, each with the reason.
    """
    log_group = _log_group(scope, "Log")
    role = _role(scope, "Role", log_group)
    for statement in statements:
        role.add_to_policy(statement)
    for resource, reason in wildcards.items():
        acknowledge(role, wildcard_resource(resource), reason=reason)
    function = lambda_.Function(
        scope,
        "Function",
        description=description,
        runtime=lambda_.Runtime.PYTHON_3_13,
        handler=handler,
        # Bytecode differs between machines and would change the asset's hash.
        code=lambda_.Code.from_asset(str(asset), exclude=["**/__pycache__", "**/*.pyc"]),
        memory_size=256,
        timeout=timeout,
        log_group=log_group,
        role=role,
    )
    acknowledge(
        function,
        "AwsSolutions-L1",
        reason="Python 3.13 is what the training image and CDK's own Python handlers run as well",
    )
    return function


def provider_of(scope: Construct, function: lambda_.Function) -> cr.Provider:
    """CDK's provider framework before ``function``, which answers the events of custom resources."""
    log_group = _log_group(scope, "ProviderLog")  # says nothing that the function's own log lacks
    role = _role(scope, "ProviderRole", log_group)
    acknowledge(
        role,
        wildcard_resource(f"{arn_of(function)}:*"),
        reason="The provider framework invokes the function by its versions as well, of which there are none",
    )
    return cr.Provider(scope, "Provider", on_event_handler=function, log_group=log_group, framework_on_event_role=role)


def _log_group(scope: Construct, id: str) -> logs.LogGroup:
    return logs.LogGroup(scope, id, retention=logs.RetentionDays.ONE_MONTH, removal_policy=RemovalPolicy.DESTROY)


def _role(scope: Construct, id: str, log_group: logs.LogGroup) -> iam.Role:
    """Return a role that may write one log group, where Lambda's managed policy allows all of the account's."""
    role = iam.Role(scope, id, assumed_by=iam.ServicePrincipal("lambda.amazonaws.com"))
    log_group.grant_write(role)
    return role
