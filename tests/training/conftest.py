import dataclasses
import logging
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
import ray
import torch
import torch.distributed as dist
from moto.server import ThreadedMotoServer

from tests.training.helpers import CONFIGS, MakeArguments, save_tokenizer
from training.arguments import Arguments


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """<architecture>/config.json and tokenizer.json for each of CONFIGS."""
    root = tmp_path_factory.mktemp("models")
    for name, config in CONFIGS.items():
        config.save_pretrained(root / name)
        save_tokenizer(root / name)
    return root


def defaults(models_folder: Path, results: str) -> Arguments:
    return Arguments(
        run_name="run",
        model=str(models_folder / "qwen2-tied" / "config.json"),
        data="synthetic",
        results=results,
        steps=3,
        sequence_length=32,
        micro_batch=1,
        learning_rate=1e-3,
        compute_dtype="float32",
        save_model=False,
    )


@pytest.fixture
def arguments(models_folder: Path, tmp_path: Path) -> MakeArguments:
    """Make valid arguments, with some replaced."""
    valid = defaults(models_folder, str(tmp_path / "results"))
    return lambda **changes: dataclasses.replace(valid, **changes)


@pytest.fixture
def process_group(tmp_path: Path) -> Iterator[None]:
    """A gloo group of this one process."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    dist.destroy_process_group()


@pytest.fixture(scope="session")
def s3() -> Iterator[str]:
    """The URI of an empty bucket of an emulated S3, which child processes find by their environment."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    logging.getLogger("werkzeug").setLevel(logging.ERROR)  # a line per request otherwise
    server.start()
    host, port = server.get_host_and_port()
    variables = {
        "AWS_ENDPOINT_URL_S3": f"http://{host}:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-2",
        "AWS_DEFAULT_REGION": "us-east-2",
    }
    with pytest.MonkeyPatch.context() as patch:
        for name, value in variables.items():
            patch.setenv(name, value)
        boto3.client("s3", endpoint_url=variables["AWS_ENDPOINT_URL_S3"]).create_bucket(
            Bucket="results", CreateBucketConfiguration={"LocationConstraint": "us-east-2"}
        )
        yield "s3://results/runs"
    server.stop()


@pytest.fixture(scope="session")
def two_cpus(s3: str) -> Iterator[str]:
    """The address of a real Ray of two CPUs, whose processes can reach `s3`."""
    # What its processes say would come between the lines that later tests read from stderr.
    ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield ray.get_runtime_context().gcs_address
    ray.shutdown()
