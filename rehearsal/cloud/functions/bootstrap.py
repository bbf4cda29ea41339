"""Runs in the function's process: calls the handler as Lambda would. Uses nothing of this repository.

The event comes on standard input; the answer goes to the file that REHEARSAL_ANSWER names.
"""

import importlib
import json
import logging
import os
import sys
import time
import traceback
from pathlib import Path
from typing import Any

# The emulation counts questions until it shows what is new, not seconds: longer pauses between them prove nothing.
LONGEST_PAUSE = 0.25


class Context:
    """Lambda's context object."""

    def __init__(self, deadline: float) -> None:
        self._deadline = deadline
        self.aws_request_id = os.environ["REHEARSAL_REQUEST_ID"]
        self.function_name = os.environ["AWS_LAMBDA_FUNCTION_NAME"]
        self.function_version = "$LATEST"
        self.invoked_function_arn = os.environ["REHEARSAL_FUNCTION_ARN"]
        self.log_group_name = os.environ["AWS_LAMBDA_LOG_GROUP_NAME"]
        self.log_stream_name = os.environ["AWS_LAMBDA_LOG_STREAM_NAME"]
        self.memory_limit_in_mb = 1024

    def get_remaining_time_in_millis(self) -> int:
        """Return the time that is left."""
        return max(0, int((self._deadline - time.time()) * 1000))


def shorten_pauses() -> None:
    """Have a handler that waits for AWS ask again soon. Before it is imported."""
    sleep = time.sleep

    def shortened(seconds: float) -> None:
        sleep(min(seconds, LONGEST_PAUSE))

    setattr(time, "sleep", shortened)  # noqa: B010 - to type checkers a module's function is no variable


def main() -> None:
    """Call the handler; what it raises becomes the answer, with exit status 1."""
    answer = Path(os.environ.pop("REHEARSAL_ANSWER"))
    deadline = float(os.environ.pop("REHEARSAL_DEADLINE"))
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="[%(levelname)s] %(message)s")
    event: Any = json.load(sys.stdin)
    shorten_pauses()
    sys.path.insert(0, os.environ["LAMBDA_TASK_ROOT"])
    module, _, name = os.environ["_HANDLER"].rpartition(".")
    try:
        result = getattr(importlib.import_module(module.replace("/", ".")), name)(event, Context(deadline))
        answer.write_text(json.dumps(result))
    except BaseException as error:
        traceback.print_exc()
        answer.write_text(json.dumps({"errorType": type(error).__name__, "errorMessage": str(error)}))
        sys.exit(1)


if __name__ == "__main__":
    main()
