"""Which kinds there are: those of Kubernetes that charts and this repository use, and those of applied CRDs."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rehearsal.kubernetes.api.errors import no_such_resource
from rehearsal.kubernetes.api.objects import Object


@dataclass(frozen=True, kw_only=True)
class Resource:
    """A kind in a version of its group. `crd` is the name of the CustomResourceDefinition that brought it."""

    group: str
    version: str
    plural: str
    kind: str
    namespaced: bool = True
    short_names: tuple[str, ...] = ()
    status: bool = False
    categories: tuple[str, ...] = ()
    crd: str = ""

    @property
    def api_version(self) -> str:
        """As objects write it: `batch/v1`."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def path(self) -> str:
        """The group and version as request paths write them: `apis/batch/v1`."""
        return f"apis/{self.api_version}" if self.group else f"api/{self.version}"


# plural, kind and short names; `!` marks what has no namespace, `/` what has a status.
_BUILT_IN = {
    ("", "v1"): "namespaces/! Namespace ns, nodes/! Node no, pods/ Pod po, services/ Service svc, "
    "configmaps ConfigMap cm, secrets Secret, serviceaccounts ServiceAccount sa, events Event ev, "
    "endpoints Endpoints ep, persistentvolumeclaims/ PersistentVolumeClaim pvc, "
    "persistentvolumes/! PersistentVolume pv, replicationcontrollers/ ReplicationController rc, "
    "limitranges LimitRange limits, resourcequotas/ ResourceQuota quota, podtemplates PodTemplate",
    ("apps", "v1"): "deployments/ Deployment deploy, replicasets/ ReplicaSet rs, daemonsets/ DaemonSet ds, "
    "statefulsets/ StatefulSet sts, controllerrevisions ControllerRevision",
    ("batch", "v1"): "jobs/ Job, cronjobs/ CronJob cj",
    ("rbac.authorization.k8s.io", "v1"): "clusterroles! ClusterRole, clusterrolebindings! ClusterRoleBinding, "
    "roles Role, rolebindings RoleBinding",
    ("apiextensions.k8s.io", "v1"): "customresourcedefinitions/! CustomResourceDefinition crd crds",
    ("networking.k8s.io", "v1"): "networkpolicies NetworkPolicy netpol, ingresses/ Ingress ing, "
    "ingressclasses! IngressClass",
    ("coordination.k8s.io", "v1"): "leases Lease",
    ("scheduling.k8s.io", "v1"): "priorityclasses! PriorityClass pc",
    ("policy", "v1"): "poddisruptionbudgets/ PodDisruptionBudget pdb",
    ("autoscaling", "v2"): "horizontalpodautoscalers/ HorizontalPodAutoscaler hpa",
    ("storage.k8s.io", "v1"): "storageclasses! StorageClass sc, csidrivers! CSIDriver",
    ("node.k8s.io", "v1"): "runtimeclasses! RuntimeClass",
    ("admissionregistration.k8s.io", "v1"): "validatingwebhookconfigurations! ValidatingWebhookConfiguration, "
    "mutatingwebhookconfigurations! MutatingWebhookConfiguration",
}
# What `kubectl get all` shows.
_ALL_GROUPS = ("apps", "batch", "autoscaling")
_ALL_KINDS = ("Pod", "Service", "ReplicationController")


def _built_in() -> Iterator[Resource]:
    for (group, version), listed in _BUILT_IN.items():
        for entry in listed.split(", "):
            marked, kind, *short_names = entry.split()
            yield Resource(
                group=group,
                version=version,
                plural=marked.rstrip("!/"),
                kind=kind,
                namespaced="!" not in marked,
                short_names=tuple(short_names),
                status="/" in marked,
                categories=("all",) if group in _ALL_GROUPS or kind in _ALL_KINDS else (),
            )


class Resources:
    """The kinds that are served now."""

    def __init__(self) -> None:
        self._all = list(_built_in())

    def __iter__(self) -> Iterator[Resource]:
        return iter(list(self._all))

    def find(self, group: str, version: str, plural: str) -> Resource:
        """Return what a request path names; 404 when there is no such thing."""
        for resource in self._all:
            if (resource.group, resource.version, resource.plural) == (group, version, plural):
                return resource
        raise no_such_resource()

    def of_kind(self, kind: str) -> Resource | None:
        """Return the resource of a kind, None while its CRD is missing."""
        return next((resource for resource in self._all if resource.kind == kind), None)

    def stored(self, group: str, plural: str) -> Resource:
        """Return the resource of stored objects, in its first version."""
        return next(entry for entry in self._all if (entry.group, entry.plural) == (group, plural))

    def define(self, crd: Object) -> None:
        """Serve what a CustomResourceDefinition describes, the stored version first."""
        self.forget(crd["metadata"]["name"])
        spec: dict[str, Any] = crd["spec"]
        names = spec["names"]
        for version in sorted(spec["versions"], key=lambda entry: not entry["storage"]):
            if version["served"]:
                self._all.append(
                    Resource(
                        group=spec["group"],
                        version=version["name"],
                        plural=names["plural"],
                        kind=names["kind"],
                        namespaced=spec["scope"] == "Namespaced",
                        short_names=tuple(names.get("shortNames") or ()),
                        categories=tuple(names.get("categories") or ()),
                        status="status" in (version.get("subresources") or {}),
                        crd=crd["metadata"]["name"],
                    )
                )

    def forget(self, crd: str) -> None:
        """Serve the kinds of a CustomResourceDefinition no longer."""
        self._all = [resource for resource in self._all if not crd or resource.crd != crd]
