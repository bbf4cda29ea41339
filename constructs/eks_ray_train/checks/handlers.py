"""What the Lambda that runs kubectl and helm can do: 15 minutes at a time, with 256 KiB of properties.

Sources: Lambda quotas; CDK's kubectl handler, whose function has a time-out of 15 minutes; aws/aws-cdk issues 17362,
19165 and 22257.
"""

import json
from collections.abc import Iterator

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule

_LAMBDA_SECONDS = 900
# What the handler does before helm and after it: kubeconfig, chart download, answer.
_BESIDE_HELM_SECONDS = 120
_BESIDE_WAIT_SECONDS = 60
MAX_PROPERTIES_BYTES = 262_144


@rule("helm-timeout", "helm gives up before the Lambda that runs it is ended", phase=Phase.TEMPLATES)
def helm_gives_up_first(subject: Subject) -> Iterator[Problem]:
    """Else the release stays pending, and each later deploy says "another operation is in progress"."""
    most = _LAMBDA_SECONDS - _BESIDE_HELM_SECONDS
    for stack, _, properties in subject.resources("Custom::AWSCDK-EKS-HelmChart"):
        timeout = int(str(properties.get("Timeout", "300s")).removesuffix("s"))
        if timeout > most:
            yield Problem(
                field=f"{stack}: {properties['Release']}: Timeout",
                value=f"{timeout} s",
                expected=f"at most {most} s: the Lambda that runs helm is ended after {_LAMBDA_SECONDS} s, and leaves "
                "a release that nothing can update",
                remedy="lower it in constructs/eks_ray_train/kubernetes.py",
            )


@rule("wait-timeout", "a wait for a Kubernetes object ends before the Lambda that waits does", phase=Phase.TEMPLATES)
def waits_end_first(subject: Subject) -> Iterator[Problem]:
    """CloudFormation then waits an hour for an answer, while the GPU nodes bill."""
    most = _LAMBDA_SECONDS - _BESIDE_WAIT_SECONDS
    for stack, _, properties in subject.resources("Custom::AWSCDK-EKS-KubernetesObjectValue"):
        if properties["TimeoutSeconds"] > most:
            yield Problem(
                field=f"{stack}: wait for {properties['ObjectType']}: TimeoutSeconds",
                value=properties["TimeoutSeconds"],
                expected=f"at most {most}: the Lambda that waits is ended after {_LAMBDA_SECONDS} s",
                remedy="shorten it in constructs/eks_ray_train/ray_workload.py",
            )


@rule("service-timeout", "CloudFormation does not wait an hour for kubectl or helm", phase=Phase.TEMPLATES)
def answers_are_awaited_for_minutes(subject: Subject) -> Iterator[Problem]:
    """Its own limit for an answer that never comes is an hour."""
    for stack, logical_id, properties in subject.resources("Custom::AWSCDK-EKS-"):
        timeout = int(properties.get("ServiceTimeout", 3600))
        if not _LAMBDA_SECONDS <= timeout <= 2 * _LAMBDA_SECONDS:
            yield Problem(
                field=f"{stack}: {logical_id}: ServiceTimeout",
                value=f"{timeout} s",
                expected=f"{_LAMBDA_SECONDS} to {2 * _LAMBDA_SECONDS} s: longer than the Lambda runs, and no hour in "
                "which nodes bill for nothing",
                remedy="call limit_wait of constructs/eks_ray_train/kubernetes.py",
            )


@rule("handler-payload", "every custom resource is small enough for the event that carries it", phase=Phase.TEMPLATES)
def payload_size(subject: Subject) -> Iterator[Problem]:
    """The whole manifest or the values of a chart are one property."""
    for stack, logical_id, properties in subject.resources("Custom::"):
        size = len(json.dumps(properties).encode())
        if size > MAX_PROPERTIES_BYTES:
            yield Problem(
                field=f"{stack}: {logical_id}",
                value=f"{size:,} bytes",
                expected=f"at most {MAX_PROPERTIES_BYTES:,} bytes, which is what the event to a Lambda may hold",
                remedy="give its objects two constructs, or shorten them",
            )
