"""The EKS control plane: private, logged, encrypted, with access given by name."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

from aws_cdk import ArnFormat, CfnCondition, CfnOutput, Duration, RemovalPolicy, Stack
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_eks_v2 as eks
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_logs as logs
from constructs import Construct

from eks_ray_train.acknowledge import acknowledge, arn_of, managed_policy, spelled, wildcard_resource
from eks_ray_train.kubectl_layer import kubectl_layer
from k8s.pods import GPU_TOLERATION

# Installed before any node, so that pods meet network policies from the first on. The agents run on every node.
_ADDONS_BEFORE_NODES: Mapping[str, dict[str, Any] | None] = {
    "vpc-cni": {"enableNetworkPolicy": "true"},
    "kube-proxy": None,
    "eks-pod-identity-agent": None,
    # The agent is on every node; the server that it asks about GPUs tolerates no taint by itself. Where that is
    # missing, the agent calls the GPUs broken, and the node group replaces a healthy node.
    "eks-node-monitoring-agent": {"dcgmAgent": {"tolerations": [GPU_TOLERATION]}},
}


class EksCluster(Construct):
    """A cluster without Auto Mode, and the add-ons that nodes need.

    ``cluster`` is the cluster; nodes depend on ``addons_before_nodes``. ``admin_role`` may be assumed by whoever in the
    account is allowed to, and is cluster-admin: without an access entry nobody could look in.
    """

    def __init__(
        self,
        scope: Construct,
        id: str,
        *,
        name: str,
        kubernetes_version: str,
        vpc: ec2.IVpc,
        admin_principals: Sequence[str],
        public_endpoint_cidrs: Sequence[str],
    ) -> None:
        super().__init__(scope, id)
        # EKS would make this group itself, to be kept for ever. Not a LogGroup: EKS writes a last line or two when the
        # cluster is deleted, which makes the group anew, and the next deploy would fail on it.
        log_group = f"/aws/eks/{name}/cluster"
        log_retention = logs.LogRetention(
            self,
            "ControlPlaneLogs",
            log_group_name=log_group,
            retention=logs.RetentionDays.ONE_MONTH,
            removal_policy=RemovalPolicy.DESTROY,
        )
        cluster = eks.Cluster(
            self,
            "Resource",
            cluster_name=name,
            version=eks.KubernetesVersion.of(kubernetes_version),
            vpc=vpc,
            vpc_subnets=[ec2.SubnetSelection(subnet_type=ec2.SubnetType.PRIVATE_WITH_EGRESS)],
            # Unset means Auto Mode, whose own node pools would stand beside ours.
            default_capacity_type=eks.DefaultCapacityType.NODEGROUP,
            default_capacity=0,
            endpoint_access=_endpoint(public_endpoint_cidrs),
            # Both are fixed for the cluster's life: changing either later replaces it.
            bootstrap_cluster_creator_admin_permissions=False,
            bootstrap_self_managed_addons=False,
            cluster_logging=[
                eks.ClusterLoggingTypes.API,
                eks.ClusterLoggingTypes.AUDIT,
                eks.ClusterLoggingTypes.AUTHENTICATOR,
                eks.ClusterLoggingTypes.CONTROLLER_MANAGER,
                eks.ClusterLoggingTypes.SCHEDULER,
            ],
            secrets_encryption_key=kms.Key(
                self,
                "SecretsKey",
                description=f"Encrypts the Kubernetes secrets of {name}",
                enable_key_rotation=True,
                pending_window=Duration.days(7),
                removal_policy=RemovalPolicy.DESTROY,
            ),
            kubectl_provider_options=eks.KubectlProviderOptions(
                kubectl_layer=kubectl_layer(self, "KubectlLayer", kubernetes_version=kubernetes_version)
            ),
        )
        cluster.node.add_dependency(log_retention)
        resource = cluster.node.default_child
        assert isinstance(resource, eks.CfnCluster)
        # Unset means extended support: six times the price per hour once the version's standard support has ended.
        resource.upgrade_policy = eks.CfnCluster.UpgradePolicyProperty(support_type="STANDARD")
        _tame_what_cdk_makes(cluster, log_group)
        # To a type checker, jsii's Cluster lacks a member of the interface that it implements.
        self.cluster = cast("eks.ICluster", cluster)
        self.addons_before_nodes = [
            eks.Addon(self, name, cluster=self.cluster, addon_name=name, configuration_values=values)
            for name, values in _ADDONS_BEFORE_NODES.items()
        ]
        self.admin_role = iam.Role(
            self,
            "AdminRole",
            assumed_by=iam.AccountRootPrincipal(),
            description=f"Cluster-admin of {name}",
        )
        cluster.grant_cluster_admin("AdminRoleAccess", self.admin_role.role_arn)
        for index, principal in enumerate(sorted(set(admin_principals))):
            cluster.grant_cluster_admin(f"Admin{index}Access", principal)
        CfnOutput(
            self,
            "UpdateKubeconfig",
            description="Lets kubectl use the cluster",
            value=f"aws eks update-kubeconfig --name {name} --region {cluster.stack.region} "
            f"--role-arn {self.admin_role.role_arn}",
        )


def _tame_what_cdk_makes(cluster: eks.Cluster, log_group: str) -> None:
    stack = Stack.of(cluster)
    acknowledge(
        cluster.role, managed_policy("AmazonEKSClusterPolicy"), reason="EKS documents it as what a control plane needs"
    )
    provider = cluster.kubectl_provider
    assert provider is not None
    for construct in provider.node.find_all():
        if isinstance(construct, logs.CfnLogGroup):
            # CDK keeps the logs of its own functions for ever, also when the stack is gone.
            construct.retention_in_days = 30
            construct.apply_removal_policy(RemovalPolicy.DESTROY)
    handler = provider.node.find_child("Handler")
    ecr_public = stack.get_logical_id(cast("CfnCondition", handler.node.find_child("HasEcrPublic")))
    acknowledge(
        provider,
        managed_policy("service-role/AWSLambdaBasicExecutionRole"),
        managed_policy("service-role/AWSLambdaVPCAccessExecutionRole"),
        managed_policy("AmazonEC2ContainerRegistryReadOnly"),
        f'AwsSolutions-IAM4[Policy::{{"Fn::If":["{ecr_public}",{{"Fn::Join":["",["arn:",{{"Ref":"AWS::Partition"}},'
        '":iam::aws:policy/AmazonElasticContainerRegistryPublicReadOnly"]]},{"Ref":"AWS::NoValue"}]}]',
        wildcard_resource(f"{arn_of(handler)}:*"),
        "AwsSolutions-L1",
        reason="CDK's own kubectl handler: its role and runtime come with the pinned aws-cdk-lib",
    )
    # The one function that serves every LogRetention of a stack; CDK gives it this id.
    log_retention = stack.node.find_child("LogRetentionaae0aa3c5b4d4f87b02d85b201efdd8a")
    streams = stack.format_arn(
        service="logs",
        resource="log-group",
        resource_name=f"{log_group}:*",
        arn_format=ArnFormat.COLON_RESOURCE_NAME,
    )
    acknowledge(
        log_retention,
        managed_policy("service-role/AWSLambdaBasicExecutionRole"),
        wildcard_resource("*"),
        wildcard_resource(spelled(streams, stack)),
        reason="CDK's own handler: it sets the retention of a group that exists only by the time that it runs",
    )


def _endpoint(public_cidrs: Sequence[str]) -> eks.EndpointAccess:
    if public_cidrs:
        return eks.EndpointAccess.PUBLIC_AND_PRIVATE.only_from(*public_cidrs)
    return eks.EndpointAccess.PRIVATE
