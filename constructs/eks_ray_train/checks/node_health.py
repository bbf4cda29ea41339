"""Healthy GPU nodes are not repaired.

The node monitoring agent asks a server on the node (DCGM) about its GPUs, and what it reports as broken is replaced.
Sources: the chart of aws/eks-node-monitoring-agent, whose ``dcgmAgent.tolerations`` are empty; aws/containers-roadmap
issues 2555 and 2567.
"""

import json
from collections.abc import Iterator

from eks_ray_train.checks.finding import Problem
from eks_ray_train.checks.rule import Phase, Subject, rule
from k8s.pods import GPU, GPU_TOLERATION

_ADDON = "eks-node-monitoring-agent"


@rule(
    "node-monitoring-toleration",
    "the server that the node monitoring agent asks about GPUs runs on the GPU nodes",
    phase=Phase.TEMPLATES,
)
def monitoring_reaches_the_gpus(subject: Subject) -> Iterator[Problem]:
    """Without it every GPU node has AcceleratedHardwareReady=False, which the node group repairs by replacing it."""
    for stack, _, properties in subject.resources("AWS::EKS::Addon"):
        if properties["AddonName"] != _ADDON:
            continue
        values = json.loads(properties.get("ConfigurationValues", "{}"))
        tolerations = values.get("dcgmAgent", {}).get("tolerations", [])
        if GPU_TOLERATION not in tolerations:
            yield Problem(
                field=f"{stack}: {_ADDON}: dcgmAgent.tolerations",
                value=tolerations,
                expected=f"one for {GPU}: the GPU nodes turn the server away without it, and nodes whose GPUs nobody "
                "can ask about are replaced as broken",
                remedy="restore it in constructs/eks_ray_train/cluster.py",
            )
