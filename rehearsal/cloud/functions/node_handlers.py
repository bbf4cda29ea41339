"""CDK's small Node handlers, rewritten: they need the AWS SDK for JavaScript, which only Lambda has at hand."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from botocore.exceptions import ClientError

from rehearsal.cloud.account import Account
from rehearsal.cloud.functions.definitions import Function

Handler = Callable[[dict[str, Any], Function, Account], dict[str, Any]]
_TAG = {"Key": "aws-cdk:auto-delete-objects", "Value": "true"}


def restrict_default_security_group(event: dict[str, Any], function: Function, account: Account) -> dict[str, Any]:
    """Take the rules out of a VPC's default security group, or put them back."""
    ec2, group = account.client("ec2"), event["ResourceProperties"]["DefaultSecurityGroupId"]
    everywhere = [{"IpProtocol": "-1", "IpRanges": [{"CidrIp": "0.0.0.0/0"}]}]
    among = [{"IpProtocol": "-1", "UserIdGroupPairs": [{"GroupId": group, "UserId": account.id}]}]
    if event["RequestType"] == "Delete":
        ec2.authorize_security_group_ingress(GroupId=group, IpPermissions=among)
        ec2.authorize_security_group_egress(GroupId=group, IpPermissions=everywhere)
        return {}
    for revoke, rules in (
        (ec2.revoke_security_group_egress, everywhere),
        (ec2.revoke_security_group_ingress, among),
    ):
        try:
            revoke(GroupId=group, IpPermissions=rules)
        except ClientError as error:
            if error.response["Error"]["Code"] != "InvalidPermission.NotFound":
                raise
    return {}


def empty_bucket(event: dict[str, Any], function: Function, account: Account) -> dict[str, Any]:
    """Delete what is in a bucket, if it still has the tag that allows that."""
    s3, bucket = account.client("s3"), event["ResourceProperties"]["BucketName"]
    if event["RequestType"] != "Delete":
        return {"PhysicalResourceId": bucket} if event["RequestType"] == "Update" else {}
    try:
        tags = s3.get_bucket_tagging(Bucket=bucket)["TagSet"]
    except ClientError:
        tags = []
    if _TAG not in tags:
        account.events.write(action="NOTE", reason=f"{bucket} is not emptied: it has no tag {_TAG['Key']}")
        return {}
    for page in s3.get_paginator("list_object_versions").paginate(Bucket=bucket):
        for item in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]:
            s3.delete_object(Bucket=bucket, Key=item["Key"], VersionId=item["VersionId"])
    return {}


def keep_logs(event: dict[str, Any], function: Function, account: Account) -> dict[str, Any]:
    """Make a log group that a service may have made already, and set for how long it keeps; so also for its own."""
    logs, wanted = account.client("logs"), event["ResourceProperties"]
    name = wanted["LogGroupName"]
    groups = {name: int(wanted["RetentionInDays"])} if event["RequestType"] != "Delete" else {}
    if event["RequestType"] == "Create":
        groups[function.log_group] = 1
    for group, days in groups.items():
        with suppress(logs.exceptions.ResourceAlreadyExistsException):
            logs.create_log_group(logGroupName=group)
        logs.put_retention_policy(logGroupName=group, retentionInDays=days)
    if event["RequestType"] == "Delete" and wanted.get("RemovalPolicy") == "destroy":
        with suppress(logs.exceptions.ResourceNotFoundException):
            logs.delete_log_group(logGroupName=name)
    return {"PhysicalResourceId": name, "Data": {"LogGroupName": name}}


NODE_HANDLERS: Mapping[str, Handler] = {
    "Custom::LogRetention": keep_logs,
    "Custom::S3AutoDeleteObjects": empty_bucket,
    "Custom::VpcRestrictDefaultSG": restrict_default_security_group,
}
