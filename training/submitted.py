"""When the job that this process belongs to was submitted."""

import json
import os

from ray.job_submission import JobSubmissionClient


def submitted_at() -> float | None:
    """Return the time.time() of the submission to Ray's job API; None outside a job, or when Ray does not say."""
    metadata = json.loads(os.environ.get("RAY_JOB_CONFIG_JSON_ENV_VAR", "{}")).get("metadata", {})
    submission = metadata.get("job_submission_id")
    if submission is None:
        return None
    try:
        start = JobSubmissionClient().get_job_info(submission).start_time
    except (OSError, RuntimeError, ValueError):
        return None  # a moment of the timeline is not worth a run
    return None if start is None else start / 1000
