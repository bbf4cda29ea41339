"""The CDK app to measure against: one stack with nothing in it."""

import aws_cdk as cdk

app = cdk.App(analytics_reporting=False)
cdk.Stack(app, "Empty")
app.synth()
