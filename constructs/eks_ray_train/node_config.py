"""The user data of a node: what nodeadm, which starts the nodes of AL2023, is asked for beside EKS's own part.

Source: awslabs/amazon-eks-ami, nodeadm/doc and nodeadm/crds. EKS merges its own part into a MIME document of a managed
node group's launch template, as long as that names no AMI.
"""

from email.mime.multipart import MIMEMultipart
from email.mime.nonmultipart import MIMENonMultipart
from typing import Any

import yaml

from eks_ray_train.instance_types import InstanceType

# Any fixed text: a random one, the default, would replace the nodes with every deploy.
_BOUNDARY = "NODE-CONFIG"


def node_config(instance: InstanceType, *, parallel_pull: bool) -> dict[str, Any]:
    """The NodeConfig, whose ``spec`` is empty where nothing differs from EKS's defaults.

    With NVMe disks, one RAID 0 of them holds containerd, the kubelet, SOCI and the pods' logs: the image is written to
    there and not to the root volume, and ``emptyDir`` lies there too. ``parallel_pull`` fetches and unpacks a layer in
    parts, at the cost of more CPU and memory while it lasts; nodeadm calls it experimental.
    """
    spec: dict[str, Any] = {}
    if parallel_pull:
        spec["featureGates"] = {"FastImagePull": True}
    if instance.nvme_disks:
        spec["instance"] = {"localStorage": {"strategy": "RAID0"}}
    return {"apiVersion": "node.eks.aws/v1alpha1", "kind": "NodeConfig", "spec": spec}


def user_data(config: dict[str, Any]) -> str:
    """``config`` as a MIME document, not yet in base64."""
    document = MIMEMultipart(boundary=_BOUNDARY)
    part = MIMENonMultipart("application", "node.eks.aws")
    part.set_payload(yaml.safe_dump(config, sort_keys=False))
    document.attach(part)
    return document.as_string()
