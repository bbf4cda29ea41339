"""Where runs leave their metrics and results."""

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from constructs import Construct

from eks_ray_train.acknowledge import acknowledge, imported, wildcard_resource

# The prefix that every run's folder is below.
RUNS = "runs"


class ResultsBucket(s3.Bucket):
    """A private, encrypted, versioned bucket; emptied and deleted with the stack unless ``keep``."""

    def __init__(self, scope: Construct, id: str, *, keep: bool) -> None:
        super().__init__(
            scope,
            id,
            block_public_access=s3.BlockPublicAccess.BLOCK_ALL,
            encryption=s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            versioned=True,
            object_ownership=s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            lifecycle_rules=[
                s3.LifecycleRule(
                    noncurrent_version_expiration=Duration.days(7),
                    abort_incomplete_multipart_upload_after=Duration.days(1),
                )
            ],
            removal_policy=RemovalPolicy.RETAIN if keep else RemovalPolicy.DESTROY,
            auto_delete_objects=not keep,
        )
        acknowledge(
            self,
            "AwsSolutions-S1",
            reason="The Ray pods and the functions that park and wake GPU nodes are let in; CloudTrail data events "
            "record access where wanted",
        )


def allow_runs(role: iam.Role, bucket: ResultsBucket) -> None:
    """Lets ``role``, of another stack, list the bucket, and read, write and delete below ``runs/``."""
    role.add_to_policy(
        iam.PolicyStatement(
            actions=["s3:GetObject", "s3:PutObject", "s3:DeleteObject", "s3:AbortMultipartUpload"],
            resources=[bucket.arn_for_objects(f"{RUNS}/*")],
        )
    )
    role.add_to_policy(
        iam.PolicyStatement(actions=["s3:ListBucket", "s3:GetBucketLocation"], resources=[bucket.bucket_arn])
    )
    acknowledge(
        role,
        wildcard_resource(f"{imported(bucket.bucket_arn, bucket)}/{RUNS}/*"),
        reason="A run's objects get their names when it runs; they are all below this prefix",
    )
