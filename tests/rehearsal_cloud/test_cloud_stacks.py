"""CloudFormation: order, replacement, rollback, deletion, exports."""

import json

import pytest
from botocore.exceptions import ClientError

from tests.rehearsal_cloud.cloud_stacks import ROLE_TRUST, Resources, Stacks, log_group, parameter, template

MISSING_BUCKET = {
    "Type": "AWS::S3::BucketPolicy",
    "Properties": {
        "Bucket": "no-such-bucket",
        "PolicyDocument": {"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*"}]},
    },
}


def test_resources_wait_for_what_they_mention_and_go_in_reverse(stacks: Stacks) -> None:
    resources = {
        "Last": parameter({"Fn::Sub": "${Middle}"}),
        "Middle": parameter({"Ref": "First"}),
        "First": log_group(),
        "Alone": log_group(DependsOn="Last"),
    }
    stack = stacks.create("order", resources)
    assert stacks.done("order", "CREATE_COMPLETE") == ["First", "Middle", "Last", "Alone", "order"]
    stacks.delete("order")
    assert stacks.done(stack["StackId"], "DELETE_COMPLETE") == ["Alone", "Last", "Middle", "First", "order"]


def test_a_failure_undoes_what_was_made(stacks: Stacks) -> None:
    stack = stacks.create_badly(
        "undone", {"Group": log_group("undone"), "Bad": {**MISSING_BUCKET, "DependsOn": "Group"}}
    )
    assert "NoSuchBucket" in stacks.reason("undone", "Bad") or "Not Found" in stacks.reason("undone", "Bad")
    assert "[Bad]" in stack["StackStatusReason"]
    assert stacks.done("undone", "DELETE_COMPLETE") == ["Group"]
    stacks.create("undone-again", {"Group": log_group("undone")})


def test_a_retained_log_group_stops_the_next_deployment(stacks: Stacks) -> None:
    stacks.create("retained", {"Group": log_group("kept", DeletionPolicy="Retain")})
    stacks.delete("retained")
    stacks.create_badly("retained", {"Group": log_group("kept")})
    assert "ResourceAlreadyExistsException" in stacks.reason("retained", "Group")


def test_replacement_creates_before_it_deletes(stacks: Stacks) -> None:
    stacks.create("replaced", {"Group": log_group("replaced-1"), "Value": parameter({"Ref": "Group"})})
    stacks.update("replaced", {"Group": log_group("replaced-2"), "Value": parameter({"Ref": "Group"})})
    events = [
        (event["PhysicalResourceId"], event["ResourceStatus"])
        for event in reversed(stacks.api.describe_stack_events(StackName="replaced")["StackEvents"])
        if event["LogicalResourceId"] == "Group"
    ]
    assert events.index(("replaced-2", "UPDATE_COMPLETE")) < events.index(("replaced-1", "DELETE_COMPLETE"))
    assert "Value" in stacks.done("replaced", "UPDATE_COMPLETE")


def test_a_failed_update_goes_back_and_deletes_only_the_new(stacks: Stacks) -> None:
    stacks.create("back", {"Group": log_group("back-1"), "Value": parameter("old")})
    bad = {**MISSING_BUCKET, "DependsOn": ["Group", "Value", "New"]}
    stacks.update_badly(
        "back", {"Group": log_group("back-2"), "Value": parameter("new"), "New": log_group("back-3"), "Bad": bad}
    )
    resources = stacks.api.list_stack_resources(StackName="back")["StackResourceSummaries"]
    assert {r["LogicalResourceId"] for r in resources} == {"Group", "Value"}
    names = [group["logGroupName"] for group in stacks.cloud.account.client("logs").describe_log_groups()["logGroups"]]
    assert "back-1" in names and not {"back-2", "back-3"} & set(names)
    value = next(r["PhysicalResourceId"] for r in resources if r["LogicalResourceId"] == "Value")
    assert stacks.cloud.account.client("ssm").get_parameter(Name=value)["Parameter"]["Value"] == "old"


def test_a_failed_deletion_keeps_the_stack_and_what_is_left(stacks: Stacks) -> None:
    bucket = {"Type": "AWS::S3::Bucket", "Properties": {"BucketName": "not-empty"}}
    stacks.create("stays", {"Bucket": bucket, "Group": log_group(), "Inside": log_group(DependsOn="Bucket")})
    s3 = stacks.cloud.account.client("s3")
    s3.put_object(Bucket="not-empty", Key="k", Body=b"v")
    stacks.delete("stays", "DELETE_FAILED")
    assert "BucketNotEmpty" in stacks.reason("stays", "Bucket", "DELETE_FAILED")
    left = stacks.api.list_stack_resources(StackName="stays")["StackResourceSummaries"]
    assert [resource["LogicalResourceId"] for resource in left] == ["Bucket"]
    s3.delete_object(Bucket="not-empty", Key="k")
    stacks.delete("stays")


def test_outputs_must_resolve(stacks: Stacks) -> None:
    lost = {"Lost": {"Value": {"Fn::GetAtt": ["Group", "NoSuchAttribute"]}}}
    stack = stacks.create_badly("lost", {"Group": log_group()}, lost)
    assert "Output Lost" in stack["StackStatusReason"] and "NoSuchAttribute" in stack["StackStatusReason"]


def test_an_export_in_use_stays(stacks: Stacks) -> None:
    exported = {"Out": {"Value": {"Ref": "Group"}, "Export": {"Name": "the-export"}}}
    stacks.create("exporter", {"Group": log_group("exported")}, exported)
    stacks.create("importer", {"Value": parameter({"Fn::ImportValue": "the-export"})})
    stack = stacks.delete("exporter", "DELETE_FAILED")
    assert "the-export cannot be deleted as it is in use by importer" in stack["StackStatusReason"]
    stacks.delete("importer")
    stacks.delete("exporter")


def test_a_missing_export_names_the_resource(stacks: Stacks) -> None:
    stacks.create_badly("no-export", {"Value": parameter({"Fn::ImportValue": "nobody"})})
    assert "No export named nobody found" in stacks.reason("no-export", "Value")


@pytest.mark.parametrize(
    ("resources", "named"),
    [
        ({"Queue": {"Type": "AWS::SQS::Queue"}}, "AWS::SQS::Queue"),
        ({"A": parameter({"Ref": "B"}), "B": parameter({"Ref": "A"})}, "Circular dependency"),
        ({"A": parameter({"Ref": "Nowhere"})}, "Nowhere"),
        ({"A": log_group(CreationPolicy={})}, "CreationPolicy"),
        ({"A": log_group(DependsOn="Nowhere")}, "Nowhere"),
    ],
)
def test_what_is_wrong_or_not_emulated_is_refused_at_once(stacks: Stacks, resources: Resources, named: str) -> None:
    with pytest.raises(ClientError, match=named):
        stacks.api.create_stack(StackName="refused", TemplateBody=template(resources))
    with pytest.raises(ClientError, match="does not exist"):
        stacks.describe("refused")


def test_a_property_that_would_be_ignored_is_refused(stacks: Stacks) -> None:
    group = log_group()
    group["Properties"]["KmsKeyId"] = "key"
    stacks.create_badly("ignored", {"Group": group})
    assert "KmsKeyId" in stacks.reason("ignored", "Group")


def test_a_change_set_without_changes_fails(stacks: Stacks) -> None:
    resources = {"Group": log_group()}
    stacks.create("same", resources)
    stacks.api.create_change_set(StackName="same", ChangeSetName="c", TemplateBody=template(resources))
    found = stacks.api.describe_change_set(StackName="same", ChangeSetName="c")
    assert found["Status"] == "FAILED" and "didn't contain changes" in found["StatusReason"]
    with pytest.raises(ClientError, match="No updates are to be performed"):
        stacks.update("same", resources)


def test_a_change_set_says_what_it_will_do_and_does_it(stacks: Stacks) -> None:
    create = {"StackName": "proposed", "ChangeSetName": "c"}
    body = template({"Group": log_group()})
    stacks.api.create_change_set(**create, ChangeSetType="CREATE", TemplateBody=body)
    (change,) = stacks.api.describe_change_set(**create)["Changes"]
    assert (change["ResourceChange"]["Action"], change["ResourceChange"]["LogicalResourceId"]) == ("Add", "Group")
    stacks.api.execute_change_set(**create)
    stacks.wait("proposed", "CREATE_COMPLETE")


def test_a_protected_stack_is_not_deleted(stacks: Stacks) -> None:
    stacks.create("protected", {"Group": log_group()})
    stacks.api.update_termination_protection(StackName="protected", EnableTerminationProtection=True)
    with pytest.raises(ClientError, match="TerminationProtection"):
        stacks.api.delete_stack(StackName="protected")


def test_a_role_keeps_no_policy_of_a_failed_creation(stacks: Stacks) -> None:
    arn = "arn:aws:iam::aws:policy/NoSuchPolicy"
    properties = {"RoleName": "half", "AssumeRolePolicyDocument": ROLE_TRUST, "ManagedPolicyArns": [arn]}
    stacks.create_badly("half", {"Role": {"Type": "AWS::IAM::Role", "Properties": properties}})
    assert "NoSuchPolicy" in stacks.reason("half", "Role")
    roles = stacks.cloud.account.client("iam").list_roles()["Roles"]
    assert "half" not in [role["RoleName"] for role in roles]


def test_a_dynamic_reference_is_refused(stacks: Stacks) -> None:
    stacks.create_badly("dynamic", {"Value": parameter({"Fn::Join": ["", ["{{resolve:ssm:/a/b}}", "x"]]})})
    assert "Dynamic references are not emulated" in stacks.reason("dynamic", "Value")


def test_what_is_gone_already_counts_as_deleted(stacks: Stacks) -> None:
    stacks.create("gone", {"Group": log_group("gone")})
    stacks.cloud.account.client("logs").delete_log_group(logGroupName="gone")
    stacks.delete("gone")


def test_a_retained_resource_survives_the_rollback_of_its_creation(stacks: Stacks) -> None:
    group = log_group("survives", DeletionPolicy="Retain")
    stacks.create_badly("survives", {"Group": group, "Bad": {**MISSING_BUCKET, "DependsOn": "Group"}})
    assert stacks.done("survives", "DELETE_SKIPPED") == ["Group"]


def test_parameters_and_conditions(stacks: Stacks) -> None:
    body = {
        "Parameters": {"Wanted": {"Type": "String", "Default": "no", "AllowedValues": ["yes", "no"]}},
        "Conditions": {"IsWanted": {"Fn::Equals": [{"Ref": "Wanted"}, "yes"]}},
        "Resources": {"Always": log_group(), "Sometimes": {**log_group(), "Condition": "IsWanted"}},
    }
    call = {"StackName": "conditions", "TemplateBody": json.dumps(body)}
    with pytest.raises(ClientError, match="AllowedValues"):
        stacks.api.create_stack(**call, Parameters=[{"ParameterKey": "Wanted", "ParameterValue": "maybe"}])
    stacks.api.create_stack(**call)
    stacks.wait("conditions", "CREATE_COMPLETE")
    assert stacks.done("conditions", "CREATE_COMPLETE") == ["Always", "conditions"]
    stacks.api.update_stack(**call, Parameters=[{"ParameterKey": "Wanted", "ParameterValue": "yes"}])
    stacks.wait("conditions", "UPDATE_COMPLETE")
    assert "Sometimes" in stacks.done("conditions", "CREATE_COMPLETE")
