"""What KubeRay's operator makes of a RayJob that the API server took: ValidationFailed, while the deploy is green.

Source: ValidateRayJobSpec in ray-operator/controllers/ray/utils/validation.go of KubeRay 1.7.
"""

import re
from collections.abc import Iterator
from typing import Any

import yaml

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule

# KubeRay joins the entrypoint unquoted into a bash command, and the runtime environment inside double quotes.
_SHELL = re.compile(r"[;&|<>()$`\\\"'*?#!{}\[\]~\n]")
_SHELL_IN_DOUBLE_QUOTES = re.compile(r"[$`]")
_CDK_TOKEN = re.compile(r"\$\{Token\[[^]]*\]\}")
_MODES = ("K8sJobMode", "HTTPMode", "SidecarMode", "InteractiveMode")
_SELECTOR_KEY = "ray.io/cluster"
_REMEDY = "set it in k8s/ray_job.py"


@rule("entrypoint-shell", "the job's command line holds nothing that a shell would read", phase=Phase.OBJECTS)
def shell_characters(subject: Subject) -> Iterator[Problem]:
    """What a setting brings would be run, or lost."""
    for job in subject.of_kind("RayJob"):
        texts = {"entrypoint": (job["spec"]["entrypoint"], _SHELL)}
        for name, value in _runtime_env(job).get("env_vars", {}).items():
            texts[f"runtimeEnvYAML.env_vars.{name}"] = (str(value), _SHELL_IN_DOUBLE_QUOTES)
        for field, (text, refused) in texts.items():
            found = sorted(set(refused.findall(_CDK_TOKEN.sub("token", text))))
            if found:
                yield Problem(
                    field=f"RayJob: {field}",
                    value=_CDK_TOKEN.sub("...", text),
                    expected=f"none of {' '.join(map(repr, found))}: KubeRay hands it to a shell unquoted",
                    remedy="change the training setting that holds the character; a script belongs into training/",
                )


@rule("ray-job-environment", "the job's runtime environment is a YAML table", phase=Phase.OBJECTS)
def runtime_environment_is_yaml(subject: Subject) -> Iterator[Problem]:
    """The operator parses it before anything else."""
    for job in subject.of_kind("RayJob"):
        try:
            found = yaml.safe_load(job["spec"].get("runtimeEnvYAML", "{}"))
        except yaml.YAMLError:
            found = None
        if not isinstance(found, dict):
            yield _problem("runtimeEnvYAML", job["spec"]["runtimeEnvYAML"], "a YAML table")


@rule("ray-job-mode", "the job is submitted in a way that the operator knows", phase=Phase.OBJECTS)
def mode_is_known(subject: Subject) -> Iterator[Problem]:
    """The custom resource definition takes any text."""
    for job in subject.of_kind("RayJob"):
        mode = job["spec"].get("submissionMode", "K8sJobMode")
        if mode not in _MODES:
            yield _problem("submissionMode", mode, f"one of {', '.join(_MODES)}")


@rule("ray-job-cluster", "the job names the RayCluster that it runs on", phase=Phase.OBJECTS)
def cluster_is_named(subject: Subject) -> Iterator[Problem]:
    """The operator waits for ever for a cluster that is not there."""
    clusters = [cluster["metadata"]["name"] for cluster in subject.of_kind("RayCluster")]
    for job in subject.of_kind("RayJob"):
        selector = job["spec"].get("clusterSelector") or {}
        if selector.get(_SELECTOR_KEY) not in clusters or "rayClusterSpec" in job["spec"]:
            yield _problem(
                "clusterSelector", selector, f"{_SELECTOR_KEY} with one of {', '.join(clusters)}, and no rayClusterSpec"
            )


@rule("ray-job-selector", "nothing is set that the operator refuses beside a cluster selector", phase=Phase.OBJECTS)
def selector_alone(subject: Subject) -> Iterator[Problem]:
    """A job may not dispose of a cluster that is not its own."""
    for job in subject.of_kind("RayJob"):
        spec = job["spec"]
        policies = {rule.get("policy") for rule in (spec.get("deletionStrategy") or {}).get("deletionRules") or []}
        refused = {
            "suspend": bool(spec.get("suspend")),
            "backoffLimit": bool(spec.get("backoffLimit")),
            "submissionMode": spec.get("submissionMode") == "SidecarMode",
            "deletionStrategy": bool(policies & {"DeleteCluster", "DeleteWorkers"}),
        }
        for field in (name for name, wrong in refused.items() if wrong and spec.get("clusterSelector")):
            yield _problem(field, spec[field], "not this beside clusterSelector: the operator fails the job")


@rule("ray-job-end", "what is to happen after the job has ended does not contradict itself", phase=Phase.OBJECTS)
def end_is_consistent(subject: Subject) -> Iterator[Problem]:
    """Three fields speak of it."""
    for job in subject.of_kind("RayJob"):
        spec = job["spec"]
        shutdown, ttl = spec.get("shutdownAfterJobFinishes"), spec.get("ttlSecondsAfterFinished", 0)
        deletion = spec.get("deletionStrategy") or {}
        if ttl < 0 or (ttl and not shutdown):
            yield _problem(
                "ttlSecondsAfterFinished", ttl, "none, or a positive number beside shutdownAfterJobFinishes = true"
            )
        if deletion.get("deletionRules") and (shutdown or {"onSuccess", "onFailure"} & deletion.keys()):
            yield _problem(
                "deletionStrategy.deletionRules",
                deletion["deletionRules"],
                "none beside shutdownAfterJobFinishes, onSuccess or onFailure",
            )


@rule("ray-job-deadline", "the job has deadlines, and the operator's comes after its own", phase=Phase.OBJECTS)
def deadlines_are_in_order(subject: Subject) -> Iterator[Problem]:
    """The operator only marks the job as failed; the job's own deadline ends it, and frees the GPUs."""
    own = subject.settings.training.deadline_hours * 3600
    for job in subject.of_kind("RayJob"):
        before = job["spec"].get("preRunningDeadlineSeconds", 0)
        total = job["spec"].get("activeDeadlineSeconds", 0)
        if before <= 0 or total <= before + own:
            yield _problem(
                "preRunningDeadlineSeconds, activeDeadlineSeconds",
                f"{before}, {total}",
                f"a positive number, and more than it and the {own} seconds of training.deadline_hours together",
            )


def _runtime_env(job: Any) -> dict[str, Any]:
    try:
        found = yaml.safe_load(job["spec"].get("runtimeEnvYAML", "{}"))
    except yaml.YAMLError:
        return {}
    return found if isinstance(found, dict) else {}


def _problem(field: str, value: object, expected: str) -> Problem:
    return Problem(field=f"RayJob: {field}", value=value, expected=expected, remedy=_REMEDY)
