"""Submits to Ray's job API, as KubeRay's submitter does, and follows the job to its end."""

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ray.job_submission import JobInfo, JobStatus, JobSubmissionClient

from rehearsal.errors import RehearsalError
from rehearsal.ray_processes import LocalRay
from rehearsal.submission import Submission

POLL_SECONDS = 0.5
LINES_OF_CAUSE = 30
COLOURS = re.compile(r"\x1b\[[0-9;]*m")


def run_job(ray: LocalRay, submission: Submission, deadline: float, log: Callable[[str], None]) -> None:
    """Submit and return when the job has SUCCEEDED; `log` gets each line. Raises RehearsalError for any other end."""
    with _api(ray):
        client = JobSubmissionClient(ray.address, headers=ray.headers)
        job = client.submit_job(
            entrypoint=submission.entrypoint,
            runtime_env=submission.runtime_env,
            submission_id=submission.run_name,
        )
    end = time.monotonic() + deadline
    lines: list[str] = []
    while True:
        ray.check()
        with _api(ray):
            # Asked before the log: what a job writes until it has ended is then in the log.
            info = client.get_job_info(job)
            text = COLOURS.sub("", client.get_job_logs(job))
        finished = info.status.is_terminal()
        # The last line may be half written until the job has ended.
        complete = text.splitlines() if finished else text.splitlines()[: text.count("\n")]
        for line in complete[len(lines) :]:
            log(line)
        lines = complete
        if info.status == JobStatus.SUCCEEDED:
            return
        if finished:
            raise _failed(submission, info, lines)
        if time.monotonic() > end:
            raise RehearsalError(
                f"job {submission.run_name}",
                f"{info.status} after {deadline:.0f} s; the end of its log:\n" + "\n".join(lines[-LINES_OF_CAUSE:]),
                "an end within --deadline",
                "Lower --steps, or raise --deadline if this machine is slow.",
            )
        time.sleep(POLL_SECONDS)


def _failed(submission: Submission, info: JobInfo, lines: list[str]) -> RehearsalError:
    code = f", exit code {info.driver_exit_code}" if info.driver_exit_code is not None else ""
    cause = "\n".join(lines[-LINES_OF_CAUSE:])
    # Ray's message repeats the log after its first sentence.
    said = (info.message or "").partition(", last available logs")[0]
    return RehearsalError(
        f"job {submission.run_name}",
        f"{info.status}{code}. {said}\nThe end of its log:\n{cause}",
        "SUCCEEDED",
        "Correct what the log names in training/; on the cluster it would fail in the same way.",
    )


@contextmanager
def _api(ray: LocalRay) -> Iterator[None]:
    """Turn a job API that does not answer into an error that names the cause."""
    try:
        yield
    except (OSError, RuntimeError) as error:
        ray.check()  # a head that has died is the better cause
        raise RehearsalError(
            f"Ray's job API at {ray.address}", str(error), "an answer", "See the message; run the rehearsal again."
        ) from error
