"""Custom resources: functions that fail, hang or lie fail the stack by name."""

import time
from typing import Any

import pytest

from tests.rehearsal_cloud.cloud_functions import function
from tests.rehearsal_cloud.cloud_stacks import Stacks, template

RECORD = "def record(event, *answer):\n    print('seen', event['RequestType'], event.get('PhysicalResourceId'))\n"


pytestmark = pytest.mark.usefixtures("bucket")


def with_function(
    stacks: Stacks, code: str, *, timeout: int = 20, runtime: str = "python3.13", **properties: Any
) -> dict[str, Any]:
    custom = {"ServiceToken": {"Fn::GetAtt": ["Function", "Arn"]}, **properties}
    made = function(stacks, code, timeout=timeout, runtime=runtime)
    return {**made, "Custom": {"Type": "Custom::Thing", "Properties": custom}}


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("raise ValueError('no room')", "ValueError: no room"),
        ("import os; os._exit(3)", "Runtime exited without providing a reason (exit status 3)"),
        ("return {'Data': {1, 2}}", "TypeError"),
        ("return 'done'", "must be JSON objects"),
        ("return {'PhysicalResourceId': 7}", "Invalid PhysicalResourceId"),
        ("return {'Data': 'text'}", "Data must be a JSON object"),
        ("return {'Data': {'x': 'y' * 5000}}", "Response object is too long"),
        ("import no_such_module", "no_such_module"),
    ],
)
def test_a_function_that_fails_or_lies(stacks: Stacks, body: str, reason: str) -> None:
    name = f"bad-{abs(hash(body))}"
    stack = stacks.create_badly(name, with_function(stacks, f"def handler(event, context):\n    {body}\n"))
    assert reason in stacks.reason(name, "Custom")
    assert "[Custom]" in stack["StackStatusReason"]


def test_a_function_that_hangs_is_ended_with_what_it_started(stacks: Stacks) -> None:
    code = "import subprocess\ndef handler(event, context):\n    subprocess.run(['sleep', '60'])\n"
    started = time.monotonic()
    stacks.create_badly("hangs", with_function(stacks, code, timeout=1))
    assert "Task timed out after 1.00 seconds" in stacks.reason("hangs", "Custom")
    assert time.monotonic() - started < 10


def test_the_service_timeout_is_a_limit_too(stacks: Stacks) -> None:
    code = "import subprocess\ndef handler(event, context):\n    subprocess.run(['sleep', '60'])\n"
    stacks.create_badly("slow", with_function(stacks, code, ServiceTimeout="1"))
    assert "timed out" in stacks.reason("slow", "Custom")


def test_a_function_that_waits_for_aws_asks_again_soon(stacks: Stacks) -> None:
    code = "import time\ndef handler(event, context):\n    time.sleep(60)\n    return {}\n"
    stacks.create("waits", with_function(stacks, code, ServiceTimeout="30"))


def test_a_missing_attribute_names_what_wanted_it(stacks: Stacks) -> None:
    resources = with_function(stacks, "def handler(event, context):\n    return {'Data': {'Here': 'x'}}\n")
    wants = {"Type": "String", "Value": {"Fn::GetAtt": ["Custom", "There"]}}
    resources["Wants"] = {"Type": "AWS::SSM::Parameter", "Properties": wants}
    stacks.create_badly("attribute", resources)
    assert "Custom (Custom::Thing) has no attribute There" in stacks.reason("attribute", "Wants")


def test_the_environment_is_lambdas_and_values_are_text(stacks: Stacks) -> None:
    code = (
        "import os\ndef handler(event, context):\n"
        "    e, p = os.environ, event['ResourceProperties']\n"
        "    return {'Data': {'Name': e['AWS_LAMBDA_FUNCTION_NAME'], 'Region': e['AWS_REGION'],\n"
        "      'Left': str(0 < context.get_remaining_time_in_millis() <= 20000), 'Types': repr([p['N'], p['B']])}}\n"
    )
    names = ("Name", "Region", "Left", "Types")
    outputs = {name: {"Value": {"Fn::GetAtt": ["Custom", name]}} for name in names}
    stacks.api.create_stack(
        StackName="environment",
        TemplateBody=template(with_function(stacks, code, N=2, B=True), outputs),
    )
    made = {o["OutputKey"]: o["OutputValue"] for o in stacks.wait("environment", "CREATE_COMPLETE")["Outputs"]}
    assert made["Name"].startswith("environment-Function-")
    assert (made["Region"], made["Left"], made["Types"]) == ("us-east-2", "True", "['2', 'true']")


REPLACING = RECORD + (
    "def handler(event, context):\n"
    "    record(event)\n"
    "    if event['RequestType'] == 'Delete': return {}\n"
    "    value = event['ResourceProperties']['Value']\n"
    "    if value == 'bad': raise RuntimeError('bad')\n"
    "    return {'PhysicalResourceId': 'id-' + value}\n"
)


def seen(stacks: Stacks, stack: str) -> list[str]:
    found = [
        line.removeprefix("seen ")
        for event in stacks.cloud.account.events.read(action="FUNCTION", type="Custom::Thing")
        for line in event["output"].splitlines()
        if line.startswith("seen") and stack in event["function"]
    ]
    return found


def test_another_physical_id_replaces_and_the_old_one_is_deleted_last(stacks: Stacks) -> None:
    stacks.create("ids", with_function(stacks, REPLACING, Value="one"))
    stacks.update("ids", with_function(stacks, REPLACING, Value="two"))
    assert seen(stacks, "ids-") == ["Create None", "Update id-one", "Delete id-one"]


def test_a_failed_update_is_undone_with_a_second_update(stacks: Stacks) -> None:
    stacks.create("second", with_function(stacks, REPLACING, Value="one"))
    stacks.update_badly("second", with_function(stacks, REPLACING, Value="bad"))
    assert "RuntimeError: bad" in stacks.reason("second", "Custom", "UPDATE_FAILED")
    assert seen(stacks, "second-") == ["Create None", "Update id-one", "Update id-one"]


def test_a_change_of_tags_alone_reaches_the_function(stacks: Stacks) -> None:
    stacks.create("hears", with_function(stacks, REPLACING, Value="same", Tags={"k": "one"}))
    stacks.update("hears", with_function(stacks, REPLACING, Value="same", Tags={"k": "two"}))
    assert seen(stacks, "hears-") == ["Create None", "Update id-same"]


def test_a_failed_delete_keeps_the_stack(stacks: Stacks) -> None:
    code = "def handler(event, context):\n    if event['RequestType'] == 'Delete': raise RuntimeError('stuck')\n"
    stacks.create("stuck", with_function(stacks, code))
    stacks.delete("stuck", "DELETE_FAILED")
    assert "stuck" in stacks.reason("stuck", "Custom", "DELETE_FAILED")
    left = stacks.api.list_stack_resources(StackName="stuck")["StackResourceSummaries"]
    assert {resource["LogicalResourceId"] for resource in left} == {"Role", "Function", "Custom"}


def test_a_delete_that_answers_with_another_id_fails(stacks: Stacks) -> None:
    code = "import uuid\ndef handler(event, context):\n    return {'PhysicalResourceId': uuid.uuid4().hex}\n"
    stacks.create("changes", with_function(stacks, code))
    stacks.delete("changes", "DELETE_FAILED")
    assert "cannot change the physical resource ID" in stacks.reason("changes", "Custom", "DELETE_FAILED")


def test_a_node_handler_without_an_emulation_fails_by_name(stacks: Stacks) -> None:
    stacks.create_badly("node", with_function(stacks, "pass", runtime="nodejs24.x"))
    assert "no emulation of Custom::Thing" in stacks.reason("node", "Custom")


def test_kubectl_needs_an_access_entry(stacks: Stacks, cluster: dict[str, str]) -> None:
    resources = with_function(stacks, "def handler(event, context):\n    return {}\n", ClusterName=cluster["Name"])
    resources["Custom"]["Type"] = "Custom::AWSCDK-EKS-KubernetesResource"
    stacks.create_badly("unauthorised", resources)
    assert "has no access entry" in stacks.reason("unauthorised", "Custom")
