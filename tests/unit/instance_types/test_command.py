"""`python -m eks_ray_train.instance_types`."""

import pytest

from eks_ray_train.instance_types import INSTANCE_TYPES
from eks_ray_train.instance_types.__main__ import main
from tests.unit.instance_types.ec2 import GPU_TYPES


@pytest.fixture
def wide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")


@pytest.mark.usefixtures("wide")
def test_it_prints_every_type_with_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    main([])
    output = capsys.readouterr().out
    listed = [
        line.split()[1].rstrip("*") for line in output.splitlines() if line.startswith("│ ") and "." in line.split()[1]
    ]
    assert listed == GPU_TYPES


@pytest.mark.usefixtures("wide")
def test_a_family_with_its_interfaces_and_what_is_not_verified(capsys: pytest.CaptureFixture[str]) -> None:
    main(["p6-b300", "p5e"])
    output = capsys.readouterr().out
    (p5e,) = [line for line in output.splitlines() if line.startswith("│ p5e.48xlarge*")]
    assert [cell.strip() for cell in p5e.split("│")[6:-1]] == [
        "32",
        "32",
        "efa",
        "31 x efa-only, device 1",
        "yes",
        "unknown",
    ]
    (b300,) = [line for line in output.splitlines() if line.startswith("│ p6-b300.48xlarge*")]
    assert [cell.strip() for cell in b300.split("│")[6:9]] == ["17", "16", "interface"]
    for row in (INSTANCE_TYPES["p5e.48xlarge"], INSTANCE_TYPES["p6-b300.48xlarge"]):
        assert all(note in output for note in row.unverified)
    assert "g6.12xlarge" not in output
    assert [line.split() for line in output.splitlines() if line.startswith("│ H200")] == [
        ["│", "H200", "│", "144384", "│", "989", "│", "11.8", "│"]
    ]
    assert [line.split()[5] for line in output.splitlines() if line.startswith("│ B300")] == ["unknown"]


def test_an_unknown_family() -> None:
    with pytest.raises(SystemExit, match=r"FAMILY = p7\n    expected: of g5, g6, g6e, g7e, gr6, p4d"):
        main(["p7"])
