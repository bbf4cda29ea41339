"""`raytrain capacity --write`: region and zones into an environment's file, whose other lines stay."""

import re
import tomllib
from pathlib import Path

from tests.ops.conftest import Raytrain
from tests.ops.fake_aws import FakeAws, region


def test_write_changes_region_and_zones_and_keeps_the_rest(raytrain: Raytrain, aws: FakeAws, folder: Path) -> None:
    aws.regions["us-west-2"] = region("us-west-2", letters="abcd", offered=["us-west-2a", "us-west-2d"])
    path = folder / "dev.toml"
    before = path.read_text()

    told = raytrain("capacity", "--regions", "us-west-2", "--write", "dev")

    assert told.exit_code == 0, told.output
    after = path.read_text()
    document = tomllib.loads(after)
    assert document["region"] == "us-west-2"
    assert document["network"]["availability_zones"] == ["us-west-2a", "us-west-2d"]
    changed = [line for line in before.splitlines() if line not in after.splitlines()]
    assert [line.split(" = ")[0] for line in changed] == ["region", "availability_zones"]
    assert "# account =" in after
    assert "network.availability_zones cannot change then" in told.stdout
    assert "Next: raytrain deploy dev" in told.stdout


def test_write_drops_what_named_zones_that_are_gone(raytrain: Raytrain, aws: FakeAws, folder: Path) -> None:
    aws.regions["us-west-2"] = region("us-west-2")
    path = folder / "dev.toml"
    path.write_text(path.read_text().replace("[capacity]\n", '[capacity]\nexclude_zones = ["us-east-2a"]\n'))

    told = raytrain("capacity", "--regions", "us-west-2", "--write", "dev")

    assert told.exit_code == 0, told.output
    assert "removed, for it named other zones: capacity.exclude_zones = ['us-east-2a']" in told.stdout
    assert "exclude_zones" not in path.read_text()


def test_an_environment_with_a_reservation_is_not_written(raytrain: Raytrain, aws: FakeAws, folder: Path) -> None:
    path = folder / "dev.toml"
    capacity = '[capacity]\nmode = "reservation"\nreservation_id = "cr-0123456789abcdef0"\n\n'
    path.write_text(re.sub(r"(?s)\[capacity\].*?\n\n", capacity, path.read_text()))

    told = raytrain("capacity", "--write", "dev")

    assert told.exit_code == 2
    assert "its capacity.mode is 'reservation', which brings its zone" in told.stderr


def test_write_fills_up_to_two_zones_and_one_for_each_gateway(raytrain: Raytrain, aws: FakeAws, folder: Path) -> None:
    gateways = tomllib.loads((folder / "prod.toml").read_text())["network"]["nat_gateways"]
    gpu = tomllib.loads((folder / "prod.toml").read_text())["gpu_nodes"]
    aws.regions["us-west-2"] = region("us-west-2", letters="abcd", offered=["us-west-2d"], quota=10_000.0)

    told = raytrain("capacity", "prod", "--regions", "us-west-2", "--write", "prod")

    assert told.exit_code == 0, told.output
    zones = tomllib.loads((folder / "prod.toml").read_text())["network"]["availability_zones"]
    assert "us-west-2d" in zones
    assert len(zones) == max(2, gateways), gpu


def test_what_would_not_load_is_not_written(raytrain: Raytrain, aws: FakeAws, folder: Path) -> None:
    aws.regions["us-west-2"] = region("us-west-2", letters="abc", offered=["us-west-2a"])
    path = folder / "dev.toml"
    fixed = re.sub(r"(?s)\[capacity\].*?\n\n", '[capacity]\nmode = "zone"\nzone = "us-east-2a"\n\n', path.read_text())
    path.write_text(fixed)

    told = raytrain("capacity", "--regions", "us-west-2", "--write", "dev")

    assert told.exit_code == 2
    assert "environments/dev.toml, with the change, is not valid" in told.stderr
    assert "capacity.zone" in told.stderr
    assert path.read_text() == fixed
    assert [p.name for p in sorted(folder.iterdir())] == ["dev.toml", "prod.toml"]
