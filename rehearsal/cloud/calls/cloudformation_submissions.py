"""From the fields of a call of CloudFormation to what it submits."""

from typing import Any
from urllib.parse import urlparse

from rehearsal.cloud.account import Account
from rehearsal.cloud.cloudformation.parameters import given_values
from rehearsal.cloud.cloudformation.stack import Stack
from rehearsal.cloud.cloudformation.submission import Submission
from rehearsal.cloud.cloudformation.template import Template
from rehearsal.cloud.errors import RefusedError

Fields = dict[str, Any]


def submission_of(fields: Fields, stack: Stack | None, account: Account) -> Submission:
    """Return what a call submits for a new stack, or for ``stack``; raises RefusedError."""
    if str(fields.get("UsePreviousTemplate", "")).lower() == "true":
        if stack is None or stack.template is None:
            raise RefusedError("There is no previous template.")
        template = stack.template
    else:
        template = Template(body_of(fields, account))
    wants_rollback = (
        str(fields.get("DisableRollback", "")).lower() != "true" and fields.get("OnFailure") != "DO_NOTHING"
    )
    if fields.get("OnFailure") == "DELETE" or fields.get("OnStackFailure") == "DELETE":
        raise RefusedError("The rehearsal does not emulate OnFailure = DELETE")
    if fields.get("OnStackFailure") == "DO_NOTHING":
        wants_rollback = False
    tags = fields.get("Tags")
    return Submission(
        template=template,
        given=given_values(fields.get("Parameters") or [], stack.given if stack else {}),
        tags=tags if isinstance(tags, list) else (stack.tags if stack and tags is None else []),
        roll_back=wants_rollback,
        role=fields.get("RoleARN"),
        token=fields.get("ClientRequestToken"),
    )


def body_of(fields: Fields, account: Account) -> str:
    """Return the template's text, from the call or from S3."""
    if "TemplateBody" in fields:
        return str(fields["TemplateBody"])
    if "TemplateURL" not in fields:
        raise RefusedError("Either Template URL or Template Body must be specified.")
    # Where an endpoint is given the command line writes http://host/bucket/key, on AWS https://s3.../bucket/key.
    url = urlparse(fields["TemplateURL"])
    bucket, _, key = url.path.lstrip("/").partition("/")
    if ".s3." in url.netloc:
        bucket, key = url.netloc.split(".s3.", 1)[0], url.path.lstrip("/")
    s3 = account.client("s3")
    return str(s3.get_object(Bucket=bucket, Key=key)["Body"].read().decode())
