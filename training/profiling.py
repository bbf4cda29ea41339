"""A profile of a few steps, on request."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import torch
from torch.profiler import ProfilerActivity, schedule

from training.argument_checks import STEPS_BEFORE_PROFILE
from training.arguments import Arguments
from training.results import RunFolder

TRACE = "profile.json"


class Profiler(Protocol):
    """What is told of each step."""

    def step(self) -> None:
        """Say that a step has ended."""


class _NoProfiler:
    def step(self) -> None:
        pass


@contextmanager
def profile(args: Arguments, folder: RunFolder, rank: int) -> Iterator[Profiler]:
    """Record --profile-steps steps of rank 0, after those that warm up, into <run>/profile.json.

    The file is for chrome://tracing or ui.perfetto.dev.
    """
    if not args.profile_steps or rank != 0:
        yield _NoProfiler()
        return

    def write(recorded: torch.profiler.profile) -> None:
        with tempfile.TemporaryDirectory() as temporary:
            recorded.export_chrome_trace(str(Path(temporary, TRACE)))
            folder.write(TRACE, Path(temporary, TRACE).read_text())

    activities = [ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(ProfilerActivity.CUDA)
    wanted = schedule(wait=STEPS_BEFORE_PROFILE - 1, warmup=1, active=args.profile_steps, repeat=1)
    with torch.profiler.profile(activities=activities, schedule=wanted, on_trace_ready=write) as profiler:
        yield profiler
