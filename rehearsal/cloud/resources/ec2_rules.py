"""Rules of security groups, from CloudFormation's form to EC2's."""

from typing import Any

from rehearsal.cloud.errors import RefusedError

_SOURCES = {"SourceSecurityGroupId", "DestinationSecurityGroupId"}
_KNOWN = _SOURCES | {"CidrIp", "Description", "FromPort", "GroupId", "IpProtocol", "ToPort"}


def permission(rule: dict[str, Any]) -> dict[str, Any]:
    """Return a rule as an IpPermission; raises RefusedError for one without exactly one peer."""
    if unknown := sorted(rule.keys() - _KNOWN):
        raise RefusedError(f"security group rule: the rehearsal does not emulate {unknown}")
    peers = [key for key in rule if key in _SOURCES or key == "CidrIp"]
    if len(peers) != 1:
        raise RefusedError(f"security group rule: exactly one peer is needed, not {peers}", "InvalidParameterValue")
    made: dict[str, Any] = {"IpProtocol": str(rule["IpProtocol"])}
    made.update({key: int(rule[key]) for key in ("FromPort", "ToPort") if key in rule})
    words = {"Description": rule["Description"]} if "Description" in rule else {}
    if peers[0] == "CidrIp":
        made["IpRanges"] = [{"CidrIp": rule["CidrIp"], **words}]
    else:
        made["UserIdGroupPairs"] = [{"GroupId": rule[peers[0]], **words}]
    return made
