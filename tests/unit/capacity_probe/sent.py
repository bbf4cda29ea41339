"""What CloudFormation sends: every value a string."""

from typing import Any

from .fakes import GROUP, STACK_ID, SUBNETS, TAGS

PLANTED = "cr-0123456789abcdef0"
OF_MODE: dict[str, dict[str, str]] = {
    "hold": {"HoldMinutes": "60", "GroupArn": GROUP},
    "probe": {},
    "offerings": {},
    "zone": {"Zone": "us-east-2a"},
    "reservation": {"ReservationId": PLANTED, "ReservationType": "on-demand"},
}


def properties(**changes: Any) -> dict[str, Any]:
    """The resource's properties, in mode probe unless told otherwise; None leaves a property out."""
    given = {
        "ServiceToken": "arn:aws:lambda:us-east-2:111111111111:function:framework",
        "ServiceTimeout": "600",
        "InstanceType": "g6.12xlarge",
        "Count": "2",
        "VcpusPerInstance": "48",
        "QuotaCode": "L-DB2E81BA",
        "QuotaFamilies": ["g", "vt"],
        "Mode": "probe",
        "SubnetsByZone": SUBNETS,
        "Tags": TAGS,
    } | changes
    return {name: value for name, value in given.items() if value is not None}


def of_mode(mode: str, **changes: Any) -> dict[str, Any]:
    return properties(Mode=mode, **(OF_MODE[mode] | changes))


def create(request_id: str = "request-1", **changes: Any) -> dict[str, Any]:
    return {
        "RequestType": "Create",
        "RequestId": request_id,
        "StackId": STACK_ID,
        "ResourceType": "Custom::GpuCapacityProbe",
        "ResponseURL": "https://secret.example",
        "ResourceProperties": properties(**changes),
    }


def update(physical_id: str, old: dict[str, Any], new: dict[str, Any], request_id: str = "request-2") -> dict[str, Any]:
    return create(request_id) | {
        "RequestType": "Update",
        "PhysicalResourceId": physical_id,
        "OldResourceProperties": old,
        "ResourceProperties": new,
    }


def delete(physical_id: str, given: dict[str, Any], request_id: str = "request-9") -> dict[str, Any]:
    return create(request_id) | {
        "RequestType": "Delete",
        "PhysicalResourceId": physical_id,
        "ResourceProperties": given,
    }


def sweeper(request_type: str) -> dict[str, Any]:
    return {
        "RequestType": request_type,
        "RequestId": "request-sweeper",
        "StackId": STACK_ID,
        "ResourceType": "Custom::GpuCapacitySweeper",
        "ResourceProperties": {"ServiceToken": "arn", "Tags": TAGS},
    } | ({} if request_type == "Create" else {"PhysicalResourceId": "dev-Gpu/capacity-reservations"})
