"""What KubeRay and the API server make of the RayJob, its code and its command line."""

import json
import re
from collections.abc import Iterator, Sequence

import yaml

from eks_ray_train.checks.finding import Finding
from eks_ray_train.checks.pods import Json
from environments.settings import Settings

# A custom resource's properties may hold 256 KiB in all, long before the 1 MiB of a ConfigMap; this leaves room for
# escaping and for the other objects.
MAX_CODE_BYTES = 200 * 1024
# KubeRay joins the entrypoint unquoted into a bash command, and the runtime environment inside double quotes.
_SHELL = re.compile(r"[;&|<>()$`\\\"'*?#!{}\[\]~\n]")
_SHELL_IN_DOUBLE_QUOTES = re.compile(r"[$`]")
_CDK_TOKEN = re.compile(r"\$\{Token\[[^]]*\]\}")
# The operator's limits, in ray-operator/controllers/ray/utils/validation.go of KubeRay 1.7.
_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_MAX_NAME = {"RayJob": 47, "RayCluster": 53}


def code_is_there(_settings: Settings, objects: Sequence[Json]) -> Iterator[Finding]:
    """Rule ``code-present``."""
    for config_map in (obj for obj in objects if obj["kind"] == "ConfigMap"):
        names = sorted(config_map.get("data", {}))
        if "train.py" not in names:
            yield Finding(
                code="code-present",
                field="training/",
                value=", ".join(names) or "no file",
                expected="a train.py, which is what the RayJob runs",
                remedy="restore training/train.py",
            )


def code_size(_settings: Settings, objects: Sequence[Json]) -> Iterator[Finding]:
    """Rule ``code-size``."""
    for config_map in (obj for obj in objects if obj["kind"] == "ConfigMap"):
        files = config_map.get("data", {})
        size = len(json.dumps(files).encode())
        if size > MAX_CODE_BYTES:
            largest = max(files, key=lambda name: len(files[name]))
            yield Finding(
                code="code-size",
                field="training/",
                value=f"{size:,} bytes, most of them in {largest}",
                expected=f"at most {MAX_CODE_BYTES:,} bytes: it travels as a ConfigMap in a CloudFormation resource",
                remedy="move data out of training/; it holds Python code alone",
            )


def shell_characters(_settings: Settings, objects: Sequence[Json]) -> Iterator[Finding]:
    """Rule ``entrypoint-shell``."""
    for job in (obj for obj in objects if obj["kind"] == "RayJob"):
        texts = {"entrypoint": (job["spec"]["entrypoint"], _SHELL)}
        for name, value in yaml.safe_load(job["spec"]["runtimeEnvYAML"]).get("env_vars", {}).items():
            texts[f"runtimeEnvYAML.env_vars.{name}"] = (value, _SHELL_IN_DOUBLE_QUOTES)
        for field, (text, refused) in texts.items():
            found = sorted(set(refused.findall(_CDK_TOKEN.sub("token", text))))
            if found:
                yield Finding(
                    code="entrypoint-shell",
                    field=f"RayJob: {field}",
                    value=_CDK_TOKEN.sub("...", text),
                    expected=f"none of {' '.join(map(repr, found))}: KubeRay hands it to a shell unquoted",
                    remedy="change the training setting that holds the character; a script belongs into training/",
                )


def operator_names(_settings: Settings, objects: Sequence[Json]) -> Iterator[Finding]:
    """Rule ``ray-name``: the API server takes a longer name, and the operator fails the object afterwards."""
    for obj in objects:
        limit = _MAX_NAME.get(obj["kind"])
        name = obj["metadata"]["name"]
        if limit and (len(name) > limit or not _DNS_1035.fullmatch(name)):
            yield Finding(
                code="ray-name",
                field=f"{obj['kind']}: metadata.name",
                value=name,
                expected=f"a DNS-1035 label of at most {limit} characters",
                remedy="shorten the name in k8s/",
            )
