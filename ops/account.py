"""The AWS account behind the credentials: who it is, which regions it has, and what its refusals mean."""

import difflib
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    CredentialRetrievalError,
    NoCredentialsError,
    PartialCredentialsError,
    ProfileNotFound,
    SSOTokenLoadError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

from eks_ray_train.capacity_probe.asset.gpu_capacity.refusals import explain as explain_refusal
from ops.errors import ExitCode, OpsError
from ops.wording import without_deploys
from ops.workers import answers

# Adaptive retries pause longer after each throttle, with jitter. A call that gets no answer ends within a minute.
CONFIG = Config(
    connect_timeout=3,
    read_timeout=10,
    retries={"mode": "adaptive", "total_max_attempts": 4},
    max_pool_connections=10,
)
_EXPIRED = {"ExpiredToken", "ExpiredTokenException", "RequestExpired"}
_WRONG = {"InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch", "AuthFailure"}
_DENIED = {"AccessDenied", "AccessDeniedException", "UnauthorizedOperation"}
AWS_ERRORS = (BotoCoreError, ClientError)


@dataclass(frozen=True)
class Identity:
    """Whose credentials these are."""

    account: str
    arn: str

    @property
    def owner(self) -> str:
        """What marks the reservations that this person's commands make, so that the next command finds them.

        Of a role without the name of its session, which many tools make up anew: people who share a role cancel each
        other's.
        """
        name = self.arn.rpartition(":")[2]
        if name.startswith("assumed-role/"):
            name = "/".join(name.split("/")[:2])
        return f"raytrain/{name}"


def new_session() -> boto3.Session:
    """A session with the credentials of the environment.

    Raises:
        OpsError: AWS_PROFILE names a profile that there is not.
    """
    try:
        return boto3.Session()
    except ProfileNotFound as error:
        raise _no_access(
            f"AWS_PROFILE: {error}", "a profile of ~/.aws/config", "run aws configure list-profiles, and name one"
        ) from None


def client(session: boto3.Session, service: str, region: str) -> Any:
    """A client of a region; making one is not safe in several threads at once, using one is."""
    return session.client(service, region_name=region, config=CONFIG)


def look(session: boto3.Session, region: str) -> tuple[Identity, Mapping[str, bool]]:
    """Who the credentials belong to; and every region that AWS has, with whether the account has enabled it.

    The regions are empty where the role may not list them.

    Raises:
        OpsError: there are no credentials, they have expired, or AWS does not know them.
    """
    sts, ec2 = client(session, "sts", region), client(session, "ec2", region)
    asked = {
        "identity": sts.get_caller_identity,
        "regions": lambda: ec2.describe_regions(AllRegions=True),
    }
    told = dict(answers(asked.items(), workers=2))
    who, listed = told["identity"], told["regions"]
    if isinstance(who, Exception):
        raise explain(who, region) from who
    if isinstance(listed, Exception):
        if isinstance(listed, ClientError) and listed.response["Error"]["Code"] in _DENIED:
            return Identity(account=who["Account"], arn=who["Arn"]), {}
        raise explain(listed, region) from listed
    enabled = {found["RegionName"]: found["OptInStatus"] != "not-opted-in" for found in listed["Regions"]}
    return Identity(account=who["Account"], arn=who["Arn"]), enabled


def explain(error: Exception, region: str) -> OpsError:
    """What to tell a person about an error of boto3."""
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return _no_access(
            "AWS credentials = none found" if isinstance(error, NoCredentialsError) else f"AWS credentials: {error}",
            "an access key, a profile or a role",
            "run aws configure sso (or aws configure), or export AWS_PROFILE=name",
        )
    if isinstance(
        error, SSOTokenLoadError | UnauthorizedSSOTokenError | TokenRetrievalError | CredentialRetrievalError
    ):
        return _no_access(f"AWS credentials: {error}", "a session that is signed in", "run aws sso login")
    if isinstance(error, ClientError):
        code = error.response["Error"]["Code"]
        if code in _EXPIRED:
            return _no_access(
                f"AWS credentials = expired ({code})",
                "credentials that are still valid",
                "run aws sso login, or take new temporary credentials",
            )
        if code in _WRONG:
            return _no_access(
                f"AWS credentials = refused ({code})",
                "credentials that AWS knows, in a region that is enabled",
                "look at aws sts get-caller-identity, and at AWS_PROFILE and AWS_ACCESS_KEY_ID",
            )
        if code in _DENIED:
            return denied(missing_action(error, region), region)
    return OpsError(
        without_deploys(str(explain_refusal(error, region)))
        if isinstance(error, BotoCoreError | ClientError)
        else str(error),
        "an answer",
        "try again; if it stays, look at the AWS Health Dashboard",
    )


def unknown_region(field: str, region: str, known: Collection[str]) -> OpsError:
    """What to tell a person who named a region, in ``field``, that AWS does not have."""
    near = difflib.get_close_matches(region, known, n=5, cutoff=0.5)
    remedy = f"write {near[0]}?" if near else "mend the name"
    expected = f"a region of AWS, such as {', '.join(near or sorted(known))}"
    return OpsError(field, expected, remedy, ExitCode.USAGE)


def denied(action: str, region: str) -> OpsError:
    """What to tell a person whose role may not do something."""
    return _no_access(
        f"{action} in {region} = denied", "permission for it", "ask for it, or use another role or region"
    )


def missing_action(error: ClientError, region: str) -> str:
    """The IAM action that a refusal is about."""
    return str(explain_refusal(error, region).details["action"])


def _no_access(what: str, expected: str, remedy: str) -> OpsError:
    return OpsError(what, expected, remedy, ExitCode.NO_ACCESS)
