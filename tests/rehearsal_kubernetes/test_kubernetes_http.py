"""The protocol below kubectl, and that nothing stays behind."""

import json
import socket
import subprocess
import sys
import threading
import urllib.request
from typing import Any

import pytest

from rehearsal.kubernetes import ApiServer
from tests.rehearsal_kubernetes.clients import Client, Object
from tests.synthesis import REPOSITORY

CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


def config_map(name: str, **fields: Any) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, **fields}


def test_a_write_on_an_old_version_conflicts(client: Client) -> None:
    made = client.create(CONFIG_MAPS, config_map("x"))
    assert client.request("PUT", f"{CONFIG_MAPS}/x", {**made, "data": {"a": "1"}})[0] == 200
    for method, content_type in (("PUT", "application/json"), ("PATCH", MERGE)):
        code, answer = client.request(method, f"{CONFIG_MAPS}/x", {**made, "data": {"a": "2"}}, content_type)
        assert (code, answer["reason"]) == (409, "Conflict")
        assert 'Operation cannot be fulfilled on configmaps "x": the object has been modified' in answer["message"]
    wrong = {"preconditions": {"uid": "another"}}
    assert client.request("DELETE", f"{CONFIG_MAPS}/x", wrong)[0] == 409


def test_status_is_written_by_its_own_path_only(client: Client) -> None:
    pods = "/api/v1/namespaces/default/pods"
    client.create(pods, {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    client.request("PATCH", f"{pods}/p", {"status": {"message": "no"}, "metadata": {"labels": {"a": "b"}}}, MERGE)
    stored = client.request("GET", f"{pods}/p")[1]
    assert ("message" in stored["status"], stored["metadata"]["labels"]) == (False, {"a": "b"})
    client.request("PATCH", f"{pods}/p/status", {"status": {"message": "yes"}, "metadata": {"labels": None}}, MERGE)
    stored = client.request("GET", f"{pods}/p")[1]
    assert (stored["status"]["message"], stored["metadata"]["labels"]) == ("yes", {"a": "b"})


def test_lists_select_by_labels_and_fields(client: Client) -> None:
    for name, labels in {"a": {"tier": "x"}, "b": {"tier": "y", "old": "1"}, "c": {}}.items():
        obj = config_map(name)
        obj["metadata"]["labels"] = labels
        client.create(CONFIG_MAPS, obj)

    def names(query: str) -> str:
        items = client.request("GET", f"{CONFIG_MAPS}?{query}")[1]["items"]
        return "".join(item["metadata"]["name"] for item in items)

    selectors = {"tier=x": "a", "tier%21=x": "bc", "tier": "ab", "%21tier": "c", "tier+in+(x,y),%21old": "a"}
    assert {text: names(f"labelSelector={text}") for text in selectors} == selectors
    assert names("fieldSelector=metadata.name=b") == "b"
    assert names("fieldSelector=metadata.name!=b,metadata.namespace=default") == "ac"


def test_a_watch_delivers_what_was_missed_and_what_comes(client: Client) -> None:
    version = client.create(CONFIG_MAPS, config_map("x", data={"a": "1"}))["metadata"]["resourceVersion"]
    client.request("PATCH", f"{CONFIG_MAPS}/x", {"data": {"a": "2"}}, MERGE)
    url = f"{client.url}{CONFIG_MAPS}?watch=true&resourceVersion={version}&timeoutSeconds=5"
    with urllib.request.urlopen(url, timeout=5) as stream:
        events = [json.loads(stream.readline())]
        client.request("DELETE", f"{CONFIG_MAPS}/x")
        events.append(json.loads(stream.readline()))
    assert [(event["type"], event["object"]["data"]) for event in events] == [
        ("MODIFIED", {"a": "2"}),
        ("DELETED", {"a": "2"}),
    ]
    assert int(events[1]["object"]["metadata"]["resourceVersion"]) > int(
        events[0]["object"]["metadata"]["resourceVersion"]
    )


def test_unknown_paths_versions_and_bodies_are_refused(client: Client) -> None:
    for path in ("/api/v1/frobs", "/apis/apps/v9/deployments", "/apis/nowhere/v1", "/rehearsal/other"):
        assert client.request("GET", path)[0] == 404
    assert client.request("POST", CONFIG_MAPS, {"kind": "Secret", "metadata": {"name": "x"}})[0] == 400
    assert client.request("POST", CONFIG_MAPS, {"apiVersion": "v2", "metadata": {"name": "x"}})[0] == 400
    assert client.request("POST", CONFIG_MAPS, [])[0] == 400
    assert client.request("POST", f"{CONFIG_MAPS}/x", config_map("x"))[0] == 405
    client.create(CONFIG_MAPS, config_map("x"))
    assert client.request("PATCH", f"{CONFIG_MAPS}/x", {}, "text/plain")[0] == 415


@pytest.mark.parametrize("body", ['{"data": {"a": "1"}}', "data:\n  a: '1'\n"])
def test_what_is_applied_may_be_json_or_yaml(client: Client, body: str) -> None:
    target = f"{client.url}{CONFIG_MAPS}/applied?fieldManager=test"
    headers = {"Content-Type": "application/apply-patch+yaml"}
    request = urllib.request.Request(target, body.encode(), headers, method="PATCH")
    with urllib.request.urlopen(request, timeout=5) as answer:
        assert answer.status == 201
    assert client.request("GET", f"{CONFIG_MAPS}/applied")[1]["data"] == {"a": "1"}


def test_a_stopped_server_leaves_no_thread_no_port_and_no_waiting_client() -> None:
    before = threading.active_count()
    server = ApiServer().start()
    host, port = server.url.removeprefix("http://").split(":")
    assert host == "127.0.0.1"
    idle = socket.create_connection((host, int(port)))
    watch = urllib.request.urlopen(f"{server.url}{CONFIG_MAPS}?watch=true", timeout=5)
    server.stop()
    assert watch.read() == b""
    assert threading.active_count() == before
    with pytest.raises(ConnectionError):
        socket.create_connection((host, int(port)))
    watch.close()
    idle.close()


def test_a_server_that_never_started_can_be_stopped() -> None:
    ApiServer().stop()


def test_the_command_line_serves_until_it_is_ended() -> None:
    command = [sys.executable, "-m", "rehearsal.kubernetes", "--port", "0"]
    process = subprocess.Popen(command, cwd=REPOSITORY, text=True, stdout=subprocess.PIPE)
    try:
        assert process.stdout is not None
        url = process.stdout.readline().strip()
        with urllib.request.urlopen(f"{url}/version", timeout=5) as response:
            assert json.load(response)["minor"] == "36"
        process.terminate()
        assert process.wait(timeout=5) == 0
    finally:
        process.kill()
        process.communicate()


def test_a_port_in_use_is_said_so(server: ApiServer) -> None:
    port = server.url.rpartition(":")[2]
    command = [sys.executable, "-m", "rehearsal.kubernetes", "--port", port]
    done = subprocess.run(command, cwd=REPOSITORY, text=True, capture_output=True, timeout=10)
    assert (done.returncode, f"--port {port}: Address already in use" in done.stderr) == (2, True)


def test_many_clients_at_once(client: Client) -> None:
    def create(number: int) -> None:
        client.request("POST", CONFIG_MAPS, config_map(f"x-{number}"))

    threads = [threading.Thread(target=create, args=(number,)) for number in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    items = client.request("GET", CONFIG_MAPS)[1]["items"]
    assert len({item["metadata"]["resourceVersion"] for item in items}) == 20
