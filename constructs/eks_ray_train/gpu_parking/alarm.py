"""Tells somebody when the function that parks the GPU nodes fails: else they bill, and nobody sees why."""

from collections.abc import Sequence

from aws_cdk import Duration, Stack
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_cloudwatch_actions as actions
from aws_cdk import aws_iam as iam
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from eks_ray_train.acknowledge import acknowledge

# Three of the six looks in that time, of each of which Lambda makes three attempts.
PERIOD = Duration.minutes(30)
FAILURES = 9


class ParkingAlarm(Construct):
    """Mails ``emails`` when ``function`` fails again and again. Each address is asked once whether it wants mails."""

    def __init__(self, scope: Construct, id: str, *, function: lambda_.Function, emails: Sequence[str]) -> None:
        super().__init__(scope, id)
        topic = sns.Topic(self, "Topic", enforce_ssl=True)
        acknowledge(
            topic,
            "AwsSolutions-SNS2",
            reason="It says that a function failed, and no more; CloudWatch cannot use the key that SNS has by default",
        )
        # enforce_ssl gives the topic a policy, which takes the place of the one by which the account may publish.
        topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsOfTheAccount",
                principals=[iam.ServicePrincipal("cloudwatch.amazonaws.com")],
                actions=["sns:Publish"],
                resources=[topic.topic_arn],
                conditions={"StringEquals": {"aws:SourceAccount": Stack.of(self).account}},
            )
        )
        for email in emails:
            topic.add_subscription(subscriptions.EmailSubscription(email))
        alarm = cloudwatch.Alarm(
            self,
            "Alarm",
            alarm_description="Idle GPU nodes are not scaled to zero, and bill: the function that does so fails",
            metric=function.metric_errors(period=PERIOD, statistic="Sum"),
            threshold=FAILURES,
            evaluation_periods=1,
            comparison_operator=cloudwatch.ComparisonOperator.GREATER_THAN_OR_EQUAL_TO_THRESHOLD,
            treat_missing_data=cloudwatch.TreatMissingData.NOT_BREACHING,
        )
        alarm.add_alarm_action(actions.SnsAction(topic))
