"""What would fail half-way, said before anything is made."""

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import boto3
from botocore.exceptions import ClientError
from rich.console import Console

from environments.settings import Settings
from ops.account import AWS_ERRORS, Identity, client, explain, unknown_region
from ops.deploy.stacks import Stack, read_stacks, stuck
from ops.errors import ExitCode, OpsError
from ops.reporting import say

BOOTSTRAP_PARAMETER = "/cdk-bootstrap/hnb659fds/version"
_POLL_SECONDS = 10.0


def check_account(settings: Settings, who: Identity) -> None:
    """Refuse credentials of another account than the environment is pinned to.

    Raises:
        OpsError: naming both.
    """
    if settings.account is not None and settings.account != who.account:
        raise OpsError(
            f"account = {settings.account!r} in environments/{settings.name}.toml",
            f"credentials of it; these are of {who.account} ({who.arn})",
            "export AWS_PROFILE=name of one for that account, or change account",
            ExitCode.NO_ACCESS,
        )


def check_region(settings: Settings, known: Mapping[str, bool]) -> None:
    """Refuse a region that the account cannot use.

    Raises:
        OpsError: AWS does not have it, or it is not enabled.
    """
    field = f"region = {settings.region!r} in environments/{settings.name}.toml"
    if known and settings.region not in known:
        raise unknown_region(field, settings.region, known)
    if known and not known[settings.region]:
        raise OpsError(
            field,
            "a region that is enabled for the account",
            f"aws account enable-region --region-name {settings.region}, or raytrain capacity {settings.name} "
            f"--all-regions --write {settings.name} for another",
            ExitCode.NO_ACCESS,
        )


def check_bootstrap(session: boto3.Session, settings: Settings, who: Identity) -> None:
    """Refuse an account and region that CDK has not been set up in.

    Raises:
        OpsError: with the command that sets it up.
    """
    try:
        client(session, "ssm", settings.region).get_parameter(Name=BOOTSTRAP_PARAMETER)
    except ClientError as error:
        if error.response["Error"]["Code"] == "ParameterNotFound":
            raise OpsError(
                f"CDK bootstrap of {who.account}/{settings.region} = none",
                "the bootstrap stack, once per account and region",
                f"npx cdk bootstrap aws://{who.account}/{settings.region}",
            ) from None
        raise explain(error, settings.region) from error
    except AWS_ERRORS as error:
        raise explain(error, settings.region) from error


def settled(
    cloudformation: Any, settings: Settings, console: Console, sleep: Callable[[float], None] = time.sleep
) -> dict[str, Stack]:
    """The stacks, once CloudFormation works on none of them: an interrupted deploy goes on there.

    Raises:
        OpsError: CloudFormation refuses to tell.
    """
    said: dict[str, str | None] = {}
    while True:
        stacks = read_stacks(cloudformation, settings)
        moving = {stack.name: stack.status for stack in stacks.values() if stack.moving}
        if not moving:
            return stacks
        if moving != said:
            for name, status in moving.items():
                say(console, f"{name}: {status}; waiting for CloudFormation to end it (Ctrl-C only ends the waiting)")
            said = moving
        sleep(_POLL_SECONDS)


def check_stacks(
    stacks: Mapping[str, Stack], settings: Settings, further: Sequence[str], code: ExitCode = ExitCode.FAILED
) -> None:
    """Refuse stacks that cannot be changed as they are.

    Raises:
        OpsError: with ``code``, and with the command that has to come first.
    """
    if found := stuck(stacks, settings.name, further):
        stack, command = found
        raise OpsError(f"{stack.name} = {stack.status}", "a stack that can be changed", command, code)
