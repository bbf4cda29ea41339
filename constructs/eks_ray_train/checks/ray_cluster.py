"""What KubeRay's operator refuses of a RayCluster after the API server took it: the deploy is green, and nothing runs.

Source: ray-operator/controllers/ray/utils/validation.go and pod.go of KubeRay 1.7.
"""

import re
from collections.abc import Iterator

from eks_ray_train import versions
from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule

_DNS_1035 = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
_MAX_NAME = {"RayJob": 47, "RayCluster": 53}
_OLDEST_WITH_TOKENS = (2, 52, 0)


@rule("ray-name", "RayCluster and RayJob have names that the operator takes", phase=Phase.OBJECTS)
def operator_names(subject: Subject) -> Iterator[Problem]:
    """The API server takes a longer name, and the operator fails the object afterwards."""
    for kind, limit in _MAX_NAME.items():
        for obj in subject.of_kind(kind):
            name = obj["metadata"]["name"]
            if len(name) > limit or not _DNS_1035.fullmatch(name):
                yield Problem(
                    field=f"{kind}: metadata.name",
                    value=name,
                    expected=f"a DNS-1035 label of at most {limit} characters",
                    remedy="shorten the name in k8s/",
                )


@rule("ray-replicas", "each worker group states its fixed size", phase=Phase.OBJECTS)
def replicas_are_bounded(subject: Subject) -> Iterator[Problem]:
    """Without autoscaling the operator wants both bounds, and the scheduler needs no third number."""
    for cluster in subject.of_kind("RayCluster"):
        for group in cluster["spec"]["workerGroupSpecs"]:
            sizes = [group.get(name) for name in ("minReplicas", "replicas", "maxReplicas")]
            if len(set(sizes)) != 1 or None in sizes:
                yield Problem(
                    field=f"RayCluster: {group['groupName']}: minReplicas, replicas, maxReplicas",
                    value=sizes,
                    expected="one number three times: nothing scales here, and the operator refuses a group without "
                    "bounds",
                    remedy="set them in k8s/ray_cluster.py",
                )


@rule("ray-groups", "worker groups have names of their own, and containers", phase=Phase.OBJECTS)
def groups_are_whole(subject: Subject) -> Iterator[Problem]:
    """The operator finds a group's pods by its name."""
    for cluster in subject.of_kind("RayCluster"):
        groups = cluster["spec"]["workerGroupSpecs"]
        names = [group["groupName"] for group in groups]
        if len(set(names)) < len(names) or not names:
            yield Problem(
                field="RayCluster: workerGroupSpecs.groupName",
                value=names,
                expected="at least one group, and each name once",
                remedy="rename one in k8s/ray_cluster.py",
            )


@rule("ray-token", "the Ray version knows the token that guards the dashboard", phase=Phase.OBJECTS)
def tokens_are_known(subject: Subject) -> Iterator[Problem]:
    """Whoever reaches an unguarded dashboard runs code on the cluster."""
    for cluster in subject.of_kind("RayCluster"):
        spec = cluster["spec"]
        version = spec.get("rayVersion", "")
        mode = spec.get("authOptions", {}).get("mode")
        known = re.fullmatch(r"\d+\.\d+\.\d+", version) and versions.version_tuple(version) >= _OLDEST_WITH_TOKENS
        if mode != "token" or not known:
            yield Problem(
                field="RayCluster: authOptions.mode, rayVersion",
                value=f"{mode}, {version or 'not set'}",
                expected=f"token, and a version of {'.'.join(map(str, _OLDEST_WITH_TOKENS))} or newer as three "
                "numbers: without a token, whoever reaches the dashboard runs code here",
                remedy="restore authOptions in k8s/ray_cluster.py, and set ray.version",
            )


@rule("ray-head-empty", "no training process may land on the Ray head", phase=Phase.OBJECTS)
def head_takes_no_ranks(subject: Subject) -> Iterator[Problem]:
    """A rank without EFA among ranks with it hangs the first collective."""
    for cluster in subject.of_kind("RayCluster"):
        params = cluster["spec"]["headGroupSpec"]["rayStartParams"]
        found = {name: params.get(name) for name in ("num-cpus", "num-gpus")}
        if set(found.values()) != {"0"}:
            yield Problem(
                field="RayCluster: headGroupSpec.rayStartParams",
                value=found,
                expected='"0" of both: the head has no EFA, and one rank there makes all others hang',
                remedy="set them in k8s/ray_cluster.py",
            )
