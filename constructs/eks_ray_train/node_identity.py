"""How the Training stack knows the GPU nodes, without holding on to them.

Through an SSM parameter, not an export: CloudFormation refuses to change an export that another stack imports, so that
an imported node group could never be replaced; and the CDK command line, which skips a stack whose template did not
change, never skips one with a parameter to resolve.
"""

from aws_cdk import Fn
from aws_cdk import aws_ssm as ssm
from constructs import Construct


def publish_node_identity(scope: Construct, id: str, *, cluster_name: str, nodegroup_arn: str) -> None:
    """Writes eight hexadecimal digits that differ for another node group."""
    # arn:aws:eks:region:account:nodegroup/cluster/name/uuid
    uuid = Fn.select(3, Fn.split("/", nodegroup_arn))
    ssm.StringParameter(
        scope,
        id,
        parameter_name=_name(cluster_name),
        string_value=Fn.select(0, Fn.split("-", uuid)),
        description="Changes when the GPU node group is replaced",
    )


def read_node_identity(scope: Construct, *, cluster_name: str) -> str:
    """What ``publish_node_identity`` wrote, when the stack of ``scope`` is deployed."""
    return ssm.StringParameter.value_for_string_parameter(scope, _name(cluster_name))


def _name(cluster_name: str) -> str:
    return f"/{cluster_name}/gpu-nodes"
