"""One JSON object a line, which CloudWatch Logs can query."""

import json


def log(message: str, **fields: object) -> None:
    """Write one line to standard output, which Lambda sends to the function's log group."""
    print(json.dumps({"message": message, **fields}, default=str, sort_keys=True))
