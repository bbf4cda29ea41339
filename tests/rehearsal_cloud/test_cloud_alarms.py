"""An alarm that mails, as CloudFormation makes it."""

from typing import Any

from rehearsal.cloud import Cloud
from rehearsal.cloud.inventory import inventory
from tests.rehearsal_cloud.cloud_stacks import Resources, Stacks


def _alarm(threshold: int, protocol: str = "email") -> Resources:
    topic = {"Ref": "Topic"}
    statement = {"Effect": "Deny", "Principal": "*", "Action": "sns:Publish", "Resource": topic}
    return {
        "Topic": {"Type": "AWS::SNS::Topic", "Properties": {}},
        "Policy": {
            "Type": "AWS::SNS::TopicPolicy",
            "Properties": {"Topics": [topic], "PolicyDocument": {"Version": "2012-10-17", "Statement": [statement]}},
        },
        "Mail": {
            "Type": "AWS::SNS::Subscription",
            "Properties": {"TopicArn": topic, "Protocol": protocol, "Endpoint": "a@b.example"},
        },
        "Alarm": {
            "Type": "AWS::CloudWatch::Alarm",
            "Properties": {
                "AlarmActions": [topic],
                "ComparisonOperator": "GreaterThanOrEqualToThreshold",
                "Dimensions": [{"Name": "FunctionName", "Value": "f"}],
                "EvaluationPeriods": 1,
                "MetricName": "Errors",
                "Namespace": "AWS/Lambda",
                "Period": 1800,
                "Statistic": "Sum",
                "Threshold": threshold,
            },
        },
    }


def test_an_alarm_with_its_topic_is_made_changed_and_deleted(cloud: Cloud, stacks: Stacks) -> None:
    def alarms() -> list[Any]:
        return list(cloud.account.client("cloudwatch").describe_alarms()["MetricAlarms"])

    stacks.create("alarm", _alarm(3))
    (made,) = alarms()
    (topic,) = inventory(cloud.account)["topic"]
    assert (made["AlarmActions"], made["Threshold"], made["Period"]) == ([topic], 3, 1800)
    mails = cloud.account.client("sns").list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    assert [(mail["Protocol"], mail["Endpoint"]) for mail in mails] == [("email", "a@b.example")]
    stacks.update("alarm", _alarm(4))
    (changed,) = alarms()
    assert (changed["AlarmName"], changed["Threshold"]) == (made["AlarmName"], 4)
    stacks.delete("alarm")
    assert inventory(cloud.account).keys().isdisjoint({"topic", "alarm"})


def test_other_ways_than_mail_are_refused(stacks: Stacks) -> None:
    stacks.create_badly("sms", _alarm(3, "sms"))
    assert "does not emulate Protocol sms" in stacks.reason("sms", "Mail")
    stacks.delete("sms")
