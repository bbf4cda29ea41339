"""The Kubernetes objects, as cdk8s charts: one per lifecycle. Nothing here knows of AWS's CDK."""
