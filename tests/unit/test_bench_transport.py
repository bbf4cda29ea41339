"""EFA against TCP: that each transport goes in turn, that all jobs go again, and when there are figures."""

import io
import json
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from rich.console import Console

from bench import transport, transport_jobs
from bench.transport_jobs import EFA, TCP, Transport
from bench.transport_report import SHOWS, SHOWS_NOT, Run, ratios, render
from rehearsal.kubernetes import ApiServer
from tests.rehearsal_kubernetes.clients import Client, crds_folder, unpack_tools
from tests.unit.transport_cluster import JOBS, Deployed, Runner, as_required, write
from training.results import RunFolder

STEPS = 30


def run(transport: Transport, seconds: float, measured: float | None = 2e8) -> Run:
    return Run(
        transport=transport,
        name="n",
        uri="u",
        ranks=8,
        step_seconds=seconds,
        step_seconds_p95=2 * seconds,
        tokens_per_second=100 / seconds,
        measured_bytes=measured,
        predicted_bytes=1e8,
        why=None,
    )


def test_the_ratio_is_that_of_the_medians_over_the_rounds() -> None:
    runs = [run(EFA, 1.0), run(TCP, 2.0), run(TCP, 4.0), run(EFA, 1.2), run(EFA, 9.0), run(TCP, 2.4)]
    assert ratios(runs) == pytest.approx(
        {
            "step_seconds": 0.5,
            "step_seconds_p95": 0.5,
            "tokens_per_second": (100 / 1.2) / (100 / 2.4),
            "measured_bytes": 1.0,
            "predicted_bytes": 1.0,
        }
    )
    output = io.StringIO()
    Console(file=output, width=140).print(render(runs, "title"))
    rows = [[cell.strip() for cell in line.strip("│\n").split("│")] for line in output.getvalue().splitlines()]
    assert ["TCP", "4.0000", "8.0000", "25", "200.0", "100.0", "SOCKET on all 8 ranks"] in rows
    assert ["EFA", "1.2000", "2.4000", "83", "200.0", "100.0", "median of runs"] in rows
    assert ["EFA / TCP", "0.500", "0.500", "2.000", "1.000", "1.000", "of the medians"] in rows


def test_bytes_that_one_run_could_not_count_have_no_ratio() -> None:
    assert ratios([run(EFA, 1.0), run(TCP, 2.0, measured=None)])["measured_bytes"] is None


@pytest.fixture(scope="module")
def one_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployed]:
    folder = tmp_path_factory.mktemp("cluster")
    with ApiServer(crds=crds_folder()) as server:
        deployed = Deployed(Client(unpack_tools(folder), server.url, folder))
        deployed.deploy(folder / "results")
        stop = threading.Event()
        player = threading.Thread(target=deployed.play, args=(stop,))
        player.start()
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("KUBECONFIG", str(folder / "kubeconfig"))
            patch.setattr(transport_jobs, "SECONDS_BETWEEN_LOOKS", 0.05)
            patch.setattr(transport_jobs, "LIMIT_SECONDS", 10)
            yield deployed
        stop.set()
        player.join()


@pytest.fixture
def cluster(one_cluster: Deployed) -> Deployed:
    one_cluster.runner = as_required
    one_cluster.seen.clear()
    return one_cluster


def bench(cluster: Deployed, *more: str) -> str:
    """Run the program on the cluster; return what it ends with, empty when all went well."""
    kubectl = Path(os.environ["KUBECONFIG"]).parent / "kubectl"
    try:
        transport.main(["--kubectl", str(kubectl), "--steps", str(STEPS), *more])
    except SystemExit as ended:
        return str(ended.code)
    return ""


def test_rounds_run_in_turns_and_give_figures_and_a_ratio(
    cluster: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(cluster, "--rounds", "2", "--json") == ""

    found = json.loads(capsys.readouterr().out)
    assert [run["transport"] for run in found["runs"]] == ["efa", "socket", "socket", "efa"]
    assert [run["name"] for run in found["runs"]] == cluster.ran()
    assert len(set(cluster.ran())) == 4
    assert found["efa_over_tcp"]["step_seconds"] == 0.625
    assert found["runs"][1]["measured_bytes"] == 2.2e6
    variables = [yaml.safe_load(job["spec"]["runtimeEnvYAML"])["env_vars"].get("NCCL_NET") for job in cluster.seen]
    assert variables == [None, "Socket", "Socket", None]
    assert cluster.left() == [cluster.name]


def test_the_table_comes_with_what_it_says_and_where_results_stay(
    cluster: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    assert bench(cluster, "--rounds", "1", "--job", cluster.name) == ""

    printed, told = capsys.readouterr()
    assert "EFA / TCP" in printed
    for said in (SHOWS, SHOWS_NOT, *(f"/results/{name}\n" for name in cluster.ran())):
        assert said in printed
    for name in cluster.ran():
        assert f"{name}: created" in told
        assert f"{name}: Complete, SUCCEEDED" in told
        assert f"{name}: deleted" in told


def other_way(folder: RunFolder, given: Mapping[str, str]) -> str:
    write(folder, ("EFA", "SOCKET"), {})
    return "SUCCEEDED"


def unproven(folder: RunFolder, given: Mapping[str, str]) -> str:
    write(folder, ("EFA", "UNKNOWN"), {"status": "failed", "error": "TransportError: as in the verdict"})
    return "FAILED"


def lost(folder: RunFolder, given: Mapping[str, str]) -> str:
    write(folder, ("EFA", "EFA"), {"status": "failed", "error": "rank 1: no memory"})
    return "FAILED"


def too_few(folder: RunFolder, given: Mapping[str, str]) -> str:
    write(folder, ("EFA",), {})
    return "SUCCEEDED"


def evicted(folder: RunFolder, given: Mapping[str, str]) -> str:
    as_required(folder, given)
    return "FAILED"


def never_began(folder: RunFolder, given: Mapping[str, str]) -> str:
    return "FAILED"


@pytest.mark.parametrize(
    ("runner", "said"),
    [
        (other_way, "SOCKET on 1 of 2 ranks: rank 1 saw SOCKET\n    expected: EFA on every rank"),
        (unproven, "UNKNOWN on 1 of 2 ranks: rank 1 saw UNKNOWN\n    expected: EFA on every rank"),
        (lost, "Failed, FAILED: rank 1: no memory"),
        (too_few, "= 1\n    expected: one for each of the 2 ranks"),
        (evicted, "Failed, FAILED: the submitter failed"),
        (never_began, "Failed, FAILED: the submitter failed"),
    ],
)
def test_a_run_that_is_no_proof_ends_all_and_shows_no_figure(
    runner: Runner, said: str, cluster: Deployed, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster.runner = runner
    assert said in bench(cluster)
    assert capsys.readouterr().out == ""
    assert (len(cluster.ran()), cluster.left()) == (1, [cluster.name])


def test_ctrl_c_deletes_the_job_that_runs(cluster: Deployed) -> None:
    def interrupt(folder: RunFolder, given: Mapping[str, str]) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    cluster.runner = interrupt
    assert bench(cluster) == "130"
    assert (len(cluster.ran()), cluster.left()) == (1, [cluster.name])


def test_a_job_that_somebody_deletes_is_missed(cluster: Deployed) -> None:
    def delete(folder: RunFolder, given: Mapping[str, str]) -> None:
        cluster.client.request("DELETE", f"{JOBS}/{given['run-name']}")

    cluster.runner = delete
    assert "deleted by somebody else" in bench(cluster)


def test_nothing_is_created_while_a_job_has_the_gpus(cluster: Deployed) -> None:
    cluster.tell(cluster.name, jobStatus="RUNNING", jobDeploymentStatus="Running")
    try:
        ended = bench(cluster)
    finally:
        cluster.tell(cluster.name, jobStatus="SUCCEEDED", jobDeploymentStatus="Complete")
    assert f"RayJob {cluster.name} status.jobDeploymentStatus = Running\n    expected: Complete or Failed" in ended
    assert (cluster.ran(), cluster.left()) == ([], [cluster.name])


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--job", "no-such-job"), "RayJob no-such-job in namespace ray-train = not there\n    expected: the training"),
        (("--namespace", "empty"), "RayJob in namespace empty = not there"),
        (("--kubectl", "/no/kubectl"), "--kubectl = /no/kubectl\n    expected: a program that can be started"),
        (("--kubectl", "false"), "false -n ray-train get rayjobs -o json = exit code 1\n    expected: an answer"),
    ],
)
def test_what_is_not_there_is_named(more: tuple[str, ...], said: str, cluster: Deployed) -> None:
    assert said in bench(cluster, *more)


def test_results_that_cannot_be_read_are_found_before_a_job_is_paid_for(
    cluster: Deployed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(folder: RunFolder, name: str) -> str:
        raise PermissionError("AccessDenied")

    monkeypatch.setattr(RunFolder, "read", refuse)
    assert "cannot be read: AccessDenied\n    expected: AWS credentials" in bench(cluster)
    assert cluster.ran() == []


@pytest.mark.parametrize(("flag", "value", "least"), [("steps", "19", "20"), ("rounds", "0", "1")])
def test_too_little_is_refused(flag: str, value: str, least: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        transport.main([f"--{flag}", value])
    assert f"--{flag} = {value}\n    expected: {least} or more" in capsys.readouterr().err
