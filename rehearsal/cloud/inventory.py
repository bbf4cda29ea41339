"""What is in the account: asked of the services themselves, not of CloudFormation."""

from typing import Any

from rehearsal.cloud.account import Account
from rehearsal.cloud.reservations import OPEN
from rehearsal.cloud.schedules import names_of_schedules


def inventory(account: Account) -> dict[str, list[str]]:
    """Return the names of what is left, by kind; kinds of which nothing is left are not there.

    What every account has is left out: default VPCs, AWS's own keys, what ``cdk bootstrap`` made stays in.
    """
    found = {**_network(account), **_services(account), **_eks(account)}
    return {kind: sorted(names) for kind, names in found.items() if names}


def _network(account: Account) -> dict[str, list[str]]:
    ec2 = account.client("ec2")
    vpcs = [vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]]
    found: dict[str, list[str]] = {"vpc": vpcs}
    for kind, call, key, name in (
        ("subnet", ec2.describe_subnets, "Subnets", "SubnetId"),
        ("security group", ec2.describe_security_groups, "SecurityGroups", "GroupId"),
        ("route table", ec2.describe_route_tables, "RouteTables", "RouteTableId"),
        ("vpc endpoint", ec2.describe_vpc_endpoints, "VpcEndpoints", "VpcEndpointId"),
    ):
        found[kind] = [item[name] for item in call()[key] if item["VpcId"] in vpcs]
    gateways = ec2.describe_nat_gateways()["NatGateways"]
    found["nat gateway"] = [item["NatGatewayId"] for item in gateways if item["State"] != "deleted"]
    found["elastic ip"] = [item["AllocationId"] for item in ec2.describe_addresses()["Addresses"]]
    found["internet gateway"] = [
        item["InternetGatewayId"]
        for item in ec2.describe_internet_gateways()["InternetGateways"]
        if not item["Attachments"] or item["Attachments"][0]["VpcId"] in vpcs
    ]
    found["flow log"] = [item["FlowLogId"] for item in ec2.describe_flow_logs()["FlowLogs"]]
    templates = ec2.describe_launch_templates()["LaunchTemplates"]
    found["launch template"] = [item["LaunchTemplateId"] for item in templates]
    found["placement group"] = list(account.placement_groups)
    found["resource group"] = [
        item["GroupName"] for item in account.client("resource-groups").list_groups()["GroupIdentifiers"]
    ]
    found["instance"] = list(account.capacity.instances)
    found["capacity reservation"] = [item.id for item in account.capacity.reservations() if item.state in OPEN]
    return found


def _services(account: Account) -> dict[str, list[str]]:
    iam, kms, ssm = account.client("iam"), account.client("kms"), account.client("ssm")
    keys = [kms.describe_key(KeyId=item["KeyId"])["KeyMetadata"] for item in kms.list_keys()["Keys"]]
    names = ssm.get_paginator("describe_parameters").paginate()
    return {
        "role": [role["RoleName"] for role in iam.list_roles()["Roles"]],
        "policy": [policy["Arn"] for policy in iam.list_policies(Scope="Local")["Policies"]],
        "log group": [group["logGroupName"] for group in account.client("logs").describe_log_groups()["logGroups"]],
        "key": [key["KeyId"] for key in keys if key["KeyState"] != "PendingDeletion" and _customers(key)],
        "key to be deleted": [key["KeyId"] for key in keys if key["KeyState"] == "PendingDeletion"],
        "parameter": [item["Name"] for page in names for item in page["Parameters"]],
        "bucket": [bucket["Name"] for bucket in account.client("s3").list_buckets()["Buckets"]],
        "repository": [r["repositoryName"] for r in account.client("ecr").describe_repositories()["repositories"]],
        "function": [function.name for function in account.functions.by_arn.values()],
        "layer": list(account.functions.layers),
        "schedule": names_of_schedules(account),
        "topic": [topic["TopicArn"] for topic in account.client("sns").list_topics()["Topics"]],
        "alarm": [alarm["AlarmName"] for alarm in account.client("cloudwatch").describe_alarms()["MetricAlarms"]],
        "budget": [
            item["BudgetName"] for item in account.client("budgets").describe_budgets(AccountId=account.id)["Budgets"]
        ],
    }


def _customers(key: dict[str, Any]) -> bool:
    return key.get("KeyManager") != "AWS"


def _eks(account: Account) -> dict[str, list[str]]:
    clusters = account.eks.clusters
    return {
        "cluster": list(clusters),
        "node group": [f"{name}/{group}" for name, cluster in clusters.items() for group in cluster.node_groups],
        "add-on": [f"{name}/{addon}" for name, cluster in clusters.items() for addon in cluster.addons],
        "access entry": [entry for cluster in clusters.values() for entry in cluster.access_entries],
        "pod identity": [item for cluster in clusters.values() for item in cluster.associations],
        "node": [node for c in clusters.values() for group in c.node_groups.values() for node in group.nodes],
    }
