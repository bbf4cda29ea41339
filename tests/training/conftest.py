import dataclasses
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist

from tests.training.helpers import CONFIGS, ROOT, Gang, MakeArguments, save_tokenizer
from training.arguments import Arguments


@pytest.fixture(scope="session")
def models_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """<architecture>/config.json and tokenizer.json for each of CONFIGS."""
    root = tmp_path_factory.mktemp("models")
    for name, config in CONFIGS.items():
        config.save_pretrained(root / name)
        save_tokenizer(root / name)
    return root


@pytest.fixture
def arguments(models_folder: Path, tmp_path: Path) -> MakeArguments:
    """Make valid arguments, with some replaced."""
    defaults = Arguments(
        run_name="run",
        model=str(models_folder / "qwen2-tied" / "config.json"),
        data="synthetic",
        results=str(tmp_path / "results"),
        steps=3,
        sequence_length=32,
        micro_batch=1,
        learning_rate=1e-3,
        compute_dtype="float32",
    )
    return lambda **changes: dataclasses.replace(defaults, **changes)


@pytest.fixture
def process_group(tmp_path: Path) -> Iterator[None]:
    """A gloo group of this one process."""
    dist.init_process_group("gloo", init_method=f"file://{tmp_path}/store", rank=0, world_size=1)
    threads = torch.get_num_threads()
    yield
    torch.set_num_threads(threads)
    dist.destroy_process_group()


@pytest.fixture
def gang(tmp_path: Path) -> Gang:
    """Run each of some arguments through training.loop.train in `world_size` processes; return each rank's value."""

    def run(world_size: int, runs: list[Arguments]) -> list[list[dict[str, Any]]]:
        tasks = tmp_path / "tasks.json"
        tasks.write_text(json.dumps([dataclasses.asdict(args) for args in runs]))
        command = [sys.executable, str(Path(__file__).with_name("gang.py")), str(world_size), str(tasks)]
        environment = os.environ | {"PYTHONPATH": str(ROOT)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=100, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
        return [json.loads(line)["ranks"] for line in done.stdout.splitlines() if line.startswith('{"ranks"')]

    return run
