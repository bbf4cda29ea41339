"""EKS's own API, as far as the AWS command line and people look at clusters, and resize node groups."""

import json
import re
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.calls.node_group_updates import update_node_group
from rehearsal.cloud.errors import RefusedError

_UPDATE = re.compile(r"/clusters/([^/]+)/node-groups/([^/]+)/update-config")


def eks(method: str, path: str, body: bytes, account: Account) -> dict[str, Any]:
    """Return the answer to a call; raises RefusedError."""
    if method == "POST" and (found := _UPDATE.fullmatch(path)):
        return update_node_group(found[1], found[2], json.loads(body), account)
    parts = [part for part in path.split("/") if part]
    if method != "GET" or not parts or parts[0] != "clusters":
        raise RefusedError(f"The rehearsal does not emulate {method} {path} of EKS", "InvalidRequestException")
    if len(parts) == 1:
        return {"clusters": sorted(account.eks.clusters)}
    cluster = account.eks.cluster(parts[1])
    match parts[2:]:
        case []:
            return {"cluster": cluster.description}
        case ["node-groups"]:
            return {"nodegroups": sorted(cluster.node_groups)}
        case ["node-groups", name]:
            # EKS renews it every few minutes, whether anybody changes the group or not.
            renewed = {"modifiedAt": account.capacity.now().timestamp()}
            return {"nodegroup": account.eks.node_group(parts[1], name).description | renewed}
        case ["addons"]:
            return {"addons": sorted(cluster.addons)}
        case ["access-entries"]:
            return {"accessEntries": sorted(cluster.access_entries)}
    raise RefusedError(f"The rehearsal does not emulate {method} {path} of EKS", "InvalidRequestException")
