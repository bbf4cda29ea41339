"""What a person reads whose credentials are missing, old, wrong or not enough."""

import re

import pytest
from botocore.exceptions import (
    EndpointConnectionError,
    NoCredentialsError,
    TokenRetrievalError,
    UnauthorizedSSOTokenError,
)

from ops.account import new_session
from ops.errors import ExitCode, OpsError
from tests.ops.conftest import Raytrain
from tests.ops.fake_aws import FakeAws, Refused


@pytest.mark.parametrize(
    ("refusal", "said", "code"),
    [
        (NoCredentialsError(), r"AWS credentials = none found\s+expected: an access key.*\s+to do: .*AWS_PROFILE", 4),
        (
            Refused("ExpiredToken"),
            r"AWS credentials = expired \(ExpiredToken\)\s+expected: .*still valid\s+to do:    run aws sso login",
            4,
        ),
        (Refused("InvalidClientTokenId"), r"AWS credentials = refused \(InvalidClientTokenId\)\s+expected:", 4),
        (UnauthorizedSSOTokenError(), r"AWS credentials: .*\s+expected: .*signed in\s+to do:    run aws sso login", 4),
        (TokenRetrievalError(provider="sso", error_msg="old"), r"to do:    run aws sso login", 4),
        (
            EndpointConnectionError(endpoint_url="https://sts.us-east-2.amazonaws.com"),
            r"AWS did not answer in us-east-2: Could not connect",
            1,
        ),
    ],
)
def test_credentials_that_do_not_work(
    raytrain: Raytrain, aws: FakeAws, refusal: Refused | BaseException, said: str, code: int
) -> None:
    aws.refusals["GetCallerIdentity"] = refusal
    aws.refusals["DescribeRegions"] = refusal

    told = raytrain("capacity")

    assert told.exit_code == code
    assert re.search(said, told.stderr), told.stderr
    assert "Traceback" not in told.stderr


def test_all_regions_need_the_permission_to_list_them(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.refusals["DescribeRegions"] = Refused("UnauthorizedOperation")

    told = raytrain("capacity", "--all-regions")

    assert told.exit_code == ExitCode.NO_ACCESS
    assert re.search(r"ec2:DescribeRegions = denied\s+expected: .*\s+to do: .*--regions us-east-1", told.stderr)
    assert raytrain("capacity", "--regions", "us-east-2").exit_code == ExitCode.OK


def test_a_home_region_that_denies_everything_is_no_access(raytrain: Raytrain, aws: FakeAws) -> None:
    aws.refusals["DescribeInstanceTypeOfferings"] = Refused("AccessDenied")

    told = raytrain("capacity")

    assert told.exit_code == ExitCode.NO_ACCESS
    assert "us-east-2: ec2:DescribeInstanceTypeOfferings in us-east-2 = denied" in told.stdout


def test_a_profile_that_there_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "nobody")

    with pytest.raises(OpsError, match=r"(?s)AWS_PROFILE: .*nobody.*expected: a profile.*to do:") as raised:
        new_session()

    assert raised.value.code == ExitCode.NO_ACCESS
