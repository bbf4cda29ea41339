"""The job's entrypoint: `python -m training.supervise`, with the flags of `python -m training.train`.

It starts the driver, and starts it again under the same run when it is lost: Ray restarts workers, but nothing restarts
the process that asked for them. The run then goes on from its newest checkpoint. Exit codes are the driver's.
"""

import ctypes
import math
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Sequence
from types import FrameType

from training.arguments import parse
from training.errors import InputError
from training.exit_codes import DEADLINE, FAILED, FINAL, REFUSED

# Of a driver that does nothing but wait for its workers, one loss is bad luck and the fourth is not.
DRIVER_RESTARTS = 3
# Ray notices within seconds that a driver is gone, and frees its workers' GPUs.
SECONDS_BEFORE_RESTART = 3.0
# What a driver needs at its own deadline to write down that it has failed.
GRACE_SECONDS = 60.0
STARTED_VARIABLE = "TRAINING_SUPERVISOR_STARTED"


class Supervisor:
    """Runs the driver with `argv` to its end, restarting it at most DRIVER_RESTARTS times."""

    def __init__(self, argv: Sequence[str], deadline_seconds: int | None, wait_seconds: int) -> None:
        self._argv = list(argv)
        # The deadline is for training; what the first driver waits for its workers comes before.
        self._deadline = deadline_seconds
        self._end = None if deadline_seconds is None else time.monotonic() + wait_seconds + deadline_seconds
        # Only drivers that bear it may go on in the run's folder.
        self._launch = uuid.uuid4().hex
        self._driver: subprocess.Popen[bytes] | None = None
        self._stopped_by: int | None = None

    def run(self) -> int:
        """Return the exit code of the run."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        os.environ[STARTED_VARIABLE] = str(time.time())
        for attempt in range(DRIVER_RESTARTS + 1):
            code = self._drive()
            if self._stopped_by is not None:
                return 128 + self._stopped_by
            if code in FINAL:
                return code
            how = f"signal {-code}" if code < 0 else f"exit code {code}"
            if self._end is not None and time.monotonic() >= self._end:
                return DEADLINE
            if attempt < DRIVER_RESTARTS:
                print(f"driver lost ({how}); starting it again, {attempt + 1} of {DRIVER_RESTARTS}", flush=True)
                time.sleep(SECONDS_BEFORE_RESTART)
        print(f"error: the driver was lost {DRIVER_RESTARTS + 1} times, last by {how}; giving up", file=sys.stderr)
        return FAILED

    def _drive(self) -> int:
        command = [sys.executable, "-m", "training.train", *self._argv, "--launch", self._launch]
        left = None
        if self._end is not None and self._deadline is not None:
            left = max(1.0, self._end - time.monotonic())
            # Of two equal flags the last counts.
            command += ["--deadline-seconds", str(min(self._deadline, math.ceil(left)))]
        self._driver = subprocess.Popen(command, preexec_fn=_die_with_parent)  # noqa: S603 - our own module
        if self._stopped_by is not None:  # the signal came before there was a driver
            self._driver.send_signal(self._stopped_by)
        try:
            return self._driver.wait(None if left is None else left + GRACE_SECONDS)
        except subprocess.TimeoutExpired:
            self._driver.kill()
            self._driver.wait()
            return DEADLINE

    def _stop(self, number: int, frame: FrameType | None) -> None:
        """Pass on the signal, and start nothing afterwards."""
        self._stopped_by = number
        if self._driver is not None and self._driver.poll() is None:
            self._driver.send_signal(number)


def _die_with_parent() -> None:
    """Have the kernel end the driver with its supervisor: one that nobody follows would train on unseen."""
    if sys.platform == "linux":
        set_parent_death_signal = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
        ctypes.CDLL(None).prctl(set_parent_death_signal, signal.SIGKILL)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a training under supervision from its command line and return the exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        args = parse(words, description=__doc__)
    except InputError as error:
        print(f"error: {error}", file=sys.stderr)
        return REFUSED
    return Supervisor(words, args.deadline_seconds, args.wait_seconds).run()


if __name__ == "__main__":
    sys.exit(main())
