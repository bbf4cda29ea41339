"""The scan on a terminal: a table that fills while regions answer."""

import io

import pytest
from rich.console import Console
from typer.testing import CliRunner

from ops.capacity import probe
from ops.capacity.scan import RegionAnswer, not_enabled
from ops.capacity.view import ScanView, cells
from ops.main import app
from tests.ops.conftest import Raytrain
from tests.ops.fake_aws import FakeAws, Refused

REGIONS = ("me-south-1", "us-east-1", "us-east-2")


def _answer(region: str, *, offered: bool = True, free: int = 192, score: int | None = None) -> RegionAnswer:
    facts = [
        probe.ZoneFacts(zone=region + z, offered=offered, vcpus_free=free, subnet_id="later", score=score) for z in "ab"
    ]
    quota = probe.Quota(code="L-DB2E81BA", limit=192, used=192 - free)
    return RegionAnswer(region=region, verdicts=probe.rank(facts, 96), quota=quota)


def test_regions_that_may_take_them_come_first_and_the_rest_waits() -> None:
    written = io.StringIO()
    console = Console(file=written, force_terminal=True, width=140)
    view = ScanView(console, REGIONS, "Room for 2 x g6.12xlarge")

    with view.showing():
        view(not_enabled("me-south-1"))
        view(_answer("us-east-2", score=7))
        halfway = view._table()
        view(_answer("us-east-1", free=0))

    plain = Console(file=io.StringIO(), width=140)
    plain.print(halfway)
    rows = [line for line in plain.file.getvalue().splitlines() if "│" in line]  # type: ignore[attr-defined]
    assert [row.split("│")[1].strip() for row in rows] == ["us-east-2", "me-south-1", "us-east-1"]
    assert "waiting" in rows[2]
    assert "2 of 3 regions" in plain.file.getvalue()  # type: ignore[attr-defined]
    last = written.getvalue()[written.getvalue().rindex("Room for") :]
    assert "waiting" not in last
    assert "quota: 96 vCPUs needed, 0 free" in last


def test_the_probes_log_stays_off_a_terminal_and_its_warnings_come_last(
    raytrain: Raytrain, aws: FakeAws, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    aws.refusals["GetSpotPlacementScores"] = Refused("UnauthorizedOperation")

    told = raytrain("capacity")

    assert told.exit_code == 0
    assert "\x1b[" in told.stdout  # it is the table of a terminal
    assert '"level"' not in told.stdout
    assert "Note: no Spot placement scores: zones are ranked without them" in told.stdout


def test_a_region_is_one_row_of_zones_quota_and_verdict() -> None:
    assert cells(_answer("us-east-2", score=7)) == ("a (7), b (7)", "192 of 192", "may take them: 2 zones")
    assert cells(_answer("us-east-2", offered=False)) == ("", "192 of 192", "not offered")
    assert cells(not_enabled("me-south-1")) == ("", "", "not enabled for this account")


def test_help_names_the_commands_and_the_exit_codes() -> None:
    told = CliRunner().invoke(app, ["--help"], env={"COLUMNS": "200", "TERMINAL_WIDTH": "200"})

    assert told.exit_code == 0
    for text in ("capacity", "deploy", "Exit codes: 0 done", "3 no zone can take the nodes", "130 interrupted"):
        assert text in told.stdout
