"""The capacity probe's texts, which CloudFormation shows of a stack, for somebody who deploys nothing now."""

import re

_INSTEAD = (
    ("the next deploy, or deleting the stack, cancels it", "the next raytrain capacity --probe cancels it"),
    (r"\bDeploy again\b", "Try again"),
    (r"\bdeploy again\b", "try again"),
)


def without_deploys(text: str) -> str:
    """The text, with another try in the place of another deploy."""
    for pattern, instead in _INSTEAD:
        text = re.sub(pattern, instead, text)
    return text
