"""The benchmarks: that they measure what the command lines would run, and report it; no time is judged."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from rich.table import Table

from bench import capacity, synth
from bench.errors import BenchError


@pytest.fixture(scope="module")
def variables() -> dict[str, str]:
    return synth.cli_variables("dev")


def test_an_app_gets_what_the_command_line_gives_it(variables: dict[str, str]) -> None:
    ours = json.loads((synth.ROOT / "cdk.json").read_text())["context"]
    given = json.loads(variables["CDK_CONTEXT_JSON"])

    assert {name: given[name] for name in ours} == ours
    assert given.keys() > ours.keys()
    assert {"CDK_OUTDIR", "CDK_CLI_VERSION", "CDK_CLI_ASM_VERSION"} <= variables.keys()


def test_one_run_gives_both_apps_figures_and_their_ratio(capsys: pytest.CaptureFixture[str]) -> None:
    synth.main(["--runs", "1"])

    printed = capsys.readouterr().out
    figures = {
        name: (float(seconds), float(mib))
        for name, seconds, mib in re.findall(
            r"│ (empty|dev|dev / empty) +│ +(\d+\.\d\d) │.*?│ +(\d+(?:\.\d\d)?) │", printed
        )
    }
    assert figures.keys() == {"empty", "dev", "dev / empty"}, printed
    assert all(seconds > 0 and mib > 0 for seconds, mib in figures.values())
    for column in (0, 1):
        quotient = figures["dev"][column] / figures["empty"][column]
        assert figures["dev / empty"][column] == pytest.approx(quotient, abs=0.02)  # of figures rounded for print


def test_memory_counts_a_process_and_its_children() -> None:
    mebibytes = 64
    child = f"block = bytearray(b'x' * {mebibytes} * 2**20); print('ready', flush=True); input()"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}])"
    process = subprocess.Popen([sys.executable, "-c", parent], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdin
    assert process.stdout
    try:
        assert process.stdout.readline() == "ready\n"
        assert synth.tree_bytes(process.pid) > mebibytes * synth.MIB
    finally:
        process.communicate("\n")
    assert synth.tree_bytes(process.pid) == 0


def test_an_app_that_does_not_synthesise_says_why(variables: dict[str, str]) -> None:
    context = {**json.loads(variables["CDK_CONTEXT_JSON"]), "environment": "nowhere"}

    said = r"(?s)app\.py = exit code 1:\s+environment = 'nowhere'\s+expected:.*\n    expected: exit code 0\n    to do: "
    with pytest.raises(BenchError, match=said):
        synth.measure(synth.ROOT / "app.py", {**variables, "CDK_CONTEXT_JSON": json.dumps(context)})


def test_a_command_line_that_is_not_set_up_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(synth, "ROOT", tmp_path)

    with pytest.raises(BenchError, match=r"(?s)node_modules/\.bin/cdk.*expected:.*make setup"):
        synth.cli_variables("dev")


def test_no_runs_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        synth.main(["--runs", "0"])

    assert re.search(r"(?s)--runs = 0.*expected: 1 or more.*to do:", capsys.readouterr().err)


def test_capacity_is_asked_both_ways_with_the_same_calls_and_answers(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[capacity.Figures] = []
    render = capacity.render

    def keep(one: capacity.Figures, many: capacity.Figures, ms: float) -> Table:
        seen.extend([one, many])
        return render(one, many, ms)

    monkeypatch.setattr(capacity, "render", keep)

    capacity.main(["--ms", "0"])

    one, many = seen
    assert one.answers == many.answers
    assert len(many.answers) == 17
    assert one.calls == many.calls >= 2 + 17 * 5
    (times,) = re.findall(r"times faster │ +(\d+\.\d) │", capsys.readouterr().out)
    assert float(times) == pytest.approx(one.seconds / many.seconds, abs=0.06)


def test_a_negative_latency_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        capacity.main(["--ms", "-1"])

    assert re.search(r"(?s)--ms = -1\.0.*expected: 0 or more.*to do:", capsys.readouterr().err)
