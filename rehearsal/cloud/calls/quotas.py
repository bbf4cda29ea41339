"""Service Quotas, of which moto knows none of EC2's."""

from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.quotas import DEFAULT_QUOTA_VCPUS, KNOWN


def quota(action: str, fields: dict[str, Any], region: str, account: Account) -> dict[str, Any]:
    """Return a quota of a region: the value that was set, else an error as on AWS, or the default."""
    code = fields.get("QuotaCode", "")
    if fields.get("ServiceCode") != "ec2" or code not in KNOWN:
        raise RefusedError(f"The rehearsal knows no quota {fields}", "NoSuchResourceException")
    if action == "GetServiceQuota":
        value = account.capacity.quotas.applied(region, code)
        if value is None:
            raise RefusedError(f"No value was set for {code}", "NoSuchResourceException")
    elif action == "GetAWSDefaultServiceQuota":
        value = DEFAULT_QUOTA_VCPUS
    else:
        raise RefusedError(f"The rehearsal does not emulate servicequotas:{action}", "InvalidAction")
    return {"Quota": {"ServiceCode": "ec2", "QuotaCode": code, "Value": value, "Adjustable": True}}
