"""Service Quotas, of which moto knows none of EC2's."""

from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.capacity import DEFAULT_QUOTA_VCPUS
from rehearsal.cloud.errors import RefusedError

_KNOWN = ("L-DB2E81BA", "L-1216C47A", "L-417A185B")


def quota(action: str, fields: dict[str, Any], account: Account) -> dict[str, Any]:
    """Return a quota: the account's value where one was set, else an error as on AWS, or the default."""
    code = fields.get("QuotaCode", "")
    if fields.get("ServiceCode") != "ec2" or code not in _KNOWN:
        raise RefusedError(f"The rehearsal knows no quota {fields}", "NoSuchResourceException")
    if action == "GetServiceQuota":
        if code not in account.capacity.quotas:
            raise RefusedError(f"No value was set for {code}", "NoSuchResourceException")
        value = account.capacity.quotas[code]
    elif action == "GetAWSDefaultServiceQuota":
        value = float(DEFAULT_QUOTA_VCPUS)
    else:
        raise RefusedError(f"The rehearsal does not emulate servicequotas:{action}", "InvalidAction")
    return {"Quota": {"ServiceCode": "ec2", "QuotaCode": code, "Value": value, "Adjustable": True}}
