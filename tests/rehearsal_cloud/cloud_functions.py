"""Functions of an emulated account, from a few lines of code."""

import io
import zipfile

from tests.rehearsal_cloud.cloud_stacks import ROLE_TRUST, Resources, Stacks

BUCKET = "code"


def function(stacks: Stacks, code: str, *, timeout: int = 20, runtime: str = "python3.13") -> Resources:
    """Return the definitions of a function and its role; the code is in the bucket then, which must be there."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("index.py", code)
    key = f"{abs(hash(code))}.zip"
    stacks.cloud.account.client("s3").put_object(Bucket=BUCKET, Key=key, Body=packed.getvalue())
    return {
        "Role": {"Type": "AWS::IAM::Role", "Properties": {"AssumeRolePolicyDocument": ROLE_TRUST}},
        "Function": {
            "Type": "AWS::Lambda::Function",
            "Properties": {
                "Code": {"S3Bucket": BUCKET, "S3Key": key},
                "Handler": "index.handler",
                "Role": {"Fn::GetAtt": ["Role", "Arn"]},
                "Runtime": runtime,
                "Timeout": timeout,
            },
        },
    }
