"""`python -m eks_ray_train.instance_types`."""

import pytest

from eks_ray_train.instance_types import INSTANCE_TYPES
from eks_ray_train.instance_types.__main__ import main
from tests.unit.instance_types.ec2 import GPU_TYPES


def tables(output: str) -> list[list[list[str]]]:
    """The cells of each table's rows."""
    parts = output.split("┡")[1:]
    return [
        [[cell.strip() for cell in line[1:-1].split("│")] for line in part.split("\n") if line[:1] == "│"]
        for part in parts
    ]


@pytest.fixture(params=["terminal of 80 columns", "pipe", "pipe with COLUMNS"])
def reader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads the output: rich takes a pipe, which has no width, for 80 columns."""
    monkeypatch.delenv("COLUMNS", raising=False)
    if request.param == "terminal of 80 columns":
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("TERM", "dumb")
        monkeypatch.setenv("FORCE_COLOR", "1")
    elif request.param == "pipe with COLUMNS":
        monkeypatch.setenv("COLUMNS", "60")


@pytest.mark.usefixtures("reader")
def test_every_type_with_gpus_has_its_full_name_and_price(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    output = capsys.readouterr().out
    machines, interfaces, _ = tables(output)
    known = [INSTANCE_TYPES[name].usd_per_hour for name in GPU_TYPES]
    prices = ["unknown" if price is None else f"{price:.4f}" for price in known]
    assert [(row[0].rstrip("*"), row[-1]) for row in machines if row[0]] == list(zip(GPU_TYPES, prices, strict=True))
    assert [row[0].rstrip("*") for row in interfaces] == GPU_TYPES
    assert "…" not in output


def test_a_family_with_its_interfaces_and_what_is_not_verified(capsys: pytest.CaptureFixture[str]) -> None:
    main(["p6-b300", "p5e"])
    output = capsys.readouterr().out
    machines, interfaces, gpus = tables(output)
    assert machines[0] == ["p5e.48xlarge*", "8 x H200", "192", "2048", "8 x 3800", "unknown"]
    assert interfaces == [
        ["p5e.48xlarge*", "32", "32", "efa", "31 x efa-only, device 1", "yes"],
        ["p6-b300.48xlarge*", "17", "16", "interface", "16 x efa-only, device 0", "yes"],
    ]
    for row in (INSTANCE_TYPES["p5e.48xlarge"], INSTANCE_TYPES["p6-b300.48xlarge"]):
        assert all(note in output for note in row.unverified)
    assert "g6.12xlarge" not in output
    assert gpus == [["H200", "144384", "989", "11.8"], ["B300", "275040", "unknown", "12.9"]]


def test_an_unknown_family() -> None:
    with pytest.raises(SystemExit, match=r"FAMILY = p7\n    expected: of g5, g6, g6e, g7e, gr6, p4d"):
        main(["p7"])
