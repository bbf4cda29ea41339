"""Policy documents, as far as IAM checks them."""

import json
from typing import Any

from rehearsal.cloud.errors import RefusedError


def document(value: Any) -> str:
    """Return a policy document as text; raises RefusedError for what IAM calls malformed."""
    if not isinstance(value, dict) or not value.get("Statement"):
        raise RefusedError("Syntax errors in policy.", "MalformedPolicyDocument")
    statements = value["Statement"] if isinstance(value["Statement"], list) else [value["Statement"]]
    for statement in statements:
        if statement.get("Effect") not in ("Allow", "Deny"):
            raise RefusedError("Syntax errors in policy.", "MalformedPolicyDocument")
    return json.dumps(value)
