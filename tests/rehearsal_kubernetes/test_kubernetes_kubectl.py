"""What CDK's kubectl handler does, with the real kubectl and the objects of dev."""

from rehearsal.kubernetes import ApiServer
from tests.rehearsal_kubernetes.clients import (
    Client,
    crds_folder,
    deployed,
    deployed_objects,
    eventually,
    full_cluster,
    node,
)

RAY_NAMESPACE = "ray-train"


def versions(client: Client) -> dict[str, str]:
    """The resource version of each object of dev."""
    found = {}
    for obj in deployed_objects():
        namespace = obj["metadata"].get("namespace", "default")
        kind = f"{obj['kind']}.{obj['apiVersion'].partition('/')[0]}" if "/" in obj["apiVersion"] else obj["kind"]
        stored = client.get(kind, obj["metadata"]["name"], "-n", namespace)
        found[f"{kind}/{obj['metadata']['name']}"] = stored["metadata"]["resourceVersion"]
    return found


def fabric_check() -> str:
    return str(deployed("Job")["metadata"]["name"])


def test_all_of_dev_is_created_runs_and_is_unchanged_by_a_second_apply(ray_client: Client) -> None:
    ray_client.apply(*full_cluster())
    manifest = ray_client.write(*deployed_objects())
    created = ray_client.kubectl("create", "-f", manifest, "--save-config")
    assert created.count(" created") == len(deployed_objects()) >= 16

    ray_client.kubectl("wait", "--for=condition=complete", "job", fabric_check(), "-n", RAY_NAMESPACE, "--timeout=20s")
    # The words of the KubernetesObjectValue that the Training stack waits with.
    path = "-o=jsonpath='{.status.conditions[?(@.type==\"Complete\")].status}'"
    assert ray_client.kubectl("get", "-n", RAY_NAMESPACE, "job", fabric_check(), path) == "'True'"

    running = "{.items[0].status.jobDeploymentStatus}"
    command = ("get", "rayjob", "-n", RAY_NAMESPACE, "-o", f"jsonpath={running}")
    assert eventually(lambda: ray_client.kubectl(*command) == "Running"), ray_client.kubectl(*command)
    before = versions(ray_client)
    # kubectl may say "configured" (it compares lists of custom resources whole, without their defaults): what counts is
    # that the server finds nothing to change.
    ray_client.kubectl("apply", "-f", manifest)
    assert versions(ray_client) == before


def test_an_idle_cluster_changes_nothing(ray_client: Client) -> None:
    ray_client.apply(*full_cluster())
    ray_client.kubectl("create", "-f", ray_client.write(*deployed_objects()))

    def version() -> str:
        return str(ray_client.request("GET", "/api/v1/pods")[1]["metadata"]["resourceVersion"])

    ray_client.kubectl("wait", "--for=condition=complete", "job", fabric_check(), "-n", RAY_NAMESPACE, "--timeout=20s")

    def still() -> bool:
        before = version()
        return not eventually(lambda: version() != before, seconds=0.5)

    assert eventually(still)


def test_delete_waits_for_finalizers_and_takes_what_is_owned(client: Client) -> None:
    metadata = {"name": "held", "namespace": "default", "finalizers": ["example.com/hold"]}
    client.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})
    uid = client.get("configmap", "held")["metadata"]["uid"]
    owner = {"apiVersion": "v1", "kind": "ConfigMap", "name": "held", "uid": uid}
    owned = {"name": "owned", "namespace": "default", "ownerReferences": [owner]}
    client.apply({"apiVersion": "v1", "kind": "ConfigMap", "metadata": owned})

    deletion = client.start("delete", "configmap", "held")
    try:
        assert eventually(lambda: client.get("configmap", "held")["metadata"].get("deletionTimestamp"))
        assert deletion.poll() is None
        client.kubectl("patch", "configmap", "held", "--type=merge", "-p", '{"metadata": {"finalizers": null}}')
        assert deletion.wait(timeout=5) == 0
    finally:
        deletion.kill()
        deletion.communicate()
    assert 'configmaps "held" not found' in client.refusal("get", "configmap", "held")
    assert eventually(lambda: client.get("configmaps")["items"] == [])


def test_deleting_a_namespace_deletes_its_content(client: Client) -> None:
    client.kubectl("create", "namespace", "short-lived")
    client.kubectl("create", "configmap", "content", "-n", "short-lived")
    client.kubectl("delete", "namespace", "short-lived", "--timeout=20s")
    client.kubectl("create", "namespace", "short-lived")
    assert client.get("configmaps", "-n", "short-lived")["items"] == []


def test_prune_removes_what_the_manifest_no_longer_has(client: Client) -> None:
    labels = {"aws.cdk.eks/prune-c8": ""}
    objects = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": n, "namespace": "default", "labels": labels}}
        for n in ("kept", "dropped")
    ]
    client.apply(*objects)
    manifest = client.write(objects[0])
    client.kubectl("apply", "-f", manifest, "--prune", "-l", "aws.cdk.eks/prune-c8")
    assert [item["metadata"]["name"] for item in client.get("configmaps")["items"]] == ["kept"]


def test_a_field_that_apply_no_longer_has_is_removed_and_lists_are_merged(client: Client) -> None:
    taint = {"key": "a", "effect": "NoSchedule"}
    client.apply({**node("n"), "spec": {"taints": [taint, {"key": "b", "effect": "NoSchedule"}]}})
    client.kubectl("label", "node", "n", "added=by-hand")
    client.apply({**node("n"), "spec": {"taints": [taint]}})
    stored = client.get("node", "n")
    assert stored["spec"]["taints"] == [taint]
    assert stored["metadata"]["labels"]["added"] == "by-hand"
    client.kubectl("patch", "node", "n", "--type=json", "-p", '[{"op": "remove", "path": "/spec/taints"}]')
    assert "taints" not in client.get("node", "n")["spec"]


def test_server_side_apply(client: Client) -> None:
    metadata = {"name": "applied", "namespace": "default"}
    first = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": "1", "b": "2"}}
    client.kubectl("apply", "--server-side", "-f", client.write(first))
    client.kubectl("patch", "configmap", "applied", "-p", '{"data": {"c": "3"}}')
    client.kubectl("apply", "--server-side", "-f", client.write({**first, "data": {"a": "4"}}))
    assert client.get("configmap", "applied")["data"] == {"a": "4", "c": "3"}
    client.kubectl("apply", "--server-side", "--dry-run=server", "-f", client.write({**first, "data": {"a": "5"}}))
    assert client.get("configmap", "applied")["data"]["a"] == "4"


def test_a_list_is_taken_apart(client: Client) -> None:
    items = [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in ("a", "b")]
    applied = client.apply({"apiVersion": "v1", "kind": "List", "items": items})
    assert applied == "configmap/a created\nconfigmap/b created\n"


def test_crds_can_be_applied_and_deleted(client: Client) -> None:
    folder = crds_folder()
    unknown = 'no matches for kind "RayCluster" in version "ray.io/v1"'
    ray_objects = client.write(*[o for o in deployed_objects() if o["kind"] in ("RayCluster", "Namespace")])
    assert unknown in client.refusal("create", "-f", ray_objects)
    client.kubectl("create", "-f", str(folder))
    client.kubectl("wait", "--for=condition=established", "crd", "--all", "--timeout=20s")
    assert "raycluster.ray.io/" in client.kubectl("apply", "-f", ray_objects)
    client.kubectl("delete", "-f", str(folder))
    # kubectl remembers the kind for a while; the server does not.
    assert "the server could not find the requested resource" in client.refusal("get", "rayclusters")
    assert "the server doesn't have a resource type" in client.refusal("get", "rayengines")


def test_kubectl_watches_see_later_changes(client: Client, server: ApiServer) -> None:
    watch = client.start("get", "configmaps", "--watch-only", "-l", "seen=yes", "-o", "name")
    try:
        assert eventually(lambda: any(entry["verb"] == "watch" for entry in server.log.entries()) or watch.poll())
        client.kubectl("create", "configmap", "one")
        client.kubectl("label", "configmap", "one", "seen=yes")
        assert watch.stdout is not None
        assert watch.stdout.readline() == "configmap/one\n"
    finally:
        watch.kill()
        watch.communicate()


def test_the_log_has_every_request_for_objects(client: Client) -> None:
    client.kubectl("create", "configmap", "logged")
    client.refusal("create", "configmap", "logged")
    created = [entry for entry in client.request("GET", "/rehearsal/log")[1] if entry["verb"] == "create"]
    assert [(entry["kind"], entry["object"], entry["code"]) for entry in created] == [
        ("ConfigMap", "default/logged", 201),
        ("ConfigMap", "default/", 409),
    ]
    assert created[1]["message"] == 'configmaps "logged" already exists'


def test_kubectl_is_the_layers(client: Client) -> None:
    assert '"gitVersion": "v1.36.' in client.kubectl("version", "--client", "-o", "json")
