"""The supervisor's rules, with small stand-ins for the driver."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rehearsal.process_tree import alive, children
from tests.training.helpers import ROOT

FLAGS = "--run-name r --model m --data stdlib --results out"
# Takes the place of training/train.py: does what each line of a file says, one per start, and notes how it was started.
DRIVER = """
import os, signal, sys, time
from pathlib import Path
here = Path(os.environ["STAND_IN"])
with (here / "starts").open("a") as file:
    print(" ".join(sys.argv[1:]), file=file)
todo = (here / "todo").read_text().splitlines()[len((here / "starts").read_text().splitlines()) - 1]
print("driver does", todo, os.getpid(), flush=True)
exec(todo)
"""


@pytest.fixture
def stand_in(tmp_path: Path) -> Path:
    """A copy of the package whose driver does what is in `todo`."""
    package = tmp_path / "training"
    package.mkdir()
    for path in (ROOT / "training").glob("*.py"):
        (package / path.name).write_text(path.read_text())
    (package / "train.py").write_text(DRIVER)
    code = (package / "supervise.py").read_text()
    assert "SECONDS_BEFORE_RESTART = 3.0" in code
    assert "GRACE_SECONDS = 60.0" in code
    code = code.replace("SECONDS_BEFORE_RESTART = 3.0", "SECONDS_BEFORE_RESTART = 0.0")
    (package / "supervise.py").write_text(code.replace("GRACE_SECONDS = 60.0", "GRACE_SECONDS = 0.2"))
    return tmp_path


def start(stand_in: Path, *todo: str, flags: str = FLAGS) -> subprocess.Popen[str]:
    (stand_in / "todo").write_text("\n".join(todo))
    return subprocess.Popen(
        [sys.executable, "-m", "training.supervise", *flags.split()],
        cwd=stand_in,
        env=os.environ | {"STAND_IN": str(stand_in), "PYTHONPATH": str(stand_in)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def starts(stand_in: Path) -> list[str]:
    return (stand_in / "starts").read_text().splitlines()


LOST = "os.kill(os.getpid(), 9)"


@pytest.mark.parametrize(
    ("todo", "code", "count"),
    [
        (["sys.exit(0)"], 0, 1),
        (["sys.exit(1)"], 1, 1),  # failed: it would fail again
        (["sys.exit(2)"], 2, 1),
        (["sys.exit(124)"], 124, 1),
        ([LOST, "sys.exit(70)", "sys.exit(0)"], 0, 3),
        ([LOST] * 4, 1, 4),
    ],
)
def test_a_lost_driver_is_started_again_and_another_end_is_the_end(
    todo: list[str], code: int, count: int, stand_in: Path
) -> None:
    supervisor = start(stand_in, *todo)
    output, _ = supervisor.communicate(timeout=120)
    assert supervisor.returncode == code, output
    assert len(starts(stand_in)) == count
    # All starts are of one launch: by it the driver knows that the run's folder is its own.
    assert len(set(starts(stand_in))) == 1
    assert starts(stand_in)[0].startswith(f"{FLAGS} --launch ")
    assert ("giving up" in output) == (count == 4)


def test_two_runs_are_two_launches(stand_in: Path) -> None:
    for _ in range(2):
        start(stand_in, "sys.exit(0)", "sys.exit(0)").communicate(timeout=60)
    assert len(set(starts(stand_in))) == 2


def test_bad_input_starts_nothing(stand_in: Path) -> None:
    supervisor = start(stand_in, flags=f"{FLAGS} --steps 0")
    output, _ = supervisor.communicate(timeout=60)
    assert supervisor.returncode == 2
    assert output == "error: --steps 0: expected a whole number of at least 1. Raise it.\n"
    assert not (stand_in / "starts").exists()


def test_the_deadline_is_for_all_starts_together(stand_in: Path) -> None:
    supervisor = start(stand_in, "time.sleep(2); " + LOST, "time.sleep(100)", flags=f"{FLAGS} --deadline-seconds 4")
    supervisor.communicate(timeout=60)
    assert supervisor.returncode == 124
    first, second = (int(line.rpartition("--deadline-seconds ")[2]) for line in starts(stand_in))
    assert (first, second <= 2) == (4, True)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_goes_to_the_driver_and_nothing_is_started_again(number: signal.Signals, stand_in: Path) -> None:
    note = f"signal.signal({int(number)}, lambda *a: (print('driver told', flush=True), os._exit(9))); "
    supervisor = start(stand_in, note + "print('ready', flush=True); time.sleep(100)", "sys.exit(0)")
    assert supervisor.stdout is not None
    while (line := supervisor.stdout.readline().strip()) != "ready":
        assert line
    supervisor.send_signal(number)
    output, _ = supervisor.communicate(timeout=60)
    assert "driver told" in output
    assert supervisor.returncode == 128 + number
    assert len(starts(stand_in)) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's parent-death signal is Linux's")
def test_the_driver_does_not_outlive_its_supervisor(stand_in: Path) -> None:
    supervisor = start(stand_in, "print('ready', flush=True); time.sleep(100)")
    assert supervisor.stdout is not None
    assert "driver does" in supervisor.stdout.readline()
    (driver,) = children(supervisor.pid)
    supervisor.kill()
    supervisor.wait()
    end = time.monotonic() + 30
    while alive(driver):
        assert time.monotonic() < end
        time.sleep(0.02)
