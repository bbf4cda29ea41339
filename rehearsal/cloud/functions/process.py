"""One invocation of a function, as a process with a bounded life."""

import json
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.functions.definitions import Function
from rehearsal.cloud.functions.environment import environment
from rehearsal.cloud.functions.running import end

_BOOTSTRAP = Path(__file__).with_name("bootstrap.py")
_KEPT_OUTPUT = 20_000


class FunctionFailedError(RefusedError):
    """A function raised an error, ran out of time, or did not answer with JSON."""


def invoke(function: Function, event: dict[str, Any], seconds: float, account: Account) -> Any:
    """Return a function's answer to an event; raises FunctionFailedError. It has ``seconds`` at most."""
    limit = min(seconds, function.timeout)
    with tempfile.TemporaryDirectory(prefix="function-") as folder:
        scratch = Path(folder)
        answer = scratch / "answer.json"
        given = environment(function, scratch, account)
        given.update(
            REHEARSAL_ANSWER=str(answer),
            REHEARSAL_DEADLINE=str(time.time() + limit),
            REHEARSAL_REQUEST_ID=str(uuid.uuid4()),
            REHEARSAL_FUNCTION_ARN=function.arn,
        )
        process = subprocess.Popen(  # noqa: S603 - the project's own functions
            [sys.executable, "-I", "-u", str(_BOOTSTRAP)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env=given,
            cwd=given["LAMBDA_TASK_ROOT"],
            start_new_session=True,
        )
        account.running.add(process)
        late = False
        started = time.monotonic()
        try:
            output, _ = process.communicate(json.dumps(event), timeout=limit)
        except subprocess.TimeoutExpired:
            late = True
            end(process)
            output, _ = process.communicate()
        finally:
            end(process)
            account.running.remove(process)
        account.events.write(
            action="FUNCTION",
            logical_id=event.get("LogicalResourceId"),
            type=event.get("ResourceType"),
            function=function.name,
            request=event.get("RequestType"),
            seconds=round(time.monotonic() - started, 3),
            output=output[-_KEPT_OUTPUT:],
        )
        if late:
            raise FunctionFailedError(f"{function.name}: Task timed out after {limit:.2f} seconds")
        return _answer(function, answer, process.returncode)


def _answer(function: Function, answer: Path, status: int) -> Any:
    try:
        value = json.loads(answer.read_text())
    except (OSError, ValueError) as error:
        reason = "Runtime exited without providing a reason" if isinstance(error, OSError) else f"no JSON: {error}"
        raise FunctionFailedError(f"{function.name}: {reason} (exit status {status})") from error
    if status != 0:
        raise FunctionFailedError(f"{function.name}: {value['errorType']}: {value['errorMessage']}")
    return value
