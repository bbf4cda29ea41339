"""Checks GPUs, driver and EFA on every GPU node before any worker runs there."""

from importlib import resources

import cdk8s
from constructs import Construct

from k8s.api_object import KubeObject, content_hash
from k8s.pods import FABRIC_CHECK_PRIORITY, ON_GPU_NODES, SECURITY_CONTEXT, Resources, env, one_per_node

# CUDA 13 needs the 580 branch.
MINIMUM_DRIVER = 580
# Below the 13 minutes that the stack waits, and long enough to pull the image on a node that has none.
DEADLINE_SECONDS = 720
# Longer than the stack waits, and no longer than it takes to mend the cause: while a failed Job is there, it does not
# run again.
KEPT_SECONDS = 1200


class FabricCheckChart(cdk8s.Chart):
    """A Job with one pod per GPU node that takes all its GPUs and EFA interfaces.

    ``job_name`` follows from the spec (``spec_hash``) and from ``nodes_id``, the identity of the node group: unchanged
    nodes are not checked again.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        namespace: str,
        image: str,
        nodes: int,
        nodes_id: str,
        gpus: int,
        efa_interfaces: int,
        ami_release: str | None,
    ) -> None:
        super().__init__(scope, id, disable_resource_name_hashes=True)
        script = resources.files("k8s").joinpath("fabric_check.sh").read_text()
        container = {
            "name": "check",
            "image": image,
            "command": ["/bin/bash", "-c", script],
            "env": [
                *env(
                    {
                        "EXPECTED_GPUS": str(gpus),
                        "EXPECTED_EFA_INTERFACES": str(efa_interfaces),
                        "MINIMUM_DRIVER": str(MINIMUM_DRIVER),
                    }
                ),
                {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
            ],
            "resources": Resources(cpu="1", memory="2Gi", gpus=gpus, efa_interfaces=efa_interfaces).to_json(),
            "securityContext": SECURITY_CONTEXT,
            "terminationMessagePolicy": "FallbackToLogsOnError",
        }
        spec = one_per_node(
            "fabric-check",
            {"priorityClassName": FABRIC_CHECK_PRIORITY, "containers": [container]},
            where=ON_GPU_NODES,
            nodes=nodes,
            deadline_seconds=DEADLINE_SECONDS,
        )
        spec["ttlSecondsAfterFinished"] = KEPT_SECONDS
        self.spec_hash = content_hash(spec, ami_release)
        self.job_name = f"fabric-check-{self.spec_hash}-{nodes_id}"
        KubeObject(
            self,
            "Job",
            api_version="batch/v1",
            kind="Job",
            name=self.job_name,
            labels={"app.kubernetes.io/name": "fabric-check"},
            namespace=namespace,
            body={"spec": spec},
        )
