from collections.abc import Iterator
from pathlib import Path

import pytest

from rehearsal.kubernetes import ApiServer
from tests.rehearsal_kubernetes.clients import Client, crds_folder, unpack_tools


@pytest.fixture(scope="session")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return unpack_tools(tmp_path_factory.mktemp("tools"))


@pytest.fixture(autouse=True)
def no_error_inside(capfd: pytest.CaptureFixture[str]) -> Iterator[None]:
    """Controllers and handlers survive an error of their own: a test must not."""
    yield
    assert "Traceback" not in capfd.readouterr().err


@pytest.fixture
def server() -> Iterator[ApiServer]:
    """A cluster without CRDs."""
    with ApiServer() as server:
        yield server


@pytest.fixture
def client(tools: Path, server: ApiServer, tmp_path: Path) -> Client:
    return Client(tools, server.url, tmp_path)


@pytest.fixture
def ray_client(tools: Path, tmp_path: Path) -> Iterator[Client]:
    """A cluster with KubeRay's CRDs."""
    with ApiServer(crds=crds_folder()) as server:
        yield Client(tools, server.url, tmp_path)
