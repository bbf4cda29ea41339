"""The account's limit on the vCPUs of running On-Demand instances, and what counts against it."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from .clients import Clients

# Families with a quota of their own that begin like a family of another quota: inf1 is no member of "i".
_OWN_QUOTA = ("dl", "hpc", "inf", "mac", "trn", "vt")
_LETTERS = re.compile(r"[a-z]*")


@dataclass(frozen=True, kw_only=True)
class Quota:
    """A limit in one region and what instances use of it, in vCPUs."""

    code: str
    limit: int
    used: int

    @property
    def free(self) -> int:
        """Return what is left; never negative, although a lowered limit can be below what runs."""
        return max(0, self.limit - self.used)


def counts(instance_type: str, families: Collection[str]) -> bool:
    """Tell whether an instance type counts against the quota of these family prefixes.

    A prefix covers its relatives (``g`` covers g6 and gr6, ``i`` covers im4gn) but no family that has its own quota.
    """
    match = _LETTERS.match(instance_type)
    letters = match.group() if match else ""
    if letters in _OWN_QUOTA:
        return letters in families
    return any(letters.startswith(family) for family in families)


def ask_limit(code: str, clients: Clients) -> int:
    """Return the value of an EC2 quota in the clients' region; raises boto3's errors."""
    name = {"ServiceCode": "ec2", "QuotaCode": code}
    try:
        answer = clients.quotas.get_service_quota(**name)
    except Exception as error:
        # botocore's ClientError, by its shape: this module stays free of boto3.
        if getattr(error, "response", {}).get("Error", {}).get("Code") != "NoSuchResourceException":
            raise
        # No value was ever set for this account and region: the default applies.
        answer = clients.quotas.get_aws_default_service_quota(**name)
    return int(answer["Quota"]["Value"])
