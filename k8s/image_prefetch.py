"""Pulls the training image onto nodes before anything there needs it."""

from collections.abc import Mapping
from typing import Any

import cdk8s
import cdk8s_plus_30 as kplus
from constructs import Construct

from k8s.api_object import KubeObject, content_hash
from k8s.pods import NO_GPUS, Resources, env, one_per_node


class ImagePrefetchChart(cdk8s.Chart):
    """A Job with one pod per node that asks for no GPU and ends at once: the pull is the point.

    ``name`` names its namespace too, for two charts that declare one namespace would delete it under each other.
    ``where`` places the pods, of which there are ``nodes``.
    """

    def __init__(
        self, scope: Construct, id: str, *, name: str, image: str, where: Mapping[str, Any], nodes: int
    ) -> None:
        super().__init__(scope, id, disable_resource_name_hashes=True)
        kplus.Namespace(
            self,
            "Namespace",
            metadata=cdk8s.ApiObjectMetadata(name=name, labels={"pod-security.kubernetes.io/enforce": "restricted"}),
        )
        pod = {
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65534, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [
                {
                    "name": "pull",
                    "image": image,
                    "imagePullPolicy": "Always",
                    "command": ["/bin/true"],
                    "env": env(NO_GPUS),
                    "resources": Resources(cpu="100m", memory="64Mi").to_json(),
                    "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
                }
            ],
        }
        spec = one_per_node(name, pod, where=where, nodes=nodes, deadline_seconds=1800)
        spec["ttlSecondsAfterFinished"] = 3600
        # A Job's template cannot be changed, so another image is another Job.
        KubeObject(
            self,
            "Job",
            api_version="batch/v1",
            kind="Job",
            name=f"{name}-{content_hash(spec)}",
            namespace=name,
            body={"spec": spec},
        )
