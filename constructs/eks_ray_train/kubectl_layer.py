"""The Lambda layer with the kubectl and helm that talk to the cluster."""

from aws_cdk import aws_lambda as lambda_
from aws_cdk.lambda_layer_kubectl_v30 import KubectlV30Layer
from aws_cdk.lambda_layer_kubectl_v36 import KubectlV36Layer
from constructs import Construct

from eks_ray_train.versions import kubectl_layer_minor, minor_of

_LAYERS = {30: KubectlV30Layer, 36: KubectlV36Layer}


def kubectl_layer(scope: Construct, id: str, *, kubernetes_version: str) -> lambda_.ILayerVersion:
    """The layer that follows the cluster's version; the check ``kubectl-skew`` has refused one too far from it."""
    return _LAYERS[kubectl_layer_minor(minor_of(kubernetes_version))](scope, id)
