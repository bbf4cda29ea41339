"""The regions of the account: those that every account has from the start, and those that nobody has opted in to."""

import re
from functools import cache

from botocore.session import get_session

# AWS enables these for every account. Others answer only once the account has opted in.
ENABLED = (
    "ap-northeast-1",
    "ap-northeast-2",
    "ap-northeast-3",
    "ap-south-1",
    "ap-southeast-1",
    "ap-southeast-2",
    "ca-central-1",
    "eu-central-1",
    "eu-north-1",
    "eu-west-1",
    "eu-west-2",
    "eu-west-3",
    "sa-east-1",
    "us-east-1",
    "us-east-2",
    "us-west-1",
    "us-west-2",
)
_ZONE = re.compile(r"(.*-\d+)[a-z]$")


@cache
def all_regions() -> tuple[str, ...]:
    """Return every commercial region that botocore knows, enabled ones included."""
    return tuple(sorted({*ENABLED, *get_session().get_available_regions("ec2")}))


def region_of(zone: str) -> str:
    """Return a zone's region, or the name itself where it is no zone's."""
    found = _ZONE.match(zone)
    return found.group(1) if found else zone
