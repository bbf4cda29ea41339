"""How the Training stack knows the GPU nodes, without holding on to them.

Through an SSM parameter, not an export: CloudFormation refuses to change an export that another stack imports, so that
an imported node group could never be replaced; and the CDK command line, which skips a stack whose template did not
change, never skips one with a parameter to resolve.
"""

from aws_cdk import Fn
from aws_cdk import aws_ssm as ssm
from constructs import Construct


class NodeGroupReference:
    """The GPU node group as another stack sees it when it is deployed; all are tokens.

    ``identity`` is eight hexadecimal digits that differ for another node group.
    """

    def __init__(self, arn: str) -> None:
        # arn:aws:eks:region:account:nodegroup/cluster/name/uuid
        parts = Fn.split("/", arn)
        self.arn = arn
        self.name = Fn.select(2, parts)
        self.identity = Fn.select(0, Fn.split("-", Fn.select(3, parts)))


def publish_node_group(scope: Construct, id: str, *, cluster_name: str, nodegroup_arn: str) -> None:
    """Writes down which node group it is."""
    ssm.StringParameter(
        scope,
        id,
        parameter_name=_name(cluster_name),
        string_value=nodegroup_arn,
        description="The GPU node group, another one once it is replaced",
    )


def read_node_group(scope: Construct, *, cluster_name: str) -> NodeGroupReference:
    """What ``publish_node_group`` wrote, when the stack of ``scope`` is deployed."""
    return NodeGroupReference(ssm.StringParameter.value_for_string_parameter(scope, _name(cluster_name)))


def _name(cluster_name: str) -> str:
    return f"/{cluster_name}/gpu-nodes"
