"""Mutations of dev's objects that Kubernetes refuses, each by its own message, through kubectl."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rehearsal.kubernetes import ApiServer
from tests.rehearsal_kubernetes.clients import Client, Object, crds_folder, deployed, deployed_objects

Change = Callable[[Object], Any]


@pytest.fixture(scope="module")
def dev(tools: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server that has all of dev; what it refuses leaves it so."""
    with ApiServer(crds=crds_folder()) as server:
        client = Client(tools, server.url, tmp_path_factory.mktemp("dev"))
        client.apply(*deployed_objects())
        yield client


def pod_spec(job: Object) -> Any:
    return job["spec"]["template"]["spec"]


def container(job: Object) -> Any:
    return pod_spec(job)["containers"][0]


def worker(cluster: Object) -> Any:
    return cluster["spec"]["workerGroupSpecs"][0]


def set_in(place: Callable[[Object], Any], **fields: Any) -> Change:
    return lambda obj: place(obj).update(fields)


def whole(obj: Object) -> Any:
    return obj


def spec(obj: Object) -> Any:
    return obj["spec"]


def node_affinity(*expressions: Object) -> Object:
    terms = [{"matchExpressions": [expression]} for expression in expressions]
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


def metadata(obj: Object) -> Any:
    return obj["metadata"]


# A new object of a kind of dev, changed: what must be said of it.
NEW: dict[str, tuple[str, Change, str]] = {
    "misspelt field": (
        "Job",
        set_in(spec, backofLimit=0),
        'Job in version "v1" cannot be handled as a Job: strict decoding error: unknown field "spec.backofLimit"',
    ),
    "misspelt field in a pod": (
        "Job",
        set_in(container, comand=[]),
        'unknown field "spec.template.spec.containers[0].comand"',
    ),
    "wrong type": (
        "Job",
        set_in(spec, completions="two"),
        "json: cannot unmarshal string into Go struct field Job.spec.completions of type integer",
    ),
    "missing field": ("Job", lambda job: spec(job).pop("template"), "spec.template: Required value"),
    "missing namespace": ("Job", set_in(metadata, namespace="elsewhere"), 'namespaces "elsewhere" not found'),
    "unknown version": ("Job", set_in(whole, apiVersion="batch/v2"), 'no matches for kind "Job" in version "batch/v2"'),
    "unknown kind": ("Job", set_in(whole, kind="Jib"), 'no matches for kind "Jib" in version "batch/v1"'),
    "name": ("Job", set_in(metadata, name="Fabric_Check"), "a lowercase RFC 1123 subdomain must consist of"),
    "label": ("Job", set_in(metadata, labels={"a": "no spaces"}), "a valid label must be an empty string or"),
    "restart policy": (
        "Job",
        lambda job: pod_spec(job).pop("restartPolicy"),
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"',
    ),
    "more requested than allowed": (
        "Job",
        lambda job: container(job)["resources"]["requests"].update({"cpu": "3"}),
        "must be less than or equal to cpu limit of 1",
    ),
    "fewer GPUs requested than allowed": (
        "Job",
        lambda job: container(job)["resources"]["requests"].update({"nvidia.com/gpu": "1"}),
        "must be equal to nvidia.com/gpu limit of 4",
    ),
    "quantity": (
        "Job",
        lambda job: container(job)["resources"]["limits"].update({"memory": "2Gib"}),
        'spec.template.spec.containers[0].resources.limits[memory]: Invalid value: "2Gib"',
    ),
    "volume that is not there": (
        "Job",
        set_in(container, volumeMounts=[{"name": "code", "mountPath": "/code"}]),
        'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "code"',
    ),
    "node affinity without a term": (
        "Job",
        lambda job: pod_spec(job).update(affinity=node_affinity()),
        "nodeSelectorTerms: Required value: must have at least one node selector term",
    ),
    "node affinity to none of no values": (
        "Job",
        lambda job: pod_spec(job).update(affinity=node_affinity({"key": "a", "operator": "In", "values": []})),
        "nodeSelectorTerms[0].matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or",
    ),
    "node affinity to several bounds": (
        "Job",
        lambda job: pod_spec(job).update(affinity=node_affinity({"key": "a", "operator": "Gt", "values": ["1", "2"]})),
        "must be specified single value when `operator` is 'Lt' or 'Gt'",
    ),
    "node affinity to the values of a label that may have any": (
        "Job",
        lambda job: pod_spec(job).update(affinity=node_affinity({"key": "a", "operator": "Exists", "values": ["1"]})),
        "Forbidden: may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
    ),
    "node affinity with an unknown operator": (
        "Job",
        lambda job: pod_spec(job).update(affinity=node_affinity({"key": "a", "operator": "Is", "values": ["1"]})),
        'matchExpressions[0].operator: Invalid value: "Is": not a valid selector operator',
    ),
    "annotations": (
        "ConfigMap",
        set_in(metadata, annotations={"example.com/large": "x" * 262_144}),
        "metadata.annotations: Too long: may not be more than 262144 bytes",
    ),
    "config map": (
        "ConfigMap",
        set_in(whole, data={"a": "x" * 1_048_577}),
        "Too long: may not be more than 1048576 bytes",
    ),
    "unknown field of a RayCluster": (
        "RayCluster",
        set_in(worker, replica=2),
        'RayCluster in version "v1" cannot be handled as a RayCluster: strict decoding error: '
        'unknown field "spec.workerGroupSpecs[0].replica"',
    ),
    "wrong type in a RayCluster": (
        "RayCluster",
        set_in(worker, replicas="2"),
        'spec.workerGroupSpecs[0].replicas in body must be of type integer: "string"',
    ),
    "missing field of a RayCluster": (
        "RayCluster",
        lambda cluster: worker(cluster).pop("groupName"),
        "spec.workerGroupSpecs[0].groupName: Required value",
    ),
    "unsupported value in a RayCluster": (
        "RayCluster",
        lambda cluster: spec(cluster).update({"authOptions": {"mode": "tokens"}}),
        'spec.authOptions.mode: Unsupported value: "tokens": supported values: "disabled", "token"',
    ),
}
# A stored object of dev, changed.
STORED: dict[str, tuple[str, Change, str]] = {
    "immutable template": ("Job", set_in(container, image="another"), "field is immutable"),
    "immutable config map": (
        "ConfigMap",
        set_in(whole, data={"train.py": "another"}),
        "Forbidden: field is immutable when `immutable` is set",
    ),
    "immutable priority": (
        "PriorityClass",
        set_in(whole, value=3000),
        "value: Forbidden: may not be changed in an update.",
    ),
    "misspelt field by apply": ("RayCluster", set_in(spec, rayVersoin="2"), 'unknown field "spec.rayVersoin"'),
}


@pytest.mark.parametrize("case", NEW)
def test_new_objects_are_refused(dev: Client, case: str) -> None:
    kind, change, message = NEW[case]
    obj = deployed(kind)
    obj["metadata"]["name"] = "mutation"
    change(obj)
    # Not `apply`, whose own annotation would be too long first.
    said = dev.refusal("create", "-f", dev.write(obj))
    assert message in said, said


@pytest.mark.parametrize("case", STORED)
def test_changes_are_refused(dev: Client, case: str) -> None:
    kind, change, message = STORED[case]
    obj = deployed(kind)
    change(obj)
    said = dev.refusal("apply", "-f", dev.write(obj))
    assert message in said, said


@pytest.mark.parametrize("kind", sorted({kind for kind, _, _ in NEW.values()}))
def test_the_same_objects_unchanged_are_taken(dev: Client, kind: str) -> None:
    obj = deployed(kind)
    obj["metadata"]["name"] = f"unchanged-{kind.lower()}"
    assert "created (server dry run)" in dev.kubectl("create", "--dry-run=server", "-f", dev.write(obj))


def test_completions_are_immutable_unless_indexed(dev: Client) -> None:
    job = deployed("Job")
    job["metadata"]["name"] = "not-indexed"
    job["spec"] |= {"completionMode": "NonIndexed", "completions": 1}
    dev.apply(job)
    job["spec"]["completions"] = 2
    assert "spec.completions: Invalid value: 2: field is immutable" in dev.refusal("apply", "-f", dev.write(job))


def test_pods_need_their_service_account_and_priority_class(dev: Client) -> None:
    containers = [{"name": "c", "image": "i"}]
    pod: Object = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "pod"}}
    for fields, message in (
        ({"serviceAccountName": "ray"}, 'error looking up service account default/ray: serviceaccount "ray" not found'),
        ({"priorityClassName": "top"}, "no PriorityClass with name top was found"),
    ):
        said = dev.refusal("create", "-f", dev.write({**pod, "spec": {"containers": containers, **fields}}))
        assert message in said, said


def test_names_are_taken_once(dev: Client) -> None:
    obj = deployed("Job")
    assert f'jobs.batch "{obj["metadata"]["name"]}" already exists' in dev.refusal("create", "-f", dev.write(obj))


def test_kubectl_knows_no_other_kinds(dev: Client) -> None:
    assert 'the server doesn\'t have a resource type "frobs"' in dev.refusal("get", "frobs")


def test_metadata_of_custom_resources_is_checked(dev: Client) -> None:
    """kubectl refuses this by itself; other clients do not."""
    cluster = deployed("RayCluster")
    cluster["metadata"] |= {"name": "mutation", "labels": {"a": 1}}
    code, answer = dev.request("POST", "/apis/ray.io/v1/namespaces/ray-train/rayclusters", cluster)
    assert (code, answer["details"]["causes"][0]["field"]) == (422, "metadata.labels.a")
