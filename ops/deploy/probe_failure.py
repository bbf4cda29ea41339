"""What kind of failure of the capacity probe's resource a stack's event reports, by the beginning of its text.

CloudFormation passes on nothing of the probe's error but the text.
"""

import re

from ops.deploy.failure_kinds import Kind

# What the custom resource's framework puts before it.
_BEFORE = re.compile(r"(?:.*?Message returned: )?(?:\w*Error: )?", re.S)
_RESERVATION = r"cr-[0-9a-f]+ (?:is|has|ends) |ReservationId is "
_PLACEMENT = r"The placement group's nodes run in "
_BEGINNINGS = (
    (
        Kind.NO_ZONE,
        r"vCPU quota too small: |EC2 refused \d+ x \S+ with |No zone of \S+ has room for |"
        r"\S+ has no room for \d+ x \S+ more: |\S+ is offered in none of the candidate zones|"
        r"Zone is \S+ expected a zone that offers ",
    ),
    (Kind.DENIED, r"Not authorised: "),
    (Kind.SETTINGS, rf"{_RESERVATION}|{_PLACEMENT}|Missing properties: |Unknown properties: |\w+ is .*: expected "),
)


def kind_of(reason: str) -> Kind:
    """The kind of a ``ResourceStatusReason``; ``Kind.PROBE`` for all that is not of another."""
    before = _BEFORE.match(reason)
    text = reason[before.end() :] if before else reason
    return next((kind for kind, beginning in _BEGINNINGS if re.match(beginning, text)), Kind.PROBE)
