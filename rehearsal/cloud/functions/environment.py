"""The environment of a function's process: Lambda's, and nothing of the machine's but where programs are."""

import os
import sys
from pathlib import Path

from rehearsal.cloud.account import Account
from rehearsal.cloud.functions.definitions import Function
from rehearsal.cloud.functions.packages import unpack

_HELM = Path(__file__).with_name("helm.py")


def environment(function: Function, scratch: Path, account: Account) -> dict[str, str]:
    """Return the variables; the layers' programs are on PATH, where Lambda has them below /opt."""
    layers = [unpack(account.functions.layers[arn], account) for arn in function.layers]
    programs = scratch / "bin"
    programs.mkdir()
    folders = [folder for layer in layers for folder in sorted(layer.iterdir()) if folder.is_dir()]
    given = {
        **function.environment,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_DEFAULT_REGION": account.region,
        "AWS_ENDPOINT_URL": account.endpoint,
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_LAMBDA_FUNCTION_NAME": function.name,
        "AWS_LAMBDA_LOG_GROUP_NAME": function.log_group,
        "AWS_LAMBDA_LOG_STREAM_NAME": "rehearsal",
        "AWS_REGION": account.region,
        "AWS_SECRET_ACCESS_KEY": "test",
        "HOME": str(scratch),
        "LAMBDA_TASK_ROOT": str(unpack(function.code, account)),
        "PATH": os.pathsep.join([str(programs), *(str(folder) for folder in folders), os.defpath]),
        "PYTHONDONTWRITEBYTECODE": "1",
        # CDK's kubectl handler writes here instead of /tmp, which other invocations have as well.
        "TEST_OUTDIR": str(scratch),
        "TMPDIR": str(scratch),
        "_HANDLER": function.handler,
    }
    for folder in folders:
        if (folder / "aws").exists():
            # The script names Lambda's own interpreter.
            _program(programs / "aws", f'exec "{sys.executable}" "{folder / "aws"}" "$@"')
        if (folder / "helm").exists():
            _program(programs / "helm", f'exec "{sys.executable}" -I "{_HELM}" "$@"')
            given["HELM_REHEARSAL_REAL"] = str(folder / "helm")
    return given


def _program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o700)
