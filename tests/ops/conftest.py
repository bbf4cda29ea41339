"""The command line with an account in memory, and environments that may be written to."""

import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from typer.testing import CliRunner, Result

import ops.capacity.command
import ops.capacity.probe
import ops.deploy.cdk
import ops.deploy.command
import ops.environment_file
from environments.loading import FOLDER
from ops.main import app
from tests.ops.fake_aws import FakeAws
from tests.ops.fake_stacks import FakeCdk, Outcome

Raytrain = Callable[..., Result]


@pytest.fixture(autouse=True)
def ctrl_c_is_heard() -> Iterator[None]:
    """A shell starts what runs in its background with SIGINT ignored, the tests too."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> FakeAws:
    made = FakeAws()
    monkeypatch.setattr(ops.capacity.command, "new_session", made.session)
    monkeypatch.setattr(ops.deploy.command, "new_session", made.session)
    # The account in memory shows at once what it has.
    monkeypatch.setattr(ops.capacity.probe, "time", SimpleNamespace(sleep=lambda seconds: None))
    return made


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A copy of the environments, which commands read and write."""
    copied = tmp_path / "environments"
    copied.mkdir()
    for path in FOLDER.glob("*.toml"):
        shutil.copy(path, copied)
    monkeypatch.setattr(ops.environment_file, "FOLDER", copied)
    return copied


@pytest.fixture
def raytrain(folder: Path) -> Raytrain:
    def run(*arguments: str, answer: str | None = None) -> Result:
        return CliRunner().invoke(app, list(arguments), input=answer, env={"COLUMNS": "200"})

    return run


@pytest.fixture
def cdk(aws: FakeAws, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCdk:
    """A CDK command line whose deploys go well, unless told otherwise."""
    place = tmp_path / "cdk"
    place.mkdir()
    made = FakeCdk(aws, place, [Outcome("ok")])
    monkeypatch.setattr(ops.deploy.cdk, "COMMAND", made.install())
    return made
