"""Resource groups for capacity reservations: what moto lacks, and what it does not refuse."""

import re
from collections.abc import Mapping
from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.calls.reservation_views import reservation_arn
from rehearsal.cloud.errors import RefusedError
from rehearsal.cloud.reservations import OPEN

POOL = "AWS::EC2::CapacityReservationPool"
GENERIC = "AWS::ResourceGroups::Generic"
MEMBER = "AWS::EC2::CapacityReservation"
_MOST_ARNS = 10
_NAME = re.compile(r"[a-zA-Z0-9_.-]{1,300}")
_ARN = re.compile(r"arn:aws:ec2:([a-z0-9-]+):(\d{12}):capacity-reservation/(cr-[0-9a-f]+)")
Fields = dict[str, Any]


class ResourceGroupCalls:
    """Answers one call at a time; ``answer`` returns None for what moto answers."""

    def __init__(self, account: Account) -> None:
        self._account = account

    def answer(self, action: str, fields: Fields, region: str) -> Fields | None:
        """Return a call's result, or None to let moto answer; raises RefusedError."""
        match action:
            case "CreateGroup":
                _check_name(fields["Name"])
                _check_configuration(fields.get("Configuration", []), fields)
                return None
            case "DeleteGroup":
                # The members stay what they are: only the group goes.
                self._account.groups.forget(self._arn(fields, region))
                return None
            case "GetGroup":
                # moto looks only at the parameter that AWS has deprecated.
                return {"Group": self._group(fields, region)}
            case "GroupResources":
                return self._add(fields, region)
            case "UngroupResources":
                return self._remove(fields, region)
            case "ListGroupResources":
                return self._list(fields, region)
        return None

    def _add(self, fields: Fields, region: str) -> Fields:
        arn = self._pool(fields, region)
        succeeded, failed, pending = [], [], []
        for resource in _listed(fields):
            reason = self._why_not(resource, region)
            if reason is not None:
                code, message = reason
                failed.append({"ResourceArn": resource, "ErrorCode": code, "ErrorMessage": message})
                continue
            id = resource.rsplit("/", 1)[-1]
            if self._account.groups.add(arn, id):
                succeeded.append(resource)
            else:
                self._account.events.write(action="MEMBER_PENDING", group=arn, reservation=id)
                pending.append({"ResourceArn": resource})
        return {"Succeeded": succeeded, "Failed": failed, "Pending": pending}

    def _remove(self, fields: Fields, region: str) -> Fields:
        arn = self._pool(fields, region)
        succeeded, failed = [], []
        for resource in _listed(fields):
            if self._account.groups.remove(arn, resource.rsplit("/", 1)[-1]):
                succeeded.append(resource)
            else:
                failed.append(
                    {"ResourceArn": resource, "ErrorCode": "RESOURCE_NOT_FOUND", "ErrorMessage": f"not in {arn}"}
                )
        return {"Succeeded": succeeded, "Failed": failed, "Pending": []}

    def _list(self, fields: Fields, region: str) -> Fields:
        arn = self._arn(fields, region)
        known = {item.id: item for item in self._account.capacity.reservations(region)}
        resources = []
        for id, visible in self._account.groups.listed(arn).items():
            identifier = {"ResourceArn": reservation_arn(known[id], self._account), "ResourceType": MEMBER}
            resources.append({"Identifier": identifier, **({} if visible else {"Status": {"Name": "PENDING"}})})
        return {"Resources": resources, "ResourceIdentifiers": [item["Identifier"] for item in resources]}

    def _why_not(self, resource: str, region: str) -> tuple[str, str] | None:
        found = _ARN.fullmatch(resource)
        if found is None:
            return "RESOURCE_TYPE_NOT_ALLOWED", f"{resource} is no {MEMBER}, which is all that the group allows"
        known = {item.id: item for item in self._account.capacity.reservations(region)}
        reservation = known.get(found.group(3))
        if reservation is None or (found.group(1), found.group(2)) != (region, self._account.id):
            return "RESOURCE_NOT_FOUND", f"{resource} does not exist"
        if reservation.state not in (*OPEN, "scheduled"):
            return "RESOURCE_NOT_FOUND", f"{resource} is {reservation.state}"
        return None

    def _pool(self, fields: Fields, region: str) -> str:
        arn = self._arn(fields, region)
        name = arn.rsplit("/", 1)[-1]
        groups = self._account.client("resource-groups", region)
        items = groups.get_group_configuration(Group=name)["GroupConfiguration"].get("Configuration") or []
        if POOL not in [item["Type"] for item in items]:
            raise RefusedError(f"The group {name} has no configuration of type {POOL}", "BadRequestException")
        return arn

    def _arn(self, fields: Fields, region: str) -> str:
        return str(self._group(fields, region)["GroupArn"])

    def _group(self, fields: Fields, region: str) -> dict[str, Any]:
        given = str(fields.get("Group") or fields.get("GroupName") or "")
        found = self._account.client("resource-groups", region).list_groups()["GroupIdentifiers"]
        for group in found:
            if given in (group["GroupName"], group["GroupArn"]):
                return {"GroupArn": group["GroupArn"], "Name": group["GroupName"]}
        raise RefusedError(f"Cannot find group: {given}", "NotFoundException")


def _listed(fields: Mapping[str, Any]) -> list[str]:
    arns: list[str] = fields.get("ResourceArns", [])
    if not 1 <= len(arns) <= _MOST_ARNS:
        raise RefusedError(
            f"ResourceArns has {len(arns)} items: from 1 to {_MOST_ARNS} are allowed", "BadRequestException"
        )
    return arns


def _check_name(name: str) -> None:
    if not _NAME.fullmatch(name):
        raise RefusedError(
            f"1 validation error detected: Value '{name}' at 'name' failed to satisfy constraint: Member must satisfy "
            r"regular expression pattern: [a-zA-Z0-9_\.-]+",
            "BadRequestException",
        )


def _check_configuration(items: list[dict[str, Any]], fields: Fields) -> None:
    """Refuse a pool that may hold anything but capacity reservations, and what is neither query nor configuration."""
    if bool(items) == ("ResourceQuery" in fields):
        raise RefusedError("A group needs either a ResourceQuery or a Configuration", "BadRequestException")
    types = [item["Type"] for item in items]
    if unknown := sorted(set(types) - {POOL, GENERIC}):
        raise RefusedError(f"Configuration: the rehearsal does not emulate the types {unknown}", "BadRequestException")
    allowed = [
        value
        for item in items
        if item["Type"] == GENERIC
        for parameter in item.get("Parameters", [])
        if parameter["Name"] == "allowed-resource-types"
        for value in parameter["Values"]
    ]
    if POOL in types and allowed != [MEMBER]:
        raise RefusedError(
            f"A configuration of type {POOL} requires one of type {GENERIC} with the parameter allowed-resource-types "
            f"= [{MEMBER}], not {allowed}",
            "BadRequestException",
        )
